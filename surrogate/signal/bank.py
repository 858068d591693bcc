"""A bank of templates: chosen so that no waveform of a region loses more than a set share of its ratio.

Candidates are scattered over the masses with a fixed seed, the match of every pair is computed, and templates are taken
one by one, each time the one that covers most of what is not covered yet (the greedy cover of V. Chvátal, Math. Oper.
Res. 4, 233 (1979)). It needs fewer templates than taking random candidates as they come (I. W. Harry, B. Allen, B. S.
Sathyaprakash, Phys. Rev. D 80, 104014 (2009)), and knows no metric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

Array = NDArray[np.float64]
Spectra = NDArray[np.complex64]
_BLOCK = 128


def candidates(count: int, low: float, high: float, seed: int) -> Array:
    """Return component masses, `[count, 2]`, heavier first, denser where templates must be.

    Half of them are even in the chirp mass to the power −5/3, along which the inspiral's phase runs, half in its
    logarithm; the mass ratio is even. The corners of the region are among them.

    Args:
        count: How many, at least three.
        low: Smallest mass of a component, solar masses.
        high: Largest.
        seed: Of the scatter.
    """
    random = np.random.default_rng(seed)
    least, most = (low * 0.5**0.2, high * 0.5**0.2)
    found: list[tuple[float, float]] = [(low, low), (high, high), (high, low)]
    while len(found) < count:
        place = random.random()
        if random.random() < 0.5:
            power = -5.0 / 3.0
            chirp = (least**power + place * (most**power - least**power)) ** (1.0 / power)
        else:
            chirp = least * (most / least) ** place
        ratio = random.uniform(1.0, high / low)
        lighter = chirp * (1.0 + ratio) ** 0.2 * ratio**-0.6
        heavier = ratio * lighter
        if lighter >= low and heavier <= high:
            found.append((heavier, lighter))
    return np.asarray(found[:count])


def normalised(whitened: Array) -> Spectra:
    """Return the spectra of whitened templates, each of norm 1, `[T, N]` float → `[T, N // 2 + 1]` complex64.

    Args:
        whitened: `[T, N]` one phase of each template, whitened; of any amplitude.

    Raises:
        DataError: If one is silent.
    """
    spectra = np.fft.rfft(whitened, axis=1)
    # The ends of the spectrum have no second phase.
    spectra[:, 0] = 0.0
    if whitened.shape[1] % 2 == 0:
        spectra[:, -1] = 0.0
    # Norms in float64: only what is of order one becomes float32.
    norms = np.sqrt(2.0 * np.sum(np.abs(spectra) ** 2, axis=1) / whitened.shape[1])
    if not np.all(norms > 0):
        raise DataError("A template is silent after whitening; check its band and the spectrum.")
    return np.asarray(spectra / norms[:, np.newaxis], dtype=np.complex64)


def matches(one: Spectra, others: Spectra, samples: int) -> NDArray[np.float32]:
    """Return the match of one template with others, maximal over time and phase, `[T]` float32.

    Args:
        one: `[F]` complex64 of norm 1.
        others: `[T, F]` likewise.
        samples: N of the windows, F = N // 2 + 1.
    """
    from scipy import fft

    found = np.empty(len(others), dtype=np.float32)
    product = np.zeros((min(_BLOCK, len(others)), samples), dtype=np.complex64)
    for begin in range(0, len(others), _BLOCK):
        block = others[begin : begin + _BLOCK]
        rows = product[: len(block)]
        rows[:, block.shape[1] :] = 0
        np.multiply(block.conj(), 2.0 * one, out=rows[:, : block.shape[1]])
        series = fft.ifft(rows, axis=1)
        found[begin : begin + len(block)] = np.abs(series).max(axis=1)
    return np.minimum(found, np.float32(1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Which candidates are templates.

    Attributes:
        chosen: `[T]` numbers of the templates among the candidates.
        best: `[P]` float32, each candidate's best match with a template.
    """

    chosen: NDArray[np.int64]
    best: NDArray[np.float32]


def place(spectra: Spectra, samples: int, minimal_match: float) -> Placement:
    """Choose templates among candidates so that each candidate matches one at least so well.

    Args:
        spectra: `[P, F]` complex64 of norm 1, the candidates.
        samples: N of the windows.
        minimal_match: In (0, 1).

    Raises:
        DataError: If the minimal match is none.
    """
    if not 0.0 < minimal_match < 1.0:
        raise DataError(f"A minimal match lies between 0 and 1; {minimal_match} was given.")
    count = len(spectra)
    table = np.ones((count, count), dtype=np.float32)
    for row in range(count - 1):
        table[row, row + 1 :] = table[row + 1 :, row] = matches(spectra[row], spectra[row + 1 :], samples)
    covers = table >= minimal_match
    waiting = np.ones(count, dtype=np.bool_)
    chosen: list[int] = []
    while waiting.any():
        gains = covers[:, waiting].sum(axis=1)
        # Of equal ones the one that fits what it covers best, so that the order of candidates does not decide.
        best = np.flatnonzero(gains == gains.max())
        pick = int(best[np.argmax(table[best][:, waiting].sum(axis=1))])
        chosen.append(pick)
        waiting &= ~covers[pick]
    order = np.asarray(sorted(chosen), dtype=np.int64)
    return Placement(order, np.asarray(table[order].max(axis=0)))


def completed(templates: Spectra, tried: Spectra, samples: int, minimal_match: float) -> NDArray[np.int64]:
    """Return which further waveforms must become templates, too: those that neither the bank nor one of them matches.

    What lies between the candidates of `place` may lose a little more than they do. Trying the bank on waveforms as
    they are expected, and taking those that it misses, closes its holes (the stochastic placement of Harry et al.).

    Args:
        templates: `[T, F]` complex64 of norm 1, the bank.
        tried: `[K, F]` likewise, in the order in which they are tried.
        samples: N of the windows.
        minimal_match: In (0, 1).

    Returns:
        Numbers of `tried`, rising.
    """
    added: list[int] = []
    for number, one in enumerate(tried):
        if matches(one, templates, samples).max() >= minimal_match:
            continue
        if added and matches(one, tried[added], samples).max() >= minimal_match:
            continue
        added.append(number)
    return np.asarray(added, dtype=np.int64)
