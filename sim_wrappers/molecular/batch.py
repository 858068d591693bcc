"""Computing structures one after the other in one program, so that what is done survives its end.

Every result is a line of `results.jsonl`, flushed when it is there; the last line says that all of them are. A program
that was stopped by its walltime goes on after the last whole line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.molecular.asked import asked_structures, place_of
from sim_wrappers.protocol import RunRequest
from surrogate.core.errors import SimulationError
from surrogate.core.files import write_json
from surrogate.core.structure import Structure

INPUT_FILE = "input.json"
RESULTS_FILE = "results.jsonl"
FAILED = 3
"""Exit status of a program that says why a structure cannot be computed."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a code says of one structure.

    Attributes:
        energy: Ha.
        forces: `[n, 3]` float64 Ha/Å, minus the gradient.
        notes: JSON-ready: iterations, remedies, …
    """

    energy: float
    forces: NDArray[np.float64]
    notes: dict[str, Any] = field(default_factory=dict)


def write_case(request: RunRequest, folder: Path) -> None:
    """Write the program's input file: structures, options, remedies and threads.

    Raises:
        SimulationError: If the inputs are no structures, or one is impossible.
    """
    structures = asked_structures(request.inputs)
    case = {
        "structures": [structure.point() for structure in structures],
        "options": request.options,
        "remedies": list(request.remedies),
        "threads": request.resources.cores_per_rank,
    }
    write_json(folder / INPUT_FILE, case, durable=False)


def compute_all(engine: Callable[[Structure, Mapping[str, Any]], Result]) -> int:
    """Compute the structures of the input file in the current folder; return the exit status.

    Args:
        engine: Computes one structure; it is given the whole case beside it.
    """
    case = json.loads(Path(INPUT_FILE).read_text(encoding="utf-8"))
    structures = [Structure.from_point(point) for point in case["structures"]]
    path = Path(RESULTS_FILE)
    done = [json.dumps(entry) + "\n" for entry in whole_lines(path) if "energy" in entry][: len(structures)]
    with path.open("w", encoding="utf-8") as results:
        results.writelines(done)
        for number, structure in enumerate(structures[len(done) :], len(done) + 1):
            try:
                result = engine(structure, case)
            except SimulationError as error:
                where = place_of(structure, number, len(structures))
                sys.stderr.write(f"FAILED ({error.kind}): {where}: {error}\n")
                return FAILED
            record = {"energy": result.energy, "forces": result.forces.tolist(), "notes": result.notes}
            results.write(json.dumps(record) + "\n")
            results.flush()
            os.fsync(results.fileno())
        results.write(json.dumps({"end": len(structures), "continued_after": len(done)}) + "\n")
    return 0


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file of results; a torn last line is left out, a missing file has none."""
    if not path.is_file():
        return []
    found: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return found


def read_results(folder: Path, structures: Sequence[Structure]) -> tuple[list[Result], int]:
    """Return the results of all structures, and how many of them an earlier attempt had computed.

    Raises:
        SimulationError: If the file is missing, or lacks its end.
    """
    path = folder / RESULTS_FILE
    if not path.exists():
        raise SimulationError(f"The program ended and left no {RESULTS_FILE}.", kind="output_missing")
    records = whole_lines(path)
    if not records or records[-1].get("end") != len(structures):
        raise SimulationError(
            f"{RESULTS_FILE} lacks the mark of a finished run of {len(structures)} structures.", kind="no_end_marker"
        )
    try:
        results = [
            Result(float(entry["energy"]), np.asarray(entry["forces"], dtype=np.float64), dict(entry["notes"]))
            for entry in records[:-1]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise SimulationError(
            f"{RESULTS_FILE} is not as the program writes it ({error}).", kind="output_unreadable"
        ) from error
    return results, int(records[-1].get("continued_after", 0))
