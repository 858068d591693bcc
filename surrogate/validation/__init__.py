"""Metrics, baselines, gate, verdict and report."""
