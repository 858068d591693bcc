"""Files of several formats with the same numbers, and a mapping that reads them."""

import tomllib
from pathlib import Path

import h5py
import numpy as np
from scipy.io import netcdf_file

from surrogate.core.schema import Column, Schema
from surrogate.core.tables import validated_table
from surrogate.data.readers.generic import HDF5, NETCDF, NPZ

SAMPLES, LENGTH = 10, 4
SPEED = np.linspace(1.0, 2.0, SAMPLES)
FIELD = np.arange(SAMPLES * LENGTH, dtype=float).reshape(SAMPLES, LENGTH)
AXIS = np.asarray([0.0, 10.0, 20.0, 30.0])
KIND = np.asarray(["oil", "gas"] * (SAMPLES // 2))
SCHEMA = Schema(
    (
        Column("speed", "input", "m/s"),
        Column("kind", "input", dtype="str"),
        Column("u", "output", "m", shape=(LENGTH,), dims=("x",)),
        Column("n", "output", dtype="int64"),
    )
)


ROWS = """
sample_axis = 0
rows_per_run = 4
inputs.speed = { path = "speed", unit_in_file = "km/s", unit = "m/s" }
inputs.kind = { path = "kind" }
outputs.u = { path = "u", unit_in_file = "mm", unit = "m", dims = ["x"] }
outputs.n = { path = "n", dtype = "int64" }
coordinates.x = { path = "x", unit_in_file = "cm", unit = "m" }
group = { path = "kind" }
"""


def options(reader, text, **changes):
    """Return a mapping's options, some of them changed; `a__b=None` leaves out `b` of the table `a`."""
    table = tomllib.loads(text)
    for key, value in changes.items():
        holder = table
        *path, last = key.split("__")
        for name in path:
            holder = holder.setdefault(name, {})
        if value is None:
            del holder[last]
        else:
            holder[last] = value
    return validated_table(reader.options_type, table, "mapping.toml")


def write_hdf5(path: Path) -> Path:
    """Write the numbers as HDF5."""
    with h5py.File(path, "w") as file:
        file["speed"], file["u"], file["x"] = SPEED, FIELD, AXIS
        file["n"] = np.arange(SAMPLES)
        file.create_dataset("kind", data=KIND.astype(object), dtype=h5py.string_dtype())
    return path


def write_npz(path: Path) -> Path:
    """Write the numbers as NPZ."""
    np.savez_compressed(path, speed=SPEED, u=FIELD, x=AXIS, n=np.arange(SAMPLES), kind=KIND)
    return path


def write_classic(path: Path) -> Path:
    """Write the numbers as classic NetCDF."""
    with netcdf_file(path, "w") as file:
        for name, length in (("s", SAMPLES), ("x", LENGTH), ("c", 3)):
            file.createDimension(name, length)
        for name, values, dims in (("speed", SPEED, "s"), ("u", FIELD, "sx"), ("x", AXIS, "x")):
            file.createVariable(name, "d", tuple(dims))[:] = values
        file.createVariable("n", "i", ("s",))[:] = np.arange(SAMPLES)
        file.createVariable("kind", "c", ("s", "c"))[:] = np.asarray([list(word) for word in KIND], dtype="S1")
    return path


FILES = {"hdf5": (HDF5, write_hdf5, "a.h5"), "npz": (NPZ, write_npz, "a.npz"), "nc": (NETCDF, write_classic, "a.nc")}


def read_all(reader, path, mapping, schema=SCHEMA):
    """Return all pieces of a file, and what is read of each."""
    with reader.open(path, mapping) as source:
        return list(source.pieces), [source.read(piece, schema) for piece in source.pieces]
