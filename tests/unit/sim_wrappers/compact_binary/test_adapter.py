"""The adapter of compact binaries: options, points of a run, what it reads and refuses; a run over ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.compact_binary import inputs, waveforms
from sim_wrappers.compact_binary.program import shares
from sim_wrappers.compact_binary.waveforms import Binary, missing, seconds_from, waveform
from sim_wrappers.diagnose import diagnose
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ConfigError, MissingExtraError, SimulationError, SplitError
from surrogate.core.outcome import Failure, FailureKind, Success
from surrogate.core.schema import Ragged
from surrogate.data.run_file import read_run_file
from surrogate.signal.aligo import aligo
from surrogate.signal.match import match
from tests.support.executions import request_for, run, schema_for
from workflows.config import parse_campaign
from workflows.plan import make_plan

CODE = catalog.get("compact_binary")
POINT = {"mass_1": 36.0, "mass_2": 29.0}
needs_lal = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def test_the_space_is_masses_and_spins_where_they_are_allowed() -> None:
    plain = CODE.default_space(CODE.check_options({}))
    assert plain is not None
    assert [(c.name, c.low, c.high, c.unit) for c in plain.columns] == [
        ("mass_1", 10.0, 50.0, "solar_mass"), ("mass_2", 10.0, 50.0, "solar_mass"),
    ]  # fmt: skip
    spinning = CODE.default_space(CODE.check_options({"spin_max": 0.6}))
    assert spinning is not None
    assert [(c.name, c.low, c.high) for c in spinning.columns[2:]] == [("spin_1", -0.6, 0.6), ("spin_2", -0.6, 0.6)]
    schema = CODE.output_schema(CODE.check_options({}))
    assert schema.column("h_plus").shape == (4096,)
    assert schema.coordinate("time").values[4096 - 512] == 0.0  # type: ignore[union-attr]
    assert CODE.output_schema(CODE.check_options({"window_s": 0.0})).column("h_cross").ragged


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"aproximant": "SEOBNRv4"}, "Did you mean 'approximant'"),
        ({"approximant": "SEOBNRv4_op"}, "Did you mean 'SEOBNRv4_opt'"),
        ({"mass_low": 60.0}, "between 0 and 'mass_high'"),
        ({"spin_max": 1.0}, r"between 0 and 0\.99"),
        ({"samples": 0}, "at least 1"),
        ({"samples": 10000}, "at most 4096"),
        ({"low_hz": 900.0}, "an eighth of the sample rate"),
        ({"window_s": 0.2}, "'window_s' of compact_binary must be 0"),
        ({"distance_mpc": -1.0}, "must be above 0"),
    ],
)
def test_wrong_options_are_sentences(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        CODE.check_options(options)


def test_a_run_of_many_samples_fills_the_space_and_is_fixed_by_its_point() -> None:
    options = CODE.check_options({"samples": 200, "spin_max": 0.5})
    point = {"mass_1": 30.0, "mass_2": 20.0, "spin_1": 0.0, "spin_2": 0.1}
    found = inputs.points(point, options)
    assert found[0] == point
    assert found == inputs.points(point, options)
    space = inputs.space(options)
    assert all(space.contains(entry) for entry in found)
    unit = space.to_unit(found)
    for axis in range(4):
        counts, _ = np.histogram(unit[:, axis], bins=10, range=(0, 1))
        assert counts.min() >= 12
        assert counts.max() <= 30
    assert len({tuple(entry.values()) for entry in found}) == 200
    assert inputs.points(POINT, CODE.check_options({})) == [POINT]
    for bad in ({**point, "mass_1": 60.0}, POINT):
        with pytest.raises(SimulationError, match="lies outside"):
            inputs.points(bad, options)
    with pytest.raises(SimulationError, match="takes mass_1 and mass_2"):
        inputs.points({"mass": 3.0}, options)


def test_a_run_has_the_points_that_the_design_put_into_it(tmp_path: Path) -> None:
    several = {"mass_1": [36.0, 20.0], "mass_2": [29.0, 15.0]}
    options = CODE.check_options({})
    assert inputs.points(several, options) == [POINT, {"mass_1": 20.0, "mass_2": 15.0}]
    with pytest.raises(SimulationError, match="leave one of them out"):
        inputs.points(several, CODE.check_options({"samples": 3}))
    text = """
