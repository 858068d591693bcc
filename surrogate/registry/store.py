"""The registry: versions of surrogates that nobody can change, and which of them is current."""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from surrogate.core.errors import ConfigError, InputError
from surrogate.core.files import fsync_directory, read_json, remove_partial, sha256_file, write_json
from surrogate.inference.artifact import MANIFEST, read_manifest, verify_files
from surrogate.inference.artifact import RECORD as SURROGATE
from surrogate.models.agreement import TOLERANCE
from surrogate.registry.history import Entry, Event, History, promotions
from surrogate.registry.reader import VERSIONS, RegistryReader
from surrogate.registry.record import ARTIFACT, RECORD, RUNS, Lineage, build_record, read_record, runs_text, version_of
from surrogate.validation.verdict import Verdict

VERDICTS = "verdicts"


def resolve_registry(
    option: Path | str | None, workdir: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Path:
    """Return the registry that is meant: the option, else `$SURROGATE_REGISTRY`, else `WORKDIR/registry`.

    Args:
        option: What `--registry` said, or None.
        workdir: Working directory of a campaign, or None.
        environ: Environment variables.

    Raises:
        ConfigError: If nothing says which.
    """
    if option is not None:
        return Path(option).expanduser().absolute()
    if environ.get("SURROGATE_REGISTRY"):
        return Path(environ["SURROGATE_REGISTRY"]).expanduser().absolute()
    if workdir is not None:
        return Path(workdir).absolute() / "registry"
    raise ConfigError(
        "No registry was named. Give --registry DIR, set SURROGATE_REGISTRY, or name a working directory."
    )


class Registry(RegistryReader):
    """A registry that can be added to. A folder that does not exist yet is made."""

    def add(self, artifact: Path, lineage: Lineage) -> str:
        """Take a copy of an artifact as a version. Adding the same thing again changes nothing.

        Args:
            artifact: Folder that training wrote.
            lineage: What it was made from.

        Returns:
            The version: 16 hex digits, given by the content of files and lineage.

        Raises:
            IntegrityError: If the artifact is unfinished or damaged.
        """
        files = read_manifest(artifact)
        verify_files(artifact, files)
        files = {**files, MANIFEST: sha256_file(artifact / MANIFEST)}
        record = build_record(lineage, files, read_json(artifact / SURROGATE))
        version = version_of(record)
        folder = self._campaign(lineage.campaign)
        with self._lock(lineage.campaign):
            target = folder / VERSIONS / version
            if not target.exists():
                self._store(target, artifact, record, runs_text(lineage.run_ids))
            _forbid_writing(target)
            history = History(folder)
            if not any(entry.event == "added" and entry.version == version for entry in history.read()):
                history.append("added", version, note=lineage.origin)
        return version

    def _store(self, target: Path, artifact: Path, record: Mapping[str, Any], runs: str) -> None:
        """Build a version's folder under another name and rename it."""
        target.parent.mkdir(parents=True, exist_ok=True)
        for leftover in target.parent.glob(".adding-*"):
            shutil.rmtree(leftover)
        temporary = target.parent / f".adding-{uuid.uuid4().hex}"
        try:
            for name in record["files"]:
                copy = temporary / ARTIFACT / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(artifact / name, copy)
            verify_files(temporary / ARTIFACT, record["files"])
            (temporary / RUNS).write_text(runs, encoding="utf-8")
            write_json(temporary / RECORD, record)
            for path in temporary.rglob("*"):
                _flush(path)
            temporary.rename(target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        fsync_directory(target.parent)

    def promote(self, version: str, verdict: Verdict, *, note: str = "", approved_by: str = "") -> Entry:
        """Make a version current. Only a passing verdict on this very version can do that.

        Args:
            version: The version, or the beginning of its name.
            verdict: What the gate said about it.
            note: Why, for the history.
            approved_by: Who approved it, where a campaign demands a person's word.

        Returns:
            The event in the history; when the version was current already, `approved` on a person's word, else
            `judged`.

        Raises:
            InputError: If the verdict failed or is about another version, or the ONNX networks differ from Keras.
            IntegrityError: If the version or the history is damaged.
        """
        campaign, version = self.resolve(version)
        self._check_version(version, verdict)
        folder = self._campaign(campaign) / VERSIONS / version
        record = read_record(folder)
        _check_promotable(version, record, verdict)
        verify_files(folder / ARTIFACT, record["files"])
        with self._lock(campaign):
            event: Event = "promoted"
            if self.current(campaign) == version:
                event = "approved" if approved_by else "judged"
            return self._write_verdict((campaign, version), verdict, event, note=note, approved_by=approved_by)

    def record_verdict(self, version: str, verdict: Verdict, *, note: str = "") -> Entry:
        """Write a verdict into the history without moving anything, as a failed one must be.

        Args:
            version: The version, or the beginning of its name.
            verdict: What the gate said about it.
            note: Why, for the history.

        Raises:
            InputError: If the verdict is about another version.
            IntegrityError: If the history is damaged.
        """
        campaign, version = self.resolve(version)
        self._check_version(version, verdict)
        with self._lock(campaign):
            return self._write_verdict((campaign, version), verdict, "judged", note=note)

    def rollback(self, campaign: str, to: str | None = None, *, note: str = "") -> Entry:
        """Make the previously promoted version current again.

        Args:
            campaign: Name of the campaign.
            to: An earlier promoted version to go back to; without it, the one before the current.
            note: Why, for the history.

        Raises:
            InputError: If there is no such earlier version.
            IntegrityError: If that version or the history is damaged.
        """
        with self._lock(campaign):
            history = History(self._campaign(campaign))
            reachable = promotions(history.read())
            if len(reachable) < 2:
                raise InputError(
                    f"Campaign '{campaign}' has no earlier promoted version to go back to: "
                    f"{'nothing was promoted yet' if not reachable else f'{reachable[-1]} is the only one'}."
                )
            target = reachable[-2]
            if to is not None:
                earlier = [version for version in reachable[:-1] if version.startswith(to)]
                if not earlier:
                    raise InputError(
                        f"'{to}' is no version that was promoted before {reachable[-1]}. "
                        f"A rollback can go to {', '.join(reversed(reachable[:-1]))}."
                    )
                target = earlier[-1]
            self.verify(target, campaign)
            return history.append("rolled_back", target, note=note)

    def _write_verdict(
        self, name: tuple[str, str], verdict: Verdict, event: Event, *, note: str = "", approved_by: str = ""
    ) -> Entry:
        """Keep a verdict and the event that it caused; `name` is campaign and version."""
        campaign, version = name
        folder = self._campaign(campaign)
        history = History(folder)
        file = f"{VERDICTS}/{version}-{len(history.read()) + 1:06d}.json"
        remove_partial(folder / VERDICTS)
        verdict.write(folder / file)
        return history.append(
            event,
            version,
            note=note,
            approved_by=approved_by,
            verdict=file,
            verdict_sha256=sha256_file(folder / file),
        )

    @staticmethod
    def _check_version(version: str, verdict: Verdict) -> None:
        if verdict.version != version:
            raise InputError(
                f"The verdict is about version {verdict.version}, and version {version} was to be judged by it. "
                "Validate this version."
            )

    @contextlib.contextmanager
    def _lock(self, campaign: str) -> Iterator[None]:
        """Hold the campaign's part of the registry; others wait."""
        folder = self._campaign(campaign)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            handle = (folder / ".lock").open("a")
        except OSError as error:
            raise ConfigError(
                f"The registry {self.root} cannot be written ({error.strerror}). Ask its owner for leave, or name "
                "another with --registry or SURROGATE_REGISTRY."
            ) from error
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _check_promotable(version: str, record: Mapping[str, Any], verdict: Verdict) -> None:
    """Refuse a version that has not shown what it must."""
    if not verdict.passed:
        raise InputError(f"Version {version} is not promoted. {verdict.sentence}")
    if not record["onnx"]:
        return
    difference = verdict.onnx_difference
    if difference is None:
        difference = record.get("onnx_difference")
    if difference is None or not math.isfinite(difference) or difference > TOLERANCE:
        found = "was not measured" if difference is None else f"is {difference:.3g}"
        raise InputError(
            f"Version {version} is not promoted: the largest difference between its ONNX and Keras networks {found}, "
            f"and at most {TOLERANCE:g} is allowed. Export the networks again."
        )


def _flush(path: Path) -> None:
    """Flush a file or folder to disk."""
    if path.is_dir():
        fsync_directory(path)
        return
    with path.open("rb") as handle:
        os.fsync(handle.fileno())


def _forbid_writing(folder: Path) -> None:
    """Take away the right to write below and at a folder."""
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)
