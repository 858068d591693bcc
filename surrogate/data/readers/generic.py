"""The readers of HDF5, NetCDF, NPZ and CSV, which work by a mapping."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from surrogate.data.readers.containers import OpensContainer
from surrogate.data.readers.hdf5 import open_hdf5
from surrogate.data.readers.mapped import MappedSource
from surrogate.data.readers.mapped_values import from_name
from surrogate.data.readers.mapping import Mapping, Place, TableMapping
from surrogate.data.readers.netcdf import open_netcdf
from surrogate.data.readers.npz import open_npz
from surrogate.data.readers.protocol import Source
from surrogate.data.readers.table import open_table


@dataclass(frozen=True)
class MappedReader:
    """Reads files of one format by a mapping (see `Reader`).

    Attributes:
        name: The format.
        suffixes: Endings of such files' names.
        options_type: `Mapping`, or more.
        opener: Opens a file.
    """

    name: str
    suffixes: tuple[str, ...]
    opener: OpensContainer
    options_type: type[BaseModel] = Mapping

    def tags(self, path: Path, options: BaseModel) -> dict[str, str]:
        """Return what is taken from the name of a file (see `Reader.tags`)."""
        mapping = _mapping(options)
        entries: dict[str, Place] = {**mapping.inputs, **mapping.outputs}
        if mapping.group is not None:
            entries["group"] = mapping.group
        return {name: from_name(path, entry.file_name) for name, entry in entries.items() if entry.file_name}

    @contextlib.contextmanager
    def open(self, path: Path, options: BaseModel) -> Iterator[Source]:
        """Open a file (see `Reader.open`)."""
        mapping = _mapping(options)
        with self.opener(path, mapping) as container:
            yield MappedSource(container, mapping, self.tags(path, mapping))


HDF5 = MappedReader("hdf5", (".h5", ".hdf5", ".hdf", ".he5"), open_hdf5)
NETCDF = MappedReader("netcdf", (".nc", ".nc4", ".cdf", ".netcdf"), open_netcdf)
NPZ = MappedReader("npz", (".npz",), open_npz)
CSV = MappedReader("csv", (".csv", ".tsv", ".txt", ".dat"), open_table, TableMapping)


def _mapping(options: BaseModel) -> Mapping:
    if not isinstance(options, Mapping):
        raise TypeError("The options of a mapped reader are a Mapping.")
    return options
