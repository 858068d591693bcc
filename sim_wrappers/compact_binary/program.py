"""The program that every rank runs: `python -m mpi4py -m sim_wrappers.compact_binary.program IN OUT`.

IN is the JSON that `inputs.py` writes, OUT the HDF5 that `outputs.py` reads. The ranks share the points of the run;
those that last longest are begun first, each by the rank that has least to do so far.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.compact_binary.waveforms import Binary, library_version, seconds_from, waveform
from surrogate.core.errors import SurrogateError
from surrogate.core.world import check_world_size
from surrogate.signal.waveform import Waveform


def binary_of(point: Mapping[str, float]) -> Binary:
    """Return the binary of a point."""
    return Binary(point["mass_1"], point["mass_2"], point.get("spin_1", 0.0), point.get("spin_2", 0.0))


def shares(points: Sequence[Mapping[str, float]], low_hz: float, ranks: int) -> list[list[int]]:
    """Return which points each rank integrates, `ranks` lists of numbers."""
    costs = [seconds_from(low_hz, binary_of(point)) + 0.5 for point in points]
    loads = [0.0] * ranks
    found: list[list[int]] = [[] for _ in range(ranks)]
    for number in sorted(range(len(points)), key=lambda entry: (-costs[entry], entry)):
        rank = loads.index(min(loads))
        loads[rank] += costs[number]
        found[rank].append(number)
    return found


def integrate(point: Mapping[str, float], case: Mapping[str, Any]) -> tuple[Waveform, float, float]:
    """Return one waveform as it is stored, its peak's time and its duration, s."""
    options = case["options"]
    whole = waveform(
        binary_of(point),
        approximant=options["approximant"],
        rate=options["sample_rate"],
        low_hz=options["low_hz"],
        distance_mpc=options["distance_mpc"],
    )
    peak_time, duration = whole.peak / whole.rate, len(whole.plus) / whole.rate
    if options["window_s"]:
        before = options["window_s"] - options["ringdown_s"]
        return whole.window(before, options["ringdown_s"], case["fade_s"]), peak_time, duration
    return whole, peak_time, duration


def _write(path: Path, case: Mapping[str, Any], found: Mapping[int, Any], seconds: float, ranks: int) -> None:
    """Write the result beside `path` and rename it; the attribute `complete` is set last."""
    import h5py

    points = case["points"]
    waves = [found[number][0] for number in range(len(points))]
    lengths = [len(wave.plus) for wave in waves]
    unfinished = path.with_name(f".{path.name}.part")
    with h5py.File(unfinished, "w") as file:
        file["h_plus"] = np.concatenate([wave.plus for wave in waves])
        file["h_cross"] = np.concatenate([wave.cross for wave in waves])
        file["offsets"] = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        file["peak_time"] = np.asarray([found[number][1] for number in range(len(points))])
        file["duration"] = np.asarray([found[number][2] for number in range(len(points))])
        for name in points[0]:
            file[f"inputs/{name}"] = np.asarray([point[name] for point in points])
        file["h_plus"].attrs["unit"] = file["h_cross"].attrs["unit"] = "1"
        file.attrs["sample_rate_hz"] = case["options"]["sample_rate"]
        file.attrs["distance_mpc"] = case["options"]["distance_mpc"]
        file.attrs["code_version"] = library_version()
        file.attrs["ranks"] = ranks
        file.attrs["seconds_per_waveform"] = seconds / len(points)
        file.attrs["complete"] = True
    unfinished.replace(path)


def main(arguments: Sequence[str]) -> int:
    """Integrate the points of one run on all ranks of the world; return the exit status."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    check_world_size(comm.size)
    source, target = (Path(argument) for argument in arguments)
    case = json.loads(source.read_text(encoding="utf-8"))
    mine = shares(case["points"], case["options"]["low_hz"], comm.size)[comm.rank]
    started = time.perf_counter()
    try:
        found = {number: integrate(case["points"][number], case) for number in mine}
    except SurrogateError as error:
        print(error, flush=True)
        comm.Abort(1)
        return 1
    gathered = comm.gather((time.perf_counter() - started, found))
    if gathered is not None:
        seconds = sum(spent for spent, _ in gathered)
        everything = {number: entry for _, part in gathered for number, entry in part.items()}
        _write(target, case, everything, seconds, comm.size)
        print(f"END OF RUN: {len(everything)} waveforms, {comm.size} ranks, {seconds / len(everything):.3f} s each")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
