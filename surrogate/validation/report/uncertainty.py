"""Pictures of honesty: whether intervals cover what they promise, and whether a large one means a large error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from surrogate.models.calibration import NOMINAL
from surrogate.models.values import flat, sample_means
from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import INK, MUTED, SERIES, Picture, empty, log_ticks, render
from surrogate.validation.report.words import axis_label, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OUTPUTS = 6


def calibration(data: ReportData) -> Picture | None:
    """Return nominal against observed coverage beside interval width against error; None without calibrated outputs."""
    validation = data.validation
    curves = validation.curves[:_OUTPUTS]
    if not curves:
        return None
    output = curves[0].output
    width, error = _width_and_error(data, output)
    column = validation.design.truth.schema.column(output)
    usable = np.isfinite(width) & np.isfinite(error) & (width > 0) & (error > 0)
    varied = usable.sum() > 4 and np.ptp(width[usable]) > 0 and np.ptp(error[usable]) > 0
    rank = float(spearmanr(width[usable], error[usable]).statistic) if varied else float("nan")

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        left.plot([0, 1], [0, 1], color=INK, lw=0.8, ls=(0, (4, 3)))
        for curve, colour in zip(curves, SERIES, strict=False):
            if np.isfinite(curve.low).all():
                left.fill_between(curve.nominal, curve.low, curve.high, color=colour, alpha=0.2, lw=0)
            left.plot(curve.nominal, curve.observed, color=colour, marker="o", ms=3, label=curve.output)
        left.axvline(NOMINAL, color=MUTED, lw=0.8, ls=":")
        left.set_xlim(0, 1)
        left.set_ylim(0, 1)
        left.set_aspect("equal")
        left.set_xlabel("nominal coverage of the interval")
        left.set_ylabel("observed on the holdout")
        left.legend(loc="upper left")
        _width_panel(right, width[usable], error[usable], axis_label(output, column.unit))

    at = [f"{curve.output} {number(100 * curve.observed[curve.nominal.index(NOMINAL)])} %" for curve in curves]
    ranking = (
        f" Right: half width of the 90 % interval against error of {output}, each the root mean square over a sample; "
        f"below the line the error is smaller than the half width. Spearman's rank correlation is {number(rank, 2)}: 1 "
        "would mean that a wider interval always goes with a larger error."
        if np.isfinite(rank)
        else ""
    )
    return render(
        "calibration",
        draw,
        size=(8.6, 3.9),
        alt=f"Nominal against observed coverage; the 90 % interval covers {', '.join(at)} of the holdout's elements.",
        title="Do the intervals hold what they promise?",
        caption=(
            "Left: share of elements inside the interval, averaged per sample, against the nominal coverage; intervals "
            f"were calibrated on {data.validation.counts.get('tune', 0)} tune samples and are judged here on the "
            f"holdout. Shaded: 95 % bootstrap interval. At nominal 90 %: {', '.join(at)}.{ranking}"
        ),
    )


def _width_and_error(data: ReportData, output: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return root mean square half width and error of each sample, `[N]` each, in the output's unit."""
    result = data.validation.design
    like = result.truth.columns[output]
    said = flat(result.prediction.mean[output])
    half = (flat(result.prediction.upper[output]) - flat(result.prediction.lower[output])) / 2
    return np.sqrt(sample_means(like, half**2)), np.sqrt(sample_means(like, (said - flat(like)) ** 2))


def _width_panel(axes: Axes, width: NDArray[np.float64], error: NDArray[np.float64], label: str) -> None:
    """Draw error against half width."""
    if len(width) < 2:
        empty(axes, "Too few samples with an interval of positive width.")
        return
    axes.plot(width, error, "o", ms=4, mec="none", color=SERIES[0], alpha=0.75)
    ends = [float(min(width.min(), error.min())), float(max(width.max(), error.max()))]
    axes.plot(ends, ends, color=INK, lw=0.8, ls=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_yscale("log")
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    axes.set_xlabel(f"half width of the 90 % interval, {label}")
    axes.set_ylabel(f"error, {label}")
