"""What the program yields: the schema, and the reader of its HDF5 file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from sim_wrappers.compact_binary.inputs import points as asked
from sim_wrappers.protocol import RunData
from surrogate.core.errors import SimulationError
from surrogate.core.schema import RAGGED, Column, Coordinate, Ragged, Schema, Values
from surrogate.signal.constants import MPC_M, SUN_M

OUTPUT_FILE = "output.h5"
FIELDS = ("h_plus", "h_cross")


def window(options: Mapping[str, Any]) -> tuple[int, int]:
    """Return samples before and after the peak; (0, 0) for whole waveforms."""
    if not options["window_s"]:
        return 0, 0
    after = round(options["ringdown_s"] * options["sample_rate"])
    return round(options["window_s"] * options["sample_rate"]) - after, after


def schema(options: Mapping[str, Any]) -> Schema:
    """Return h₊ and h× (`[T]`, or ragged for whole waveforms), the time of the peak and the length, float64."""
    before, after = window(options)
    length = before + after
    # No binary radiates more than G·M/(c²·D).
    most = 2.0 * options["mass_high"] * SUN_M / (options["distance_mpc"] * MPC_M)
    names = {"h_plus": "h₊", "h_cross": "h×"}
    fields = tuple(
        Column(
            name, "output", "1", shape=(length or RAGGED,), dims=("time",), low=-most, high=most,
            description=f"strain {names[name]} of a binary {options['distance_mpc']:g} Mpc away, seen along its axis",
        )
        for name in FIELDS
    )  # fmt: skip
    scalars = (
        Column("peak_time", "output", "s", low=0.0, description="from the beginning at low_hz to the peak of |h|"),
        Column("duration", "output", "s", low=0.0, description="from the beginning at low_hz to the ringdown's end"),
    )  # fmt: skip
    if not length:
        return Schema(fields + scalars)
    rate = options["sample_rate"]
    times = Coordinate("time", "s", tuple(number / rate for number in range(-before, after)))
    return Schema(fields + scalars, (times,))


def read(inputs: Mapping[str, Any], options: Mapping[str, Any], folder: Path) -> RunData:
    """Read a finished run.

    Args:
        inputs: The point that was asked for.
        options: Complete options.
        folder: Folder of the run.

    Raises:
        SimulationError: If the file is missing, unreadable or unfinished.
    """
    path = folder / OUTPUT_FILE
    if not path.exists():
        raise SimulationError(f"The program ended and left no {OUTPUT_FILE}.", kind="output_missing")
    try:
        with h5py.File(path, "r") as file:
            complete = bool(file.attrs.get("complete", False))
            outputs: dict[str, Values] = {
                name: np.asarray(file[name][()], dtype=np.float64) for name in ("peak_time", "duration")
            }
            offsets = np.asarray(file["offsets"][()], dtype=np.int64)
            for name in FIELDS:
                flat = np.asarray(file[name][()], dtype=np.float64)
                outputs[name] = Ragged(flat, offsets) if not options["window_s"] else flat.reshape(len(offsets) - 1, -1)
            points = {name: np.asarray(file["inputs"][name][()], dtype=np.float64) for name in file["inputs"]}
            notes = {
                "code": "lalsimulation", "code_version": str(file.attrs["code_version"]),
                "approximant": options["approximant"], "ranks": int(file.attrs["ranks"]),
                "seconds_per_waveform": float(file.attrs["seconds_per_waveform"]),
            }  # fmt: skip
    except (OSError, KeyError, ValueError) as error:
        raise SimulationError(
            f"{OUTPUT_FILE} cannot be read as the program writes it ({error}).", kind="output_unreadable"
        ) from error
    if not complete:
        raise SimulationError(f"{OUTPUT_FILE} lacks the mark of a finished run.", kind="no_end_marker")
    samples = len(offsets) - 1
    several: dict[str, Values] = {}
    if samples > 1:  # admission compares single points only
        wanted = asked(inputs, options)
        if any([point[name] for point in wanted] != points[name].tolist() for name in inputs):
            raise SimulationError(f"{OUTPUT_FILE} holds other binaries than were asked for.", kind="wrong_inputs")
        several = {name: points[name] for name in inputs}
    return RunData(outputs, samples=samples, inputs=several, notes=notes)
