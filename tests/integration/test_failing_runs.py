"""A campaign in which every fifth run fails ends with a verdict, exact counts, and the failures' place in its card."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from sim_wrappers.protocol import RunRequest
from sim_wrappers.scripted.adapter import mode_of
from surrogate.core.outcome import FailureKind
from tests.support.campaigns import executions, json_of, surrogate, write_campaign
from workflows.config import load_campaign
from workflows.plan import find_simulator, make_plan

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.parsl, pytest.mark.train, pytest.mark.timeout(600)]

RUNS = 100
RETRIES = 1
# Mode → the kind of its failures, how many there are before the run is given up or succeeds, how it ends.
WAYS = {
    "fail": (FailureKind.EXIT_STATUS, 1 + RETRIES, "failed"),
    "crash": (FailureKind.EXIT_STATUS, 1 + RETRIES, "failed"),
    "killed": (FailureKind.OUT_OF_MEMORY, 1 + RETRIES, "failed"),
    "hang": (FailureKind.TIMEOUT, 1 + RETRIES, "failed"),
    "truncate": (FailureKind.OUTPUT_UNREADABLE, 1 + RETRIES, "failed"),
    "missing": (FailureKind.OUTPUT_MISSING, 1 + RETRIES, "failed"),
    "unmarked": (FailureKind.NO_END_MARKER, 1 + RETRIES, "failed"),
    "nan": (FailureKind.NOT_FINITE, 1, "quarantined"),
    "bounds": (FailureKind.OUT_OF_BOUNDS, 1, "quarantined"),
    "shape": (FailureKind.WRONG_SHAPE, 1, "quarantined"),
    "flaky": (FailureKind.UNCONVERGED, 1, "packed"),
    "unconverged": (FailureKind.UNCONVERGED, 1, "packed"),
    "lost": (FailureKind.NODE_LOST, 1, "packed"),
    "disk": (FailureKind.DISK_FULL, 1, "packed"),
}
OPTIONS = """
where = [
    {{ mode = "hang", input = "b", low = {low}, high = {high} }},
    {{ mode = "fail", input = "a", low = 0.0, high = 0.045 }},
    {{ mode = "nan", input = "a", low = 0.045, high = 0.09 }},
    {{ mode = "unmarked", input = "a", low = 0.09, high = 0.12 }},
]
modes = {{ crash = 0.02, killed = 0.02, truncate = 0.02, missing = 0.02, bounds = 0.02, shape = 0.02, flaky = 0.04,
           unconverged = 0.04, lost = 0.04, disk = 0.04 }}
"""


def planned(path: Path) -> tuple[RunRequest, ...]:
    campaign = load_campaign(path)
    return make_plan(campaign, find_simulator(campaign)).requests


def write(folder: Path) -> Path:
    """Write the campaign; exactly one of its runs hangs: that costs its walltime twice, which a slow machine needs."""
    bounds = (0.0, 0.0)
    for _ in range(2):
        options = OPTIONS.format(low=bounds[0], high=bounds[1]).replace(",\n           ", ", ")
        options = options.replace(" [\n    ", " [").replace("},\n    ", "}, ").replace("},\n]", "}]")
        path = write_campaign(folder, runs=RUNS, options=options)
        text = path.read_text().replace("walltime = 60", "walltime = 12")
        path.write_text(
            text.replace("[resources]", f"[failures]\nsolver = {RETRIES}\nallowed_share = 0.4\n[resources]")
        )
        last = max(request.inputs["b"] for request in planned(path))
        bounds = (last - 1e-6, last + 1e-6)
    return path


def test_failing_runs_are_counted_placed_and_warned_of(tmp_path):
    path = write(tmp_path / "c")
    modes = {request.run_id: mode_of(request) for request in planned(path)}
    points = {request.run_id: dict(request.inputs) for request in planned(path)}
    ways = [WAYS[mode] for mode in modes.values() if mode != "ok"]
    refused = {run for run, mode in modes.items() if mode != "ok" and WAYS[mode][2] != "packed"}
    assert 0.15 * RUNS <= len(refused) <= 0.3 * RUNS
    assert len({mode for mode in modes.values() if mode != "ok"}) >= 11

    ended = surrogate("run", path, "--workdir", tmp_path / "w", "--json", timeout_s=500)
    assert ended.returncode == 0, ended.stderr
    assert json_of(ended)["passed"]

    told = json_of(surrogate("status", tmp_path / "w", "--json"))
    by_end = Counter(way[2] for way in ways)
    assert told["runs"]["failed"] == by_end["failed"]
    assert told["runs"]["quarantined"] == by_end["quarantined"]
    assert told["runs"]["packed"] == RUNS - len(refused) == told["samples"]
    expected: Counter[str] = Counter()
    for kind, times, _ in ways:
        expected[kind.value] += times
    assert told["failures"] == dict(expected)
    begun = {run: sum(word == "start" for word in what) for run, what in executions(tmp_path / "c").items()}
    assert begun == {
        run: 1 if mode == "ok" else WAYS[mode][1] + (WAYS[mode][2] == "packed") for run, mode in modes.items()
    }

    card = json.loads((tmp_path / "w/dataset/card.json").read_text())
    kinds = Counter(WAYS[modes[run]][0].value for run in refused)
    assert {kind: entry["runs"] for kind, entry in card["refused"]["by_kind"].items()} == dict(kinds)
    assert card["refused"]["runs"] == len(refused)
    assert card["refused"]["share"] == pytest.approx(len(refused) / RUNS)
    assert {entry["run_id"] for entry in card["refused"]["reasons"]} == refused
    place = card["failure_place"]
    assert sorted(place["points"], key=str) == sorted((points[run] for run in refused), key=str)
    assert place["clustered"] is True
    axis = next(axis for axis in place["axes"] if axis["name"] == "a")
    assert axis["clustered"]
    assert sum(axis["failed_counts"]) == len(refused)
    warning = next(sentence for sentence in card["warnings"] if "cluster" in sentence)
    assert "missing not at random" in warning
    assert "'a'" in warning
    assert warning in " ".join(ended.stderr.split("] ")).replace("\n", " ")
