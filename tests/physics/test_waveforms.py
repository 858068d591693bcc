"""Waveforms and real strain: the Einstein Toolkit agrees with SEOBNRv4, and both find GW150914 as loud as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim_wrappers.compact_binary.waveforms import Binary, missing, waveform
from sim_wrappers.einstein_toolkit import outputs
from sim_wrappers.einstein_toolkit.horizons import irreducible_mass, late_mass
from sim_wrappers.einstein_toolkit.options import EinsteinToolkitOptions
from sim_wrappers.einstein_toolkit.restarts import read_psi4, segments
from surrogate.signal.aligo import aligo
from surrogate.signal.detectors import light_travel_time
from surrogate.signal.filters import faded
from surrogate.signal.gwosc import read_strain
from surrogate.signal.harmonics import mirrored, polarisations
from surrogate.signal.match import match
from surrogate.signal.snr import Band, matched_filter
from surrogate.signal.strain import Strain
from surrogate.signal.welch import welch
from tests.support.shared_data import shared_data

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")
RATE, RATIO, SPINS = 4096, 36.0 / 29.0, (0.31, -0.46)
SNR = {"H1": 19.2, "L1": 13.4}


def simulation() -> Path:
    return shared_data("waveforms/einstein_toolkit_GW150914")


def options(**changes: object) -> EinsteinToolkitOptions:
    return EinsteinToolkitOptions(command=("cactus",), parfile="GW150914.par", **changes)  # type: ignore[arg-type]


def relativity(total_mass: float, radius: float = 100.0) -> np.ndarray:
    """Strain of the simulation at 410 Mpc, one phase."""
    chosen = options(radius=radius)
    _, mode, _ = outputs.waveform(simulation(), chosen)
    return polarisations(mirrored({(2, 2): mode}), chosen.step, total_mass, 410.0, RATE).plus


def test_three_restarts_become_one_series() -> None:
    table = read_psi4(simulation(), (2, 2), 100.0)
    assert len(segments(simulation())) == 3
    assert (np.diff(table[:, 0]) > 0).all()
    assert np.diff(table[:, 0]).max() < 1.5 * np.median(np.diff(table[:, 0]))
    assert table[0, 0] == 0.0
    assert table[-1, 0] > 1690.0
    series = irreducible_mass(simulation(), 1)
    assert series is not None
    assert (np.diff(series[:, 0]) > 0).all()
    data = outputs.read(simulation(), options(before=700.0))
    # m/M = 36/65 with a spin of 0.31: √((1 + √(1 − χ²))/2)·m is its irreducible mass.
    expected = 36 / 65 * np.sqrt((1 + np.sqrt(1 - SPINS[0] ** 2)) / 2)
    assert data.outputs["irreducible_mass_1"][0] == pytest.approx(expected, rel=2e-3)
    assert late_mass(series) > data.outputs["irreducible_mass_1"][0], "the second law"


def test_the_text_layout_is_read_as_the_hdf5_layout_is() -> None:
    folder = shared_data("waveforms/einstein_toolkit_ascii")
    for radius in (110.69, 140.16, 191.0):
        _, mode, _ = outputs.waveform(folder, options(radius=radius))
        assert 0.3 < np.abs(mode).max() < 0.45


@pytest.mark.parametrize("radius", [100.0, 300.0])
def test_numerical_relativity_agrees_with_eob(radius: float) -> None:
    # The simulation begins at 25 Hz for 70 solar masses; from 30 Hz on both are there.
    binary = Binary(70 * RATIO / (1 + RATIO), 70 / (1 + RATIO), *SPINS)
    eob = waveform(binary, approximant="SEOBNRv4", rate=RATE, low_hz=20.0, distance_mpc=410.0)
    strain = relativity(70.0, radius)
    assert match(strain, eob.plus, RATE, aligo(), Band(30.0)).value >= 0.994
    assert np.abs(strain).max() == pytest.approx(np.abs(eob.plus).max(), rel=0.05)


def real_strain(detector: str) -> Strain:
    name = {"H1": "H-H1_LOSC_4_V2-1126259446-32.hdf5", "L1": "L-L1_LOSC_4_V2-1126259446-32.hdf5"}[detector]
    return read_strain(shared_data(f"waveforms/{name}"), rate=RATE, least_s=32.0)


def loudest(detector: str, template: np.ndarray, peak: float) -> tuple[float, float]:
    """Largest ratio in real strain, and the time of the template's peak there."""
    whole = real_strain(detector)
    strain = whole.between(whole.start + 2.0, whole.end - 2.0)
    psd = welch(strain.data, RATE, 4.0)
    series = np.abs(matched_filter(faded(strain.data, RATE, 1.5), template, RATE, psd, Band(20.0)))
    crop = 4 * RATE
    best = crop + int(np.argmax(series[crop:-crop]))
    return float(series[best]), strain.start + (best + peak) / RATE


def test_gw150914_is_as_loud_as_it_was() -> None:
    eob = waveform(Binary(39.0, 32.0), approximant="SEOBNRv4_opt", rate=RATE, low_hz=20.0)
    found = {name: loudest(name, eob.plus, eob.peak) for name in SNR}
    for name, expected in SNR.items():
        assert found[name][0] == pytest.approx(expected, rel=0.01), name
        assert found[name][1] == pytest.approx(1126259462.42, abs=0.02)
    # It reached Livingston 7 ms before Hanford.
    delay = found["H1"][1] - found["L1"][1]
    assert delay == pytest.approx(0.0073, abs=0.001)
    assert abs(delay) < light_travel_time("H1", "L1")


def test_the_simulated_strain_finds_it_as_well() -> None:
    strain = relativity(71.0)
    peak = float(np.argmax(np.abs(strain)))
    for name, expected in {"H1": 19.17, "L1": 13.48}.items():
        assert loudest(name, strain, peak)[0] == pytest.approx(expected, rel=0.02), name
