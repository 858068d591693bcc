"""One picture of a search: whitened strain, spectrogram and statistic around the loudest trigger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from surrogate.core.errors import MissingExtraError
from surrogate.inference.detection.search import Looked, Search
from surrogate.signal.strain import Strain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BEFORE_S, _AFTER_S = 0.5, 0.25
_BAND_HZ = (20.0, 500.0)


def centre_of(found: Search) -> float:
    """Return the time, GPS s, of the loudest trigger, or of the loudest window where there is none."""
    if found.triggers:
        return found.triggers[0].gps
    scores = found.looked[0].scores
    return float(scores.gps[int(np.argmax(scores.logit))])


def draw(found: Search, path: Path) -> None:
    """Draw a search into a PNG file.

    Args:
        found: What was found.
        path: The file, whatever its suffix.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("A picture of a search", "report") from error
    centre, count = centre_of(found), len(found.looked)
    figure = Figure(figsize=(6.2 * count, 8.0), layout="constrained")
    grid = np.asarray(figure.subplots(3, count, squeeze=False))
    for column, looked in enumerate(found.looked):
        _strain(grid[0, column], looked, centre)
        _spectrogram(grid[1, column], looked, centre)
        _statistic(grid[2, column], looked, centre)
    figure.suptitle(f"Loudest of {len(found.triggers)} triggers at GPS {centre:.3f}")
    figure.savefig(path, format="png", dpi=120)


def _around(white: Strain, centre: float, before: float, after: float) -> Strain:
    first, stop = white.index(centre - before), white.index(centre + after)
    return white.part(max(first, 0), min(max(stop, 1), len(white.data)))


def _strain(axes: Axes, looked: Looked, centre: float) -> None:
    part = _around(looked.white, centre, _BEFORE_S, _AFTER_S)
    axes.plot(part.times() - centre, part.data, linewidth=0.7)
    axes.set(
        title=f"{looked.white.detector}: whitened strain", xlabel="seconds from the trigger", ylabel="noise deviations"
    )


def _spectrogram(axes: Axes, looked: Looked, centre: float) -> None:
    from scipy.signal import spectrogram

    part = _around(looked.white, centre, _BEFORE_S + 0.1, _AFTER_S + 0.1)
    length = round(part.rate / 12)
    frequencies, times, power = spectrogram(
        np.nan_to_num(part.data), part.rate, nperseg=length, noverlap=length - max(1, length // 16), nfft=4 * length
    )
    inside = (frequencies >= _BAND_HZ[0]) & (frequencies <= _BAND_HZ[1])
    places = times + part.start - centre
    axes.pcolormesh(places, frequencies[inside], np.sqrt(power[inside]), shading="nearest", rasterized=True)
    axes.set(
        title="amplitude of whitened strain", xlabel="seconds from the trigger", ylabel="frequency (Hz)",
        xlim=(-_BEFORE_S, _AFTER_S), yscale="log",
    )  # fmt: skip


def _statistic(axes: Axes, looked: Looked, centre: float) -> None:
    scores = looked.scores
    axes.plot(scores.gps - centre, scores.logit, ".", markersize=2)
    axes.axvline(0.0, linewidth=0.5, color="0.6", zorder=0)
    axes.set(title="statistic", xlabel="seconds from the trigger", ylabel="logit of a window")
