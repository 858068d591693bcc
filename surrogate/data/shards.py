"""Shards: immutable files of some hundred admitted samples, with everything that must outlive the runs' folders.

Their layout:

    inputs/, outputs/, coordinates/, schema    as in a run file, one row a sample
    samples/id, run, content, point, group    `[N]`: identity, position of the run in `runs/`, content hash, hash of the
                                       point, group key (empty text for none)
    runs/id, stratum                   `[R]`
    runs/provenance/data, offsets      JSON of each run as UTF-8 bytes, compressed
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import IntegrityError
from surrogate.core.files import atomic_path, sha256_file
from surrogate.core.identity import sample_id
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.data.columns import read_array, write_array, write_columns
from surrogate.data.quick_hdf5 import group
from surrogate.data.run_file import RunFile
from surrogate.data.samples import content_hashes, point_hashes
from surrogate.data.sealed import read_seal, sealed_bytes

KIND = "shard"
FORMAT_VERSION = 1
FOLDER = "shards"
WAY_OUT = (
    "Restore it from a copy; or remove it together with the manifest.json above it and resume the campaign: "
    "the manifest is rebuilt from the other shards, and the runs that were in this one are executed again."
)


@dataclass(frozen=True, slots=True, eq=False)
class AdmittedRun:
    """One run that is to be packed.

    Attributes:
        run_id: Identity of the run.
        stratum: `design` for points of the declared distribution, another word for others.
        file: Content of its run file.
        ids: Identity of each sample.
        content: Content hash of each sample.
        points: Hash of each sample's point.
    """

    run_id: str
    stratum: str
    file: RunFile
    ids: tuple[str, ...]
    content: tuple[str, ...]
    points: tuple[str, ...]

    @classmethod
    def of(cls, run_id: str, stratum: str, file: RunFile, schema: Schema) -> AdmittedRun:
        """Name the samples of a run file that has the columns of `schema`."""
        return cls(
            run_id,
            stratum,
            file,
            tuple(sample_id(run_id, index) for index in range(file.samples)),
            content_hashes(schema, file.columns, file.samples),
            point_hashes(schema, file.columns, file.samples),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of its columns."""
        return sum(
            values.data.nbytes if isinstance(values, Ragged) else values.nbytes for values in self.file.columns.values()
        )


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """What the manifest knows of a shard.

    Attributes:
        file: Name of the file in the folder of shards.
        sha256: Hash of its bytes (hex, 64 characters).
        size: Its bytes.
        mtime_ns: Its modification time when it was written, nanoseconds.
        samples: Number of samples in it.
        runs: Number of runs in it.
    """

    file: str
    sha256: str
    size: int
    mtime_ns: int
    samples: int
    runs: int

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class ShardIndex:
    """Who is in a shard, without the columns.

    Attributes:
        ids: `[N]` `<U32`, identity of each sample.
        runs: `[N]` `<U`, its run.
        content: `[N]` `<U64`, its content hash.
        points: `[N]` `<U64`, hash of its point.
        groups: `[N]` `<U`, its group key or empty text.
        strata: `[N]` `<U`, its stratum.
    """

    ids: NDArray[np.str_]
    runs: NDArray[np.str_]
    content: NDArray[np.str_]
    points: NDArray[np.str_]
    groups: NDArray[np.str_]
    strata: NDArray[np.str_]


def write_shard(folder: Path, schema: Schema, runs: Sequence[AdmittedRun]) -> ShardRecord:
    """Pack runs into one shard; its name is its hash, so that the same content gives the same file.

    Args:
        folder: The folder of shards.
        schema: The dataset's columns; every run has them.
        runs: At least one run.

    Raises:
        OSError: If the disk refuses; nothing is left then.
    """
    columns = _joined(schema, [run.file.columns for run in runs])
    position = np.repeat(np.arange(len(runs), dtype=np.int32), [run.file.samples for run in runs])

    def fill(file: h5py.File) -> None:
        file.attrs["format"] = "surrogate-shard"
        file.attrs["format_version"] = FORMAT_VERSION
        file.attrs["samples"] = len(position)
        write_columns(file, schema, columns)
        samples = group(file, "samples")
        write_array(samples, "run", position)
        for name, parts in (
            ("id", [run.ids for run in runs]),
            ("content", [run.content for run in runs]),
            ("point", [run.points for run in runs]),
            ("group", [run.file.groups for run in runs]),
        ):
            write_array(samples, name, np.asarray([entry for part in parts for entry in part], dtype=np.str_))
        _write_runs(group(file, "runs"), runs)

    content = sealed_bytes(KIND, FORMAT_VERSION, fill)
    sha256 = hashlib.sha256(content).hexdigest()
    target = folder / f"{sha256[:16]}.h5"
    with atomic_path(target, check=lambda path: _reads_back(path, sha256)) as temporary:
        temporary.write_bytes(content)
    return record_of(target, sha256, len(position), len(runs))


