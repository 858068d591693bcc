"""Admission: the checks that a run's file passes before it may be learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SurrogateError
from surrogate.core.identity import canonical
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column, Ragged, Schema, Values
from surrogate.data.conform import ROUNDING, Finding, structure
from surrogate.data.run_file import RunFile, read_run_file
from surrogate.data.samples import content_hashes

PhysicsCheck = Callable[[RunFile], str | None]
"""A simulator's own check: returns None, or a sentence that says what is not physical, where, and what was expected."""

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Admission:
    """What admission says about a run file.

    Attributes:
        ok: Whether its samples may be learned from.
        samples: Number of samples in it; 0 when it could not be read.
        kind: What is wrong first of all, or None.
        reason: Sentences that say what is wrong; empty when nothing is.
        content: Content hash of each sample (hex, 64 characters); empty when not admitted.
    """

    ok: bool
    samples: int
    kind: FailureKind | None
    reason: str
    content: tuple[str, ...]


def admit(
    path: Path,
    schema: Schema,
    *,
    expected_inputs: Mapping[str, Any] | None = None,
    checks: Sequence[PhysicsCheck] = (),
) -> Admission:
    """Judge a run file. Bad data is an answer here, never an exception.

    Args:
        path: The run file.
        schema: The inputs and outputs that were declared, with their bounds.
        expected_inputs: Input name → canonical value that was asked for; inputs that the run itself varies from
            sample to sample are left out.
        checks: A simulator's own checks, called only when everything else is as declared.
    """
    try:
        run = read_run_file(path)
    except SurrogateError as error:
        kind = FailureKind.OUTPUT_UNREADABLE if path.exists() else FailureKind.OUTPUT_MISSING
        return Admission(False, 0, kind, str(error), ())
    return judge(run, schema, expected_inputs=expected_inputs, checks=checks)


def judge(
    run: RunFile,
    schema: Schema,
    *,
    expected_inputs: Mapping[str, Any] | None = None,
    checks: Sequence[PhysicsCheck] = (),
    first: int = 0,
) -> Admission:
    """Judge the content of a run file.

    Args:
        run: The content.
        schema: As for `admit`.
        expected_inputs: As for `admit`.
        checks: As for `admit`.
        first: Number by which sentences call the first sample.
    """
    findings = list(structure(run, schema))
    if not findings:
        asked = expected_inputs or {}
        findings = [*_values(run, schema, asked, first), *_inputs(run, schema, asked)]
    if not findings:
        findings = [finding for check in checks for finding in _physics(run, check)]
    if findings:
        return Admission(False, run.samples, findings[0][0], _summary(findings), ())
    return Admission(True, run.samples, None, "", content_hashes(schema, run.columns, run.samples))


def _summary(findings: Sequence[Finding]) -> str:
    reason = " ".join(sentence for _, sentence in findings[:_SHOWN])
    more = len(findings) - _SHOWN
    return f"{reason} There is more of this sort: {more} further findings." if more > 0 else reason


def _values(run: RunFile, schema: Schema, asked: Mapping[str, Any], first: int) -> Iterator[Finding]:
    """Find numbers that are not finite, or out of the declared bounds.

    An input that was asked for is compared with the request instead: a point beyond the space may be asked for.
    """
    for column in schema.columns:
        values = run.columns[column.name]
        data = values.data if isinstance(values, Ragged) else values
        if data.dtype.kind in "fc":
            bad = ~np.isfinite(data)
            if bad.any():
                sentence = _bad_value(column, values, bad, "only finite numbers are expected", first)
                yield FailureKind.NOT_FINITE, sentence
                continue
        if data.dtype.kind in "iuf" and column.name not in asked:
            yield from _bounds(column, values, data, first)


def limits(column: Column) -> tuple[float, float]:
    """Return the bounds of a column, infinite for none; rounding of their last digits is not held against a value."""
    low, high = column.low, column.high
    width = high - low if low is not None and high is not None else abs(low if low is not None else high or 0.0)
    slack = ROUNDING * width
    return (-np.inf if low is None else low - slack, np.inf if high is None else high + slack)


