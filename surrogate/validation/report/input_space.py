"""Pictures of where errors are large: against every input, and over pairs of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.validation.report.axes import InputAxis, input_axes
from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import BLUE, INK, MUTED, RED, Picture, colour_bar, log_ticks, render
from surrogate.validation.report.words import axis_label, sentence, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = 6


def over_inputs(data: ReportData) -> list[Picture]:
    """Return error against every scalar input, and over pairs of them; empty when there is no scalar input."""
    validation = data.validation
    result = validation.design
    axes_found = input_axes(result.truth, data.space)
    if not axes_found:
        return []
    errors = result.per_sample[validation.primary_measure]
    label = axis_label(title(validation.primary_measure), result.metrics[0].unit)
    failed = _failures(data.card, axes_found)
    floor = errors[np.isfinite(errors) & (errors > 0)]
    errors = np.maximum(errors, 0.5 * floor.min()) if len(floor) else errors + 1e-12
    pictures = [_single(axes_found[:_PANELS], (errors, label), result.prediction.in_domain, failed)]
    numeric = [axis for axis in axes_found if not axis.words]
    pairs = list(combinations(numeric, 2))[:_PANELS]
    if pairs:
        pictures.append(_paired(pairs, errors, label, failed))
    return pictures


def _failures(card: Mapping[str, Any] | None, axes: Sequence[InputAxis]) -> dict[str, NDArray[np.float64]]:
    """Return where runs failed: input name → `[F]` values, or empty arrays."""
    points = (card or {}).get("failure_place", {}).get("points", ())
    names = [axis.name for axis in axes if not axis.words]
    usable = [point for point in points if all(isinstance(point.get(name), int | float) for name in names)]
    return {name: np.asarray([point[name] for point in usable], dtype=np.float64) for name in names}


def _single(
    inputs: Sequence[InputAxis],
    measured: tuple[NDArray[np.float64], str],
    inside: NDArray[np.bool_],
    failed: Mapping[str, NDArray[np.float64]],
) -> Picture:
    """Return error against each input; `measured` is the errors and their label."""
    errors, label = measured
    across = min(3, len(inputs))
    down = -(-len(inputs) // across)
    some_failed = any(len(values) for values in failed.values())

    def draw(figure: Figure) -> None:
        grid = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
        random = np.random.default_rng(0)
        for place, (axes, axis) in enumerate(zip(grid, inputs, strict=False)):
            beside = random.uniform(-0.15, 0.15, len(errors)) if axis.words else 0.0
            _panel(axes, axis.values + beside, errors, inside=inside, failed=failed.get(axis.name))
            axis.dress(axes)
            if place % across == 0:
                axes.set_ylabel(label)
        log_ticks(grid[0].yaxis)
        for axes in grid[len(inputs) :]:
            axes.set_axis_off()
        if some_failed or not inside.all():
            handles, labels = grid[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handletextpad=0.2)

    outside = int((~inside).sum())
    flagged = (
        f" {outside} of {len(errors)} are flagged as outside the training domain (open circles)." if outside else ""
    )
    ticks = " Ticks at the bottom are inputs at which runs failed." if some_failed else ""
    names = ", ".join(axis.name for axis in inputs)
    return render(
        "inputs",
        draw,
        size=(8.6, 2.9 * down + 0.2) if across > 1 else (5.2, 3.6),
        alt=f"{label} of every holdout sample against the inputs {names}.",
        title="Error over the input space",
        caption=f"{sentence(label)} of every holdout sample against each input.{flagged}{ticks}",
    )


def _panel(
    axes: Axes,
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    *,
    inside: NDArray[np.bool_],
    failed: NDArray[np.float64] | None,
) -> None:
    """Draw errors against the values of one input, with ticks where runs failed."""
    for mask, colour, face, name in (
        (inside, BLUE, BLUE, "holdout sample"),
        (~inside, RED, "none", "outside the domain"),
    ):
        axes.plot(values[mask], errors[mask], "o", ms=4, mec=colour, mfc=face, alpha=0.8, label=name)
    axes.set_yscale("log")
    if failed is not None and len(failed):
        height = np.full(len(failed), 0.02)
        across = axes.get_xaxis_transform()
        axes.plot(failed, height, "|", ms=9, color=RED, transform=across, label="a run failed here")


def _paired(
    pairs: Sequence[tuple[InputAxis, InputAxis]],
    errors: NDArray[np.float64],
    label: str,
    failed: Mapping[str, NDArray[np.float64]],
) -> Picture:
    """Return error as colour over pairs of inputs."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    across = min(3, len(pairs))
    down = -(-len(pairs) // across)
    colours = LinearSegmentedColormap.from_list("error", ("#6fb1e8", "#8a6fc4", "#d9822b", "#c22f2f"))
    low, high = float(np.nanmin(errors)), float(np.nanmax(errors))
    norm = LogNorm(low, max(high, low * 1.01))
    order = np.argsort(errors)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(down, across, squeeze=False).ravel()
        points: Any = None
        for axes, (one, other) in zip(grid, pairs, strict=False):
            points = axes.scatter(
                one.values[order],
                other.values[order],
                c=errors[order],
                norm=norm,
                cmap=colours,
                s=26,
                linewidths=0.4,
                edgecolors=MUTED,
            )
            if len(failed.get(one.name, ())):
                axes.plot(failed[one.name], failed[other.name], "x", ms=4, mew=1, color=INK, alpha=0.7)
            one.dress(axes)
            other.dress(axes, "y")
        for axes in grid[len(pairs) :]:
            axes.set_axis_off()
        colour_bar(figure, points, list(grid[: len(pairs)]), label)

    crosses = " Crosses are inputs at which runs failed." if any(len(values) for values in failed.values()) else ""
    return render(
        "pairs",
        draw,
        size=(8.6, 2.8 * down) if across > 1 else (5.6, 3.6),
        alt=f"{label} of every holdout sample as colour over pairs of inputs.",
        caption=f"The same errors as colour over pairs of inputs; a cluster of one colour is a weak region.{crosses}",
    )
