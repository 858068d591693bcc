"""Filters and templates: the training waveforms, compressed so that few convolutions see all of them.

Whitened waveforms of a region of masses are much alike and span few dimensions. Their singular vectors are the filters,
and templates are sums of filters (K. Cannon et al., Phys. Rev. D 82, 044025 (2010)). Templates are chosen among the
waveforms by greedy cover.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_SHIFTS = 6
"""Samples by which two waveforms are shifted against each other at most, to find their match."""
_MOST = 4000
"""Waveforms that are looked at; more add nothing but time."""


def low_pass(factor: int) -> Array:
    """Return the low-pass filter before decimation by a factor, `[16·factor + 1]`, of norm 1; `[1]` for none."""
    if factor == 1:
        return np.ones(1)
    from scipy.signal import firwin

    taps = np.asarray(firwin(16 * factor + 1, 0.85 / factor), dtype=np.float64)
    return taps / np.linalg.norm(taps)


def decimated(rows: Array, factor: int) -> Array:
    """Return rows after the low-pass and decimation, `[…, T]` → `[…, (T − 16·factor − 1) // factor + 1]`.

    White noise of unit variance keeps its variance.
    """
    from scipy.signal import oaconvolve

    taps = low_pass(factor)
    shaped = taps.reshape((1,) * (rows.ndim - 1) + (-1,))
    return np.asarray(oaconvolve(rows, shaped, mode="valid", axes=-1)[..., ::factor])


@dataclass(frozen=True, slots=True, eq=False)
class Bank:
    """The compressed templates.

    Attributes:
        filters: `[R, L]` float64, orthonormal.
        templates: `[K, 2, R]` float64, both phases, each of norm 1 and orthogonal.
        chosen: `[K]` int64, which waveforms they are.
    """

    filters: Array
    templates: Array
    chosen: NDArray[np.int64]


def make_bank(rows: Array, *, energy: float, most_filters: int, minimal_match: float, most_templates: int) -> Bank:
    """Compress waveforms.

    Args:
        rows: `[N, 2, L]` decimated, whitened, both polarisations.
        energy: Share of their power that the filters keep.
        most_filters: Filters at most.
        minimal_match: Match that every waveform shall have with a template.
        most_templates: Templates at most.
    """
    phases = _orthonormal(rows[:_MOST])
    flat = phases.reshape(-1, phases.shape[2])
    _, values, vectors = np.linalg.svd(flat, full_matrices=False)
    kept = np.cumsum(values**2) / np.sum(values**2)
    count = min(int(np.searchsorted(kept, energy)) + 1, most_filters, len(values))
    filters = vectors[:count]
    parts = _orthonormal(phases @ filters.T)
    chosen = _cover(phases, parts, filters, minimal_match, most_templates)
    return Bank(filters, parts[chosen], chosen)


def _orthonormal(rows: Array) -> Array:
    """Return rows whose second phase is orthogonal to the first, both of norm 1."""
    first = rows[:, 0] / np.linalg.norm(rows[:, 0], axis=1, keepdims=True)
    second = rows[:, 1] - np.sum(rows[:, 1] * first, axis=1, keepdims=True) * first
    norms = np.linalg.norm(second, axis=1, keepdims=True)
    return np.stack([first, second / np.maximum(norms, 1e-12)], axis=1)


def _cover(phases: Array, parts: Array, filters: Array, minimal_match: float, most: int) -> NDArray[np.int64]:
    """Return the numbers of waveforms that cover all of them, the one that covers most first."""
    count = len(phases)
    best = np.zeros((count, count), dtype=np.float32)
    templates = (parts[:, 0] + 1j * parts[:, 1]).astype(np.complex64)
    for shift in range(-_SHIFTS, _SHIFTS + 1):
        moved = np.roll(phases, shift, axis=2)
        if shift:
            moved[:, :, (slice(0, shift) if shift > 0 else slice(shift, None))] = 0.0
        seen = (moved @ filters.T).astype(np.float32)
        # The power of a signal's first phase in the plane of a template's two.
        np.maximum(best, np.abs(templates.conj() @ seen[:, 0].T), out=best)
    covers = best >= minimal_match
    np.fill_diagonal(covers, True)
    waiting = np.ones(count, dtype=np.bool_)
    chosen: list[int] = []
    while waiting.any() and len(chosen) < most:
        pick = int(np.argmax(covers[:, waiting].sum(axis=1)))
        chosen.append(pick)
        waiting &= ~covers[pick]
    return np.asarray(chosen, dtype=np.int64)
