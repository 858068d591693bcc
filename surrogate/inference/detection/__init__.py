"""Searching strain with a detector: windows, triggers, coincidences, false-alarm rates, live data."""
