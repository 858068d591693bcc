"""Why files and samples were refused: equal sentences are told once, with an example and a count."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SHOWN = 20
"""Different sentences that are kept."""

_NUMBER = re.compile(r"(?<![A-Za-z_])[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


@dataclass(slots=True)
class Reasons:
    """The different sentences, in the order in which they came.

    Attributes:
        other: Files and samples whose sentence is none of those that are kept.
    """

    other: int = 0
    _told: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def add(self, path: Path, row: int | None, samples: int, kind: str, reason: str) -> None:
        """Count one refusal.

        Args:
            path: The file.
            row: Number of the sample in the file; None for a whole file or piece, −1 for several samples.
            samples: How many samples are refused.
            kind: What is wrong.
            reason: The sentence. Two that differ in nothing but numbers and the file's name are the same.
        """
        key = (kind, _NUMBER.sub("#", reason.replace(str(path), "FILE").replace(path.name, "FILE")))
        known = self._told.get(key)
        if known is not None:
            known["files"] += known["last"] != str(path)
            known["samples"] += samples
            known["last"] = str(path)
        elif len(self._told) < SHOWN:
            self._told[key] = {
                "file": str(path), "sample": row, "kind": kind, "reason": reason, "files": 1, "samples": samples,
                "last": str(path),
            }  # fmt: skip
        else:
            self.other += samples

    def entries(self) -> list[dict[str, Any]]:
        """Return the sentences: file and sample of the first of each, kind, reason, files and samples that share it."""
        return [{key: value for key, value in entry.items() if key != "last"} for entry in self._told.values()]
