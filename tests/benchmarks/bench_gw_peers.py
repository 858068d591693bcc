"""Spectra, whitening, signal-to-noise ratios and ψ₄ integration beside PyCBC and kuibit, on the same arrays."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.compact_binary.waveforms import Binary, waveform
from sim_wrappers.einstein_toolkit import outputs
from sim_wrappers.einstein_toolkit.options import EinsteinToolkitOptions
from sim_wrappers.einstein_toolkit.restarts import read_psi4
from surrogate.signal import bank
from surrogate.signal.aligo import aligo, aligo_density
from surrogate.signal.bank_filter import FilterBank
from surrogate.signal.filters import faded
from surrogate.signal.gwosc import read_strain
from surrogate.signal.harmonics import mirrored, polarisations
from surrogate.signal.match import match
from surrogate.signal.psi4 import strain_from_psi4
from surrogate.signal.snr import Band, matched_filter, optimal_snr
from surrogate.signal.strain import Strain
from surrogate.signal.welch import welch
from surrogate.signal.whiten import whitener
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from tests.benchmarks.peers.environment import ROOT, peer_python

RATE, LOW, SEGMENT, FILTER, CROP = 4096, 20.0, 4.0, 4.0, 4
BANK_RATE, SAMPLES, PEAK = 2048, 2048, 1741
CANDIDATES, TRIED, MINIMAL_MATCH, WINDOWS = 1200, 800, 0.97, 256
LOWEST = 2.0 * np.pi / 100.0
BINARIES = ((39.0, 32.0), (20.0, 15.0), (50.0, 12.0), (48.0, 45.0))
HOW = f"""
Real strain of LIGO Hanford around GW150914 (28 s at {RATE} Hz) goes through both programs as the same float64 array. A
difference is |ours / theirs − 1|, the largest of all. *Spectra* are compared between {LOW:.0f} and 1024 Hz.
*Whitening*: a filter of {FILTER:.0f} s from the same strain's median spectrum, both sides, root mean square of the
difference over that of the whitened strain, ends left out. *Ratios*: {len(BINARIES)} SEOBNRv4_opt templates over the
strain, the largest value and its time. *Bank*: whitened windows of 1 s at {BANK_RATE} Hz ({WINDOWS} for the time), the
loudest of all templates; the peer is PyCBC's `matched_filter`, one template after the other, on the first windows.
*ψ₄*: the mode (2, 2) of a real Einstein Toolkit run at r = 100, integrated with ω₀ = 2π/100 by both, root mean square
over the interior. The bank is placed among {CANDIDATES:,} candidates of 10 to 50 solar masses (IMRPhenomD, 1 s, peak at
0.85 s), completed by those of {TRIED} further ones, even in both masses, that it misses, and tried on 300 more. One
thread.
""".strip()


def data_folder() -> Path:
    """Return the folder of test data."""
    base = Path(os.environ.get("SURROGATE_TEST_DATA") or ROOT.parent / "shared" / "data") / "waveforms"
    if not base.is_dir():
        raise SystemExit(f"{base} does not exist; SURROGATE_TEST_DATA names the folder of test data.")
    return base


def windows(masses: NDArray[Any], approximant: str) -> NDArray[np.float64]:
    """Return whitened windows of waveforms, `[T, SAMPLES]`."""
    white = whitener(aligo(), BANK_RATE, 0.5, LOW)
    pad, found = white.half / BANK_RATE, []
    for mass_1, mass_2 in masses:
        wave = waveform(Binary(mass_1, mass_2), approximant=approximant, rate=BANK_RATE, low_hz=LOW)
        before = PEAK / BANK_RATE + pad
        part = wave.window(before, (SAMPLES - PEAK) / BANK_RATE + pad, 0.125)
        found.append(white(part.plus)[:SAMPLES])
    return np.asarray(found)


def placed(candidates: int) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Return the whitened templates of a bank, and how well it covers."""
    masses = bank.candidates(candidates, 10.0, 50.0, 1)
    shapes = windows(masses, "IMRPhenomD")
    spectra = bank.normalised(shapes)
    found = bank.place(spectra, SAMPLES, MINIMAL_MATCH)
    shapes = shapes[found.chosen]
    progress(f"{len(shapes)} templates are placed")
    random = np.random.default_rng(7)
    tried = windows(random.uniform(10.0, 50.0, (TRIED, 2)), "IMRPhenomD")
    added = bank.completed(bank.normalised(shapes), bank.normalised(tried), SAMPLES, MINIMAL_MATCH)
    shapes = np.concatenate([shapes, tried[added]])
    progress(f"{len(added)} are added")
    fresh = bank.normalised(windows(random.uniform(10.0, 50.0, (300, 2)), "IMRPhenomD"))
    best = [float(bank.matches(one, bank.normalised(shapes), SAMPLES).max()) for one in fresh]
    return shapes, {"templates": len(shapes), "fresh_1_percent": float(np.quantile(best, 0.01))}


