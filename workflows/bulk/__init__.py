"""Predicting millions of points: streamed in and out, shared among workers, resumable."""
