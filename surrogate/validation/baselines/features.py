"""Inputs and outputs as plain tables, the same for every baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import Ragged, SampleTable, Schema, Values
from surrogate.design.space import InputSpace
from surrogate.models.domain import boxed, unit_coordinates


def why_no_table(train: SampleTable, *, outputs: bool = True, inputs: bool = True) -> str | None:
    """Return why inputs or outputs make no table of numbers, as a sentence, or None when they do."""
    if inputs and any(column.ragged for column in train.schema.inputs):
        return "An input differs in length from sample to sample, so that distances between inputs have no meaning."
    if outputs and any(column.ragged for column in train.schema.outputs):
        return "An output differs in length from sample to sample, so that samples cannot be averaged."
    if outputs and any(column.dtype == "str" for column in train.schema.outputs):
        return "An output is a word and no number."
    if len(train) < 2:
        return "There are fewer than two training samples."
    return None


@dataclass(frozen=True, slots=True, eq=False)
class InputFeatures:
    """Inputs as `[N, D]` numbers in which distances mean something.

    In a space with a unit cube these are the unit coordinates; elsewhere the numbers, standardised on train rows. A
    word becomes one column a choice, scaled such that two different words are a distance of 1 apart.

    Attributes:
        schema: The columns.
        space: The declared space, or None.
        choices: Text input → its words on train rows, sorted.
        centre: `[D]` or `[1]` float64, subtracted.
        scale: `[D]` or `[1]` float64, divided by.
    """

    schema: Schema
    space: InputSpace | None
    choices: dict[str, tuple[str, ...]]
    centre: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def fit(cls, train: SampleTable, space: InputSpace | None) -> InputFeatures:
        """Learn words and scales from train rows."""
        texts = [column.name for column in train.schema.inputs if column.dtype == "str"]
        choices = {name: tuple(sorted(set(np.asarray(train.columns[name]).ravel().tolist()))) for name in texts}
        plain = cls(train.schema, space, choices, np.zeros(1), np.ones(1))
        if boxed(space):
            return plain
        raw = plain(train.inputs)
        spread = raw.std(axis=0)
        return cls(train.schema, space, choices, raw.mean(axis=0), np.where(spread > 0, spread, 1.0))

    def __call__(self, inputs: Mapping[str, Values]) -> NDArray[np.float64]:
        """Return `[N, D]` float64."""
        return (self._raw(inputs) - self.centre) / self.scale

    def _raw(self, inputs: Mapping[str, Values]) -> NDArray[np.float64]:
        unit: dict[str, NDArray[np.float64]] = {}
        if self.space is not None and boxed(self.space):
            cube = unit_coordinates(self.space, inputs)
            if cube.shape[1] == len(self.space.columns):
                unit = {column.name: cube[:, [axis]] for axis, column in enumerate(self.space.columns)}
        parts = []
        for column in self.schema.inputs:
            values = np.asarray(inputs[column.name])
            rows = values.reshape(len(values), int(np.prod(values.shape[1:], dtype=np.int64)))
            if column.name in self.choices:
                words = (rows[:, :, None] == np.asarray(self.choices[column.name])).reshape(len(rows), -1)
                parts.append(words / np.sqrt(2.0))
            else:
                parts.append(unit.get(column.name, rows.astype(np.float64)))
        return np.concatenate(parts, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class OutputTable:
    """All numeric outputs side by side, `[N, E]`, each column divided by its own standard deviation.

    Attributes:
        names: Output columns, in order.
        shapes: Shape of a sample of each.
        scales: What each was divided by, in its unit.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    scales: tuple[float, ...]

    @classmethod
    def fit(cls, train: SampleTable) -> OutputTable:
        """Learn the scales from train rows."""
        names = tuple(column.name for column in train.schema.outputs)
        arrays = [_fixed(train.columns[name]) for name in names]
        spreads = [float(np.sqrt(np.mean((array - array.mean(axis=0)) ** 2))) for array in arrays]
        return cls(names, tuple(array.shape[1:] for array in arrays), tuple(spread or 1.0 for spread in spreads))

    def join(self, columns: Mapping[str, Values]) -> NDArray[np.float64]:
        """Return the outputs of N samples as `[N, E]` float64."""
        parts = [_fixed(columns[name]) / scale for name, scale in zip(self.names, self.scales, strict=True)]
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    def cut(self, table: NDArray[np.float64]) -> dict[str, Values]:
        """Return `[N, E]` as columns in their shapes and units."""
        columns: dict[str, Values] = {}
        start = 0
        for name, shape, scale in zip(self.names, self.shapes, self.scales, strict=True):
            stop = start + int(np.prod(shape, dtype=np.int64))
            columns[name] = (table[:, start:stop] * scale).reshape(len(table), *shape)
            start = stop
        return columns


def _fixed(values: Values) -> NDArray[np.float64]:
    """Return a column of fixed shape as float64."""
    if isinstance(values, Ragged):
        raise TypeError("a ragged column is no table")
    return np.asarray(values, dtype=np.float64)
