"""Sifting a piece of a source: the samples that may be learned from, and for each other one the reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError, nearest
from surrogate.core.identity import canonical_float
from surrogate.core.molecules import structures_of
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.core.structure import problem
from surrogate.data.admission import judge, unfit_samples
from surrogate.data.columns import found_schema, storable
from surrogate.data.conform import structure
from surrogate.data.readers.protocol import Block, Piece
from surrogate.data.run_file import RunFile
from surrogate.design.parameters import ParameterSpace
from surrogate.design.space import InputSpace
from surrogate.design.structures import StructureSet

NAMED = 50
"""Refused samples of a piece that are named one by one; the others share one entry."""


@dataclass(frozen=True, slots=True)
class RefusedSamples:
    """Samples that may not be learned from.

    Attributes:
        row: Number of the sample in its source; −1 for several that share one entry; None for the whole piece.
        samples: How many samples.
        kind: What is wrong.
        reason: Sentences that say what is wrong.
        inputs: The point, where it has one.
    """

    row: int | None
    samples: int
    kind: FailureKind
    reason: str
    inputs: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Sifted:
    """What became of a piece.

    Attributes:
        kept: The samples that may be learned from, or None when there is none.
        left_out: Numbers of the others in their source.
        refused: Why.
    """

    kept: RunFile | None
    left_out: tuple[int, ...]
    refused: tuple[RefusedSamples, ...]

    @property
    def samples(self) -> int:
        """Number of samples that may be learned from."""
        return 0 if self.kept is None else self.kept.samples


def sift(block: Block, piece: Piece, schema: Schema, space: InputSpace) -> Sifted:
    """Judge the samples of a piece one by one.

    Args:
        block: The samples.
        piece: Where they stand in their source.
        schema: The declared columns with their bounds.
        space: The declared inputs.
    """
    try:
        run = _run_file(block, piece, schema)
    except DataError as error:
        return _all_refused(piece, FailureKind.OUTPUT_UNREADABLE, str(error), {})
    findings = list(structure(run, schema))
    if findings:
        reason = " ".join(sentence for _, sentence in findings[:4])
        return _all_refused(piece, findings[0][0], reason, _point(run, schema, 0) if piece.rows == 1 else {})
    if isinstance(space, StructureSet):
        run = replace(run, groups=tuple(space.group_key(group) for group in run.groups))
        strangers = dict(_impossible(run, space, piece.start))
    else:
        strangers = dict(_unknown_words(run, space, piece.start))
    unfit = unfit_samples(run, schema)
    unfit[[row - piece.start for row in strangers]] = True
    rows = np.flatnonzero(unfit).astype(np.int64)
    kept = None if len(rows) == run.samples else _take(run, np.flatnonzero(~unfit).astype(np.int64))
    refused = tuple(_reasons(run, schema, piece, rows, strangers))
    if kept is None and refused:
        first = refused[0]
        told = first.reason
        if piece.rows > 1:
            told = f"None of its {piece.rows} samples can be used. The first: {first.reason}"
        return _all_refused(piece, first.kind, told, first.inputs if piece.rows == 1 else {})
    return Sifted(kept, tuple(int(row) + piece.start for row in rows), refused)


def _all_refused(piece: Piece, kind: FailureKind, reason: str, inputs: dict[str, Any]) -> Sifted:
    refused = RefusedSamples(None, piece.rows, kind, reason, inputs)
    return Sifted(None, tuple(range(piece.start, piece.stop)), (refused,))


def _run_file(block: Block, piece: Piece, schema: Schema) -> RunFile:
    """Return a block as the run file that it would become; inputs are rounded as every point is."""
    declared = {column.name: column for column in schema.columns}
    columns = {name: storable(name, values, declared.get(name)) for name, values in block.columns.items()}
    for column in schema.inputs:
        values = columns.get(column.name)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            columns[column.name] = _rounded(values)
        elif isinstance(values, Ragged) and values.data.dtype.kind == "f":
            columns[column.name] = Ragged(_rounded(values.data), values.offsets)
    found = found_schema(schema, columns)
    groups = block.groups or ("",) * piece.rows
    return RunFile(Schema(found.columns, block.coordinates), piece.rows, columns, groups, {})


def _rounded(values: NDArray[Any]) -> NDArray[np.float64]:
    flat = [canonical_float(value) if np.isfinite(value) else value for value in values.ravel().tolist()]
    return np.asarray(flat, dtype=np.float64).reshape(values.shape)


def _take(run: RunFile, rows: NDArray[np.int64]) -> RunFile:
    """Return the samples at `rows`."""
    columns: dict[str, Values] = {
        name: values.take(rows) if isinstance(values, Ragged) else values[rows] for name, values in run.columns.items()
    }
    return RunFile(run.schema, len(rows), columns, tuple(run.groups[row] for row in rows), run.provenance)


def _impossible(run: RunFile, space: StructureSet, first: int) -> Iterator[tuple[int, str]]:
    """Yield number and sentence of samples whose structure is impossible, or foreign to the set."""
    for row, atoms in enumerate(structures_of(run.columns)):
        finite = np.isfinite(atoms.coordinates).all() and np.isfinite(atoms.cell).all()
        told = space.outside(atoms.point()) if finite else problem(atoms)
        if told is not None:
            yield first + row, f"Sample {first + row}: {told}"


def _unknown_words(run: RunFile, space: InputSpace, first: int) -> Iterator[tuple[int, str]]:
    """Yield number and sentence of samples whose categorical input has a word that was not declared."""
    if not isinstance(space, ParameterSpace):
        return
    for entry in space.parameters:
        if entry.scale == "categorical":
            for row, word in enumerate(np.asarray(run.columns[entry.name]).tolist()):
                if word not in entry.choices:
                    known = ", ".join(entry.choices)
                    told = f"Input '{entry.name}' of sample {first + row} is {word!r}; one of {known} is expected."
                    yield first + row, told + nearest(word, entry.choices)


def _reasons(
    run: RunFile, schema: Schema, piece: Piece, rows: NDArray[np.int64], strangers: dict[int, str]
) -> Iterator[RefusedSamples]:
    """Yield why samples are refused: the first ones by name, the others together."""
    named = rows if len(rows) <= NAMED else rows[: NAMED - 1]
    for row in named.tolist():
        number = piece.start + row
        one = judge(_take(run, np.asarray([row], dtype=np.int64)), schema, first=number)
        kind, reason = one.kind or FailureKind.OUT_OF_BOUNDS, one.reason
        if number in strangers:
            kind, reason = FailureKind.OUT_OF_BOUNDS, " ".join(filter(None, (strangers[number], reason)))
        yield RefusedSamples(number, 1, kind, reason, _point(run, schema, row))
    others = len(rows) - len(named)
    if others:
        last = judge(_take(run, rows[-1:]), schema, first=piece.start + int(rows[-1]))
        reason = (
            f"{others} further samples between {piece.start + int(rows[len(named)])} and {piece.start + int(rows[-1])} "
            f"were refused. The last: {last.reason or strangers.get(piece.start + int(rows[-1]), '')}"
        )
        yield RefusedSamples(-1, others, last.kind or FailureKind.OUT_OF_BOUNDS, reason, {})


def _point(run: RunFile, schema: Schema, row: int) -> dict[str, Any]:
    """Return the point of a sample, or an empty one when it is not made of finite numbers and words."""
    point: dict[str, Any] = {}
    for column in schema.inputs:
        values = run.columns.get(column.name)
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            return {}
        value = values[row].item()
        if isinstance(value, float) and not np.isfinite(value):
            return {}
        point[column.name] = value
    return point
