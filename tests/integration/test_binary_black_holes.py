"""The campaign of a detector the whole way: waveforms, training on two ranks, the gate, and strain that is searched."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from surrogate.signal.aligo import aligo
from tests.support.campaigns import json_of, one_sentence, surrogate
from tests.support.shared_data import shared_data
from workflows.inject import Injection, Making, inject_all, simulated, write_all

pytestmark = [
    pytest.mark.e2e, pytest.mark.slow, pytest.mark.train, pytest.mark.mpi, pytest.mark.parsl,
    pytest.mark.timeout(1200),
]  # fmt: skip

START = 1_200_000_000


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Path:
    """Return the working directory of the finished quick campaign."""
    folder = tmp_path_factory.mktemp("campaign")
    ended = surrogate(
        "run", "binary-black-holes-quick", "--workdir", folder / "work", "--json", cwd=folder, timeout_s=900
    )
    assert ended.returncode == 0, ended.stderr
    return folder / "work"


def test_the_gate_is_passed_on_held_out_waveforms(work):
    verdict = json.loads((work / "verdict.json").read_text())
    assert verdict["passed"]
    assert {"found_snr8", "found_snr12", "roc_area", "surprise"} <= set(verdict["metrics"])
    report = (work / "report.html").read_text()
    assert "Signals found against false alarms" in report
    assert "Chirp masses" in report
    artifact = next((work / "training").glob("*/artifact/surrogate.json"))
    record = json.loads(artifact.read_text())
    assert record["space"] is None
    assert record["training"]["ranks"] == 2
    assert record["onnx_difference"] < 1e-5


def test_injected_binaries_are_found_in_coincidence_with_the_rate_that_can_be_told(work, tmp_path):
    strains = simulated(("H1", "L1"), aligo(), seconds=48, rate=2048, start=START, seed=5)
    loud = [
        Injection(START + 15.3, 36.0, 29.0, snr=22.0, longitude=0.4, latitude=0.9),
        Injection(START + 31.1, 20.0, 15.0, snr=22.0, longitude=0.4, latitude=0.9),
    ]
    injected, truth = inject_all(strains, [aligo()] * 2, loud, Making())
    paths = write_all(tmp_path / "strain", injected, truth)[:2]
    ended = surrogate("detect", work, *paths, "--far", "1/hour", "--output", tmp_path / "out", "--json", timeout_s=300)
    assert ended.returncode == 0, ended.stderr
    found = json_of(ended)
    assert found["lowest_far_per_day"] > 24.0
    assert any("cannot be told from these data" in sentence for sentence in found["sentences"])
    times = sorted(trigger["gps"] for trigger in found["triggers"][:2])
    assert times == pytest.approx(sorted(entry["gps_H1"] for entry in truth), abs=0.02)
    with (tmp_path / "out" / "triggers.csv").open(newline="") as source:
        assert [row["detectors"] for row in csv.DictReader(source)][:2] == ["H1L1", "H1L1"]
    assert (tmp_path / "out" / "strain.png").stat().st_size > 10_000


def test_the_first_event_is_found_in_both_detectors(work, tmp_path):
    folder = shared_data("waveforms")
    paths = [next(folder.glob(f"{name}-{name}1_*.hdf5")) for name in ("H", "L")]
    ended = surrogate("detect", work, *paths, "--output", tmp_path / "out", "--json", timeout_s=300)
    assert ended.returncode == 0, ended.stderr
    loudest = json_of(ended)["triggers"][0]
    assert loudest["gps"] == pytest.approx(1126259462.42, abs=0.03)
    assert loudest["detectors"] == "H1L1"
    assert abs(loudest["delay"]) < 0.0105


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["missing.hdf5"], "does not exist"),
        (["a.hdf5", "b.hdf5", "c.hdf5"], "one or two detectors"),
        (["a.hdf5", "--far", "daily"], "1/day"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_sentence(work, tmp_path, words, sentence):
    ended = surrogate("detect", work, *words, cwd=tmp_path)
    assert ended.returncode == 2
    assert sentence in one_sentence(ended)
