"""Model families: what a surrogate can be."""
