"""Run on ranks: solve a table of cases and write each field, so that worlds of different size can be compared."""

from __future__ import annotations

import itertools
import sys

import numpy as np

from sim_wrappers.buckley_leverett.limiters import COURANT_LIMITS
from sim_wrappers.buckley_leverett.solver import solve

TIMES = (0.1, 0.25, 0.6, 1.1)
SCHEMES = (("upwind", "none", 1.0), *(("muscl", name, limit) for name, limit in COURANT_LIMITS.items()))
# 19 cells on 4 ranks leave halos as wide as a rank's cells; 101 cells divide by no number of ranks but one.
CASES = (
    *itertools.product((19,), SCHEMES, (0.5,)),
    *itertools.product((101,), SCHEMES, (20.0,)),
    (256, ("upwind", "none", 1.0), 3.0),
    (256, ("muscl", "monotonized_central", 0.5), 3.0),
)


def main(target: str) -> None:
    """Solve all cases; rank 0 writes them."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    fields = {}
    for cells, (scheme, limiter, cfl), ratio in CASES:
        options = {"scheme": scheme, "limiter": limiter, "cfl": cfl}
        solution = solve(comm, ratio, TIMES, cells=cells, options=options)
        name = f"{cells} {scheme} {limiter} {ratio}"
        fields[name] = solution.saturation
        fields[f"{name} totals"] = np.stack([solution.injected, solution.produced, solution.mass_error])
        fields[f"{name} steps"] = np.array(solution.steps)
    if comm.rank == 0:
        np.savez(target, **fields)


if __name__ == "__main__":
    main(sys.argv[1])
