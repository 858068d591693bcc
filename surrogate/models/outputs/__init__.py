"""Output transforms: what a network predicts instead of the raw numbers of an output column."""
