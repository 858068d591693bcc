"""NumPy files; pickled objects in them are refused."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SimulationError, nearest


def _picked(loaded: Any, name: str, array: str | None) -> NDArray[Any]:
    """Return the one array of a `.npy` file, or the named one of a `.npz` file.

    Raises:
        SimulationError: If there is none of that name.
    """
    if isinstance(loaded, np.ndarray):
        if array is None:
            return loaded
        raise SimulationError(f"{name} holds one array without a name; leave out 'array'.", kind="output_unreadable")
    if array is None or array not in loaded:
        raise SimulationError(
            f"{name} has no array '{array}'; it has {', '.join(loaded.files) or 'none'}."
            f"{nearest(str(array), loaded.files)}",
            kind="output_unreadable",
        )
    return np.asarray(loaded[array])


def read_array(path: Path, name: str, array: str | None) -> NDArray[np.float64]:
    """Read the array of a `.npy` file, or one of a `.npz` file.

    Args:
        path: The file.
        name: How sentences call it.
        array: Name of the array in a `.npz` file; None for a `.npy` file.

    Returns:
        Any shape, float64.

    Raises:
        SimulationError: If the file is damaged, or has no such array of numbers.
    """
    try:
        with path.open("rb") as source:
            found = _picked(np.load(source, allow_pickle=False), name, array)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise SimulationError(
            f"{name} is damaged, or holds Python objects instead of numbers: {error}.", kind="output_unreadable"
        ) from error
    if found.dtype.kind not in "biuf":
        raise SimulationError(f"{name} holds {found.dtype}, and real numbers are needed.", kind="output_unreadable")
    return np.asarray(found, dtype=np.float64)
