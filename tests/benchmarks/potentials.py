"""What the benchmarks of potentials share: the peer in its own environment, the published networks, the public data.

TORCHANI_WHEEL          the wheel torchani 2.2.4; without it pip downloads it
TORCHANI_PYTHON         a Python that has what requirements/peers-molecules.txt lists; without it an environment is made
SURROGATE_TEST_DATA     folder of the public data (molecules/…); without it the place beside the repository
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from surrogate.core.elements import atomic_number
from surrogate.inference.predictor import Predictor
from surrogate.models.ani.potential import Potential
from surrogate.models.ani.stored import stored_potential
from tests.benchmarks.form import progress
from workflows.published import import_published

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "peers"
KCAL = 627.5094740631
MEV = 27211.386245988
"""kcal/mol and meV in one hartree (CODATA 2018)."""


def data_file(name: str) -> Path:
    """Return a file of the public data.

    Raises:
        SystemExit: If it is not there.
    """
    folder = Path(os.environ.get("SURROGATE_TEST_DATA", ROOT.parent / "shared" / "data"))
    path = folder / "molecules" / name
    if not path.is_file():
        raise SystemExit(f"{path} is not there: set SURROGATE_TEST_DATA to the folder of the public data.")
    return path


def wheel() -> Path:
    """Return the wheel of torchani 2.2.4."""
    given = os.environ.get("TORCHANI_WHEEL")
    if given:
        return Path(given)
    found = sorted(CACHE.glob("torchani-2.2.4-*.whl"))
    if not found:
        progress("downloading torchani 2.2.4")
        line = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "torchani==2.2.4", "-d", str(CACHE)]
        subprocess.run(line, check=True)
        found = sorted(CACHE.glob("torchani-2.2.4-*.whl"))
    return found[0]


def peer_python() -> str:
    """Return a Python that imports torchani."""
    given = os.environ.get("TORCHANI_PYTHON")
    if given:
        return given
    python = CACHE / "torchani" / "bin" / "python"
    if not python.is_file():
        progress("making an environment for torchani; torch is large")
        uv = str(Path(sys.executable).parent / "uv")
        subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(CACHE / "torchani")], check=True)
        locked = ROOT / "requirements" / "peers-molecules.txt"
        subprocess.run([uv, "pip", "install", "-q", "--python", str(python), "-r", str(locked)], check=True)
    return str(python)


class Peer:
    """torchani in a process of its own."""

    def __init__(self) -> None:
        """Start it."""
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        program = str(Path(__file__).with_name("torchani_peer.py"))
        self._process = subprocess.Popen(
            [peer_python(), program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send a request and return the answer.

        Raises:
            RuntimeError: If the process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"torchani ended with {self._process.wait()}.")
        found: dict[str, Any] = json.loads(line)
        return found

    def end(self) -> None:
        """Stop it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def imported(registry: Path) -> Predictor:
    """Import ANI-1x from the wheel, as `surrogate registry import-ani` does, and load it."""
    progress("importing ANI-1x")
    found = import_published(wheel(), "ani-1x_8x", "ani-1x", registry)
    return Predictor.load(found["artifact"])


def potential(predictor: Predictor, members: int, dtype: Any = np.float32) -> Potential:
    """Return the first members of a surrogate of the family `ani` as the ASE calculator evaluates them."""
    files = predictor.artifact.members("keras")[:members]
    return stored_potential(predictor.transforms, files, predictor.artifact.record["options"]["activation"], dtype)


def s66x8() -> dict[str, np.ndarray]:
    """Return all 528 structures of S66x8: species, positions Å, offsets, energies Ha, forces Ha/Å."""
    species, places, energies, forces, sizes = [], [], [], [], []
    with h5py.File(data_file("s66x8_wb97x6-31gd.h5")) as file:
        for molecule in file["s66x8"].values():
            numbers = [atomic_number(symbol.decode()) for symbol in molecule["species"][()]]
            for row, energy in enumerate(molecule["energies"][()]):
                species.append(numbers)
                sizes.append(len(numbers))
                places.append(molecule["coordinates"][row])
                energies.append(energy)
                # The file holds gradients under the name of forces.
                forces.append(-molecule["forces"][row])
    return {
        "species": np.concatenate(species).astype(np.int64),
        "positions": np.concatenate(places).astype(np.float64),
        "offsets": np.cumsum([0, *sizes]),
        "energies": np.asarray(energies, dtype=np.float64),
        "forces": np.concatenate(forces).astype(np.float64),
    }
