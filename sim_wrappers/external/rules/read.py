"""Finding the file of an output and reading it by its rule."""

from __future__ import annotations

import glob
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.external.output_rules import OutputRule
from sim_wrappers.external.parts import OUTPUT
from sim_wrappers.external.rules.hdf5 import read_dataset
from sim_wrappers.external.rules.netcdf import read_variable
from sim_wrappers.external.rules.numpy_files import read_array
from sim_wrappers.external.rules.parser import read_by_parser
from sim_wrappers.external.rules.text import read_columns, read_pattern
from surrogate.core.errors import SimulationError, nearest
from surrogate.core.schema import Column


def find_file(folder: Path, name: str, stdout: Path) -> Path:
    """Return a file of a finished run.

    Args:
        folder: Folder of the run.
        name: Its name, a pattern that exactly one file matches, or `stdout`.
        stdout: What the program printed.

    Raises:
        SimulationError: If it is missing, or several match.
    """
    if name == OUTPUT:
        return stdout
    if (folder / name).is_file():
        return folder / name
    found = sorted(path for path in folder.glob(name) if path.is_file()) if glob.has_magic(name) else []
    if len(found) == 1:
        return found[0]
    if found:
        raise SimulationError(
            f"{len(found)} files match '{name}' ({found[0].name}, {found[1].name}, …), and one was expected.",
            kind="output_unreadable",
        )
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    raise SimulationError(
        f"The program ended and left no {name}; there are {', '.join(left[:10]) or 'no files'}.{nearest(name, left)}",
        kind="output_missing",
    )


def read_output(rule: OutputRule, column: Column, folder: Path, stdout: Path) -> NDArray[np.float64]:
    """Read one output of a finished run.

    Args:
        rule: How.
        column: What is expected.
        folder: Folder of the run.
        stdout: What the program printed.

    Returns:
        `[*column.shape]` float64.

    Raises:
        SimulationError: If it cannot be read, or has another shape; the sentence names output and file.
    """
    try:
        values = _part(_read(rule, folder, stdout), rule)
    except SimulationError as error:
        raise SimulationError(f"Output '{column.name}': {error}", kind=error.kind) from error
    if _fits(values.shape, column.shape):
        return values
    # An axis of length 1 is the file's way of writing, not a difference.
    if not column.ragged and _squeezed(values.shape) == _squeezed(column.shape):
        return values.reshape(column.shape)
    declared = f"its axes {', '.join(column.dims)} give" if column.dims and rule.shape is None else "'shape' declares"
    raise SimulationError(
        f"Output '{column.name}': {rule.told} has the shape {list(values.shape)}, and {declared} {list(column.shape)}. "
        "Correct the declaration, or pick a part with 'index'.",
        kind="wrong_shape",
    )


def _read(rule: OutputRule, folder: Path, stdout: Path) -> NDArray[np.float64]:
    """Read everything that the rule names."""
    if rule.parser is not None:
        return read_by_parser(folder, rule.parser)
    path = find_file(folder, rule.file, stdout)
    name = "the program's output" if rule.file == OUTPUT else str(path.relative_to(folder))
    if rule.pattern is not None:
        return read_pattern(path.read_text(encoding="utf-8", errors="replace"), name, rule.pattern, rule.match)
    if rule.dataset is not None:
        return read_dataset(path, name, rule.dataset)
    if rule.variable is not None:
        return read_variable(path, name, rule.variable)
    wanted = rule.columns or ((rule.column,) if rule.column is not None else ())
    if wanted:
        numbers = read_columns(
            path, name, wanted, skip_rows=rule.skip_rows, delimiter=rule.delimiter, comment=rule.comment
        )
        return numbers if rule.columns else numbers[:, 0]
    return read_array(path, name, rule.array)


def _part(values: NDArray[np.float64], rule: OutputRule) -> NDArray[np.float64]:
    """Return the part that `index` picks.

    Raises:
        SimulationError: If the array has fewer axes or is too short.
    """
    if not rule.index:
        return values
    places = tuple(place if isinstance(place, int) else _slice(place) for place in rule.index)
    try:
        return np.asarray(values[places])
    except IndexError as error:
        raise SimulationError(
            f"{rule.told} has the shape {list(values.shape)}, and 'index' asks for {list(rule.index)}.",
            kind="wrong_shape",
        ) from error


def _slice(text: str) -> slice:
    return slice(*(int(part) if part.strip() else None for part in text.split(":")))


def _fits(found: tuple[int, ...], declared: tuple[int, ...]) -> bool:
    return len(found) == len(declared) and all(want in (-1, have) for have, want in zip(found, declared, strict=True))


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(length for length in shape if length != 1)
