"""Adapters of simulation codes."""