def timed(filters: FilterBank, data: NDArray[np.float32]) -> float:
    """Return microseconds a template and window, the best of three."""
    filters.loudest(data[:8])
    best = np.inf
    for _ in range(3):
        begin = time.perf_counter()
        filters.loudest(data)
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best / (len(data) * filters.templates)


def relative(ours: Any, theirs: Any) -> float:
    """Return the largest relative difference."""
    return float(np.max(np.abs(np.asarray(ours) / np.asarray(theirs) - 1.0)))


def share(ours: Any, theirs: Any) -> float:
    """Return the root mean square of a difference over that of the second."""
    return float(np.linalg.norm(np.asarray(ours) - np.asarray(theirs)) / np.linalg.norm(theirs))


def read(folder: Path, name: str) -> Strain:
    """Return the strain of a detector, 2 s less at each end."""
    whole = read_strain(next(folder.glob(f"{name[0]}-{name}_*.hdf5")), rate=RATE)
    return whole.between(whole.start + 2.0, whole.end - 2.0)


def loudest(strain: Strain, template: NDArray[np.float64]) -> tuple[float, int]:
    """Return the largest ratio of a template in a strain, and where."""
    psd = welch(strain.data, RATE, SEGMENT)
    snr = np.abs(matched_filter(faded(strain.data, RATE, 1.5), template, RATE, psd, Band(LOW)))
    best = CROP * RATE + int(np.argmax(snr[CROP * RATE : -CROP * RATE]))
    return float(snr[best]), best


def simulated(folder: Path) -> tuple[dict[str, Any], float]:
    """Return ψ₄ of the simulation integrated as the peer does, and its strain's match with SEOBNRv4."""
    simulation = folder / "einstein_toolkit_GW150914"
    table = read_psi4(simulation, (2, 2), 100.0)
    times, strain = strain_from_psi4(table[:, 0], (table[:, 1] + 1j * table[:, 2]) * 100.0, LOWEST, taper=0.0)
    options = EinsteinToolkitOptions(command=("cactus",), parfile="GW150914.par")
    _, mode, _ = outputs.waveform(simulation, options)
    wave = polarisations(mirrored({(2, 2): mode}), options.step, 70.0, 410.0, RATE)
    ratio = 36.0 / 29.0
    binary = Binary(70.0 * ratio / (1 + ratio), 70.0 / (1 + ratio), 0.31, -0.46)
    eob = waveform(binary, approximant="SEOBNRv4", rate=RATE, low_hz=LOW, distance_mpc=410.0)
    return {"times": times, "strain": strain, "path": simulation}, match(
        wave.plus, eob.plus, RATE, aligo(), Band(30.0)
    ).value


