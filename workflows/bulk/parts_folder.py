"""The folder beside an output in which finished parts wait for the others: `.NAME.parts`, gone when all is done."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from surrogate.core.errors import IntegrityError, Interrupted
from surrogate.core.files import read_json, remove_partial, write_json
from surrogate.core.identity import digest
from surrogate.core.lock import Lease
from surrogate.core.schema import Schema, Values
from surrogate.core.storage import storage_error
from surrogate.inference.parts import part_is_whole, read_part
from surrogate.models.protocols import Prediction
from workflows.orphans import settle
from workflows.progress import Progress
from workflows.stopping import Stopping

_JOB = "job.json"
_PARTS = "parts"
_FORMAT = 1


class PartsFolder:
    """Parts of one prediction; one process at a time has it.

    Attributes:
        root: The folder.
        tag: Identity of the prediction into this output, carried by every process that works for it.
    """

    def __init__(self, root: Path, tag: str) -> None:
        """Use `open`."""
        self.root = root
        self.tag = tag

    @classmethod
    @contextlib.contextmanager
    def open(cls, output: Path, key: str, *, tell: Callable[[str], None]) -> Iterator[PartsFolder]:
        """Take the folder of an output; parts of another surrogate, or of other points, are thrown away.

        Args:
            output: The file that is to be written.
            key: Identity of surrogate, points and cut.
            tell: Is given a sentence about what was found.

        Raises:
            LockError: If another process writes this output.
            StorageError: If the disk is full or refuses.
        """
        output = output.resolve()
        root = output.parent / f".{output.name}.parts"
        folder = cls(root, digest("prediction into", key, str(output))[:32])
        with Lease.acquire(root / "lock", " ".join(sys.argv[:3]), tell=tell):
            try:
                folder._prepare(key, tell)
            except OSError as error:
                raise storage_error(root, error) from error
            yield folder
        if not (root / _PARTS).is_dir():
            shutil.rmtree(root, ignore_errors=True)

    def _prepare(self, key: str, tell: Callable[[str], None]) -> None:
        left = settle(self.tag, self.root, run_ids=[])
        if left.found:
            tell(f"An earlier call left {left.found} processes; they were ended.")
        try:
            known = read_json(self.root / _JOB)
        except IntegrityError:
            known = None
        job = {"format": _FORMAT, "key": key}
        parts = self.root / _PARTS
        if known != job:
            if parts.is_dir() and any(parts.iterdir()):
                tell("What an earlier call predicted belongs to other points or another surrogate; it is thrown away.")
            shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir(parents=True, exist_ok=True)
        remove_partial(parts)
        write_json(self.root / _JOB, job)

    def part(self, number: int) -> Path:
        """Return the file of a part."""
        return self.root / _PARTS / f"part-{number:08d}.h5"

    def lacking(self, count: int) -> list[int]:
        """Return the numbers of the parts that are not there, or not whole."""
        return [number for number in range(count) if not part_is_whole(self.part(number))]

    def read(
        self, schema: Schema, count: int, progress: Progress, stopping: Stopping
    ) -> Iterator[tuple[dict[str, Values], Prediction]]:
        """Yield inputs and answers of part after part.

        Raises:
            IntegrityError: If a part is damaged.
            Interrupted: If somebody asked to stop.
        """
        for number in range(count):
            if stopping.event.is_set():
                raise Interrupted("The prediction was interrupted; all parts are kept. Give the same command again.")
            yield read_part(self.part(number), schema)
            progress.update(number + 1)

    def remove(self) -> None:
        """Remove the parts; the folder goes when it is let go."""
        shutil.rmtree(self.root / _PARTS, ignore_errors=True)
