"""The one writer of a dataset: packs admitted runs into shards and replaces the manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import DataError, IntegrityError
from surrogate.core.files import remove_partial
from surrogate.core.schema import Schema
from surrogate.data import shards
from surrogate.data.conform import columns_differ, structure
from surrogate.data.manifest import NAME, Manifest, rebuild
from surrogate.data.run_file import WAY_OUT, read_run_file
from surrogate.data.sealed import open_sealed
from surrogate.data.shards import AdmittedRun

DESIGN_STRATUM = "design"


@dataclass(frozen=True, slots=True)
class Packed:
    """What was packed, for the journal.

    Attributes:
        shard: File name of the shard.
        sha256: Hash of its bytes (hex, 64 characters).
        runs: Identities of the runs in it; their folders are no longer needed.
    """

    shard: str
    sha256: str
    runs: tuple[str, ...]


class DatasetWriter:
    """Adds runs to the dataset in a folder; only the holder of the campaign may have one.

    A shard is never rewritten: what comes later, for example for retraining, goes into new shards. A crash between
    the writing of a shard and of the manifest leaves a shard that nobody refers to; the next writer removes it, and
    the runs are packed again.
    """

    def __init__(
        self, folder: Path, schema: Schema, samples_per_shard: int = 256, bytes_per_shard: int = 256 * 2**20
    ) -> None:
        """Open the dataset in `folder`, or begin it.

        Args:
            folder: Folder of the dataset.
            schema: Declared columns; names, dtypes, shapes and units must be those of the dataset's, bounds and
                descriptions may have changed.
            samples_per_shard: A shard is written as soon as so many samples are there; a run is never divided.
            bytes_per_shard: The same for bytes.

        Raises:
            DataError: If the dataset has other columns.
            IntegrityError: If the manifest or a shard is damaged.
        """
        self._folder = folder
        self._shards = folder / shards.FOLDER
        self._samples_per_shard, self._bytes_per_shard = samples_per_shard, bytes_per_shard
        self._schema = schema
        self._waiting: dict[str, AdmittedRun] = {}
        self._waiting_samples = self._waiting_bytes = 0
        self._waiting_samples = self._waiting_bytes = 0
        self._told: list[Packed] = []
        self._shards.mkdir(parents=True, exist_ok=True)
        remove_partial(folder)
        remove_partial(self._shards)
        self._manifest = self._open_manifest(schema)
        self._packed = self._read_packed()

    def _open_manifest(self, schema: Schema) -> Manifest:
        present = sorted(self._shards.glob("*.h5"))
        if (self._folder / NAME).exists():
            manifest = Manifest.read(self._folder)
            listed = {record.file for record in manifest.shards}
            for path in present:
                if path.name not in listed:
                    path.unlink()
        else:
            manifest = rebuild(self._folder, present) or Manifest(schema)
        differences = [sentence for _, sentence in columns_differ(schema, manifest.schema)]
        if differences:
            raise DataError(
                f"The dataset in {self._folder} was begun with other columns than are declared now: "
                f"{' '.join(differences)} Use another working directory for another set of columns."
            )
        return Manifest(schema, manifest.shards)

    def _read_packed(self) -> set[str]:
        packed: set[str] = set()
        for record in self._manifest.shards:
            path = shards.check_shard(self._shards, record, hashes=False)
            with open_sealed(path, shards.KIND, shards.FORMAT_VERSION, shards.WAY_OUT, verify=False) as (file, _):
                packed.update(shards.read_run_ids(file))
        return packed

    @property
    def packed(self) -> frozenset[str]:
        """Identities of the runs that are in shards of the manifest."""
        return frozenset(self._packed)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Identities of the runs that were added and are not yet in a shard; their run files are still needed."""
        return tuple(self._waiting)

    @property
    def samples(self) -> int:
        """Number of samples in shards and waiting."""
        return self._manifest.samples + self._waiting_samples

    def add_run(
        self, run_id: str, path: Path, stratum: str = DESIGN_STRATUM, *, content: Sequence[str] | None = None
    ) -> bool:
        """Add an admitted run; when enough samples wait, a shard is written.

        Args:
            run_id: Identity of the run.
            path: Its run file, which is needed until `flush` has named the run.
            stratum: `design` for points of the declared distribution, another word for acquired and arrived ones.
            content: Content hash of each sample as it was admitted, if known; the file must still have it.

        Returns:
            False when the run was added before, which changes nothing.

        Raises:
            DataError: If the file has other columns than the dataset.
            IntegrityError: If the file is damaged, or its content is not what was admitted.
            OSError: If a shard cannot be written; the run still waits then.
        """
        if run_id in self._packed or run_id in self._waiting:
            return False
        file = read_run_file(path)
        differences = [sentence for _, sentence in structure(file, self._schema)]
        if differences:
            raise DataError(f"The run file {path} does not fit the dataset: {' '.join(differences)}")
        run = AdmittedRun.of(run_id, stratum, file, self._schema)
        if content is not None and tuple(content) != run.content:
            raise IntegrityError(f"The content of the run file {path} is not what was admitted. {WAY_OUT}")
        self._waiting[run_id] = run
        self._waiting_samples += run.file.samples
        self._waiting_bytes += run.nbytes
        if self._waiting_samples >= self._samples_per_shard or self._waiting_bytes >= self._bytes_per_shard:
            self._pack()
        return True

    def flush(self) -> tuple[Packed, ...]:
        """Write what waits into a shard, and return everything packed since the last call.

        Raises:
            OSError: If the disk refuses; what waits still waits then, and nothing is forgotten.
        """
        if self._waiting:
            self._pack()
        elif not (self._folder / NAME).exists():
            self._manifest.write(self._folder)
        told, self._told = tuple(self._told), []
        return told

    def _pack(self) -> None:
        runs = list(self._waiting.values())
        record = shards.write_shard(self._shards, self._schema, runs)
        manifest = Manifest(self._schema, (*self._manifest.shards, record))
        manifest.write(self._folder)
        self._manifest = manifest
        self._packed.update(self._waiting)
        self._told.append(Packed(record.file, record.sha256, tuple(self._waiting)))
        self._waiting = {}
        self._waiting_samples = self._waiting_bytes = 0
        self._waiting_samples = self._waiting_bytes = 0
