"""A dataset: admitted samples in shards under one manifest, read in slabs.

Samples always come in the order of their identities, so that the same samples give the same table however they were
packed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import IntegrityError
from surrogate.core.schema import Column, Ragged, SampleTable, Schema, Values
from surrogate.data import shards
from surrogate.data.columns import column_node, read_values
from surrogate.data.manifest import Manifest
from surrogate.data.sealed import open_sealed
from surrogate.data.shards import ShardIndex
from surrogate.data.split import SPLITS, Split, SplitConfig, SplitCount
from surrogate.data.writer import DESIGN_STRATUM, DatasetWriter, Packed

__all__ = ["DESIGN_STRATUM", "Dataset", "DatasetWriter", "Packed"]

Rows = NDArray[np.int64]


class Dataset:
    """All samples of a campaign, for reading. It shows what the manifest listed when it was opened."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        """Use `open`, which checks the shards."""
        self.folder = folder
        self._manifest = manifest
        self._assigned: dict[tuple[str, float, float], NDArray[np.int8]] = {}

    @classmethod
    def open(cls, folder: Path, verify: Literal["mtime", "hash"] = "mtime") -> Dataset:
        """Open a dataset after its shards were compared with the manifest.

        Args:
            folder: Folder of the dataset.
            verify: `mtime` compares sizes and times, and hashes where a time differs; `hash` compares every hash.

        Raises:
            DataError: If the dataset was written by a newer version of this program.
            IntegrityError: If the manifest or a shard is missing or damaged.
        """
        manifest = Manifest.read(folder)
        for record in manifest.shards:
            shards.check_shard(folder / shards.FOLDER, record, hashes=verify == "hash")
        return cls(folder, manifest)

    def _files(self) -> Iterator[tuple[int, h5py.File]]:
        for number, record in enumerate(self._manifest.shards):
            path = self.folder / shards.FOLDER / record.file
            with open_sealed(path, shards.KIND, shards.FORMAT_VERSION, shards.WAY_OUT, verify=False) as (file, _):
                if int(file.attrs["samples"]) != record.samples:
                    raise IntegrityError(f"The shard {path} is not the one recorded. {shards.WAY_OUT}")
                yield number, file

    @cached_property
    def _index(self) -> tuple[ShardIndex, Rows, Rows]:
        """Who is in the dataset by identity, `[N]`; the number of each one's shard, `[N]`; its row there, `[N]`."""
        parts = [shards.read_index(file) for _, file in self._files()]
        names = [field.name for field in fields(ShardIndex)]
        empty = np.zeros(0, dtype="<U1")
        merged = {name: np.concatenate([empty, *(getattr(part, name) for part in parts)]) for name in names}
        shard = np.repeat(np.arange(len(parts)), [len(part.ids) for part in parts]).astype(np.int64)
        row = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(part.ids)) for part in parts)])
        # A sample that was packed twice counts once: the first one.
        _, first = np.unique(merged["ids"], return_index=True)
        index = ShardIndex(**{name: merged[name][first] for name in names})
        return index, shard[first], row[first].astype(np.int64)

    @property
    def schema(self) -> Schema:
        """The columns and coordinates."""
        return self._manifest.schema

    def __len__(self) -> int:
        """Return the number of samples, N."""
        return len(self._index[0].ids)

    @property
    def index(self) -> ShardIndex:
        """Identity, run, content hash, point hash, group and stratum of every sample, `[N]` each."""
        return self._index[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """Identity of each sample, sorted."""
        return tuple(self.index.ids.tolist())

    @property
    def groups(self) -> tuple[str, ...]:
        """Group key of each sample; empty text where a sample is a group of its own."""
        return tuple(self.index.groups.tolist())

    @property
    def strata(self) -> tuple[str, ...]:
        """Stratum of each sample."""
        return tuple(self.index.strata.tolist())

    @cached_property
    def hash(self) -> str:
        """SHA-256 (hex, 64 characters) over the sorted pairs of sample identity and content hash."""
        state = hashlib.sha256()
        for sample, content in zip(self.index.ids.tolist(), self.index.content.tolist(), strict=True):
            state.update(f"{sample} {content}\n".encode())
        return state.hexdigest()

    def assigned(self, split: SplitConfig) -> NDArray[np.int8]:
        """Return the split of every sample as positions in `SPLITS`, `[N]` int8."""
        key = (split.salt, split.tune, split.holdout)
        if key not in self._assigned:
            self._assigned[key] = split.assign(self.index.groups.tolist(), self.index.points.tolist())
        return self._assigned[key]

    def rows(
        self, split: SplitConfig | None = None, which: Split | None = None, stratum: str | None = DESIGN_STRATUM
    ) -> Rows:
        """Return the positions of samples, `[K]` int64, rising.

        Args:
            split: How samples are divided; needed when `which` is given.
            which: The split that is wanted, or None for all.
            stratum: The stratum that is wanted, or None for all.

        Raises:
            ValueError: If `which` is given without `split`.
        """
        wanted = np.ones(len(self), dtype=np.bool_) if stratum is None else self.index.strata == stratum
        if which is not None:
            if split is None:
                raise ValueError("Rows of one split were asked for without saying how samples are divided.")
            wanted = wanted & (self.assigned(split) == SPLITS.index(which))
        return np.flatnonzero(wanted).astype(np.int64)

    def counts(self, split: SplitConfig, stratum: str | None = DESIGN_STRATUM) -> dict[Split, SplitCount]:
        """Count samples and groups of each split in one stratum, or in all."""
        rows = self.rows(stratum=stratum)
        assigned = self.assigned(split)[rows]
        return split.count(self.index.groups[rows].tolist(), self.index.points[rows].tolist(), assigned)

    def load(self, split: SplitConfig, which: Split, stratum: str | None = DESIGN_STRATUM) -> SampleTable:
        """Load the samples of one split into memory.

        Args:
            split: How samples are divided.
            which: `train`, `tune` or `holdout`.
            stratum: Only this stratum, or None for all.

        Raises:
            IntegrityError: If a shard cannot be read.
        """
        return self.load_rows(self.rows(split, which, stratum))

    def load_all(self) -> SampleTable:
        """Load all samples of all strata into memory."""
        return self.load_rows(self.rows(stratum=None))

    def load_rows(self, rows: Rows) -> SampleTable:
        """Load the samples at positions `rows`, `[K]` int64, in that order."""
        columns = self._gather(self.schema.columns, rows)
        ids, groups = self.index.ids[rows].tolist(), self.index.groups[rows].tolist()
        return SampleTable(self.schema, tuple(ids), tuple(groups), columns)

    def column(self, name: str, rows: Rows | None = None) -> Values:
        """Load one column of the samples at `rows`, or of all.

        Raises:
            DataError: If there is no such column.
        """
        picked = self.rows(stratum=None) if rows is None else rows
        return self._gather((self.schema.column(name),), picked)[name]

    def _gather(self, columns: tuple[Column, ...], rows: Rows) -> dict[str, Values]:
        _, shard, row = self._index
        gatherers = {column.name: _Gatherer(column, len(rows)) for column in columns}
        for number, file in self._files():
            places = np.flatnonzero(shard[rows] == number)
            if len(places) == 0:
                continue
            # Rows in the order of the file: the slab is then taken as it is, or in one rising sweep.
            places = places[np.argsort(row[rows[places]], kind="stable")]
            local = row[rows[places]]
            start, stop = int(local[0]), int(local[-1]) + 1
            for column in columns:
                slab = read_values(column_node(file, column), start, stop)
                gatherers[column.name].put(places, slab, local - start)
        return {name: gatherer.finish() for name, gatherer in gatherers.items()}

    def slabs(self, name: str) -> Iterator[tuple[Rows, Values]]:
        """Yield one column shard by shard: positions `[K]` int64 of the samples, and their values.

        Raises:
            DataError: If there is no such column.
        """
        for places, found in self.slabs_of((name,)):
            yield places, found[name]

    def slabs_of(self, names: Sequence[str]) -> Iterator[tuple[Rows, dict[str, Values]]]:
        """Yield several columns shard by shard, each shard opened once; see `slabs`."""
        columns = [self.schema.column(name) for name in names]
        _, shard, row = self._index
        for number, file in self._files():
            places = np.flatnonzero(shard == number)
            local, found = row[places], {}
            for column in columns:
                values = read_values(column_node(file, column))
                found[column.name] = values.take(local) if isinstance(values, Ragged) else values[local]
            yield places, found

    def provenance(self) -> dict[str, dict[str, Any]]:
        """Return run id → provenance of every run."""
        found: dict[str, dict[str, Any]] = {}
        for _, file in self._files():
            for run, record in shards.read_provenance(file).items():
                found.setdefault(run, record)
        return found

    def repeated_points(self) -> list[tuple[str, ...]]:
        """Return groups of samples that have the same inputs, for example from two versions of a simulator.

        They are always in the same split, unless their group keys differ.
        """
        points = self.index.points
        _, inverse, count = np.unique(points, return_inverse=True, return_counts=True)
        repeated: dict[int, list[str]] = {}
        for place in np.flatnonzero(count[inverse] > 1):
            repeated.setdefault(int(inverse[place]), []).append(str(self.index.ids[place]))
        return [tuple(samples) for samples in repeated.values()]


class _Gatherer:
    """Collects the values of one column, slab by slab, into the order that was asked for."""

    def __init__(self, column: Column, count: int) -> None:
        self._parts: list[Values] = []
        self._places: list[Rows] = [np.zeros(0, np.int64)]
        self._target: NDArray[Any] | None = None
        if column.dtype == "str":
            empty: NDArray[Any] = np.zeros((0, *column.shape[int(column.ragged) :]), dtype="<U1")
        else:
            empty = np.zeros((0, *column.shape[int(column.ragged) :]), dtype=column.dtype)
        if column.ragged:
            self._parts.append(Ragged(empty, np.zeros(1, np.int64)))
        elif column.dtype == "str":
            self._parts.append(empty)
        else:
            self._target = np.empty((count, *column.shape), dtype=column.dtype)

    def put(self, places: Rows, slab: Values, local: Rows) -> None:
        """Take the rows `local` of a slab; they belong at `places`."""
        if self._target is not None and not isinstance(slab, Ragged):
            self._target[places] = slab if len(slab) == len(local) else slab[local]
            return
        self._parts.append(slab.take(local) if isinstance(slab, Ragged) else slab[local])
        self._places.append(places)

    def finish(self) -> Values:
        """Return the whole column."""
        if self._target is not None:
            return self._target
        order = np.argsort(np.concatenate(self._places), kind="stable")
        ragged = [part for part in self._parts if isinstance(part, Ragged)]
        if ragged:
            return Ragged.join(ragged).take(order)
        return np.concatenate([part for part in self._parts if not isinstance(part, Ragged)])[order]