schema_version = 1
name = "b"
simulator = { name = "SIMULATOR" }
design = { runs = RUNS, samples_per_run = 30 }
[gate.metrics]
relative_l2_median = { max = 0.5 }
"""
    found = parse_campaign(text.replace("SIMULATOR", "compact_binary").replace("RUNS", "2"), "c.toml")
    plan = make_plan(found, CODE)
    assert len(plan.runs) == 2
    assert sum(plan.counts.values()) == 60
    assert len(plan.requests[0].inputs["mass_1"]) == 30
    with pytest.raises(SplitError, match=r"'design\.runs = 2' is enough"):
        make_plan(parse_campaign(text.replace("SIMULATOR", "compact_binary").replace("RUNS", "1"), "c.toml"), CODE)
    other = parse_campaign(text.replace("SIMULATOR", "buckley_leverett").replace("RUNS", "2"), "c.toml")
    with pytest.raises(ConfigError, match="a run of the simulator 'buckley_leverett' has one point"):
        make_plan(other, catalog.get("buckley_leverett"))


@needs_lal
@pytest.mark.mpi
def test_several_points_of_a_design_are_samples_of_one_run(tmp_path: Path) -> None:
    several = {"mass_1": [36.0, 45.0, 40.0], "mass_2": [29.0, 44.0, 40.0]}
    resources = ResourceRequest(ranks=2, ranks_per_node=2, walltime_s=120)
    outcome = run(tmp_path, request_for(CODE, several, resources=resources))
    assert isinstance(outcome, Success), outcome
    found = read_run_file(tmp_path / outcome.path)
    assert found.columns["mass_1"].tolist() == several["mass_1"]
    assert found.columns["mass_2"].tolist() == several["mass_2"]
    durations = found.columns["duration"]
    assert durations[1] < durations[2] < durations[0], "heavier binaries are shorter"


def test_ranks_share_the_points_by_how_long_they_last() -> None:
    points = [{"mass_1": m, "mass_2": m} for m in (10.0, 50.0, 50.0, 50.0, 11.0, 12.0)]
    found = shares(points, 20.0, 3)
    assert sorted(number for rank in found for number in rank) == list(range(6))
    assert {rank[0] for rank in found} == {0, 4, 5}, "the longest are begun first, one on each rank"
    assert shares(points[:1], 20.0, 3) == [[0], [], []]
    assert seconds_from(20.0, Binary(10.0, 10.0)) == pytest.approx(6.0, rel=0.1)


def test_a_binary_that_is_none_is_refused_before_it_starts(tmp_path: Path) -> None:
    for point in ({"mass_1": -1.0, "mass_2": 5.0}, {**POINT, "spin_1": 1.5}):
        with pytest.raises(SimulationError, match="A binary has masses above 0"):
            CODE.prepare(request_for(CODE, point), tmp_path)


def test_without_lalsimulation_a_sentence_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waveforms.importlib.util, "find_spec", lambda name: None)
    waveforms._libraries.cache_clear()
    told = CODE.found()
    assert told is not None
    assert "pip install 'surrogate-hpc[waveforms]'" in told
    with pytest.raises(MissingExtraError, match=r"surrogate-hpc\[waveforms\]"):
        waveform(Binary(**POINT), approximant="SEOBNRv4_opt", rate=2048, low_hz=20.0)
    diagnosis = diagnose(1, False, told, CODE.known_errors)
    assert (diagnosis.kind, diagnosis.retryable) == (FailureKind.LAUNCHER, False)


@needs_lal
def test_a_waveform_has_units_a_peak_and_a_soft_beginning() -> None:
    wave = waveform(Binary(**POINT), approximant="SEOBNRv4_opt", rate=2048, low_hz=20.0, distance_mpc=410.0)
    # About 1.9e-21 face on, and the two polarisations a quarter period apart.
    assert np.hypot(wave.plus, wave.cross).max() == pytest.approx(1.85e-21, rel=0.05)
    assert np.abs(wave.plus[:8]).max() < 0.02 * np.abs(wave.plus[100:300]).max()
    assert wave.plus.dtype == np.float64
    assert 0.6 < wave.peak / wave.rate < 1.0
    assert match(wave.plus, wave.cross, 2048, aligo()).value > 0.999
    with pytest.raises(SimulationError, match="WAVEFORM REFUSED: SEOBNRv4_opt makes no waveform"):
        waveform(Binary(0.1, 0.1), approximant="SEOBNRv4_opt", rate=4096, low_hz=20.0)


@needs_lal
def test_models_agree() -> None:
    waves = [
        waveform(Binary(**POINT), approximant=name, rate=2048, low_hz=20.0).plus
        for name in ("SEOBNRv4_opt", "SEOBNRv4", "IMRPhenomD")
    ]
    assert match(waves[0], waves[1], 2048, aligo()).value > 0.9999
    assert match(waves[0], waves[2], 2048, aligo()).value > 0.99


@needs_lal
@pytest.mark.mpi
@pytest.mark.parametrize("whole", [False, True])
def test_a_run_of_many_samples_is_shared_over_ranks(tmp_path: Path, whole: bool) -> None:
    options = {"samples": 5, "spin_max": 0.5, "mass_low": 30.0, "window_s": 0.0 if whole else 1.0}
    point = {"mass_1": 40.0, "mass_2": 31.0, "spin_1": 0.2, "spin_2": -0.1}
    columns = []
    for ranks in (1, 3):
        request = request_for(
            CODE, point, options, resources=ResourceRequest(ranks=ranks, ranks_per_node=ranks, walltime_s=120)
        )
        outcome = run(tmp_path / str(ranks), request)
        assert isinstance(outcome, Success), outcome
        assert outcome.samples == 5
        found = read_run_file(tmp_path / str(ranks) / outcome.path)
        assert found.provenance["notes"]["ranks"] == ranks
        assert found.provenance["notes"]["code_version"] == waveforms.library_version()
        columns.append(found.columns)
    points = inputs.points(point, CODE.check_options(options))
    for name in point:
        np.testing.assert_allclose(columns[0][name], [entry[name] for entry in points])
    for name, values in columns[0].items():
        np.testing.assert_array_equal(
            getattr(values, "data", values), getattr(columns[1][name], "data", columns[1][name])
        )
    strain = columns[0]["h_plus"]
    if whole:
        assert isinstance(strain, Ragged)
        assert len(set(np.diff(strain.offsets).tolist())) > 1
        np.testing.assert_allclose(np.diff(strain.offsets) / 2048, columns[0]["duration"], atol=1e-9)
    else:
        amplitude = np.hypot(strain, columns[0]["h_cross"])
        assert (np.abs(amplitude.argmax(axis=1) - (2048 - 512)) <= 1).all()
        assert (amplitude.max(axis=1) > 1e-21).all()


@needs_lal
@pytest.mark.mpi
def test_a_refused_binary_is_a_failure_with_a_sentence(tmp_path: Path) -> None:
    options = {"mass_low": 1e-3, "mass_high": 50.0}
    request = request_for(CODE, {"mass_1": 0.002, "mass_2": 0.001}, options, resources=ResourceRequest(walltime_s=60))
    outcome = run(tmp_path, request)
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.retryable) == (FailureKind.NOT_PHYSICAL, False)
    assert "refuses these masses" in outcome.message


@pytest.mark.parametrize("damage", ["missing", "cut", "unfinished"])
def test_what_cannot_be_read_is_told(tmp_path: Path, damage: str) -> None:
    request = request_for(CODE, POINT)
    path = tmp_path / "output.h5"
    if damage == "cut":
        path.write_bytes(b"\x89HDF")
    elif damage == "unfinished":
        with h5py.File(path, "w") as file:
            for name in ("peak_time", "duration"):
                file[name] = [0.1]
            file["h_plus"] = file["h_cross"] = np.zeros(4096)
            file["offsets"] = [0, 4096]
            file["inputs/mass_1"] = [36.0]
            file.attrs.update({"code_version": "x", "ranks": 1, "seconds_per_waveform": 0.1})
    kinds = {"missing": "output_missing", "cut": "output_unreadable", "unfinished": "no_end_marker"}
    with pytest.raises(SimulationError) as caught:
        CODE.parse(request, tmp_path, tmp_path / "stdout.txt")
    assert caught.value.kind == kinds[damage]


def test_the_input_file_holds_all_points(tmp_path: Path) -> None:
    CODE.prepare(request_for(CODE, POINT, {"samples": 3}), tmp_path)
    case = json.loads((tmp_path / "input.json").read_text())
    assert len(case["points"]) == 3
    assert schema_for(CODE).inputs[0].unit == "solar_mass"
