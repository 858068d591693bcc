"""Readers of `surrogate ingest` for signals."""
