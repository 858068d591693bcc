"""The output of a simulation and its restarts: found in simfactory's layout, stitched together by time.

A simulation is a folder with output-0000, output-0001, …, one a restart. A restart begins at the last checkpoint, which
lies before the end of what its predecessor wrote: from its first time on, the later restart counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SimulationError

Array = NDArray[np.float64]
PSI4_FILE = "mp_psi4.h5"
_SEGMENT = re.compile(r"output-(\d{4})")
_ASCII = re.compile(r"mp_psi4_l(\d+)_m(-?\d+)_r([\d.]+)\.asc", re.IGNORECASE)
_DATASET = re.compile(r"l(\d+)_m(-?\d+)_r([\d.]+)")
_LISTED = 8


def segments(folder: Path) -> list[Path]:
    """Return the folders of a simulation and its restarts in order; the folder itself when it has none of them."""
    found = sorted(entry for entry in folder.glob("output-*") if _SEGMENT.fullmatch(entry.name) and entry.is_dir())
    return found or [folder]


def next_segment(folder: Path) -> str:
    """Return the name of the folder of the next restart."""
    numbers = [int(found[1]) for entry in folder.glob("output-*") if (found := _SEGMENT.fullmatch(entry.name))]
    return f"output-{max(numbers, default=-1) + 1:04d}"


def stitched(parts: Sequence[Array]) -> Array:
    """Return the rows of all restarts as one table, `[N, C]`, times in column 0 rising.

    Args:
        parts: `[N_i, C]` of each restart in order; empty ones are left out.

    Raises:
        SimulationError: If there is not a single row, or times fall inside of a restart.
    """
    whole: list[Array] = []
    for part in parts:
        if not len(part):
            continue
        if not np.all(np.diff(part[:, 0]) > 0):
            # A code that is restarted into the same file writes some times twice: the last row of each counts.
            _, last = np.unique(part[::-1, 0], return_index=True)
            part = part[len(part) - 1 - last]  # noqa: PLW2901
        whole = [earlier[earlier[:, 0] < part[0, 0]] for earlier in whole]
        whole.append(part)
    if not whole:
        raise SimulationError("The simulation left no rows of output.", kind="output_missing")
    return np.concatenate(whole)


def read_psi4(folder: Path, mode: tuple[int, int], radius: float) -> Array:
    """Return one mode of ψ₄ of a simulation and all its restarts, `[N, 3]` float64: time, real part, imaginary part.

    Args:
        folder: Of the simulation.
        mode: (l, m).
        radius: Where it was extracted, in the code's unit.

    Raises:
        SimulationError: If there is none, or a file is damaged.
    """
    parts: list[Array] = []
    known: set[str] = set()
    for segment in segments(folder):
        for path in _files(segment):
            found, names = _from_hdf5(path, mode, radius) if path.suffix == ".h5" else _from_text(path, mode, radius)
            known |= names
            if found is not None:
                parts.append(found)
                break
    if not parts:
        listed = sorted(known)
        told = ", ".join(listed[:_LISTED]) + (f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else "")
        raise SimulationError(
            f"The simulation left no ψ₄ of the mode {mode} at the radius {radius:g}; found was: {told or 'nothing'}.",
            kind="output_missing",
        )
    return stitched(parts)


def _files(segment: Path) -> list[Path]:
    """Return the files of a restart that may hold ψ₄, HDF5 first."""
    text = [path for path in segment.rglob("*.asc") if _ASCII.fullmatch(path.name)]
    return [*sorted(segment.rglob(PSI4_FILE)), *sorted(text)]


def _fits(found: re.Match[str], mode: tuple[int, int], radius: float) -> bool:
    # Radii are printed with two decimals.
    return (int(found[1]), int(found[2])) == mode and abs(float(found[3]) - radius) < 0.006


def _from_hdf5(path: Path, mode: tuple[int, int], radius: float) -> tuple[Array | None, set[str]]:
    try:
        with h5py.File(path, "r") as file:
            names = {str(name) for name in file}
            for name in sorted(names):
                found = _DATASET.fullmatch(name)
                if found is not None and _fits(found, mode, radius):
                    return _table(np.asarray(file[name][()], dtype=np.float64), path), names
    except (OSError, RuntimeError, KeyError, TypeError) as error:
        raise SimulationError(f"{path} cannot be read as HDF5: {error}.", kind="output_unreadable") from error
    return None, {name for name in names if name.startswith(f"l{mode[0]}_m{mode[1]}_")}


def _from_text(path: Path, mode: tuple[int, int], radius: float) -> tuple[Array | None, set[str]]:
    found = _ASCII.fullmatch(path.name)
    if found is None or not _fits(found, mode, radius):
        return None, {path.name}
    return _table(read_columns(path), path), {path.name}


def _table(table: Array, path: Path) -> Array:
    if table.ndim != 2 or table.shape[1] < 3 or not np.isfinite(table[:, :3]).all():
        raise SimulationError(
            f"{path} should hold rows of time, real and imaginary part, all finite; its shape is {list(table.shape)}.",
            kind="output_unreadable",
        )
    return table[:, :3]


def read_columns(path: Path) -> Array:
    """Return the rows of a text file of numbers, `[N, C]`; comments begin with #, a cut last line is left out.

    Raises:
        SimulationError: If it holds something else.
    """
    rows: list[list[float]] = []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError as error:
            raise SimulationError(f"{path}, line {number}: {error}.", kind="output_unreadable") from error
        if rows and len(row) != len(rows[0]):
            if number == len(lines):
                break  # the run was ended while it wrote
            raise SimulationError(
                f"{path}, line {number} has {len(row)} columns, and {len(rows[0])} came before.",
                kind="output_unreadable",
            )
        rows.append(row)
    return np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)
