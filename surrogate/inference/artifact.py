"""What training left on disk, opened only after every byte of it was checked."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.checked import read_checked
from surrogate.core.errors import DataError, IntegrityError, SpaceError
from surrogate.core.files import read_json, sha256_file
from surrogate.core.identity import digest
from surrogate.core.schema import Schema
from surrogate.design.space import InputSpace
from surrogate.models.calibration import Calibration
from surrogate.models.domain import Domain

FORMAT = 1
"""Newest layout of an artifact that this version reads."""

MANIFEST = "artifact.json"
"""File → SHA-256 of everything else; written last, so that its presence means that the artifact is whole."""

RECORD = "surrogate.json"
"""Family, options, schema, space, members, calibration, domain and how it was trained."""

_WAY_OUT = "Train it again, or take another version from the registry."


@dataclass(frozen=True, slots=True, eq=False)
class Artifact:
    """A verified artifact. Networks are not loaded yet.

    Attributes:
        folder: Where it lies.
        files: File name → SHA-256 (hex), without the manifest.
        record: Content of `surrogate.json`.
        schema: Columns that it is asked and answers.
        learned_from: Columns that it was trained on; others only where its family has an exam of its own.
        space: The declared input space, or None.
        calibration: Floors and factors of its intervals.
        domain: Where it was trained, or None when the space has no unit cube.
    """

    folder: Path
    files: dict[str, str]
    record: dict[str, Any]
    schema: Schema
    learned_from: Schema
    space: InputSpace | None
    calibration: Calibration
    domain: Domain | None

    @property
    def content(self) -> str:
        """SHA-256 (hex, 64 characters) over the names and hashes of all files."""
        return digest("artifact", self.files)

    @property
    def family(self) -> str:
        """Name of the model family."""
        return str(self.record["family"])

    @property
    def dataset_hash(self) -> str:
        """Hash of the dataset that it was trained on."""
        return str(self.record["dataset_hash"])

    @property
    def onnx_difference(self) -> float | None:
        """Difference between ONNX and Keras (see `surrogate.models.agreement`) that training found, or None."""
        value = self.record.get("onnx_difference")
        return None if value is None else float(value)

    def members(self, kind: str) -> list[Path]:
        """Return the members' network files of one kind, `keras` or `onnx`, in order.

        Raises:
            DataError: If the artifact has no network of that kind.
        """
        names = [member.get(kind) for member in self.record["members"]]
        if not names or any(name is None for name in names):
            raise DataError(
                f"The surrogate in {self.folder} carries no {kind} network. "
                f"Load it with runtime='{'tensorflow' if kind == 'onnx' else 'onnx'}'."
            )
        return [self.folder / str(name) for name in names]

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the arrays of an NPZ file of the artifact; no pickle is read.

        Raises:
            IntegrityError: If the file is missing or no NPZ file of plain arrays.
        """
        return read_arrays(self.folder / name)


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an NPZ file; no pickle is read.

    Raises:
        IntegrityError: If the file is missing or no NPZ file of plain arrays.
    """
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (OSError, ValueError, EOFError, AttributeError) as error:
        raise IntegrityError(f"The file {path} is damaged: it holds no plain arrays ({error}). {_WAY_OUT}") from error


def read_manifest(folder: Path) -> dict[str, str]:
    """Return file name → SHA-256 of an artifact, without opening its files.

    Raises:
        IntegrityError: If there is no manifest, it is damaged, or newer than this program.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise IntegrityError(
            f"{folder} holds no finished surrogate: {MANIFEST}, which training writes last, is not there. "
            "Finish the training with `surrogate resume`."
        )
    record = read_checked(path, _WAY_OUT)
    try:
        version, files = record["format"], {str(name): str(value) for name, value in record["files"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise IntegrityError(f"The file {path} is damaged: it lists no files. {_WAY_OUT}") from error
    if version != FORMAT:
        raise IntegrityError(
            f"{folder} is written in layout {version}, and this program reads layout {FORMAT}. "
            "Use the version of the program that wrote it, or a newer one."
        )
    for name in files:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or name == MANIFEST:
            raise IntegrityError(f"The file {path} names '{name}', which cannot belong to an artifact. {_WAY_OUT}")
    if RECORD not in files:
        raise IntegrityError(f"The file {path} does not list {RECORD}. {_WAY_OUT}")
    return files


def verify_files(folder: Path, files: Mapping[str, str]) -> None:
    """Check every listed file against its hash.

    Raises:
        IntegrityError: Naming the first file that is missing or altered.
    """
    for name, expected in sorted(files.items()):
        path = folder / name
        if not path.is_file():
            raise IntegrityError(f"The file {path} is missing from its surrogate. {_WAY_OUT}")
        found = sha256_file(path)
        if found != expected:
            raise IntegrityError(
                f"The file {path} was altered after training: its SHA-256 is {found[:16]}…, "
                f"and {MANIFEST} says {expected[:16]}…. {_WAY_OUT}"
            )


def open_artifact(folder: Path) -> Artifact:
    """Open an artifact and check every file of it.

    Args:
        folder: The folder that training wrote, or a version's folder in the registry.

    Raises:
        IntegrityError: If it is unfinished, altered, damaged, or newer than this program.
    """
    files = read_manifest(folder)
    verify_files(folder, files)
    record = read_json(folder / RECORD)
    try:
        schema = Schema.from_json(record["schema"])
        learned_from = Schema.from_json(record.get("learned_from", record["schema"]))
        space = _space(record["space"])
        calibration = Calibration.from_json(record["calibration"])
        domain = None
        if record["domain"] is not None:
            domain = Domain.restore(read_arrays(folder / "domain.npz"), record["domain"])
        for key in ("family", "options", "members", "dataset_hash"):
            record[key]
    except (KeyError, TypeError, DataError, SpaceError) as error:
        raise IntegrityError(f"The file {folder / RECORD} is no record of a surrogate: {error}. {_WAY_OUT}") from error
    return Artifact(folder, files, record, schema, learned_from, space, calibration, domain)


def _space(record: Mapping[str, Any] | None) -> InputSpace | None:
    """Return the declared space, or None when there is none."""
    if record is None:
        return None
    from surrogate.design.catalogue import space_from_json

    return space_from_json(dict(record))
