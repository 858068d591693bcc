"""Versions of surrogates with their lineage."""
