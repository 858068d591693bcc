"""What a report of the toy surrogate is made from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from surrogate.inference.latency import Latency, speed_up
from surrogate.models.panels import Panel
from surrogate.validation.gate import Gate
from surrogate.validation.report import ReportData, StageCost
from surrogate.validation.validation import Validation
from tests.support import toy_surrogate as toy


def member(number: int) -> dict[str, Any]:
    epochs = list(range(10, 210, 10))
    losses = [1.0 / epoch for epoch in epochs]
    return {
        "member": number,
        "epoch": epochs,
        "train": losses,
        "tune": losses,
        "best_tune": losses[-1],
        "best_epoch": 200,
    }


CARD: dict[str, Any] = {
    "dataset_hash": "d" * 64,
    "samples": 150,
    "runs": 150,
    "intended_use": "Waves of moderate width.",
    "warnings": ["Failures cluster where 'speed' is high."],
    "known_gaps": [{"source": "campaign", "sentence": "No friction."}],
    "counts": {
        "by_split": {name: {"samples": 50, "groups": 50} for name in ("train", "tune", "holdout")},
        "by_stratum": {
            "design": {name: {"samples": 40, "groups": 4} for name in ("train", "tune", "holdout")},
            "acquired": {name: {"samples": 10, "groups": 10} for name in ("train", "tune", "holdout")},
        },
    },
    "columns": [
        {**column.to_json(), "smallest": 0.0, "largest": 1.0, "mean": 0.5, "std": 0.1} for column in toy.SCHEMA.columns
    ],
    "coverage": {
        name: {
            "axes": [
                {"name": "speed", "unit": "m/s", "counts": [5] * 10, "edges": [0.5 + 0.15 * i for i in range(11)]},
                {"name": "width", "unit": "m", "counts": [4] * 10, "edges": [0.1 * 10 ** (0.2 * i) for i in range(11)]},
            ],
            "discrepancy": {"method": "centred L2 discrepancy; smaller is more even", "value": 0.01, "random": 0.02},
        }
        for name in ("all", "train", "tune", "holdout")
    },
    "refused": {
        "runs": 2,
        "failed": 1,
        "quarantined": 1,
        "share": 0.013,
        "by_kind": {"timeout": {"runs": 2, "budget": "solver"}},
        "reasons": [
            {
                "run_id": "a" * 32,
                "kind": "timeout",
                "reason": "It took <too> long.",
                "inputs": {"speed": 1.9, "width": 2.0},
            }
        ],
    },
    "failure_place": {
        "clustered": True,
        "sentence": "Failures cluster where 'speed' is high.",
        "axes": [{"name": "speed", "failed_counts": [0] * 9 + [2]}],
        "points": [{"speed": 1.9, "width": 2.0}],
    },
    "duplicates": {
        "same_content": 0,
        "same_inputs": 1,
        "same_inputs_across_holdout": 0,
        "near": {"tested": True, "pairs": 0, "threshold": 0.001, "smallest": 0.01, "median": 0.05},
    },
    "simulators": [{"simulator": "waves", "version": "1", "runs": 150}],
}


@pytest.fixture(scope="session")
def data(validation: Validation) -> ReportData:
    gate = Gate.of({"relative_l2_median": {"max": 0.05}, "load_error_max": {"max": 5.0}}, ("pod_gp",))
    latencies = [Latency(1, 0.0003, 0.0005, 30, "onnxruntime 1", 2), Latency(64, 0.002, 0.003, 30, "onnxruntime 1", 2)]
    return ReportData(
        campaign="waves",
        validation=validation,
        verdict=replace(validation.judge(gate), passed=True),
        surrogate={
            "family": "toy",
            "options": {"degree": 4, "hidden": [64, 64]},
            "members": [{}] * 3,
            "seed": 7,
            "training": {
                "losses": [member(0), member(1)],
                "seconds": 12.0,
                "ranks": 2,
                "horovod": True,
                "samples": {"train": 80},
            },
        },
        space=toy.SPACE,
        outcome="The version is current.",
        description="A wave.",
        card=CARD,
        stages=[StageCost("simulate", 120.0, 60.0, "150 runs"), StageCost("train", 12.0, 12.0)],
        stages_how="As the journal recorded them.",
        speed_up=speed_up(latencies, [0.3, 0.4]),
        lineage={
            "Runs": 150,
            "Launch lines": ["mpiexec -n 2 waves"],
            "Environment": {f"library {i}": "1" for i in range(9)},
        },
        panels=[
            Panel(
                "A picture of the family", "What it shows.", "alt of it", lambda figure: figure.subplots().plot([1, 2])
            )
        ],
        commands={"Predict": "surrogate predict WORKDIR speed=1 width=1"},
        created="2026-11-30",
        program="surrogate 0.1.0",
    )
