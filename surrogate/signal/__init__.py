"""Signals of gravitational-wave detectors: spectra, whitening, signal-to-noise ratios, injections, template banks."""
