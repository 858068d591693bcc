"""Injecting: the files, what is in them, the list, and every way to ask for something that cannot be."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sim_wrappers.compact_binary.waveforms import Binary, missing, waveform
from surrogate.core.errors import ConfigError, DataError
from surrogate.signal.aligo import aligo
from surrogate.signal.detectors import light_travel_time
from surrogate.signal.gwosc import read_strain, write_strain
from surrogate.signal.snr import Band, matched_filter
from surrogate.signal.strain import Strain
from workflows.cli.application import application
from workflows.inject import Injection, Making, inject_all, read_injections, simulated, write_all

RATE = 2048
needs_lal = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def call(*words: object) -> str:
    done = CliRunner().invoke(application(), ["inject", *map(str, words)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def found(strain: Strain, mass_1: float, mass_2: float) -> tuple[float, float]:
    """Return the loudest ratio of a template, and when its peak arrives."""
    wave = waveform(Binary(mass_1, mass_2), approximant="SEOBNRv4_opt", rate=strain.rate, low_hz=20.0)
    series = np.abs(matched_filter(strain.data, wave.plus, strain.rate, aligo(), Band(20.0)))
    crop = strain.rate
    best = crop + int(np.argmax(series[crop:-crop]))
    return float(series[best]), strain.start + (best + wave.peak) / strain.rate


@needs_lal
def test_one_binary_in_the_noise_of_two_detectors(tmp_path: Path) -> None:
    said = call(
        tmp_path / "out", "--noise", 16, "--detectors", "H1,L1", "--rate", RATE, "--start", 1000, "--at", 1009.3,
        "--snr", 40, "--seed", 3, "--json",
    )  # fmt: skip
    told = json.loads(said)
    assert [Path(path).name for path in told["files"]] == [
        "H-H1_SURROGATE-1000-16.hdf5", "L-L1_SURROGATE-1000-16.hdf5", "injections.csv",
    ]  # fmt: skip
    strains = [read_strain(Path(path)) for path in told["files"][:2]]
    assert [strain.detector for strain in strains] == ["H1", "L1"]
    assert abs(np.corrcoef(strains[0].data, strains[1].data)[0, 1]) < 0.9
    (record,) = told["injections"]
    assert np.hypot(record["snr_H1"], record["snr_L1"]) == pytest.approx(record["snr"]) == pytest.approx(40.0)
    for strain in strains:
        snr, gps = found(strain, 36.0, 29.0)
        assert snr == pytest.approx(record[f"snr_{strain.detector}"], abs=4.0)
        assert gps == pytest.approx(1009.3, abs=0.003)
    rows = list(csv.DictReader((tmp_path / "out" / "injections.csv").read_text().splitlines()))
    assert float(rows[0]["distance_mpc"]) == pytest.approx(record["distance_mpc"])


@needs_lal
def test_a_list_of_binaries_in_recorded_strain_from_directions(tmp_path: Path) -> None:
    for strain in simulated(["H1", "L1"], aligo(), seconds=40, rate=RATE, start=2000, seed=5):
        write_strain(tmp_path / f"{strain.detector}.hdf5", strain)
    (tmp_path / "list.csv").write_text(
        "gps,mass_1,mass_2,snr,distance_mpc,longitude,latitude,polarisation\n"
        "2010.5,40,30,30,,1.0,0.3,0.2\n2025.25,30,30,,300,4.0,-0.5,1.0\n"
    )
    said = call(tmp_path / "out", tmp_path / "H1.hdf5", tmp_path / "L1.hdf5", "--list", tmp_path / "list.csv")
    assert "2 binaries were injected; the loudest, at GPS 20" in said
    rows = list(csv.DictReader((tmp_path / "out" / "injections.csv").read_text().splitlines()))
    delay = float(rows[0]["gps_H1"]) - float(rows[0]["gps_L1"])
    assert 0 < abs(delay) < light_travel_time("H1", "L1")
    assert float(rows[0]["snr"]) == pytest.approx(30.0)
    assert float(rows[1]["distance_mpc"]) == 300.0
    before, after = (
        read_strain(folder / name)
        for folder, name in ((tmp_path, "H1.hdf5"), (tmp_path / "out", "H-H1_SURROGATE-2000-40.hdf5"))
    )
    changed = np.flatnonzero(before.data != after.data) / RATE
    assert ((changed > 8) & (changed < 12) | (changed > 23) & (changed < 27)).all()
    assert read_injections(tmp_path / "list.csv")[0].longitude == 1.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gps,mass_1,mass_2,snr\n", "lists no injection"),
        ("gps,mass_1,mass_2,snrr\n1,2,3,4\n", "column 'snrr'.*Did you mean 'snr'"),
        ("gps,mass_1,mass_2,snr\n1,x,3,4\n", "line 2: could not convert"),
        ("gps,mass_1,mass_2,snr\n1,2,3,4\n1,2,-3,4\n", "line 3: Masses, ratio and distance"),
        ("gps,mass_1,mass_2,snr,distance_mpc\n1,2,3,4,5\n", "either a signal-to-noise ratio or a distance"),
        ("gps,mass_1,mass_2,snr,latitude\n1,2,3,4,5\n", "a longitude and a latitude"),
        ("gps,mass_1,snr\n1,2,4\n", "line 2.*mass_2"),
    ],
)
def test_a_wrong_list_is_told_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "list.csv").write_text(text)
    with pytest.raises(ConfigError, match=says):
        read_injections(tmp_path / "list.csv")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--noise", 16), "which binaries are added"),
        (("--at", 5), "what binaries are added to"),
        (("--noise", 16, "--at", 5), "either a signal-to-noise ratio or a distance"),
        (("--noise", 16, "--at", 5, "--snr", 8, "--detectors", "H1,H1"), "Each detector can be named once"),
        (("nowhere.hdf5", "--at", 5, "--snr", 8), "does not exist"),
        (("--noise", 16, "--at", 5, "--snr", 8, "--approximant", "SEOBNRv5"), "Did you mean 'SEOBNRv4'"),
    ],
)
def test_what_cannot_be_asked_is_told(tmp_path: Path, words: tuple[object, ...], says: str) -> None:
    with pytest.raises((ConfigError, DataError), match=says):
        call(tmp_path / "out", *words)
    assert not (tmp_path / "out").exists()


@needs_lal
def test_a_binary_that_would_be_cut_off_is_refused() -> None:
    strain = Strain(np.zeros(8 * RATE), RATE, 1000.0, "H1")
    for gps in (1000.5, 1007.5, 2000.0):
        with pytest.raises(DataError, match="would be cut off"):
            inject_all([strain], [aligo()], [Injection(gps, 36.0, 29.0, snr=8.0)], Making())


def test_a_file_that_was_given_is_never_written_over(tmp_path: Path) -> None:
    listed = tmp_path / "injections.csv"
    listed.write_text("gps,mass_1,mass_2,snr\n")
    strains = simulated(["H1"], aligo(), seconds=4, rate=RATE, start=1000, seed=1)
    recorded = write_all(tmp_path, strains, [], [])[0]
    kept = recorded.read_bytes()
    for given in (listed, recorded):
        with pytest.raises(DataError, match="which would be lost"):
            write_all(tmp_path, strains, [], [given])
    assert recorded.read_bytes() == kept
