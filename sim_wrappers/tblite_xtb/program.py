"""The program of a run: GFN-xTB of the structures in the current folder's input file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from sim_wrappers.molecular.batch import Result, compute_all
from surrogate.core.structure import Structure
from surrogate.design.xtb import energy_forces

_LONGER = 4


def engine(structure: Structure, case: Mapping[str, Any]) -> Result:
    """Compute one structure; each remedy gives it four times the iterations.

    Raises:
        SimulationError: If it does not converge.
    """
    options, remedies = case["options"], case["remedies"]
    cycles = int(options["cycles"]) * _LONGER ** len(remedies)
    energy, forces = energy_forces(structure, options["method"], accuracy=options["accuracy"], cycles=cycles)
    return Result(energy, forces, {"remedies": list(remedies)})


if __name__ == "__main__":
    sys.exit(compute_all(engine))
