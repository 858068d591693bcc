"""The Verdict: pass or fail with evidence, as a value and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surrogate.core.checked import read_checked, write_checked
from surrogate.core.errors import IntegrityError
from surrogate.validation.gate import Evidence, Gate

FORMAT = 1
"""Layout of `verdict.json`."""

WAY_OUT = "Restore it from a copy, or write it again with `surrogate validate`."


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says about one version, judged on one holdout.

    Attributes:
        passed: Whether every condition holds.
        sentence: The same for a reader.
        version: Version of the surrogate that was judged.
        dataset_hash: Hash of the dataset whose holdout it was judged on.
        metrics: Metric name → value on the declared distribution; None for a number that is not finite.
        gate: Metric name → bounds.
        beats: Baselines that had to be beaten.
        evidence: How each condition came out, JSON-ready.
        details: Everything else that is worth keeping, JSON-ready: units, confidence intervals, baselines, sample
            counts, strata, consultations of the holdout, the ONNX check.
    """

    passed: bool
    sentence: str
    version: str
    dataset_hash: str
    metrics: dict[str, float | None]
    gate: dict[str, dict[str, float]]
    beats: tuple[str, ...]
    evidence: tuple[dict[str, Any], ...]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def onnx_difference(self) -> float | None:
        """Largest difference between ONNX and Keras that validation measured, or None."""
        value = self.details.get("onnx_difference")
        return None if value is None else float(value)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "format": FORMAT,
            "passed": self.passed,
            "sentence": self.sentence,
            "version": self.version,
            "dataset_hash": self.dataset_hash,
            "metrics": self.metrics,
            "gate": self.gate,
            "beats": list(self.beats),
            "evidence": list(self.evidence),
            **self.details,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Verdict:
        """Rebuild a verdict from `to_json`.

        Raises:
            IntegrityError: If the mapping is no verdict, contradicts its evidence, or is newer than this program.
        """
        try:
            if record["format"] > FORMAT:
                raise IntegrityError("This verdict was written by a newer version of the program; use that version.")
            own = ("passed", "sentence", "version", "dataset_hash", "metrics", "gate", "beats", "evidence", "format")
            verdict = cls(
                bool(record["passed"]),
                str(record["sentence"]),
                str(record["version"]),
                str(record["dataset_hash"]),
                dict(record["metrics"]),
                dict(record["gate"]),
                tuple(record["beats"]),
                tuple(record["evidence"]),
                {key: value for key, value in record.items() if key not in own},
            )
            honest = verdict.passed == (bool(verdict.evidence) and all(entry["passed"] for entry in verdict.evidence))
        except (KeyError, TypeError, ValueError) as error:
            raise IntegrityError(f"This is no verdict: {error!r}.") from error
        if not honest:
            raise IntegrityError("This verdict contradicts its own evidence: it was altered. Validate again.")
        return verdict

    def write(self, path: Path) -> None:
        """Write the verdict atomically as JSON, with the hash of its content."""
        write_checked(path, self.to_json())

    @classmethod
    def read(cls, path: Path) -> Verdict:
        """Read a verdict.

        Raises:
            IntegrityError: If the file is missing, damaged, or no verdict.
        """
        record = read_checked(path, WAY_OUT)
        try:
            return cls.from_json(record)
        except (AttributeError, IntegrityError) as error:
            raise IntegrityError(f"The file {path} holds no verdict. {error} {WAY_OUT}") from error


def pronounce(
    gate: Gate,
    evidence: Sequence[Evidence],
    *,
    version: str,
    dataset_hash: str,
    metrics: Mapping[str, float | None],
    samples: int,
    details: Mapping[str, Any],
) -> Verdict:
    """Turn evidence into a verdict.

    Args:
        gate: The conditions.
        evidence: How each came out.
        version: Version that was judged.
        dataset_hash: Hash of the dataset.
        metrics: Metric name → value.
        samples: Holdout samples behind it.
        details: See `Verdict.details`.
    """
    failed = [entry for entry in evidence if not entry.passed]
    passed = bool(evidence) and not failed
    if passed:
        count = "its condition holds" if len(evidence) == 1 else f"all {len(evidence)} conditions hold"
        sentence = f"The surrogate passes its gate: {count} on {samples} holdout samples."
    else:
        reasons = " ".join(entry.sentence for entry in failed)
        sentence = (
            f"The surrogate fails its gate in {len(failed)} of {len(evidence)} conditions on {samples} holdout "
            f"samples. {reasons}"
        )
    return Verdict(
        passed,
        sentence,
        version,
        dataset_hash,
        dict(metrics),
        gate.to_json(),
        gate.beats,
        tuple(entry.to_json() for entry in evidence),
        dict(details),
    )
