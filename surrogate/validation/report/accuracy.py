"""Pictures of accuracy: parity, and how errors are distributed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column
from surrogate.models.values import flat
from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    RED,
    Picture,
    colour_bar,
    log_ticks,
    render,
)
from surrogate.validation.report.words import axis_label, number, quantity, title
from surrogate.validation.validation import StratumResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DENSE = 3000
_PANELS = 6
_SHARES = {"median": 0.5, "p95": 0.95, "max": 1.0}
_BASELINE_COLOURS = (ORANGE, PURPLE, GREY)


def parity(data: ReportData) -> Picture | None:
    """Return surrogate against simulation for every element of every numeric output, or None when there is none."""
    result = data.validation.design
    pairs = _pairs(result)
    if not pairs:
        return None
    alone = len(pairs) == 1
    across = 2 if alone else min(3, len(pairs))
    down = -(-len(pairs) // across)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(down, across, squeeze=False).ravel()
        for axes, (column, real, said) in zip(grid, pairs, strict=False):
            _parity_panel(figure, axes, real, said)
            axes.set_title(axis_label(column.name, column.unit))
            axes.set_xlabel("simulation")
            axes.set_ylabel("surrogate")
        if alone:
            figure.set_layout_engine("constrained", wspace=0.08)
            _difference_panel(grid[1], pairs[0][2] - pairs[0][1], axis_label(pairs[0][0].name, pairs[0][0].unit))
        for axes in grid[max(len(pairs), 2 if alone else 0) :]:
            axes.set_axis_off()

    scores = "; ".join(f"{column.name}: {_scores(real, said, column.unit)}" for column, real, said in pairs)
    beside = (
        " Right: how often which difference occurs; the outermost bars hold what lies farther out (0.2 %)."
        if alone
        else ""
    )
    size = {2: (8.6, 3.9 * down)}.get(across, (8.6, 2.9 * down))
    return render(
        "parity",
        draw,
        size=size,
        alt=f"Parity plot of surrogate against simulation on the holdout. {scores}.",
        title="Parity",
        caption=(
            f"Every element of {len(result.truth)} holdout samples, none of which was seen in training or calibration; "
            f"the line is perfect agreement. {scores}.{beside}"
        ),
    )


def _pairs(result: StratumResult) -> list[tuple[Column, NDArray[np.float64], NDArray[np.float64]]]:
    """Return the first numeric outputs, each with what was simulated and what was predicted, all elements flat."""
    columns = [
        column
        for column in result.truth.schema.outputs
        if column.dtype != "str" and column.name in result.prediction.mean
    ]
    return [
        (
            column,
            np.asarray(flat(result.truth.columns[column.name]), dtype=np.float64).ravel(),
            np.asarray(flat(result.prediction.mean[column.name]), dtype=np.float64).ravel(),
        )
        for column in columns[:_PANELS]
    ]


def _parity_panel(figure: Figure, axes: Axes, real: NDArray[np.float64], said: NDArray[np.float64]) -> None:
    """Draw one parity plot: points, or their density where there are many."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    keep = np.isfinite(real) & np.isfinite(said)
    real, said = real[keep], said[keep]
    low, high = float(min(real.min(), said.min())), float(max(real.max(), said.max()))
    pad = 0.03 * ((high - low) or 1.0)
    ends = (low - pad, high + pad)
    if len(real) > _DENSE:
        counts, x, y = np.histogram2d(real, said, bins=90, range=(ends, ends))
        shown = np.ma.masked_equal(counts.T, 0)
        colours = LinearSegmentedColormap.from_list("density", ("#a9cdee", BLUE, PURPLE, "#b8325f"))
        mesh = axes.pcolormesh(x, y, shown, norm=LogNorm(1, max(2.0, counts.max())), cmap=colours, rasterized=True)
        colour_bar(figure, mesh, axes, "elements in a cell")
    else:
        axes.plot(real, said, "o", ms=3.2, mec="none", color=BLUE, alpha=0.65)
    axes.plot(ends, ends, color=INK, lw=0.8, ls=(0, (4, 3)))
    axes.set_xlim(ends)
    axes.set_ylim(ends)
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)


