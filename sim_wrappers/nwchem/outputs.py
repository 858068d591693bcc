"""What NWChem leaves: the file that it writes with all digits (`ecce_print`), and what its output says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import atomic_number
from surrogate.core.errors import DataError, SimulationError
from surrogate.core.structure import Structure
from surrogate.core.units import BOHR

RESULT_FILES = "ecce-*.out"
_END = "%begin%all tasks cpu time%"
_BLOCK = re.compile(
    r"^task_gradient%begin%(?P<name>atomic tags|total energy|total gradient|exit)%[^\n]*\n"
    r"(?P<body>.*?)^task_gradient%end%(?P=name)%",
    re.MULTILINE | re.DOTALL,
)
_RANKS = re.compile(r"^\s*nproc\s*=\s*(\d+)", re.MULTILINE)


class Computed(NamedTuple):
    """One structure as NWChem computed it.

    Attributes:
        species: Atomic numbers.
        energy: Ha.
        forces: `[n, 3]` float64 Ha/Å, minus the gradient.
    """

    species: tuple[int, ...]
    energy: float
    forces: NDArray[np.float64]


def result_files(folder: Path) -> list[Path]:
    """Return the files with results, oldest attempt first."""
    return sorted(folder.glob(RESULT_FILES), key=lambda path: int(re.sub(r"\D", "", path.stem) or 0))


def computed(text: str) -> list[Computed]:
    """Return the structures whose task came to its end, in order.

    Args:
        text: Content of a file of results; it may end anywhere.
    """
    found: list[Computed] = []
    known: dict[str, str] = {}
    for block in _BLOCK.finditer(text):
        name, body = block["name"], block["body"]
        if name != "exit":
            known[name] = body
            continue
        if "ok" in body.split() and {"atomic tags", "total energy", "total gradient"} <= set(known):
            try:
                found.append(_one(known))
            except (ValueError, DataError) as error:
                raise SimulationError(
                    f"NWChem's file of results is not as it writes it ({error}).", kind="output_unreadable"
                ) from error
        known = {}
    return found


def _one(known: dict[str, str]) -> Computed:
    kinds = [atomic_number(re.sub(r"[^A-Za-z].*", "", tag)) for tag in known["atomic tags"].split()]
    gradient = np.asarray([float(word) for word in known["total gradient"].split()]).reshape(len(kinds), 3)
    return Computed(tuple(kinds), float(known["total energy"].split()[0]), -gradient / BOHR)


def read_all(folder: Path, structures: Sequence[Structure]) -> tuple[list[Computed], int]:
    """Return the results of all structures, and how many of them earlier attempts had computed.

    Raises:
        SimulationError: If a file is missing or unfinished, or holds other structures.
    """
    files = result_files(folder)
    if not files:
        raise SimulationError("NWChem ended and left no file of results.", kind="output_missing")
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    parts = [computed(text) for text in texts]
    earlier = [entry for part in parts[:-1] for entry in part][: len(structures) - len(parts[-1])]
    found = [*earlier, *parts[-1]]
    if _END not in texts[-1] or len(found) != len(structures):
        raise SimulationError(
            f"NWChem's results lack the mark of a finished run: {len(found)} of {len(structures)} structures are done.",
            kind="no_end_marker",
        )
    for number, (entry, structure) in enumerate(zip(found, structures, strict=True), 1):
        if list(entry.species) != structure.species.tolist():
            raise SimulationError(f"NWChem computed other atoms for structure {number}.", kind="wrong_inputs")
    return found, len(earlier)


def check_ranks(output: str, ranks: int) -> None:
    """Refuse the output of ranks that did not find each other.

    Raises:
        SimulationError: If NWChem ran on another number of ranks than were launched.
    """
    seen = [int(number) for number in _RANKS.findall(output)]
    if len(seen) != 1 or seen[0] != ranks:
        raise SimulationError(
            f"NWChem was launched on {ranks} ranks, and it says {' and '.join(map(str, seen)) or 'nothing of ranks'}: "
            "the launcher does not belong to the MPI that NWChem is linked with. Name the right one under "
            "[roles.simulate.launcher] of the site, for example mpiexec = '/usr/bin/mpiexec.openmpi'.",
            kind="launcher",
        )
