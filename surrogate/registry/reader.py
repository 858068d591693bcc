"""Looking into a registry: versions, which is current, what they were made from. Nothing is written here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surrogate.core.errors import ConfigError, IntegrityError, nearest
from surrogate.core.files import sha256_file
from surrogate.inference.artifact import verify_files
from surrogate.registry.history import Entry, History, current_of
from surrogate.registry.record import ARTIFACT, RUNS, check_name, read_record
from surrogate.validation.verdict import Verdict

VERSIONS = "versions"
SHORTEST = 4
"""Characters of a version's name that must be given."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of `surrogate registry list`.

    Attributes:
        campaign: Name of the campaign.
        version: The version.
        state: `current`, `promoted` (earlier), `rejected` (its last verdict failed), `passed` (not promoted),
            `candidate` (not judged) or `damaged`.
        at: When it was added, UTC; empty if unknown.
        family: Model family; empty when damaged.
        dataset_hash: Hash of the dataset; empty when damaged.
        sentence: Of its last verdict, or what is damaged; may be empty.
    """

    campaign: str
    version: str
    state: str
    at: str
    family: str
    dataset_hash: str
    sentence: str


class RegistryReader:
    """Versions of the surrogates of one or several campaigns, in one folder.

    Attributes:
        root: The folder; it need not exist yet.
    """

    def __init__(self, root: Path) -> None:
        """Take the folder; nothing is read yet.

        Args:
            root: The registry's folder.
        """
        self.root = root

    def current(self, campaign: str) -> str | None:
        """Return the current version of a campaign, or None when none was promoted.

        Raises:
            IntegrityError: If the history is damaged.
        """
        return current_of(History(self._campaign(campaign)).read())

    def artifact(self, version: str, campaign: str | None = None) -> Path:
        """Return the folder of a version's artifact, for `Predictor.load`, which checks every file of it.

        Args:
            version: The version, or the beginning of its name.
            campaign: Its campaign, where several might have it.

        Raises:
            ConfigError: If there is no such version.
            IntegrityError: If its record is damaged.
        """
        campaign, version = self.resolve(version, campaign)
        folder = self._campaign(campaign) / VERSIONS / version
        read_record(folder)
        return folder / ARTIFACT

    def verify(self, version: str, campaign: str | None = None) -> dict[str, Any]:
        """Check every byte of a version and return its record.

        Raises:
            ConfigError: If there is no such version.
            IntegrityError: Naming what is missing or altered.
        """
        campaign, version = self.resolve(version, campaign)
        folder = self._campaign(campaign) / VERSIONS / version
        record = read_record(folder)
        verify_files(folder / ARTIFACT, record["files"])
        runs = folder / RUNS
        if not runs.is_file() or sha256_file(runs) != record["runs"]["digest"]:
            raise IntegrityError(
                f"The file {runs}, which lists the runs behind version {version}, is missing or was altered. "
                "Restore it from a backup; the surrogate itself is whole."
            )
        return record

    def campaigns(self) -> Sequence[str]:
        """Return the names of the campaigns, sorted."""
        if not self.root.is_dir():
            return []
        return sorted(path.name for path in self.root.iterdir() if (path / VERSIONS).is_dir())

    def versions(self, campaign: str) -> Sequence[str]:
        """Return the versions of a campaign, sorted by name."""
        folder = self._campaign(campaign) / VERSIONS
        return (
            sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []
        )

    def find(self, campaign: str, file: str, sha256: str) -> str | None:
        """Return a version whose artifact has a file with this hash, or None.

        Args:
            campaign: Its campaign.
            file: Name of the file in the artifact.
            sha256: Its hash.
        """
        for version in self.versions(campaign):
            try:
                record = read_record(self._campaign(campaign) / VERSIONS / version)
            except IntegrityError:
                continue  # a damaged version is nobody's
            if record["files"].get(file) == sha256:
                return version
        return None

    def resolve(self, version: str, campaign: str | None = None) -> tuple[str, str]:
        """Return campaign and full name of the version that a name begins.

        Args:
            version: The version, or at least `SHORTEST` characters of its beginning.
            campaign: Its campaign, or None to look in all.

        Raises:
            ConfigError: If there is none, or several.
        """
        names = [campaign] if campaign is not None else self.campaigns()
        known = [(name, found) for name in names for found in self.versions(name)]
        exact = [pair for pair in known if pair[1] == version]
        matches = exact or [pair for pair in known if len(version) >= SHORTEST and pair[1].startswith(version)]
        if len(matches) == 1:
            return matches[0]
        if not matches and 0 < len(version) < SHORTEST:
            raise ConfigError(f"'{version}' is too short to name a version: write at least {SHORTEST} of its letters.")
        if not matches:
            hint = nearest(version, [found for _, found in known])
            raise ConfigError(
                f"The registry {self.root} has no version '{version}'.{hint} "
                f"It has {len(known)}; see `surrogate registry list`."
            )
        listed = ", ".join(f"{found} of {name}" for name, found in matches)
        raise ConfigError(f"'{version}' could be {listed}. Write more of it, or name the campaign.")

    def show(self, version: str, campaign: str | None = None) -> dict[str, Any]:
        """Return everything about a version, JSON-ready: record, state, events and its last verdict.

        Raises:
            ConfigError: If there is no such version.
            IntegrityError: If record, verdict or history is damaged.
        """
        campaign, version = self.resolve(version, campaign)
        folder = self._campaign(campaign) / VERSIONS / version
        entries = History(self._campaign(campaign)).read()
        own = [entry for entry in entries if entry.version == version]
        verdict = self._last_verdict(campaign, own)
        return {
            "campaign": campaign,
            "version": version,
            "state": self._summary(campaign, version, entries).state,
            "current": current_of(entries) == version,
            "path": str(folder),
            "record": read_record(folder),
            "verdict": None if verdict is None else verdict.to_json(),
            "events": [{name: getattr(entry, name) for name in Entry.__slots__} for entry in own],
        }

    def lineage(self, version: str, campaign: str | None = None) -> Sequence[dict[str, Any]]:
        """Return what `show` says of a version and of all its ancestors, the version first.

        An ancestor that is not in this registry ends the list as `{"version": …, "missing": True}`.

        Raises:
            ConfigError: If there is no such version.
            IntegrityError: If something of it is damaged.
        """
        chain = [self.show(version, campaign)]
        while (parent := chain[-1]["record"]["parent"]) is not None:
            if not any(parent in self.versions(name) for name in self.campaigns()):
                chain.append({"version": parent, "missing": True})
                break
            chain.append(self.show(parent))
        return chain

    def run_ids(self, version: str, campaign: str | None = None) -> Sequence[str]:
        """Return every run behind a version, sorted.

        Raises:
            ConfigError: If there is no such version.
            IntegrityError: If the list was altered.
        """
        campaign, version = self.resolve(version, campaign)
        self.verify(version, campaign)
        return (self._campaign(campaign) / VERSIONS / version / RUNS).read_text(encoding="utf-8").split()

    def _summary(self, campaign: str, version: str, entries: Sequence[Entry]) -> Summary:
        """Return the line of one version."""
        own = [entry for entry in entries if entry.version == version]
        at = next((entry.at for entry in own if entry.event == "added"), "")
        try:
            record = read_record(self._campaign(campaign) / VERSIONS / version)
            verdict = self._last_verdict(campaign, own)
        except IntegrityError as error:
            return Summary(campaign, version, "damaged", at, "", "", str(error))
        if current_of(entries) == version:
            state = "current"
        elif any(entry.event in ("promoted", "rolled_back") for entry in own):
            state = "promoted"
        elif verdict is None:
            state = "candidate"
        else:
            state = "passed" if verdict.passed else "rejected"
        sentence = verdict.sentence if verdict is not None else ""
        return Summary(campaign, version, state, at, record["family"], record["dataset_hash"], sentence)

    def _last_verdict(self, campaign: str, entries: Sequence[Entry]) -> Verdict | None:
        """Return the last verdict among these events, checked against its hash."""
        last = next((entry for entry in reversed(entries) if entry.verdict), None)
        if last is None:
            return None
        path = self._campaign(campaign) / last.verdict
        if not path.is_file() or sha256_file(path) != last.verdict_sha256:
            raise IntegrityError(
                f"The verdict {path} is missing or was altered. Restore it from a backup, or validate version "
                f"{last.version} again."
            )
        return Verdict.read(path)

    def _campaign(self, name: str) -> Path:
        return self.root / check_name(name)

    def list(self, campaign: str | None = None) -> Sequence[Summary]:
        """Return one line a version, oldest first; a damaged version is listed as such.

        Args:
            campaign: Only this one, or None for all.

        Raises:
            IntegrityError: If a history is damaged.
        """
        lines: tuple[Summary, ...] = ()
        for name in [campaign] if campaign is not None else self.campaigns():
            entries = History(self._campaign(name)).read()
            order = {entry.version: entry.sequence for entry in reversed(entries)}
            versions = sorted(self.versions(name), key=lambda version: (order.get(version, 0), version))
            lines += tuple(self._summary(name, version, entries) for version in versions)
        return lines
