"""The solver, and the program that every rank runs: `python -m mpi4py -m sim_wrappers.buckley_leverett.solver IN OUT`.

IN is the JSON that `inputs.py` writes, OUT the HDF5 that `outputs.py` reads. Kept light on purpose: a run of 256 cells
takes less time than its imports.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.buckley_leverett import OUTPUT_CELLS, VERSION
from sim_wrappers.buckley_leverett.domain import Alone, Domain, ghost_cells, share
from sim_wrappers.buckley_leverett.flux import inflection, largest_speed
from surrogate.core.world import check_world_size

if TYPE_CHECKING:
    from mpi4py import MPI

Array = NDArray[np.float64]

STEPS_PER_BLOCK = 16
"""Time steps between two looks at the CFL condition. The range of saturations never widens, so the bound stays true."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """What the ranks computed; on ranks other than 0 `saturation` is empty.

    Attributes:
        saturation: `[T, cells]` float64, normalised saturation at each time.
        steps: Time steps that were taken.
        injected: `[T]` float64, normalised pore volumes that flowed in.
        produced: `[T]` float64, of the injected phase, normalised pore volumes that flowed out.
        mass_error: `[T]` float64, ∫s dx − (injected − produced), normalised pore volumes.
    """

    saturation: Array
    steps: int
    injected: Array
    produced: Array
    mass_error: Array


def solve(
    comm: MPI.Comm | Alone, mobility_ratio: float, times: Sequence[float], *, cells: int, options: Mapping[str, Any]
) -> Solution:
    """Displace from s = 0 with injection at s = 1. Collective; the same bits for any number of ranks.

    Args:
        comm: The ranks that share the cells; `Alone()` for one without MPI.
        mobility_ratio: M > 0, without unit.
        times: `[T]` rising normalised times τ > 0.
        cells: Cells of the unit interval.
        options: With `scheme`, `limiter` and `cfl`.

    Raises:
        ValueError: If a rank would own fewer cells than its neighbour needs.
    """
    fewest = ghost_cells(options["scheme"])
    if comm.size > 1 and min(share(cells, comm.size)) < fewest:
        raise ValueError(
            f"{cells} cells over {comm.size} ranks leave fewer than {fewest} cells to a rank. "
            "Ask for fewer ranks or more cells."
        )
    domain = Domain(comm, cells, mobility_ratio, options, STEPS_PER_BLOCK)
    peak, width = inflection(mobility_ratio), 1.0 / cells
    fields: list[Array] = []
    totals = np.zeros((3, len(times)))
    steps, now, outflow = 0, 0.0, 0.0
    for index, target in enumerate(times):
        taken, more = _advance(domain, (mobility_ratio, peak), target - now, width, options["cfl"])
        steps, now, outflow = steps + taken, float(target), outflow + more
        whole = domain.gather()
        produced = domain.from_outlet(outflow)
        if whole is not None:
            fields.append(whole)
            totals[:, index] = now, produced, math.fsum(whole) * width - (now - produced)
    return Solution(np.array(fields), steps, *totals)


def _advance(domain: Domain, flow: tuple[float, float], duration: float, width: float, cfl: float) -> tuple[int, float]:
    """Advance by `duration` exactly; return the steps taken and what left through this rank's last face.

    Args:
        domain: This rank's cells.
        flow: M, and the saturation of the fastest wave.
        duration: Normalised time.
        width: Width of a cell.
        cfl: Courant number.
    """
    steps, outflow, remaining = 0, 0.0, duration
    step, interval = domain.scheme.step, domain.interval
    while remaining > 0.0:
        domain.exchange()
        low, high = domain.extremes()
        longest = cfl * width / largest_speed(low, high, *flow)
        needed = max(1, math.ceil(remaining / longest * (1.0 - 1e-12)))
        block = min(needed, STEPS_PER_BLOCK)
        length = remaining / needed
        ratio = np.array(length / width)
        leaving = 0.0
        for number in range(block):
            if number and number % interval == 0:
                domain.exchange()
            leaving += step(ratio)
        outflow += leaving * length
        steps += block
        remaining = 0.0 if block == needed else remaining - block * length
    return steps, outflow


def saturation(normalised: Array, connate: float, residual: float) -> Array:
    """Return S = Swc + s (1 − Swc − Sor), of any shape, without unit.

    The map's rounding may pass Swc or 1 − Sor by a bit and is taken back; more than that is an error of the scheme.

    Raises:
        ArithmeticError: If s leaves [0, 1] by more than rounding, or is not a number.
    """
    excess = max(-float(normalised.min()), float(normalised.max()) - 1.0)
    if not excess <= 1e-12:
        raise ArithmeticError(f"UNSTABLE: the normalised saturation leaves [0, 1] by {excess:.3g}. Lower 'cfl'.")
    physical = connate + normalised * (1.0 - connate - residual)
    return np.clip(physical, connate, 1.0 - residual)


def coarsen(fields: Array, cells: int) -> Array:
    """Return averages over equal groups of cells: `[T, n·cells]` → `[T, cells]`."""
    times, fine = fields.shape
    return fields if fine == cells else fields.reshape(times, cells, fine // cells).mean(axis=2)


def _write(path: Path, case: Mapping[str, Any], solution: Solution, seconds: float, ranks: int) -> None:
    """Write the result beside `path` and rename it; the attribute `complete` is set last."""
    import h5py

    pore = 1.0 - case["Swc"] - case["Sor"]
    fields = saturation(coarsen(solution.saturation, OUTPUT_CELLS), case["Swc"], case["Sor"])
    unfinished = path.with_name(f".{path.name}.part")
    with h5py.File(unfinished, "w") as file:
        file["saturation"] = fields
        file["pvi"] = np.asarray(case["pvi"], dtype=np.float64)
        file["x"] = (np.arange(OUTPUT_CELLS) + 0.5) / OUTPUT_CELLS
        file["produced"] = solution.produced * pore
        file.attrs["code_version"] = VERSION
        file.attrs["ranks"] = ranks
        file.attrs["steps"] = solution.steps
        file.attrs["mass_error"] = float(np.abs(solution.mass_error).max()) * pore
        file.attrs["solver_seconds"] = seconds
        file.attrs["complete"] = True
    unfinished.replace(path)


def main(arguments: Sequence[str]) -> int:
    """Run one case on all ranks of the world; return the exit status."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    check_world_size(comm.size)
    source, target = (Path(argument) for argument in arguments)
    case = json.loads(source.read_text(encoding="utf-8"))
    pore = 1.0 - case["Swc"] - case["Sor"]
    started = time.perf_counter()
    solution = solve(
        comm, case["M"], [pvi / pore for pvi in case["pvi"]], cells=case["options"]["cells"], options=case["options"]
    )
    if comm.rank == 0:
        seconds = time.perf_counter() - started
        _write(target, case, solution, seconds, comm.size)
        print(f"END OF RUN: {solution.steps} steps, {comm.size} ranks, {seconds:.4f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
