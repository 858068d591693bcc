"""How far a trained detector sees beside a matched filter, in simulated noise and in real strain.

QUICK=1 takes fewer waveforms, windows and seeds and publishes nothing. Stages are kept in build/bench-gw.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.einstein_toolkit import outputs
from sim_wrappers.einstein_toolkit.options import EinsteinToolkitOptions
from surrogate.inference.detection.search import search, whitened
from surrogate.inference.predictor import Predictor
from surrogate.models.detector.exam import place_signal
from surrogate.models.detector.network import STRAIN
from surrogate.models.detector.transforms import DetectorTransforms
from surrogate.models.detector.waveforms import whitened_rows, whiteners
from surrogate.signal import bank
from surrogate.signal.bank_filter import FilterBank
from surrogate.signal.gwosc import read_strain
from surrogate.signal.harmonics import mirrored, polarisations
from surrogate.signal.noise import NoiseSource
from surrogate.signal.strain import Strain
from tests.benchmarks import bench_gw_peers, form
from tests.benchmarks.form import Figure, progress
from tests.benchmarks.gw_training import AFTER_S, BEFORE_S, CACHE, FADE_S, FULL, QUICK, RATE, Size, trained, waveforms

Windows = NDArray[np.float32]
RATIOS = (4.0, 5.0, 6.0, 7.0, 8.0, 10.0)
BLOCK, FOUND, SHARE = 1000, 0.9, 1e-3
PEAKS = (0.75, 0.95)
EVENT = 1126259462.4
TOTAL_MASSES = np.arange(50.0, 96.0, 5.0)
GLITCH_S = 455.1
HOW = """
Windows of 1 s at 2048 Hz of whitened noise (aLIGO zero-detuned high power from 20 Hz), a signal's peak anywhere in
[0.75, 0.95] s, its phase random, its ratio that of the window. Both sides look at the same windows: the peer's
statistic is the loudest ratio of all templates with a peak in the same place (IMRPhenomD templates of 10 to 50 solar
masses, minimal match 0.97), the detector's is its logit. Thresholds are quantiles of windows of noise. The detector's
first layers are templates made of its training waveforms, compressed to some sixty filters (see docs/detection.md);
it is trained with glitches and varied spectra among its noise. Trained on SEOBNRv4_opt, tested on full SEOBNRv4, and on
the Einstein Toolkit's GW150914 at total masses of 50 to 95. Real strain: GWOSC's GW150914 and 500 s of O3a, used for
tests only; the glitch at 455 s is also planted into Hanford over simulated Livingston.
""".strip()


def noise_block(number: int) -> Windows:
    """Return one block of windows of noise, `[BLOCK, RATE]`; the same number gives the same noise."""
    random = np.random.default_rng(np.random.SeedSequence(150914, spawn_key=(number,)))
    return random.standard_normal((BLOCK, RATE), dtype=np.float32)


def placed_signals(columns: dict[str, Any], ratio: float, count: int, transforms: DetectorTransforms) -> Windows:
    """Return windows with signals of one ratio in noise, `[count, RATE]`."""
    options = transforms.options
    filters = whiteners(transforms.densities, transforms.df, RATE, filter_s=options.filter_s, low_hz=options.low_hz)
    rows = whitened_rows(columns, (RATE, round(BEFORE_S * RATE)), filters[:1], transforms.reach)
    random = np.random.default_rng(np.random.SeedSequence(1602, spawn_key=(round(10 * ratio),)))
    found = np.empty((count, RATE), dtype=np.float32)
    for number in range(count):
        signal = place_signal(transforms, rows[number % len(rows)], ratio, random)[0]
        found[number] = signal + random.standard_normal(RATE)
    return found


class Filter:
    """The matched filter; a picklable function of windows."""

    def __init__(self, spectra: NDArray[np.complex64]) -> None:
        """Keep the templates."""
        self.spectra = spectra

    def __call__(self, windows: Windows) -> NDArray[np.float64]:
        """Return the loudest ratio of each window."""
        allowed = round(PEAKS[0] * RATE), round(PEAKS[1] * RATE) + 1
        filters = FilterBank(self.spectra, RATE, bench_gw_peers.PEAK, allowed)
        return np.asarray(filters.loudest(windows).snr, dtype=np.float64)

    def block(self, number: int) -> NDArray[np.float64]:
        """Return the same of a block of noise."""
        return self(noise_block(number))


def matched_filter(size: Size) -> tuple[Filter, int]:
    """Return the peer and the number of its templates; placed once."""
    path = CACHE / f"bank-{size.candidates}.npy"
    if not path.exists():
        shapes, _ = bench_gw_peers.placed(size.candidates)
        np.save(path, bank.normalised(shapes), allow_pickle=False)
    spectra = np.load(path, allow_pickle=False)
    return Filter(spectra), len(spectra)


def filtered_noise(size: Size, peer: Filter) -> NDArray[np.float64]:
    """Return the peer's statistic of all windows of noise; finished blocks are kept."""
    path = CACHE / f"noise-{size.candidates}.npy"
    done = np.load(path, allow_pickle=False) if path.exists() else np.zeros((0, BLOCK))
    while len(done) < size.noise // BLOCK:
        numbers = range(len(done), min(len(done) + 10, size.noise // BLOCK))
        with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            done = np.concatenate([done, np.stack(list(pool.map(peer.block, numbers)))])
        np.save(path, done, allow_pickle=False)
        progress(f"matched filter: {len(done) * BLOCK} of {size.noise} windows of noise")
    return np.asarray(done[: size.noise // BLOCK].ravel())


def logits(predictor: Predictor) -> Callable[[Windows], NDArray[np.float64]]:
    """Return a detector as a function of windows."""

    def look(windows: Windows) -> NDArray[np.float64]:
        return np.asarray(predictor.predict({STRAIN: windows}, batch_rows=BLOCK).mean["logit"])

    return look


def ratio_found(found: list[float]) -> float:
    """Return the ratio at which `FOUND` of the signals are found, linear between the measured ones."""
    return float(np.interp(FOUND, np.maximum.accumulate(found), RATIOS))


def simulated_waveforms(folder: Path) -> dict[str, Any]:
    """Return the Einstein Toolkit's binary at several total masses, as columns."""
    options = EinsteinToolkitOptions(command=("cactus",), parfile="GW150914.par")
    _, mode, _ = outputs.waveform(folder / "einstein_toolkit_GW150914", options)
    waves = [
        polarisations(mirrored({(2, 2): mode}), options.step, float(mass), 410.0, RATE).window(
            BEFORE_S, AFTER_S, FADE_S
        )
        for mass in TOTAL_MASSES
    ]
    return {"h_plus": np.stack([wave.plus for wave in waves]), "h_cross": np.stack([wave.cross for wave in waves])}


def inflation(look: Callable[[Windows], Any], white: Strain, limit: float) -> tuple[float, float, float, NDArray[Any]]:
    """Return the share of real windows above a threshold with a block-bootstrap interval, and all their statistics."""
    stride = RATE // 8
    starts = np.arange(0, len(white.data) - RATE + 1, stride)
    starts = starts[np.isfinite(white.data[starts]) & np.isfinite(white.data[starts + RATE - 1])]
    said = look(white.data[starts[:, np.newaxis] + np.arange(RATE)].astype(np.float32))
    # Windows overlap: blocks of 8 s are resampled and not windows.
    blocks = np.array_split(said > limit, max(1, len(said) // 64))
    random = np.random.default_rng(5)
    draws = [
        np.concatenate([blocks[pick] for pick in random.integers(0, len(blocks), len(blocks))]).mean()
        for _ in range(1000)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    return float((said > limit).mean()), float(low), float(high), said


def real_strain(predictor: Predictor, transforms: DetectorTransforms, folder: Path, limit: float) -> dict[str, Figure]:
    """Return what the detector does with real strain, its threshold frozen on simulated noise."""
    strains = [read_strain(next(folder.glob(f"{name}-{name}1_*.hdf5"))) for name in ("H", "L")]
    found = search(predictor, strains)
    event = [entry for entry in found.triggers if abs(entry.gps - EVENT) < 0.1]
    above = [bool((one.scores.logit[np.abs(one.scores.gps - EVENT) < 0.1] > limit).any()) for one in found.looked]
    recorded = read_strain(folder / "o3a_real_noise_500s.hdf")
    white, _ = whitened(recorded, transforms)
    share, low, high, said = inflation(logits(predictor), white, limit)
    glitch = max_near(predictor, white, recorded.start + GLITCH_S)
    loudest = min(max(one.scores.logit[np.abs(one.scores.gps - EVENT) < 0.1]) for one in found.looked)
    planted = planted_coincidences(predictor, recorded, transforms, limit)
    return {
        "gw150914_coincident": Figure(int(len(event) == 1 and all(above)), "1", "1 when both detectors are above the "
                                      "threshold and their triggers coincide"),
        "gw150914_statistic": Figure(round(event[0].statistic, 2) if event else None, "1", "sum of both logits"),
        "false_alarm_inflation": Figure(round(share / SHARE, 3), "1", "share of O3a windows above the threshold of "
                                        "simulated noise at 1e-3, over 1e-3"),
        "false_alarm_inflation_interval": Figure([round(low / SHARE, 3), round(high / SHARE, 3)], "1",
                                                 "95 % interval of it, blocks of 8 s resampled"),
        "o3a_windows": Figure(len(said), "1", "windows of O3a strain, 0.125 s apart"),
        "glitch_below_gw150914": Figure(int(glitch < loudest), "1", "1 when the glitch's logit is below GW150914's in "
                                        "either detector"),
        "glitch_logit": Figure(round(glitch, 2), "1", "the loudest window within 1 s of the glitch"),
        "planted_glitch_coincidences": Figure(planted, "1", "coincidences above both thresholds within 1 s of the "
                                              "glitch, planted in Hanford over simulated Livingston"),
    }  # fmt: skip


def max_near(predictor: Predictor, white: Strain, gps: float) -> float:
    """Return the loudest logit of windows with a peak within 1 s of a time."""
    from surrogate.inference.detection.windows import score

    scores = score(predictor, white)
    return float(scores.logit[np.abs(scores.gps - gps) < 1.0].max())


def planted_coincidences(predictor: Predictor, recorded: Strain, transforms: DetectorTransforms, limit: float) -> int:
    """Return how many coincidences a real glitch in one detector makes with simulated noise in the other."""
    from surrogate.signal.psd import Psd

    begin = recorded.start + GLITCH_S - 30.0
    part = recorded.between(begin, min(begin + 60.0, recorded.end))
    first = Strain(part.data, part.rate, part.start, "H1")
    source = NoiseSource(Psd.of(transforms.densities[0], transforms.df), part.rate, "L1", "test", 7)
    second = Strain(source.window(0, len(part.data)), part.rate, part.start, "L1")
    near = [one for one in search(predictor, [first, second]).triggers if abs(one.gps - begin - 30.0) < 1.0]
    return sum(min(one.logits) > limit for one in near)


def measured(size: Size, folder: Path) -> dict[str, Figure]:
    """Return all figures."""
    columns = waveforms(size.test, 3, "SEOBNRv4")
    peer, count = matched_filter(size)
    models = [trained(size, seed) for seed in size.seeds]
    transforms = models[0].transforms
    assert isinstance(transforms, DetectorTransforms)
    signals = {ratio: placed_signals(columns, ratio, size.signals, transforms) for ratio in RATIOS}
    theirs = filtered_noise(size, peer)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        peer_signals = dict(zip(RATIOS, pool.map(peer, signals.values()), strict=True))
    progress("the matched filter has seen the signals")
    ours = []
    for number, model in enumerate(models):
        look = logits(model)
        ours.append((np.concatenate([look(noise_block(block)) for block in range(size.noise // BLOCK)]), look))
        progress(f"detector {number + 1} of {len(models)} has seen the noise")
    figures = {
        "templates": Figure(count, "1", "templates of the matched filter"),
        "noise_windows": Figure(len(theirs), "1", "independent windows of noise"),
    }
    for name, chance in (("fap_1e3", 1e-3), ("fap_1e4", 1e-4)):
        if chance * len(theirs) < 10:
            figures[f"distance_fraction_{name}"] = Figure(None, "1", f"not measured: {len(theirs)} windows are too few")
            continue
        limit = np.quantile(theirs, 1.0 - chance)
        reference = [float((peer_signals[ratio] > limit).mean()) for ratio in RATIOS]
        curves = []
        for noise, look in ours:
            own = np.quantile(noise, 1.0 - chance)
            curves.append([float((look(signals[ratio]) > own).mean()) for ratio in RATIOS])
        fractions = [ratio_found(reference) / ratio_found(curve) for curve in curves]
        figures |= {
            f"distance_fraction_{name}": Figure(
                round(float(np.median(fractions)), 4), "1", "ratio at which the matched filter finds 90 % over that at "
                "which the detector does, median of the seeds",
            ),
            f"distance_fraction_{name}_seeds": Figure([round(one, 4) for one in fractions], "1", "each seed"),
            f"found_{name}": Figure(
                [round(float(one), 4) for one in np.median(curves, axis=0)], "1",
                f"share that the detector finds at ratios {RATIOS}",
            ),
            f"found_{name}_matched_filter": Figure([round(one, 4) for one in reference], "1", "the matched filter's"),
        }  # fmt: skip
    noise, look = ours[0]
    limit = float(np.quantile(noise, 1.0 - SHARE))
    toolkit = simulated_waveforms(folder)
    for ratio in (8.0, 6.0):
        windows = placed_signals(toolkit, ratio, size.signals, transforms)
        figures[f"et_found_snr{ratio:.0f}"] = Figure(
            round(float((look(windows) > limit).mean()), 4), "1",
            f"share of the Einstein Toolkit's binary that is found at a ratio of {ratio:.0f}, chance 1e-3",
        )  # fmt: skip
    figures |= real_strain(models[0], transforms, folder, limit)
    return figures | gap(size, models[0], transforms, folder, signals[8.0])


def gap(
    size: Size, hardened: Predictor, transforms: DetectorTransforms, folder: Path, signals: Windows
) -> dict[str, Figure]:
    """Return what is lost from simulated to real noise, with and without the hardening."""
    plain = trained(size, size.seeds[0], hardening={"glitches": 0.0, "colour": 0.0, "signal_colour": 0.0})
    white, _ = whitened(read_strain(folder / "o3a_real_noise_500s.hdf"), transforms)
    figures: dict[str, Figure] = {}
    random = np.random.default_rng(11)
    good = np.flatnonzero(np.isfinite(white.data[: -RATE + 1]) & np.isfinite(white.data[RATE - 1 :]))
    clean = signals[:300]
    for name, model in (("hardened", hardened), ("plain", plain)):
        look = logits(model)
        noise = np.concatenate([look(noise_block(block)) for block in range(min(20, size.noise // BLOCK))])
        limit = float(np.quantile(noise, 1.0 - SHARE))
        share, _, _, said = inflation(look, white, limit)
        starts = random.choice(good, len(clean))
        columns = waveforms(size.test, 3, "SEOBNRv4")
        quiet = np.empty_like(clean)
        options = transforms.options
        filters = whiteners(transforms.densities, transforms.df, RATE, filter_s=options.filter_s, low_hz=options.low_hz)
        rows = whitened_rows(columns, (RATE, round(BEFORE_S * RATE)), filters[:1], transforms.reach)
        for number, start in enumerate(starts):
            quiet[number] = place_signal(transforms, rows[number % len(rows)], 8.0, random)[0]
            quiet[number] += white.data[start : start + RATE]
        real_limit = float(np.quantile(said, 1.0 - SHARE))
        found = (float((look(clean) > limit).mean()), float((look(quiet) > limit).mean()),
                 float((look(quiet) > real_limit).mean()))  # fmt: skip
        figures[f"gap_{name}"] = Figure(
            [round(one, 4) for one in (*found, share / SHARE)], "1",
            "share found at a ratio of 8: in simulated noise; in O3a noise at the same threshold; in O3a noise at the "
            "threshold that O3a itself sets at 1e-3; and the inflation of false alarms",
        )  # fmt: skip
    return figures


def main() -> None:
    """Measure, and publish unless it was a short look."""
    quick = os.environ.get("QUICK", "") not in ("", "0")
    before = form.machine()
    figures = measured(QUICK if quick else FULL, bench_gw_peers.data_folder())
    if quick:
        for key, figure in figures.items():
            progress(f"{key} = {figure.value} {figure.unit}")
        print(json.dumps({key: figure.value for key, figure in figures.items()}), flush=True)
        return
    form.publish(
        "gw-mini",
        "A trained detector beside a matched filter",
        figures,
        how=HOW,
        target="distance fractions of at least 0.95, aimed at 0.975; et_found_snr8 at least 0.99 and et_found_snr6 at "
        "least 0.7; inflation at most 2; GW150914 in coincidence; no coincidence of the planted glitch",
        distributions=("lalsuite", "numpy", "scipy", "tensorflow-cpu", "onnxruntime"),
        on=before,
    )


if __name__ == "__main__":
    main()
