"""Records that tell when a byte of them was altered: JSON files that carry the hash of their own content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surrogate.core.errors import IntegrityError
from surrogate.core.files import read_json, write_json

CHECK = "self_check"


def checked(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON-ready record with the hash of its content.

    Args:
        record: JSON-ready; it has no key `self_check`.
    """
    return {**record, CHECK: _hash(record)}


def write_checked(path: Path, record: Mapping[str, Any], *, durable: bool = True) -> None:
    """Write a record with its hash atomically as JSON.

    Raises:
        OSError: If the disk refuses; what stood there before stays.
    """
    write_json(path, checked(record), durable=durable)


def read_checked(path: Path, way_out: str) -> dict[str, Any]:
    """Read a record and compare it with the hash that it carries; one without a hash was written by hand.

    Args:
        path: The file.
        way_out: A sentence that says what to do when it is damaged.

    Raises:
        IntegrityError: If it is missing, no JSON object, or not what was written.
    """
    try:
        record = read_json(path)
    except IntegrityError as error:
        raise IntegrityError(f"{error} {way_out}") from error
    if not isinstance(record, dict):
        raise IntegrityError(f"The file {path} is damaged: it holds no record. {way_out}")
    check = record.pop(CHECK, None)
    if check is not None and check != _hash(record):
        raise IntegrityError(f"The file {path} is damaged: its content is not what was written. {way_out}")
    return record


def _hash(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex, 64 characters) of a record; numbers count with all their digits."""
    text = json.dumps(record, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
