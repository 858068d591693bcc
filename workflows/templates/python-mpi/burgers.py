"""Viscous Burgers' equation on a ring, over MPI: du/dt + u du/dx = viscosity d2u/dx2.

At the start u(x, 0) = amplitude sin(2 pi x) + drift.

The cells are shared out among the ranks, which exchange one cell with each neighbour in every step.
Usage: python -m mpi4py burgers.py INPUT.json OUTPUT.h5
"""

import json
import os
import sys
from pathlib import Path

import h5py
import numpy as np
from mpi4py import MPI

CELLS = 128
TIMES = (0.1, 0.2, 0.3)  # s


def share(cells: int, rank: int, ranks: int) -> slice:
    """Return the cells of one rank."""
    edges = [cells * part // ranks for part in range(ranks + 1)]
    return slice(edges[rank], edges[rank + 1])


def with_neighbours(world: MPI.Comm, u: np.ndarray) -> np.ndarray:
    """Return the own cells with one of each neighbour around them; the ends of the ring are neighbours, too."""
    left, right = (world.rank - 1) % world.size, (world.rank + 1) % world.size
    padded = np.empty(len(u) + 2)
    padded[1:-1] = u
    world.Sendrecv(u[-1:].copy(), right, recvbuf=padded[:1], source=left)
    world.Sendrecv(u[:1].copy(), left, recvbuf=padded[-1:], source=right)
    return padded


def advance(world: MPI.Comm, u: np.ndarray, viscosity: float, width: float, dt: float) -> np.ndarray:
    """Take one step: upwind flux by Engquist and Osher, central diffusion."""
    padded = with_neighbours(world, u)
    flux = np.maximum(padded[:-1], 0.0) ** 2 / 2 + np.minimum(padded[1:], 0.0) ** 2 / 2
    flux -= viscosity * np.diff(padded) / width
    return np.asarray(u - dt / width * np.diff(flux))


def solve(world: MPI.Comm, viscosity: float, amplitude: float, drift: float) -> list[np.ndarray]:
    """Return the own cells at all times."""
    width = 1.0 / CELLS
    x = (np.arange(CELLS)[share(CELLS, world.rank, world.size)] + 0.5) * width
    u = amplitude * np.sin(2.0 * np.pi * x) + drift
    longest = 0.9 / ((amplitude + abs(drift)) / width + 2.0 * viscosity / width**2)
    kept, now = [], 0.0
    for time in TIMES:
        steps = int(np.ceil((time - now) / longest))
        for _ in range(steps):
            u = advance(world, u, viscosity, width, (time - now) / steps)
        kept.append(u)
        now = time
    return kept


def main() -> None:
    """Read the input, solve, write the output on the first rank."""
    world = MPI.COMM_WORLD
    expected = int(os.environ.get("SURROGATE_WORLD_SIZE", world.size))
    if expected != world.size:  # the launcher of another MPI: each rank would believe to be alone
        sys.exit(f"WORLD SIZE: {expected} ranks were launched, and this rank finds a world of {world.size}.")
    case = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    kept = solve(world, case["viscosity"], case["amplitude"], case["drift"])
    parts = world.gather(np.array(kept))
    if parts is None:
        return
    u = np.concatenate(parts, axis=1)
    with h5py.File(sys.argv[2], "w") as file:
        file["u"] = u
        file["energy"] = np.mean(u**2, axis=1) / 2
    print(f"BURGERS: finished on {world.size} ranks, largest gradient = {np.abs(np.diff(u[-1])).max() * CELLS:.9e}")


if __name__ == "__main__":
    main()
