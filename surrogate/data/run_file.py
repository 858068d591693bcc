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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from surrogate.core.files import atomic_path
from surrogate.core.schema import Schema, Values
from surrogate.data.columns import (
    column_node,
    found_schema,
    length,
    read_array,
    read_schema,
    read_text,
    read_values,
    refuse_nul,
    storable,
    write_array,
    write_columns,
    write_text,
)
from surrogate.data.sealed import open_sealed, read_seal, sealed_bytes

KIND = "run"
FORMAT_VERSION = 1
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
    text = _json(dict(provenance or {}))

    def fill(file: h5py.File) -> None:
        file.attrs["format"] = "surrogate-run"
        file.attrs["format_version"] = FORMAT_VERSION
        file.attrs["samples"] = samples
        write_columns(file, found, columns)
        write_array(file.create_group("samples"), "group", np.asarray(keys, dtype=np.str_))
        write_text(file.create_group("provenance"), "json", text)

    content = sealed_bytes(KIND, FORMAT_VERSION, fill)
    with atomic_path(path, check=_reads_back, durable=durable) as temporary:
        temporary.write_bytes(content)


def _reads_back(path: Path) -> None:
    read_seal(path, KIND, FORMAT_VERSION, WAY_OUT)


def read_run_file(path: Path) -> RunFile:
    """Read a run file, after every byte of it was checked.

    Raises:
        DataError: If it is not a run file, or was written by a newer version of this program.
        IntegrityError: If it is missing, torn or damaged.
    """
    with open_sealed(path, KIND, FORMAT_VERSION, WAY_OUT) as (file, _):
        schema = read_schema(file)
        return RunFile(
            schema,
            int(file.attrs["samples"]),
            {column.name: read_values(column_node(file, column)) for column in schema.columns},
            tuple(read_array(file["samples/group"]).tolist()),
            json.loads(read_text(file["provenance/json"])),
        )


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
