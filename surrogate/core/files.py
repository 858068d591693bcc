"""Files that are whole or absent: written beside, checked, flushed to disk, renamed."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from surrogate.core.errors import IntegrityError

_PARTIAL = re.compile(r"\..*-[0-9a-f]{12}\.part(\..*)?", re.DOTALL)


def fsync_directory(folder: Path) -> None:
    """Flush a folder's entries to disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_path(target: Path, check: Callable[[Path], None] | None = None, *, durable: bool = True) -> Iterator[Path]:
    """Give a temporary path beside `target`; on a clean exit it becomes `target`.

    Args:
        target: Where the finished file belongs; its folder is made when missing.
        check: Called with the temporary path before the rename; raises to refuse it.
        durable: Flush to disk before and after the rename.

    Yields:
        The temporary path, in the same folder, with the same suffix; nothing stands there yet.

    Raises:
        OSError: If the disk refuses; `target` is untouched then, and the temporary file is gone.
    """
    if not target.parent.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{target.stem[:40]}-{secrets.token_hex(6)}.part{target.suffix}"
    try:
        yield temporary
        if check is not None:
            check(temporary)
        if durable:
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        fsync_directory(target.parent)


def write_bytes(target: Path, content: bytes, *, durable: bool = True) -> None:
    """Write `content` to `target` atomically."""
    with atomic_path(target, durable=durable) as temporary:
        temporary.write_bytes(content)


def write_text(target: Path, content: str, *, durable: bool = True) -> None:
    """Write `content` to `target` atomically as UTF-8."""
    write_bytes(target, content.encode(), durable=durable)


def write_json(target: Path, value: Any, *, durable: bool = True) -> None:
    """Write `value` to `target` atomically as indented JSON with a final newline."""
    write_text(target, json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n", durable=durable)


def read_json(path: Path) -> Any:
    """Read JSON.

    Raises:
        IntegrityError: If the file is missing, unreadable or not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise IntegrityError(f"The file {path} is missing.") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise IntegrityError(f"The file {path} is damaged: it is not JSON ({error}).") from error


def sha256_file(path: Path) -> str:
    """Return the SHA-256 (hex, 64 characters) of a file's bytes."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def same_file(one: Path, other: Path) -> bool:
    """Return whether two names lead to one file, also by a link; False where one of them leads nowhere."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def is_partial(name: str) -> bool:
    """Return whether a file bears the name under which `atomic_path` writes."""
    return _PARTIAL.fullmatch(name) is not None


def remove_partial(folder: Path) -> int:
    """Remove what interrupted writers left in `folder` (not below it); return how many files."""
    return _remove(folder.glob(".*.part*"))


def remove_partial_of(target: Path) -> int:
    """Remove what interrupted writers of this one file left; return how many files."""
    return _remove(target.parent.glob(f".{glob.escape(target.stem[:40])}-*.part{glob.escape(target.suffix)}"))


def _remove(paths: Iterable[Path]) -> int:
    count = 0
    for path in paths:
        path.unlink(missing_ok=True)
        count += 1
    return count
