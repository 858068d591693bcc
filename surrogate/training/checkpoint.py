"""Checkpoints: whole or absent, sealed by a hash, the newest two kept.

A checkpoint is one line that names its size and SHA-256, and an NPZ archive of plain arrays behind it; a JSON record is
stored as bytes beside the arrays. Nothing in it is code.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import IntegrityError
from surrogate.core.files import remove_partial, write_bytes

_SEAL = re.compile(rb"surrogate-checkpoint 1 (\d+) ([0-9a-f]{64})\n")
_NAME = re.compile(r"checkpoint-(\d{8})\.ckpt")
_KEPT = 2


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """Arrays and a JSON-ready record."""

    arrays: dict[str, NDArray[Any]]
    record: dict[str, Any]


def pack(arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> bytes:
    """Return a checkpoint as bytes."""
    buffer = io.BytesIO()
    text = json.dumps(record, sort_keys=True, allow_nan=False).encode()
    named = {
        "record": np.frombuffer(text, dtype=np.uint8),
        **{f"array/{name}": array for name, array in arrays.items()},
    }
    np.savez(buffer, allow_pickle=False, **named)
    content = buffer.getvalue()
    return f"surrogate-checkpoint 1 {len(content)} {hashlib.sha256(content).hexdigest()}\n".encode() + content


def unpack(content: bytes, name: str) -> Checkpoint:
    """Rebuild a checkpoint from its bytes.

    Args:
        content: What `pack` gave.
        name: Where it comes from, for the sentence.

    Raises:
        IntegrityError: If a byte is missing or altered.
    """
    seal = _SEAL.match(content[:128])
    body = content[seal.end() :] if seal else b""
    if seal is None or len(body) != int(seal[1]) or hashlib.sha256(body).hexdigest() != seal[2].decode():
        raise IntegrityError(f"The checkpoint {name} is damaged: its bytes are not those that were written.")
    with np.load(io.BytesIO(body), allow_pickle=False) as archive:
        record = json.loads(archive["record"].tobytes())
        arrays = {key.removeprefix("array/"): archive[key] for key in archive.files if key.startswith("array/")}
    return Checkpoint(arrays, record)


def list_arrays(name: str, arrays: list[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return a list of arrays by numbered names."""
    return {f"{name}/{index:04d}": array for index, array in enumerate(arrays)}


def array_list(name: str, arrays: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the list that `list_arrays` numbered."""
    return [arrays[key] for key in sorted(arrays) if key.startswith(f"{name}/")]


class CheckpointFolder:
    """The checkpoints of one training. Only rank 0 touches it."""

    def __init__(self, folder: Path) -> None:
        """Use a folder; it is made when first written to."""
        self.folder = folder

    def _numbered(self) -> list[tuple[int, Path]]:
        """Return the checkpoints, oldest first."""
        found = [(_NAME.fullmatch(path.name), path) for path in self.folder.glob("checkpoint-*.ckpt")]
        return sorted((int(match[1]), path) for match, path in found if match)

    def save(self, content: bytes) -> Path:
        """Write the next checkpoint atomically and remove all but the newest two.

        Raises:
            OSError: If the disk refuses; earlier checkpoints are untouched.
        """
        earlier = self._numbered()
        number = earlier[-1][0] + 1 if earlier else 1
        path = self.folder / f"checkpoint-{number:08d}.ckpt"
        write_bytes(path, content)
        for _, old in [*earlier, (number, path)][:-_KEPT]:
            old.unlink(missing_ok=True)
        return path

    def newest(self) -> tuple[bytes | None, list[str]]:
        """Return the newest whole checkpoint, or None, and a sentence about each damaged one that was passed over.

        Raises:
            IntegrityError: If there are checkpoints and all are damaged.
        """
        if self.folder.is_dir():
            remove_partial(self.folder)
        damaged: list[str] = []
        for _, path in reversed(self._numbered()):
            content = path.read_bytes()
            try:
                unpack(content, str(path))
            except IntegrityError as error:
                damaged.append(str(error))
                continue
            return content, damaged
        if damaged:
            raise IntegrityError(
                f"{' '.join(damaged)} No whole checkpoint is left. Remove the folder {self.folder} to train from the "
                "beginning."
            )
        return None, damaged

    def save_member(self, number: int, content: bytes) -> None:
        """Write the finished member `number` atomically, and remove the checkpoints of its training."""
        write_bytes(self.folder / f"member-{number:03d}.ckpt", content)
        for _, old in self._numbered():
            old.unlink(missing_ok=True)

    def member(self, number: int) -> bytes | None:
        """Return a finished member, or None when it is missing or damaged: it is then trained again."""
        path = self.folder / f"member-{number:03d}.ckpt"
        if not path.is_file():
            return None
        content = path.read_bytes()
        try:
            unpack(content, str(path))
        except IntegrityError:
            return None
        return content
