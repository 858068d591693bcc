"""Variables of NetCDF files: the classic formats by SciPy, NetCDF-4 by HDF5. Packed values are unpacked.

A variable may be packed as value = stored · scale_factor + add_offset, and stored values that equal _FillValue or
missing_value mean that there is none (NetCDF Users' Guide, Attribute Conventions); these become NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from sim_wrappers.external.rules.hdf5 import find
from surrogate.core.errors import SimulationError, nearest

_CLASSIC = (b"CDF\x01", b"CDF\x02")
_HDF5 = b"\x89HDF"


def read_variable(path: Path, name: str, variable: str) -> NDArray[np.float64]:
    """Read a variable.

    Args:
        path: The file.
        name: How sentences call it.
        variable: Its path in the file.

    Returns:
        Any shape, float64.

    Raises:
        SimulationError: If the file is damaged or of another format, or has no such variable of numbers.
    """
    with path.open("rb") as source:
        magic = source.read(4)
    if magic in _CLASSIC:
        return _classic(path, name, variable)
    if magic != _HDF5:
        raise SimulationError(
            f"{name} is no NetCDF file of the formats classic, 64-bit offset or NetCDF-4; it begins with {magic!r}.",
            kind="output_unreadable",
        )
    try:
        with h5py.File(path, "r") as file:
            values = find(file, name, variable, "variable")
            return _unpacked(values, file[variable].attrs)
    except OSError as error:
        raise SimulationError(f"{name} is damaged: {error}.", kind="output_unreadable") from error


def _classic(path: Path, name: str, variable: str) -> NDArray[np.float64]:
    """Read a variable of a classic file."""
    from scipy.io import netcdf_file

    try:
        # Mapped memory would outlive the file, and a file that is cut off would end the process.
        with netcdf_file(path, "r", mmap=False) as file:
            if variable not in file.variables:
                raise SimulationError(
                    f"{name} has no variable '{variable}'; it has {', '.join(sorted(file.variables))}."
                    f"{nearest(variable, file.variables)}",
                    kind="output_unreadable",
                )
            found = file.variables[variable]
            if found.data.dtype.kind not in "biuf":
                raise SimulationError(
                    f"The variable '{variable}' in {name} holds text, and numbers are needed.", kind="output_unreadable"
                )
            return _unpacked(np.array(found.data, dtype=np.float64), vars(found)["_attributes"])
    except (OSError, ValueError, TypeError, IndexError, KeyError, OverflowError, MemoryError) as error:
        raise SimulationError(f"{name} is damaged: {error}.", kind="output_unreadable") from error


def _unpacked(values: NDArray[np.float64], attributes: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the values that stored ones stand for."""
    result = values
    if "scale_factor" in attributes or "add_offset" in attributes:
        scale = float(np.ravel(attributes.get("scale_factor", 1.0))[0])
        result = values * scale + float(np.ravel(attributes.get("add_offset", 0.0))[0])
    for word in ("_FillValue", "missing_value"):
        if word in attributes:
            result = np.where(values == float(np.ravel(attributes[word])[0]), np.nan, result)
    return result
