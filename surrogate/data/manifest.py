"""The manifest of a dataset: its columns and its shards. It is replaced atomically and checked by its own hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surrogate.core.errors import DataError, IntegrityError
from surrogate.core.files import read_json, sha256_file, write_text
from surrogate.core.schema import Schema
from surrogate.data import shards
from surrogate.data.columns import read_schema
from surrogate.data.conform import columns_differ
from surrogate.data.sealed import open_sealed
from surrogate.data.shards import ShardRecord

NAME = "manifest.json"
FORMAT_VERSION = 1
WAY_OUT = "Restore it from a copy; or remove it and resume the campaign: it is rebuilt from the shards."


@dataclass(frozen=True, slots=True)
class Manifest:
    """What belongs to a dataset.

    Attributes:
        schema: The columns of every shard.
        shards: The shards, oldest first.
    """

    schema: Schema
    shards: tuple[ShardRecord, ...] = ()

    @property
    def samples(self) -> int:
        """Number of samples in all shards."""
        return sum(shard.samples for shard in self.shards)

    def write(self, folder: Path) -> None:
        """Replace the manifest of the dataset in `folder` atomically.

        Raises:
            OSError: If the disk refuses; the old manifest stays then.
        """
        record = {
            "format": "surrogate-dataset",
            "format_version": FORMAT_VERSION,
            "schema": self.schema.to_json(),
            "samples": self.samples,
            "shards": [shard.to_json() for shard in self.shards],
        }
        record["self_check"] = _hash(record)
        write_text(folder / NAME, json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of the dataset in `folder`.

        Raises:
            DataError: If it was written by a newer version of this program.
            IntegrityError: If it is missing or damaged.
        """
        path = folder / NAME
        try:
            record = read_json(path)
        except IntegrityError as error:
            raise IntegrityError(f"{error} {WAY_OUT}") from error
        damaged = IntegrityError(f"The manifest {path} is damaged: its content is not what was written. {WAY_OUT}")
        if not isinstance(record, dict):
            raise damaged
        if record.pop("self_check", None) != _hash(record):
            raise damaged
        if record.get("format_version") != FORMAT_VERSION:
            raise DataError(
                f"The manifest {path} is of format version {record.get('format_version')}, and this program reads "
                f"version {FORMAT_VERSION}. Install a newer surrogate-hpc."
            )
        return cls(Schema.from_json(record["schema"]), tuple(ShardRecord(**entry) for entry in record["shards"]))


def _hash(record: dict[str, Any]) -> str:
    """Return the SHA-256 (hex, 64 characters) of a record; numbers count with all their digits."""
    return hashlib.sha256(json.dumps(record, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def rebuild(folder: Path, paths: Iterable[Path]) -> Manifest | None:
    """Make a manifest out of whole shards, when the manifest itself is gone.

    Shards are named in order of their modification times. A shard all of whose runs are in earlier ones is left out.

    Args:
        folder: Folder of the dataset; the manifest is written there.
        paths: The shards.

    Returns:
        The manifest, or None when there is no shard.

    Raises:
        DataError: If the shards do not have the same columns.
        IntegrityError: If a shard is damaged.
    """
    records: list[ShardRecord] = []
    schema: Schema | None = None
    known: set[str] = set()
    for path in sorted(paths, key=lambda entry: (entry.stat().st_mtime_ns, entry.name)):
        with open_sealed(path, shards.KIND, shards.FORMAT_VERSION, shards.WAY_OUT) as (file, _):
            found = read_schema(file)
            runs, samples = shards.read_run_ids(file), int(file.attrs["samples"])
        if schema is not None and any(columns_differ(found, schema)):
            raise DataError(f"The shard {path} has other columns than those before it; they make no dataset together.")
        schema = found
        if not known.issuperset(runs):
            records.append(shards.record_of(path, sha256_file(path), samples, len(runs)))
            known.update(runs)
    if schema is None:
        return None
    manifest = Manifest(schema, tuple(records))
    manifest.write(folder)
    return manifest