def ask(given: dict[str, Any]) -> dict[str, Any]:
    """Run the peers on arrays and return what they found."""
    python = peer_python("waveforms")
    with tempfile.TemporaryDirectory(prefix="bench-gw-peers-") as base:
        source, target = Path(base) / "in.npz", Path(base) / "out.npz"
        np.savez(source, **given)
        script = ROOT / "tests" / "benchmarks" / "peers" / "waves.py"
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "HOME": base}
        done = subprocess.run(
            [python, script, source, target], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"The peers failed:\n{done.stderr[-3000:]}")
        with np.load(target, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    parser.add_argument("--dry", action="store_true", help="print only, write no file")
    arguments = parser.parse_args()
    before, folder = form.machine(), data_folder()
    strain = read(folder, "H1")
    psd = welch(strain.data, RATE, SEGMENT)
    white = whitener(psd, RATE, FILTER, LOW)
    waves = [waveform(Binary(*pair), approximant="SEOBNRv4_opt", rate=RATE, low_hz=LOW) for pair in BINARIES]
    longest = max(len(wave.plus) for wave in waves)
    templates = np.stack([np.pad(wave.plus, (0, longest - len(wave.plus))) for wave in waves])
    design = aligo_density(np.arange(8 * 1024 + 1) / 8.0)
    match_samples = 16 * RATE
    match_psd = np.nan_to_num(aligo_density(np.arange(match_samples // 2 + 1) / 16.0), posinf=0.0)
    shapes, cover = placed(arguments.candidates)
    data = np.random.default_rng(3).standard_normal((WINDOWS, SAMPLES)).astype(np.float32)
    filters = FilterBank(bank.normalised(shapes), SAMPLES, PEAK)
    spent = timed(filters, data)
    progress(f"the bank takes {spent:.1f} µs a template and window")
    psi4, et_match = simulated(folder)
    given = {
        "low_hz": LOW, "design": design, "design_df": 0.125, "strain": strain.data, "rate": RATE, "segment_s": SEGMENT,
        "filter_s": FILTER, "faded": faded(strain.data, RATE, 1.5), "psd": psd.values, "psd_df": psd.df,
        "crop": CROP * RATE, "templates": templates, "match_psd": match_psd, "match_df": 1.0 / 16.0,
        "bank_rate": BANK_RATE, "bank_templates": shapes, "bank_windows": data[:4], "simulation": str(psi4["path"]),
        "radius": 100.0, "lowest": LOWEST,
    }  # fmt: skip
    theirs = ask(given)
    progress("the peers have answered")
    bank_snr = filters.loudest(data[:4]).snr
    figures = compared(theirs, strain, templates, design, psd=psd, white=white, psi4=psi4, bank_snr=bank_snr)
    snr = {name: loudest(read(folder, name), waves[0].plus)[0] for name in ("H1", "L1")}
    figures |= {
        "et_match_seobnrv4": Figure(round(et_match, 5), "1", "Einstein Toolkit strain with SEOBNRv4, aLIGO from 30 Hz"),
        "gw150914_snr_h1": Figure(round(snr["H1"], 3), "1", "39 + 32 solar masses in real strain (19.2 is known)"),
        "gw150914_snr_l1": Figure(round(snr["L1"], 3), "1", "the same in Livingston (13.4 is known)"),
        "bank_templates": Figure(cover["templates"], "1", f"templates at a minimal match of {MINIMAL_MATCH}"),
        "bank_fresh_match": Figure(
            round(cover["fresh_1_percent"], 4), "1", "match that 99 % of 300 fresh binaries reach"
        ),
        "bank_us_per_template_window": Figure(round(spent, 2), "µs", "a template and window of 1 s, batched complex64"),
        "peer_us_per_template_window": Figure(
            round(float(theirs["bank_us"]), 1), "µs", "the same by PyCBC's matched_filter"
        ),
    }
    if arguments.dry:
        for key, figure in figures.items():
            progress(f"{key} = {figure.value} {figure.unit}")
        return
    names = dict(zip(("pycbc", "kuibit"), theirs["versions"].tolist(), strict=True))
    form.publish(
        "gw-peers",
        "Signals beside PyCBC and kuibit",
        figures,
        how=f"{HOW}\n\nPeers: " + ", ".join(f"{name} {version}" for name, version in names.items()) + ".",
        target="every difference at most 0.01, the match at least 0.99, the bank at most 65 µs",
        distributions=("lalsuite", "numpy", "scipy"),
        on=before,
    )


def compared(theirs: dict[str, Any], strain: Strain, templates: Any, design: Any, **ours: Any) -> dict[str, Figure]:
    """Return the differences."""
    psd, white, psi4, bank_snr = (ours[name] for name in ("psd", "white", "psi4", "bank_snr"))
    inside = slice(round(LOW * 8), 8 * 1024)
    near = slice(round(LOW / psd.df), round(1024 / psd.df))
    mine = white(strain.data)
    crop = CROP * RATE
    other = theirs["white"][white.half : -white.half]
    optimal = [optimal_snr(np.pad(one, (0, len(strain.data) - len(one))), RATE, psd, Band(LOW)) for one in templates]
    peaks = [loudest(strain, one) for one in templates]
    matches = [match(templates[0], one, RATE, aligo(1.0 / 16.0), Band(LOW)).value for one in templates]
    grid = theirs["psi4_t"]
    kept = (grid > grid[0] + 150.0) & (grid < grid[-1] - 150.0)
    mode = np.interp(grid, psi4["times"], psi4["strain"].real) + 1j * np.interp(
        grid, psi4["times"], psi4["strain"].imag
    )
    values = {
        "psd_design_difference": (relative(design[inside], theirs["design"][inside]), "design curve"),
        "psd_welch_difference": (relative(psd.values[near], theirs["welch"][near]), "median Welch spectrum"),
        "whitening_difference": (share(mine[crop:-crop], other[crop:-crop]), "whitened strain, root mean square"),
        "optimal_snr_difference": (relative(optimal, theirs["optimal"]), "optimal ratio"),
        "snr_difference": (relative([peak for peak, _ in peaks], theirs["snr"]), "matched-filter ratio in real strain"),
        "match_difference": (relative(matches, theirs["match"]), "matches between templates"),
        "bank_snr_difference": (relative(bank_snr, theirs["bank"]), "the bank's loudest ratio in noise"),
        "psi4_difference": (share(mode[kept], theirs["psi4_h"][kept]), "ψ₄ integrated, beside kuibit"),
    }
    shift = max(abs(place - int(found)) for (_, place), found in zip(peaks, theirs["place"], strict=True))
    figures = {key: Figure(float(f"{value:.3g}"), "1", f"difference: {what}") for key, (value, what) in values.items()}
    figures["snr_time_difference"] = Figure(shift, "sample", "between the times of the largest ratio")
    return figures


if __name__ == "__main__":
    main()
