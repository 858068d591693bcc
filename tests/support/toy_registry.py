"""Lineages and verdicts to play with."""

from __future__ import annotations

from surrogate.registry.record import Lineage
from surrogate.validation.gate import Gate
from surrogate.validation.metrics import Metric
from surrogate.validation.verdict import Verdict, pronounce


def verdict_on(version: str, *, value: float = 0.5, **details: object) -> Verdict:
    """A verdict of a gate that demands at most 1."""
    gate = Gate.of({"error": {"max": 1.0}})
    evidence = gate.judge((Metric("error", value, "1", "made up", value, value, 40),), {}, "error")
    return pronounce(
        gate, evidence, version=version, dataset_hash="d" * 64, metrics={"error": value}, samples=40, details=details
    )


def lineage_of(campaign: str = "waves", **changes: object) -> Lineage:
    values: dict = {
        "campaign": campaign,
        "dataset_hash": "d" * 64,
        "run_ids": ["b" * 32, "a" * 32],
        "launch_lines": ["mpiexec -n 2 python -m mpi4py solver.py"],
        "code": {"solver": "1.0"},
        "environment": {"python": "3.11"},
    }
    return Lineage(**{**values, **changes})