def unfit_samples(run: RunFile, schema: Schema) -> NDArray[np.bool_]:
    """Return which samples have a number that is not finite or out of its bounds, `[N]` bool.

    Args:
        run: Content of a run file whose columns are as declared.
        schema: The columns with their bounds.
    """
    unfit = np.zeros(run.samples, dtype=np.bool_)
    for column in schema.columns:
        values = run.columns[column.name]
        data = values.data if isinstance(values, Ragged) else values
        if data.dtype.kind not in "iufc":
            continue
        bad = ~np.isfinite(data)
        if data.dtype.kind != "c":
            low, high = limits(column)
            bad |= (data < low) | (data > high)
        rows = bad.reshape(len(bad), -1).any(axis=1) if bad.size else np.zeros(len(bad), dtype=np.bool_)
        if isinstance(values, Ragged):
            unfit[np.searchsorted(values.offsets, np.flatnonzero(rows), side="right") - 1] = True
        else:
            unfit |= rows
    return unfit


def _bounds(column: Column, values: Values, data: NDArray[Any], first: int) -> Iterator[Finding]:
    """Compare with the bounds."""
    least, most = limits(column)
    if (bad := data < least).any():
        sentence = _bad_value(column, values, bad, f"at least {column.low:g} is expected", first)
        yield FailureKind.OUT_OF_BOUNDS, sentence
    if (bad := data > most).any():
        sentence = _bad_value(column, values, bad, f"at most {column.high:g} is expected", first)
        yield FailureKind.OUT_OF_BOUNDS, sentence


def _bad_value(column: Column, values: Values, bad: NDArray[np.bool_], expected: str, first: int) -> str:
    place = tuple(int(axis) for axis in np.argwhere(bad)[0])
    data = values.data if isinstance(values, Ragged) else values
    value = data[place]
    if isinstance(values, Ragged):
        sample = int(np.searchsorted(values.offsets, place[0], side="right")) - 1
        place = (sample, place[0] - int(values.offsets[sample]), *place[1:])
    where = f" at {list(place[1:])}" if len(place) > 1 else ""
    unit = "" if column.unit == "1" else f" {column.unit}"
    count = int(bad.sum())
    others = f" ({count} such values)" if count > 1 else ""
    return f"Column '{column.name}' of sample {first + place[0]} is {value:.6g}{unit}{where}{others}; {expected}."


def _inputs(run: RunFile, schema: Schema, expected: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare the stored inputs with those that were asked for."""
    inputs = {column.name: column for column in schema.inputs}
    for name, wanted in expected.items():
        if name not in inputs:
            yield FailureKind.WRONG_INPUTS, f"The request has an input '{name}'; the schema has {sorted(inputs)}."
            continue
        target = _stored_form(wanted, inputs[name])
        values = run.columns[name]
        for sample in range(run.samples):
            found = canonical(np.asarray(values[sample]))
            if found != target:
                yield (
                    FailureKind.WRONG_INPUTS,
                    f"Input '{name}' of sample {sample} is {_short(found)}; {_short(target)} was asked for.",
                )
                break


def _stored_form(value: Any, column: Column) -> Any:
    """Return a canonical value as it looks after it was stored in the column's dtype."""
    if column.dtype == "str":
        return canonical(np.asarray(value))
    try:
        return canonical(np.asarray(value).astype(column.dtype))
    except (TypeError, ValueError):
        return canonical(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _physics(run: RunFile, check: PhysicsCheck) -> Iterator[Finding]:
    """Call one of the simulator's own checks; what it cannot compute is a finding, too."""
    try:
        sentence = check(run)
    except (ArithmeticError, LookupError, TypeError, ValueError, SurrogateError) as error:
        name = getattr(check, "__name__", type(check).__name__)
        sentence = f"The check '{name}' could not be computed: {type(error).__name__}: {error}."
    if sentence:
        yield FailureKind.NOT_PHYSICAL, sentence
