"""Parts of a large prediction: sealed files, so that a part is whole and its own, or is predicted again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import h5py
import numpy as np

from surrogate.core.errors import IntegrityError, SurrogateError
from surrogate.core.files import atomic_path
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.data.columns import read_array, write_array
from surrogate.data.quick_hdf5 import group
from surrogate.data.sealed import open_sealed, read_seal, sealed_bytes
from surrogate.inference.outputs import PARTS
from surrogate.models.protocols import Prediction

KIND = "prediction-part"
FORMAT_VERSION = 1
WAY_OUT = "Remove it, and give the same command again: the part is predicted again."


def write_part(path: Path, inputs: Mapping[str, Values], prediction: Prediction) -> None:
    """Write the answers to some rows atomically.

    Args:
        path: The part's file.
        inputs: Input name → `[N, …]` or Ragged.
        prediction: The answers.

    Raises:
        OSError: If the disk refuses.
    """

    def fill(file: h5py.File) -> None:
        file.attrs["rows"] = len(prediction.in_domain)
        for kind, columns in (("inputs", inputs), *((part, getattr(prediction, part)) for part in PARTS)):
            place = group(file, kind)
            for name, values in columns.items():
                _write(place, name, values)
        write_array(file, "in_domain", prediction.in_domain)

    content = sealed_bytes(KIND, FORMAT_VERSION, fill)
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def part_is_whole(path: Path) -> bool:
    """Return whether a part is there and not a byte of it is amiss."""
    try:
        read_seal(path, KIND, FORMAT_VERSION, WAY_OUT)
    except SurrogateError:
        return False
    return True


def read_part(path: Path, schema: Schema) -> tuple[dict[str, Values], Prediction]:
    """Read a part.

    Args:
        path: The part's file.
        schema: Columns of the surrogate.

    Raises:
        IntegrityError: If it is missing, torn or damaged, or of another surrogate.
    """
    with open_sealed(path, KIND, FORMAT_VERSION, WAY_OUT) as (file, _):
        if set(file["inputs"]) != {column.name for column in schema.inputs}:
            raise IntegrityError(f"The file {path} belongs to another surrogate. {WAY_OUT}")
        inputs = {column.name: _read(file[f"inputs/{column.name}"]) for column in schema.inputs}
        mean, std, lower, upper = (dict(_outputs(file[part], schema)) for part in PARTS)
        flags = np.asarray(file["in_domain"][()], dtype=np.bool_)
        return inputs, Prediction(mean, std, lower, upper, flags)


def _outputs(place: h5py.Group, schema: Schema) -> Iterator[tuple[str, Values]]:
    for column in schema.outputs:
        if column.name in place:
            yield column.name, _read(place[column.name])


def _write(place: h5py.Group, name: str, values: Values) -> None:
    if isinstance(values, Ragged):
        inner = group(place, name)
        write_array(inner, "data", values.data)
        write_array(inner, "offsets", values.offsets)
    else:
        write_array(place, name, np.asarray(values))


def _read(node: h5py.Group | h5py.Dataset) -> Values:
    if isinstance(node, h5py.Dataset):
        return read_array(node)
    return Ragged(read_array(node["data"]), np.asarray(node["offsets"][()], dtype=np.int64))
