"""Datasets of HDF5 files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SimulationError, nearest

_SHOWN = 12


def read_dataset(path: Path, name: str, dataset: str) -> NDArray[np.float64]:
    """Read a dataset.

    Args:
        path: The file.
        name: How sentences call it.
        dataset: Path of the dataset in it.

    Returns:
        Any shape, float64.

    Raises:
        SimulationError: If the file is damaged, or has no such dataset of numbers.
    """
    try:
        with h5py.File(path, "r") as file:
            return find(file, name, dataset, "dataset")
    except OSError as error:
        raise SimulationError(f"{name} is damaged, or no HDF5 file: {error}.", kind="output_unreadable") from error


def find(file: h5py.File, name: str, wanted: str, word: str) -> NDArray[np.float64]:
    """Return a dataset of an open file as numbers.

    Args:
        file: The file.
        name: How sentences call it.
        wanted: Path of the dataset.
        word: What the format calls a dataset.

    Raises:
        SimulationError: If there is none, or it holds no numbers.
    """
    found = file.get(wanted)
    if not isinstance(found, h5py.Dataset):
        known = names(file)
        listed = ", ".join(known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "") or "nothing"
        raise SimulationError(
            f"{name} has no {word} '{wanted}'; it has {listed}.{nearest(wanted.strip('/'), known)}",
            kind="output_unreadable",
        )
    if found.dtype.kind not in "biuf":
        raise SimulationError(
            f"The {word} '{wanted}' in {name} holds {found.dtype}, and real numbers are needed.",
            kind="output_unreadable",
        )
    return np.asarray(found[()], dtype=np.float64)


def names(file: h5py.File) -> list[str]:
    """Return the paths of all datasets in a file."""
    known: list[str] = []

    def note(path: str, entry: Any) -> None:
        if isinstance(entry, h5py.Dataset):
            known.append(path)

    file.visititems(note)
    return known
