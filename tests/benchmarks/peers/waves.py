"""Runs in the environment of PyCBC and kuibit: `python waves.py IN.npz OUT.npz`.

The same arrays go through their functions as went through ours; nothing of this project is imported.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from pycbc.filter import match, matched_filter, sigma
from pycbc.psd import aLIGOZeroDetHighPower, interpolate, inverse_spectrum_truncation, welch
from pycbc.types import FrequencySeries, TimeSeries


def series(values: Any, rate: int) -> TimeSeries:
    """Return a time series that begins at 0."""
    return TimeSeries(np.array(values, dtype=np.float64), delta_t=1.0 / rate)


def padded(values: Any, samples: int, rate: int) -> TimeSeries:
    """Return a time series with zeros behind."""
    whole = series(values, rate)
    whole.resize(samples)
    return whole


def spectra(given: Any, found: dict[str, Any]) -> None:
    """Design curve, Welch's method, whitening."""
    low = float(given["low_hz"])
    found["design"] = aLIGOZeroDetHighPower(len(given["design"]), float(given["design_df"]), low).numpy()
    strain, rate = given["strain"], int(given["rate"])
    data = series(strain, rate)
    length = round(float(given["segment_s"]) * rate)
    measured = welch(data, seg_len=length, seg_stride=length // 2, avg_method="median")
    found["welch"] = measured.numpy()
    fine = interpolate(measured, data.delta_f)
    cut = inverse_spectrum_truncation(
        fine, round(float(given["filter_s"]) * rate), low_frequency_cutoff=low, trunc_method="hann"
    )
    white = (data.to_frequencyseries() / cut**0.5).to_timeseries()
    # Unit variance: white noise of the density 2/rate.
    found["white"] = white.numpy() * np.sqrt(2.0 / rate)


def ratios(given: Any, found: dict[str, Any]) -> None:
    """Optimal and matched-filter ratios, matches."""
    low, rate = float(given["low_hz"]), int(given["rate"])
    data = series(given["faded"], rate)
    psd = interpolate(FrequencySeries(given["psd"], delta_f=float(given["psd_df"])), data.delta_f)
    crop = int(given["crop"])
    optimal, peaks, places = [], [], []
    for template in given["templates"]:
        signal = padded(template, len(data), rate)
        optimal.append(sigma(signal, psd=psd, low_frequency_cutoff=low))
        snr = np.abs(matched_filter(signal, data, psd=psd, low_frequency_cutoff=low).numpy())[crop:-crop]
        places.append(crop + int(np.argmax(snr)))
        peaks.append(float(snr.max()))
    found["optimal"], found["snr"], found["place"] = np.array(optimal), np.array(peaks), np.array(places)
    design = FrequencySeries(given["match_psd"], delta_f=float(given["match_df"]))
    samples = 2 * (len(given["match_psd"]) - 1)
    first = padded(given["templates"][0], samples, rate)
    found["match"] = np.array(
        [
            match(
                first, padded(other, samples, rate), psd=design, low_frequency_cutoff=low, subsample_interpolation=True
            )[0]
            for other in given["templates"]
        ]
    )


def bank(given: Any, found: dict[str, Any]) -> None:
    """The loudest template of whitened windows, and what one of them costs."""
    rate = int(given["bank_rate"])
    loudest, seconds, count = [], 0.0, 0
    templates = [series(template, rate) for template in given["bank_templates"]]
    for window in given["bank_windows"]:
        data, best = series(window, rate), 0.0
        begin = time.perf_counter()
        for template in templates:
            # Without a spectrum its noise has the density 1 instead of 2/rate.
            snr = matched_filter(template, data)
            best = max(best, float(np.abs(snr.numpy()).max()))
            count += 1
        seconds += time.perf_counter() - begin
        loudest.append(best * np.sqrt(rate / 2.0))
    found["bank"], found["bank_us"] = np.array(loudest), 1e6 * seconds / count


def psi4(given: Any, found: dict[str, Any]) -> None:
    """Strain of a simulation's mode by kuibit."""
    from kuibit.simdir import SimDir

    detector = SimDir(str(given["simulation"])).gws[float(given["radius"])]
    strain = detector.get_strain_lm(2, 2, 2.0 * np.pi / float(given["lowest"]))
    found["psi4_t"], found["psi4_h"] = strain.t, strain.y


def main() -> None:
    """Read, compute, write."""
    source, target = sys.argv[1:]
    found: dict[str, Any] = {}
    with np.load(source, allow_pickle=False) as given:
        for part in (spectra, ratios, bank, psi4):
            part(given, found)
    import kuibit
    import pycbc

    found["versions"] = np.array([pycbc.__version__, getattr(kuibit, "__version__", "")])
    np.savez(target, **found)


if __name__ == "__main__":
    main()
