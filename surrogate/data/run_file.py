"""Run files: the HDF5 file that every run leaves, one row a sample.

inputs/NAME, outputs/NAME    `[N, *shape]`; a ragged column is a group with `data` and `offsets`;
                             attributes unit, dims, description, low, high, position
coordinates/NAME             `[L]`; attribute unit
samples/group                `[N]` text, empty where a sample is a group of its own
provenance/json              one text: code version, launch line, host, times, seed, …
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.files import atomic_path
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.data.columns import (
    column_node,
    column_path,
    decoded,
    encoded,
    encoded_text,
    found_schema,
    length,
    read_schema,
    read_values,
    refuse_nul,
    schema_text,
    storable,
    write_array,
    write_columns,
    write_text,
)
from surrogate.data.quick_hdf5 import group, whole
from surrogate.data.sealed import SEAL_BYTES, open_sealed, read_seal, seal_in_place, sealed_bytes
from surrogate.data.stencil import LARGEST_BYTES, Stencil

KIND = "run"
FORMAT_VERSION = 1
_KEYS, _FACTS = "samples/group", "provenance/json"
WAY_OUT = "Remove what is left of it and resume the campaign: the run is executed again."


@dataclass(frozen=True, slots=True, eq=False)
class RunFile:
    """The content of a run file.

    Attributes:
        schema: The columns and coordinates that the file has.
        samples: N.
        columns: Name → `[N, *shape]` or Ragged of N samples, as they were written.
        groups: Group key of each sample; empty text where a sample is a group of its own.
        provenance: How the run came to be; JSON-ready.
    """

    schema: Schema
    samples: int
    columns: dict[str, Values]
    groups: tuple[str, ...]
    provenance: dict[str, Any]


def write_run_file(
    path: Path,
    schema: Schema,
    data_columns: Mapping[str, Any],
    groups: Sequence[str] = (),
    provenance: Mapping[str, Any] | None = None,
    *,
    durable: bool = True,
) -> None:
    """Write a run file atomically: it is whole or absent.

    Values are written as the simulation gave them; whether they are as declared is for admission to say.

    Args:
        path: The run file, for example `run.h5` in the folder of the run.
        schema: Declared inputs, outputs and coordinates.
        data_columns: Name → values of inputs and outputs, one row a sample: arrays `[N, *shape]`, Ragged, or for a
            ragged column a list of N arrays.
        groups: Group key of each sample, or nothing.
        provenance: Facts about the run; what JSON has no form for is written as text.
        durable: Flush to disk.

    Raises:
        DataError: If a column is no array of numbers, truth values or text.
        IntegrityError: If the written file does not read back.
        OSError: If the disk refuses.
    """
    declared = {column.name: column for column in schema.columns}
    columns = {name: storable(name, values, declared.get(name)) for name, values in data_columns.items()}
    found = found_schema(schema, columns)
    samples = max((length(values) for values in columns.values()), default=0)
    keys = tuple(groups) or ("",) * samples
    refuse_nul("group key", keys)
    text = _padded(_json(dict(provenance or {})))

    content = _stamped(found, samples, columns, keys, text)
    with atomic_path(path, check=_reads_back, durable=durable) as temporary:
        temporary.write_bytes(content)


def _stamped(
    schema: Schema, samples: int, columns: Mapping[str, Values], keys: Sequence[str], text: str
) -> memoryview | bytes:
    """Return the bytes of a run file, by a stencil where its layout is known."""
    groups = np.asarray(keys, dtype=np.str_)

    def fill(file: h5py.File) -> None:
        file.attrs["format"] = "surrogate-run"
        file.attrs["format_version"] = FORMAT_VERSION
        file.attrs["samples"] = samples
        write_columns(file, schema, columns)
        write_array(group(file, "samples"), "group", groups)
        write_text(group(file, "provenance"), "json", text)

    stored = {_KEYS: encoded(groups), _FACTS: encoded_text(text)}
    for column in schema.columns:
        values = columns[column.name]
        if isinstance(values, Ragged):
            return sealed_bytes(KIND, FORMAT_VERSION, fill)
        stored[column_path(column)] = encoded(values)
    layout = (schema_text(schema), samples, *((path, data.dtype.str, data.shape) for path, data in stored.items()))
    stencil = _LAYOUTS.written(layout)
    if stencil is not None:
        return seal_in_place(memoryview(stencil.stamp(stored)), KIND, FORMAT_VERSION)
    content = bytes(sealed_bytes(KIND, FORMAT_VERSION, fill))
    _LAYOUTS.learn_written(layout, Stencil.of(content, tuple(stored), SEAL_BYTES))
    return content


def _reads_back(path: Path) -> None:
    read_seal(path, KIND, FORMAT_VERSION, WAY_OUT)


def read_run_file(path: Path) -> RunFile:
    """Read a run file, after every byte of it was checked.

    Raises:
        DataError: If it is not a run file, or was written by a newer version of this program.
        IntegrityError: If it is missing, torn or damaged.
    """
    read_seal(path, KIND, FORMAT_VERSION, WAY_OUT)
    content = path.read_bytes() if path.stat().st_size <= LARGEST_BYTES else b""
    known = _LAYOUTS.read(content)
    if known is not None:
        stencil, schema, samples = known
        arrays = stencil.cut(content)
        return _run_file(
            schema,
            samples,
            {c.name: decoded(arrays[column_path(c)]) for c in schema.columns},
            arrays[_KEYS],
            arrays[_FACTS],
        )
    with open_sealed(path, KIND, FORMAT_VERSION, WAY_OUT, verify=False) as (file, _):
        schema, samples = read_schema(file), int(file.attrs["samples"])
        columns = {column.name: read_values(column_node(file, column)) for column in schema.columns}
        run = _run_file(schema, samples, columns, whole(file[_KEYS]), whole(file[_FACTS]))
        if content and not any(column.ragged for column in schema.columns):
            paths = (*(column_path(column) for column in schema.columns), _KEYS, _FACTS)
            _LAYOUTS.learn_read(Stencil.of(content, paths, SEAL_BYTES), schema, samples)
    return run


def _run_file(
    schema: Schema, samples: int, columns: dict[str, Values], keys: NDArray[Any], facts: NDArray[Any]
) -> RunFile:
    return RunFile(schema, samples, columns, tuple(decoded(keys).tolist()), json.loads(bytes(facts[()]).decode()))


class _Layouts:
    """The latest layouts that were written and read."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._written: dict[Hashable, Stencil] = {}
        self._read: dict[int, list[tuple[Stencil, Schema, int]]] = {}

    def written(self, layout: Hashable) -> Stencil | None:
        return self._written.get(layout)

    def learn_written(self, layout: Hashable, stencil: Stencil | None) -> None:
        if stencil is not None:
            while len(self._written) >= self._most:
                del self._written[next(iter(self._written))]
            self._written[layout] = stencil

    def read(self, content: bytes) -> tuple[Stencil, Schema, int] | None:
        return next((known for known in self._read.get(len(content), ()) if known[0].fits(content)), None)

    def learn_read(self, stencil: Stencil | None, schema: Schema, samples: int) -> None:
        if stencil is not None:
            while len(self._read) >= self._most:
                del self._read[next(iter(self._read))]
            same_size = self._read.setdefault(len(stencil.image), [])
            same_size.append((stencil, schema, samples))
            del same_size[: -self._most]


_LAYOUTS = _Layouts(16)


def _padded(text: str) -> str:
    """Return a text made longer by spaces, so that few lengths occur and files of one layout have one size."""
    return text + " " * (-len(text.encode()) % 256)


def _json(facts: dict[str, Any]) -> str:
    """Return facts as JSON text; what JSON has no form for becomes text."""
    try:
        return json.dumps(facts, sort_keys=True, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError):
        return json.dumps(_plain(facts), sort_keys=True, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Return a JSON-ready form of anything."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    return str(value)