def record_of(path: Path, sha256: str, samples: int, runs: int) -> ShardRecord:
    """Return the record of a shard that lies on disk."""
    stat = path.stat()
    return ShardRecord(path.name, sha256, stat.st_size, stat.st_mtime_ns, samples, runs)


def _reads_back(path: Path, sha256: str) -> None:
    if sha256_file(path) != sha256:
        raise IntegrityError(f"The file {path} does not read back as it was written; the disk is not to be trusted.")


def _joined(schema: Schema, parts: Sequence[Mapping[str, Values]]) -> dict[str, Values]:
    joined: dict[str, Values] = {}
    for column in schema.columns:
        values = [part[column.name] for part in parts]
        ragged = [value for value in values if isinstance(value, Ragged)]
        plain = [value for value in values if not isinstance(value, Ragged)]
        joined[column.name] = Ragged.join(ragged) if ragged else np.concatenate(plain)
    return joined


def _write_runs(place: h5py.Group, runs: Sequence[AdmittedRun]) -> None:
    write_array(place, "id", np.asarray([run.run_id for run in runs], dtype=np.str_))
    write_array(place, "stratum", np.asarray([run.stratum for run in runs], dtype=np.str_))
    texts = [json.dumps(run.file.provenance, sort_keys=True, ensure_ascii=False).encode() for run in runs]
    flat = Ragged.from_list([np.frombuffer(text, dtype=np.uint8) for text in texts])
    provenance = group(place, "provenance")
    write_array(provenance, "data", flat.data, compression="gzip", shuffle=False)
    write_array(provenance, "offsets", flat.offsets)


def check_shard(folder: Path, record: ShardRecord, *, hashes: bool) -> Path:
    """Return the path of a shard after it was compared with its record.

    Args:
        folder: The folder of shards.
        record: What the manifest knows.
        hashes: Compare the hash even when size and time are as recorded; another time alone always makes it compared.

    Raises:
        IntegrityError: If the shard is missing or is not what was recorded.
    """
    path = folder / record.file
    try:
        stat = path.stat()
        if stat.st_size != record.size:
            raise IntegrityError(
                f"The shard {path} has {stat.st_size} bytes, and {record.size} are recorded: it is damaged. {WAY_OUT}"
            )
        if (hashes or stat.st_mtime_ns != record.mtime_ns) and sha256_file(path) != record.sha256:
            raise IntegrityError(f"The shard {path} is damaged: its bytes are not those recorded. {WAY_OUT}")
    except FileNotFoundError as error:
        raise IntegrityError(f"The shard {path} is missing. {WAY_OUT}") from error
    except OSError as error:
        raise IntegrityError(f"The shard {path} cannot be read ({error.strerror or error}). {WAY_OUT}") from error
    return path


def read_index(file: h5py.File) -> ShardIndex:
    """Read who is in an open shard."""
    samples, runs = file["samples"], file["runs"]
    position = np.asarray(samples["run"][()])
    return ShardIndex(
        read_array(samples["id"]),
        read_array(runs["id"])[position],
        read_array(samples["content"]),
        read_array(samples["point"]),
        read_array(samples["group"]),
        read_array(runs["stratum"])[position],
    )


def read_run_ids(file: h5py.File) -> list[str]:
    """Read the identities of the runs in an open shard."""
    return [str(run) for run in read_array(file["runs/id"])]


def read_provenance(file: h5py.File) -> dict[str, dict[str, Any]]:
    """Read run id → provenance of an open shard."""
    node = file["runs/provenance"]
    flat = Ragged(np.asarray(node["data"][()]), np.asarray(node["offsets"][()]))
    return {run: json.loads(flat[place].tobytes()) for place, run in enumerate(read_run_ids(file))}


def verify_seal(path: Path) -> None:
    """Check a shard by its own seal, without a manifest.

    Raises:
        DataError: If it is of another kind, or newer than this program.
        IntegrityError: If it is torn or damaged.
    """
    read_seal(path, KIND, FORMAT_VERSION, WAY_OUT)
