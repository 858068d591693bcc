"""Pictures and tables of single samples: the best, the median and the worst against the simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column, SampleTable, Values
from surrogate.validation.metrics import scalar_inputs
from surrogate.validation.report.axes import Curves, curves_of
from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import BLUE, INK, ORANGE, PURPLE, RED, Picture, render
from surrogate.validation.report.words import axis_label, number, point, quantity, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sample that is shown.

    Attributes:
        rank: `best`, `median` or `worst`.
        row: Its row in the holdout.
        value: Its primary measure.
    """

    rank: str
    row: int
    value: float


def choose(values: NDArray[np.float64]) -> list[Chosen]:
    """Return best, median and worst sample by `[N]` numbers; fewer when they are the same one. NaN is worst."""
    order = np.argsort(np.where(np.isnan(values), np.inf, values), kind="stable")
    places = {"best": 0, "median": (len(order) - 1) // 2, "worst": len(order) - 1}
    chosen: list[Chosen] = []
    for rank, place in places.items():
        row = int(order[place])
        if row not in [entry.row for entry in chosen]:
            chosen.append(Chosen(rank, row, float(values[row])))
    return chosen


def chosen_text(data: ReportData, chosen: list[Chosen]) -> str:
    """Return which samples are shown, as a sentence."""
    result, measure = data.validation.design, data.validation.primary_measure
    units = {column.name: column.unit for column in result.truth.schema.inputs}
    parts = []
    for entry in chosen:
        where = point(scalar_inputs(result.truth, entry.row), units)
        value = quantity(entry.value, result.metrics[0].unit)
        parts.append(f"{entry.rank} ({value}): {where or result.truth.ids[entry.row]}")
    return f"Chosen by {title(measure)} among the holdout samples. {'; '.join(parts)}."


def fields(data: ReportData) -> list[Picture]:
    """Return one picture for each output that has axes."""
    result = data.validation.design
    chosen = choose(result.per_sample[data.validation.primary_measure])
    columns = [
        column
        for column in result.truth.schema.outputs
        if column.shape and column.dtype != "str" and column.name in result.prediction.mean
    ]
    return [_picture(data, column, chosen) for column in columns[:_COLUMNS]]


def _picture(data: ReportData, column: Column, chosen: list[Chosen]) -> Picture:
    """Return simulation, surrogate and difference of one output for the chosen samples."""
    from matplotlib.colors import LinearSegmentedColormap

    result = data.validation.design
    unit = result.metrics[0].unit
    colours = LinearSegmentedColormap.from_list("curves", (BLUE, PURPLE, RED, ORANGE))
    table = [_Sample.of(result.truth, result.prediction, column, entry.row) for entry in chosen]
    count = len(table[0].real.curves)
    shades = [BLUE] if count == 1 else [colours(place / (count - 1)) for place in range(count)]

    def draw(figure: Figure) -> None:
        grid = figure.subplots(2, len(chosen), squeeze=False, sharex="col", sharey="row", height_ratios=(2.2, 1))
        for place, (entry, sample) in enumerate(zip(chosen, table, strict=True)):
            upper, lower = grid[0, place], grid[1, place]
            sample.draw(upper, lower, shades)
            upper.set_title(f"{entry.rank}: {quantity(entry.value, unit)}")
            lower.set_xlabel(sample.real.x_label)
            lower.locator_params(axis="y", nbins=4)
        grid[0, 0].set_ylabel(axis_label(column.name, column.unit))
        grid[1, 0].set_ylabel("difference")
        _legend(figure, table[0].real.names, shades)

    size = {1: (5.0, 4.4), 2: (7.4, 4.3)}.get(len(chosen), (8.6, 4.3))
    middle = " Axes before the last two are shown in their middle." if len(column.shape) > 2 else ""
    norms = " Rows are shown by their norm." if column.ragged and len(column.shape) > 1 else ""
    return render(
        f"field-{_safe(column.name)}",
        draw,
        size=size,
        alt=(
            f"Curves of {column.name} for {', '.join(entry.rank for entry in chosen)} holdout samples: simulation, "
            "surrogate with 90 % interval, and their difference."
        ),
        caption=(
            f"{axis_label(column.name, column.unit)}: simulation (thin, solid), surrogate (dashed) with its calibrated "
            "90 % interval (shaded). Below, surrogate − simulation, same unit, with the interval around zero."
            f"{middle}{norms} {chosen_text(data, chosen)}"
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """One output of one sample: what was simulated, what the surrogate says."""

    real: Curves
    said: Curves
    lower: Curves
    upper: Curves

    @classmethod
    def of(cls, truth: SampleTable, prediction: Any, column: Column, row: int) -> _Sample:
        def cut(values: Values) -> Curves:
            return curves_of(truth.schema, column, values[row])

        return cls(
            cut(truth.columns[column.name]),
            cut(prediction.mean[column.name]),
            cut(prediction.lower[column.name]),
            cut(prediction.upper[column.name]),
        )

    def draw(self, upper: Axes, lower: Axes, shades: list[Any]) -> None:
        """Draw the curves above, the differences below."""
        x = self.real.x
        marks: dict[str, Any] = {"marker": "o", "ms": 3} if len(x) <= 12 else {}
        for place, shade in enumerate(shades[: len(self.real.curves)]):
            real, said = self.real.curves[place], self.said.curves[place]
            low, high = self.lower.curves[place], self.upper.curves[place]
            upper.fill_between(x, low, high, color=shade, alpha=0.25, lw=0)
            upper.plot(x, real, color=INK, lw=0.9, **marks)
            upper.plot(x, said, color=shade, lw=1.6, ls=(0, (3.5, 1.8)), **marks)
            lower.fill_between(x, low - said, high - said, color=shade, alpha=0.15, lw=0)
            lower.plot(x, said - real, color=shade, lw=1.1, **marks)
        lower.axhline(0, color=INK, lw=0.7)


def _legend(figure: Figure, names: tuple[str, ...], shades: list[Any]) -> None:
    """Write below the plots what the lines are."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=INK, lw=0.9, label="simulation"),
        Line2D([], [], color=shades[0], lw=1.6, ls=(0, (3.5, 1.8)), label="surrogate"),
    ]
    if len(names) > 1:
        handles += [Line2D([], [], color=shade, lw=2.5, label=name) for name, shade in zip(names, shades, strict=True)]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 7), handlelength=1.8)


def scalars(data: ReportData) -> list[dict[str, Any]]:
    """Return the scalar outputs of the chosen samples as rows of a table; empty when there are none."""
    result = data.validation.design
    columns = [
        column
        for column in result.truth.schema.outputs
        if not column.shape and column.dtype != "str" and column.name in result.prediction.mean
    ]
    rows = []
    for entry in choose(result.per_sample[data.validation.primary_measure]):
        for column in columns:
            said = float(np.asarray(result.prediction.mean[column.name])[entry.row])
            real = float(np.asarray(result.truth.columns[column.name])[entry.row])
            low = float(np.asarray(result.prediction.lower[column.name])[entry.row])
            high = float(np.asarray(result.prediction.upper[column.name])[entry.row])
            rows.append(
                {
                    "rank": entry.rank,
                    "output": column.name,
                    "unit": column.unit,
                    "simulation": number(real, 5),
                    "surrogate": number(said, 5),
                    "difference": number(said - real),
                    "interval": f"{number(low, 5)} to {number(high, 5)}",
                    "inside": low <= real <= high,
                }
            )
    return rows


def _safe(name: str) -> str:
    """Return a name that an identifier on the page can bear."""
    return "".join(letter if letter.isalnum() else "-" for letter in name)
