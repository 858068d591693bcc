"""How often a holdout has been consulted: every look makes the next verdict a little less independent."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from surrogate.core.checked import read_checked, write_checked
from surrogate.core.errors import IntegrityError
from surrogate.core.identity import digest

_WAY_OUT = (
    "It counts the looks at the holdout. Restore it from a copy; if you delete it, say in your report that the count "
    "began anew."
)


@dataclass(frozen=True, slots=True)
class Consultations:
    """What is known about the looks at one campaign's holdout, this one included.

    Attributes:
        times: Looks.
        surrogates: Different versions that were judged on it.
        lost: Looks that the record had lost and that are known from elsewhere; they are counted.
        holdout: Name of the holdout.
    """

    times: int
    surrogates: int
    lost: int = 0
    holdout: str = ""

    @property
    def sentence(self) -> str:
        """The same for a reader."""
        if self.times == 1:
            return "This is the first time that this holdout was consulted."
        versions = "one version" if self.surrogates == 1 else f"{self.surrogates} versions"
        return f"This holdout has been consulted {self.times} times, for {versions} of the surrogate."


@dataclass(frozen=True, slots=True)
class KnownLooks:
    """What verdicts and journal say of earlier looks, in case the record was lost.

    Attributes:
        times: Looks, at least.
        surrogates: Different versions, at least.
        versions: Those whose names are known.
    """

    times: int = 0
    surrogates: int = 0
    versions: frozenset[str] = frozenset()

    def __or__(self, other: KnownLooks) -> KnownLooks:
        """Return what two sources say together; each of them may have counted the same looks."""
        versions = self.versions | other.versions
        return KnownLooks(max(self.times, other.times), max(self.surrogates, other.surrogates, len(versions)), versions)


def holdout_id(salt: str) -> str:
    """Return the name of a holdout, 16 hex digits: it is known by the split's salt."""
    return digest("holdout", salt)[:16]


def record_consultation(
    path: Path, *, salt: str, version: str, dataset_hash: str, known: KnownLooks | None = None
) -> Consultations:
    """Write down one look at the holdout, before it is taken.

    A holdout is known by the split's salt: more data of the same campaign extends it, and earlier looks still count.

    Args:
        path: The record, a JSON file of the working directory.
        salt: Salt of the split.
        version: Version that is judged.
        dataset_hash: Hash of the dataset.
        known: What is known of earlier looks from elsewhere; a record that counts fewer was lost, and is mended.

    Raises:
        IntegrityError: If the record is damaged.
    """
    holdout = holdout_id(salt)
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.with_name(f".{path.name}.lock")):
        looks = []
        if path.exists():
            record = read_checked(path, _WAY_OUT)
            try:
                looks = list(record["consultations"])
                versions = {str(look["version"]) for look in looks if look["holdout"] == holdout}
            except (KeyError, TypeError) as error:
                raise IntegrityError(f"The file {path} is damaged: it counts no looks. {_WAY_OUT}") from error
        else:
            versions = set()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        lost = _lost(known or KnownLooks(), versions, sum(look["holdout"] == holdout for look in looks))
        looks += [{"holdout": holdout, "version": name, "dataset_hash": "", "at": ""} for name in lost]
        versions |= set(lost)
        looks.append({"holdout": holdout, "version": version, "dataset_hash": dataset_hash, "at": now})
        write_checked(path, {"consultations": looks})
    times = sum(look["holdout"] == holdout for look in looks)
    return Consultations(times, len(versions | {version}), len(lost), holdout)


def _lost(known: KnownLooks, versions: set[str], times: int) -> list[str]:
    """Return the version of each look that a record with so many looks has lost; made-up names where none is known."""
    names = sorted(known.versions - versions)
    unnamed = known.surrogates - len(known.versions | versions)
    names += [f"lost-{number}" for number in range(1, unnamed + 1)]
    count = max(known.times - times, 0)
    filler = min(known.versions | versions, default="lost-1")
    return (names + [filler] * count)[:count]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on a file beside the record."""
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)
