"""Tests; never part of the wheel."""
