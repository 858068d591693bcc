"""Whether a run file, or another schema, has the columns that were declared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from surrogate.core.outcome import FailureKind
from surrogate.core.schema import RAGGED, Column, Coordinate, Schema
from surrogate.data.columns import length
from surrogate.data.run_file import RunFile

Finding = tuple[FailureKind, str]
"""What is wrong, and a sentence that names it."""

ROUNDING = 1e-12
"""Relative difference that is put down to rounding: numbers are named by 12 significant digits."""


def columns_differ(found: Schema, wanted: Schema) -> Iterator[Finding]:
    """Compare names, roles, dtypes, shapes, units and coordinates of two schemas; bounds and descriptions may differ.

    Args:
        found: What is there.
        wanted: What was declared.

    Yields:
        A finding for each difference.
    """
    there = {column.name: column for column in found.columns}
    for column in wanted.columns:
        if column.name in there:
            yield from _column_type(column, there[column.name])
        else:
            sentence = f"The {column.role} '{column.name}' is missing; there are {sorted(there)}."
            yield FailureKind.OUTPUT_MISSING, sentence
    declared = {column.name for column in wanted.columns}
    for name in there:
        if name not in declared:
            yield FailureKind.WRONG_SHAPE, f"Column '{name}' was found; only {sorted(declared)} are declared."
    for axis in wanted.coordinates:
        yield from _axis(axis, found.coordinate(axis.name))


def structure(run: RunFile, schema: Schema) -> Iterator[Finding]:
    """Compare columns and row counts of a run file with what was declared.

    Args:
        run: Content of the run file.
        schema: What was declared.

    Yields:
        A finding for each difference.
    """
    if run.samples == 0:
        yield FailureKind.OUTPUT_MISSING, "The run file holds no sample; at least one is expected."
    yield from columns_differ(run.schema, schema)
    for name, values in run.columns.items():
        if length(values) != run.samples:
            sentence = f"Column '{name}' has {length(values)} rows; {run.samples} are expected, one for each sample."
            yield FailureKind.WRONG_SHAPE, sentence
    if len(run.groups) != run.samples:
        yield FailureKind.WRONG_SHAPE, f"{len(run.groups)} group keys were found; {run.samples} are expected."


def _column_type(wanted: Column, found: Column) -> Iterator[Finding]:
    name = f"Column '{wanted.name}'"
    if found.role != wanted.role:
        yield FailureKind.WRONG_SHAPE, f"{name} was found among the {found.role}s; it is declared as {wanted.role}."
    if not _same_dtype(found.dtype, wanted.dtype):
        yield FailureKind.WRONG_SHAPE, f"{name} has the dtype {found.dtype}; {wanted.dtype} is expected."
    if found.shape != wanted.shape:
        sentence = (
            f"{name} has the shape {_shape_text(found.shape)} in a sample; {_shape_text(wanted.shape)} is expected."
        )
        yield FailureKind.WRONG_SHAPE, sentence
    if found.unit != wanted.unit:
        yield FailureKind.WRONG_SHAPE, f"{name} is in '{found.unit}'; '{wanted.unit}' is expected."


def _same_dtype(first: str, second: str) -> bool:
    """Return whether two dtype names mean the same type."""
    if "str" in (first, second):
        return first == second
    return np.dtype(first) == np.dtype(second)


def _shape_text(shape: Sequence[int]) -> str:
    """Return a shape for a sentence, such as `[any, 3]`, or `a single value`."""
    if not shape:
        return "of a single value"
    return "[" + ", ".join("any" if axis == RAGGED else str(axis) for axis in shape) + "]"


def _axis(wanted: Coordinate, found: Coordinate | None) -> Iterator[Finding]:
    name = f"Coordinate '{wanted.name}'"
    if found is None:
        yield FailureKind.OUTPUT_MISSING, f"{name} is missing."
    elif found.unit != wanted.unit:
        yield FailureKind.WRONG_SHAPE, f"{name} is in '{found.unit}'; '{wanted.unit}' is expected."
    elif len(found.values) != len(wanted.values):
        sentence = f"{name} has {len(found.values)} values; {len(wanted.values)} are expected."
        yield FailureKind.WRONG_SHAPE, sentence
    elif not np.allclose(found.array, wanted.array, rtol=ROUNDING, atol=0.0):
        place = int(np.argmax(np.abs(found.array - wanted.array)))
        sentence = f"{name} is {found.values[place]} at [{place}]; {wanted.values[place]} is expected."
        yield FailureKind.WRONG_SHAPE, sentence