def _difference_panel(axes: Axes, gaps: NDArray[np.float64], label: str) -> None:
    """Draw how often which difference occurs; differences beyond the 99.8 % in the middle are counted at the ends."""
    gaps = gaps[np.isfinite(gaps)]
    reach = float(np.quantile(np.abs(gaps), 0.998)) or 1.0
    axes.hist(np.clip(gaps, -reach, reach), bins=61, range=(-reach, reach), color=BLUE, alpha=0.85)
    axes.axvline(0, color=INK, lw=0.8)
    axes.set_yscale("log")
    log_ticks(axes.yaxis)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(f"surrogate − simulation, {label}")
    axes.set_ylabel("elements")


def _scores(real: NDArray[np.float64], said: NDArray[np.float64], unit: str) -> str:
    """Return root mean square error and coefficient of determination as text."""
    gap = said - real
    rms = float(np.sqrt(np.mean(gap**2)))
    spread = float(np.sum((real - real.mean()) ** 2))
    suffix = "" if unit in ("", "1") else f" {unit}"
    text = f"root mean square error {number(rms)}{suffix}"
    return f"{text}, R² = {1 - float(np.sum(gap**2)) / spread:.5f}" if spread > 0 else text


def distribution(data: ReportData) -> Picture:
    """Return the share of holdout samples below each error, beside the baselines and the gate's demands."""
    validation = data.validation
    measure = validation.primary_measure
    ours = validation.design.per_sample[measure]
    unit = validation.design.metrics[0].unit
    others = [entry for entry in validation.baselines if entry.per_sample is not None]
    demands = _demands(data, measure)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        smallest = np.inf
        for entry, colour in zip(others, _BASELINE_COLOURS, strict=False):
            smallest = min(smallest, _steps(axes, np.asarray(entry.per_sample), colour, entry.title, 1.3))
        smallest = min(smallest, _steps(axes, ours, BLUE, "this surrogate", 2.4))
        left = 0.8 * smallest
        for share, bound, words in demands:
            # A demand far below every error would squeeze the curves; the table of the gate has it.
            if not np.isfinite(smallest) or bound < left / 30:
                continue
            left = min(left, 0.8 * bound)
            axes.plot([bound], [share], marker="<", ms=7, color=RED, ls="none", clip_on=False, zorder=5)
            note: dict[str, Any] = {"xytext": (7, -3), "textcoords": "offset points", "fontsize": 8, "va": "center"}
            axes.annotate(words, (bound, share), color=RED, **note).set_in_layout(False)
        if np.isfinite(smallest):
            axes.set_xscale("log")
            axes.set_xlim(left=left)
            log_ticks(axes.xaxis)
        axes.set_ylim(0, 1.03)
        axes.set_xlabel(axis_label(title(measure), unit))
        axes.set_ylabel("share of holdout samples")
        axes.legend(loc="upper left")

    words = ", ".join(
        [f"this surrogate's median is {quantity(float(np.median(ours)), unit)}"]
        + [f"{entry.title}'s {quantity(float(np.median(np.asarray(entry.per_sample))), unit)}" for entry in others]
    )
    note = " A triangle marks a demand of the gate: the curve must pass to its left." if demands else ""
    return render(
        "distribution",
        draw,
        size=(8.6, 3.5),
        alt=f"Cumulative distribution of {title(measure)} over holdout samples: {words}.",
        title="How errors are distributed",
        caption=(
            f"Share of holdout samples whose {title(measure)} is at most the value on the axis; further left is better."
            f" All were judged on the same {len(ours)} samples: {words}.{note}"
        ),
    )


def _steps(axes: Axes, values: NDArray[np.float64], colour: str, label: str, width: float) -> float:
    """Draw an empirical distribution; return the smallest positive value."""
    numbers = np.sort(values[np.isfinite(values)])
    if len(numbers) == 0:
        return float("inf")
    shares = np.arange(1, len(numbers) + 1) / len(values)
    positive = numbers[numbers > 0]
    floor = float(positive.min()) if len(positive) else 1e-12
    axes.step(np.maximum(numbers, 0.5 * floor), shares, where="post", color=colour, lw=width, label=label)
    return floor


def _demands(data: ReportData, measure: str) -> list[tuple[float, float, str]]:
    """Return share, bound and words of the gate's upper bounds on quantiles of the primary measure."""
    gate: Mapping[str, Mapping[str, float]] = data.verdict.gate if data.verdict is not None else {}
    return [
        (share, bounds["max"], f"{name} ≤ {bounds['max']:g}")
        for name, share in _SHARES.items()
        if (bounds := gate.get(f"{measure}_{name}")) is not None and "max" in bounds
    ]
