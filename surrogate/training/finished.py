"""Whether a training's artifact is there and whole, told without TensorFlow."""

from __future__ import annotations

from pathlib import Path

from surrogate.core.errors import IntegrityError
from surrogate.core.files import read_json, sha256_file

FOLDER = "artifact"
"""Folder of the artifact in the training's folder."""

MANIFEST = "artifact.json"
"""List of the artifact's files; written last."""


def is_finished(out: Path, key: str) -> bool:
    """Return whether the artifact of this very job is there, every file as it was written.

    Args:
        out: The training's folder.
        key: Key of the job.
    """
    folder = out / FOLDER
    if not (folder / MANIFEST).is_file():
        return False
    try:
        files = read_json(folder / MANIFEST)["files"]
        whole = all((folder / name).is_file() and sha256_file(folder / name) == value for name, value in files.items())
        return bool(whole and read_json(folder / "surrogate.json").get("job") == key)
    except (IntegrityError, KeyError, TypeError, AttributeError):
        return False
