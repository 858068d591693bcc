"""What the solver yields: the schema, and the reader of its HDF5 file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from sim_wrappers.buckley_leverett import OUTPUT_CELLS
from sim_wrappers.buckley_leverett.inputs import PVI
from sim_wrappers.protocol import RunData
from surrogate.core.errors import SimulationError
from surrogate.core.schema import Column, Coordinate, Schema

OUTPUT_FILE = "output.h5"
_MASS_TOLERANCE = 1e-10
"""Largest error of the water balance that is taken for rounding, in pore volumes."""


def schema() -> Schema:
    """Return the one output: S, `[10, 256]` float64, water saturation without unit."""
    centres = tuple((index + 0.5) / OUTPUT_CELLS for index in range(OUTPUT_CELLS))
    saturation = Column(
        "S",
        "output",
        shape=(len(PVI), OUTPUT_CELLS),
        dims=("pvi", "x"),
        low=0.0,
        high=1.0,
        description="water saturation, average over each cell",
    )
    return Schema((saturation,), (Coordinate("pvi", "1", PVI), Coordinate("x", "1", centres)))


def read(inputs: Mapping[str, Any], folder: Path) -> RunData:
    """Read a finished run.

    Args:
        inputs: `Swc` and `Sor` bound what is physical in this run.
        folder: Folder of the run.

    Raises:
        SimulationError: If the file is missing, unreadable or unfinished, or holds what physics forbids.
    """
    path = folder / OUTPUT_FILE
    if not path.exists():
        raise SimulationError(f"The solver ended and left no {OUTPUT_FILE}.", kind="output_missing")
    try:
        with h5py.File(path, "r") as file:
            complete = bool(file.attrs.get("complete", False))
            saturation = np.asarray(file["saturation"][()], dtype=np.float64)
            produced = np.asarray(file["produced"][()], dtype=np.float64)
            notes = {
                "code": "buckley_leverett",
                "code_version": str(file.attrs["code_version"]),
                "ranks": int(file.attrs["ranks"]),
                "steps": int(file.attrs["steps"]),
                "mass_error_pore_volumes": float(file.attrs["mass_error"]),
                "solver_seconds": float(file.attrs["solver_seconds"]),
                "water_produced_pore_volumes": produced.tolist(),
            }
    except (OSError, KeyError) as error:
        raise SimulationError(
            f"{OUTPUT_FILE} cannot be read as the solver writes it ({error}).", kind="output_unreadable"
        ) from error
    if not complete:
        raise SimulationError(f"{OUTPUT_FILE} lacks the mark of a finished run.", kind="no_end_marker")
    _check_physics(saturation, notes["mass_error_pore_volumes"], float(inputs["Swc"]), 1.0 - float(inputs["Sor"]))
    return RunData({"S": saturation[np.newaxis]}, notes=notes)


def _check_physics(saturation: NDArray[np.float64], mass_error: float, low: float, high: float) -> None:
    """Refuse a field that leaves [Swc, 1 − Sor] or a run that lost water.

    Raises:
        SimulationError: With the kind `out_of_bounds` or `not_physical`.
    """
    if not np.isfinite(saturation).all():
        return  # admission says so, with its own kind
    smallest, largest = float(saturation.min()), float(saturation.max())
    if smallest < low or largest > high:
        raise SimulationError(
            f"The saturation ranges over [{smallest:.6g}, {largest:.6g}] and must stay in "
            f"[Swc, 1 − Sor] = [{low:.6g}, {high:.6g}].",
            kind="out_of_bounds",
        )
    if not mass_error <= _MASS_TOLERANCE:
        raise SimulationError(
            f"Water injected, produced and in place differ by {mass_error:.3g} pore volumes, more than "
            f"{_MASS_TOLERANCE:.0e}.",
            kind="not_physical",
        )
