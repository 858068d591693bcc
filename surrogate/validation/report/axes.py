"""Inputs and outputs as axes of a plot: values, label, scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Column, Ragged, SampleTable, Schema
from surrogate.design.space import InputSpace
from surrogate.validation.report.words import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class InputAxis:
    """A scalar input of N samples.

    Attributes:
        name: Name of the input.
        label: Label with unit.
        values: `[N]` float64; the number of its word where it is a word.
        words: The words, or empty.
        logarithmic: Whether the axis is.
    """

    name: str
    label: str
    values: NDArray[np.float64]
    words: tuple[str, ...]
    logarithmic: bool

    def dress(self, axes: Axes, which: str = "x") -> None:
        """Set label and scale of an axis, `x` or `y`."""
        from surrogate.validation.report.figures import few_ticks, log_ticks

        axis = axes.xaxis if which == "x" else axes.yaxis
        axis.set_label_text(self.label)
        if self.words:
            axis.set_ticks(list(range(len(self.words))), labels=list(self.words))
        elif self.logarithmic:
            (axes.set_xscale if which == "x" else axes.set_yscale)("log")
            log_ticks(axis)
        else:
            few_ticks(axis)


def input_axes(table: SampleTable, space: InputSpace | None) -> list[InputAxis]:
    """Return the scalar inputs of a table as axes, in the schema's order."""
    record: dict[str, Any] = space.to_json() if space is not None else {}
    scales = {entry.get("name"): entry.get("scale") for entry in record.get("parameters", ())}
    found = []
    for column in table.schema.inputs:
        values = table.columns[column.name]
        if isinstance(values, Ragged) or column.shape:
            continue
        label = axis_label(column.name, column.unit)
        if column.dtype == "str":
            words = tuple(sorted(set(values.tolist())))
            places = {word: float(place) for place, word in enumerate(words)}
            numbers = np.asarray([places[word] for word in values.tolist()])
            found.append(InputAxis(column.name, label, numbers, words, False))
        else:
            numbers = np.asarray(values, dtype=np.float64)
            logarithmic = scales.get(column.name) == "log10" and bool((numbers > 0).all())
            found.append(InputAxis(column.name, label, numbers, (), logarithmic))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """One sample of an output as curves over its last axis.

    Attributes:
        x: `[L]` float64.
        x_label: Label of the horizontal axis, with unit.
        curves: `[C, L]` float64.
        names: What each curve is, such as `t = 0.5 s`; one empty text when there is one curve.
    """

    x: NDArray[np.float64]
    x_label: str
    curves: NDArray[np.float64]
    names: tuple[str, ...]


def curves_of(schema: Schema, column: Column, sample: NDArray[Any], most: int = 5) -> Curves:
    """Return one sample of an output, `[*shape]` with at least one axis, as at most `most` curves.

    Of three and more axes all but the last two stay in their middle; of the second last at most `most` places, evenly
    spread, are shown. Rows of a ragged sample with several components are shown by their norm.
    """
    values = np.asarray(sample, dtype=np.float64)
    dims = list(column.dims) if column.dims else [""] * values.ndim
    if column.ragged and values.ndim > 1:
        values = np.sqrt(np.sum(values**2, axis=tuple(range(1, values.ndim))))
        dims = dims[:1]
    while values.ndim > 2:
        values = values[values.shape[0] // 2]
        dims = dims[1:]
    x, x_label = _places(schema, dims[-1], values.shape[-1])
    if values.ndim == 1:
        return Curves(x, x_label, values[None], ("",))
    rows, _ = _places(schema, dims[0], len(values))
    unit = _unit(schema, dims[0])
    shown = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(int))
    names = tuple(f"{dims[0] or 'row'} = {rows[row]:.4g}{f' {unit}' if unit not in ('', '1') else ''}" for row in shown)
    return Curves(x, x_label, values[shown], names)


def _places(schema: Schema, dim: str, length: int) -> tuple[NDArray[np.float64], str]:
    """Return the places along an axis and its label; numbers from 0 where it has no coordinate."""
    axis = schema.coordinate(dim) if dim else None
    if axis is None or len(axis.values) != length:
        return np.arange(length, dtype=np.float64), dim or "index"
    return axis.array, axis_label(axis.name, axis.unit)


def _unit(schema: Schema, dim: str) -> str:
    axis = schema.coordinate(dim) if dim else None
    return axis.unit if axis is not None else "1"
