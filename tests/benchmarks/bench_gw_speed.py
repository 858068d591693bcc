"""Milliseconds of a window of strain: a trained detector, a bank by Fourier transforms, a bank in the time domain.

QUICK=1 takes the detector of the short look and publishes nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

import numpy as np

from surrogate.inference.detection.live import LiveSearch
from surrogate.inference.predictor import Predictor
from surrogate.models.detector.network import STRAIN
from surrogate.signal.aligo import aligo
from surrogate.signal.bank_filter import FilterBank
from surrogate.signal.noise import NoiseSource
from surrogate.signal.strain import Strain
from tests.benchmarks import bench_gw_peers, form
from tests.benchmarks.bench_gw_mini import PEAKS, Filter, matched_filter, noise_block
from tests.benchmarks.form import Figure, progress
from tests.benchmarks.gw_training import FULL, QUICK, RATE, trained

PAPER_TEMPLATES, TRIED, LIVE_S = 2500, 8, 60
BATCH, REPEATS = 256, 7
HOW = f"""
One window is 1 s at {RATE} Hz, whitened, and its peak may lie anywhere in 0.2 s of it. *The detector* is the first of
`make bench-gw-mini`, asked through `Predictor.predict` (onnxruntime, one thread), {BATCH} windows or one a call. *FFT
bank*: all templates of that benchmark (minimal match 0.97) by batched complex64 transforms, one thread. *Time-domain
bank*: the {PAPER_TEMPLATES:,} templates of D. George and E. A. Huerta (Phys. Lett. B 778, 64 (2018)), both phases
correlated with the window at every sample of the 0.2 s, float32 by NumPy, one thread; {TRIED} of them are timed and
their number scaled up. Best of {REPEATS} repeats each, one after
the other in one process. *Live*: {LIVE_S} chunks of 1 s of simulated strain, whitening included, median.
""".strip()


def best(call: Callable[[], object]) -> float:
    """Return the seconds of a call, the best of several."""
    call()
    spent = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begin)
    return min(spent)


def time_domain_ms(peer: Filter) -> float:
    """Return milliseconds of a window and the paper's number of templates in the time domain."""
    shapes = np.fft.irfft(peer.spectra[:TRIED], RATE, axis=1)
    # The other phase is the Hilbert transform.
    both = np.concatenate([shapes, np.fft.irfft(1j * peer.spectra[:TRIED], RATE, axis=1)]).astype(np.float32)
    reach = round((PEAKS[1] - PEAKS[0]) * RATE)
    window = np.concatenate([noise_block(0)[0], np.zeros(reach, np.float32)])

    def correlate() -> None:
        for template in both:
            np.correlate(window, template, mode="valid")

    return 1e3 * best(correlate) / TRIED * PAPER_TEMPLATES


def live(detector: Predictor) -> tuple[float, float]:
    """Return milliseconds that a chunk of 1 s takes when it arrives, and seconds of data needed after a peak."""
    data = NoiseSource(aligo(), RATE, "H1", "test", 9).window(0, LIVE_S * RATE)
    search = LiveSearch(detector)
    spent = []
    for second in range(LIVE_S):
        chunk = Strain(data[second * RATE : (second + 1) * RATE], RATE, float(second), "H1")
        begin = time.perf_counter()
        search.feed(chunk)
        spent.append(time.perf_counter() - begin)
    return 1e3 * float(np.median(spent[LIVE_S // 2 :])), search.delay_s


def main() -> None:
    """Measure, and publish unless it was a short look."""
    quick = os.environ.get("QUICK", "") not in ("", "0")
    before, size = form.machine(), QUICK if quick else FULL
    peer, count = matched_filter(size)
    detector = trained(size, size.seeds[0], threads=1)
    windows = noise_block(0)[:BATCH]
    batch = 1e3 * best(lambda: detector.predict({STRAIN: windows}, batch_rows=BATCH)) / BATCH
    single = 1e3 * best(lambda: [detector.predict({STRAIN: window}) for window in windows[:32]]) / 32
    allowed = round(PEAKS[0] * RATE), round(PEAKS[1] * RATE) + 1
    filters = FilterBank(peer.spectra, RATE, bench_gw_peers.PEAK, allowed)
    fft = 1e3 * best(lambda: filters.loudest(windows[:16])) / 16
    slow = time_domain_ms(peer)
    chunk_ms, needed = live(detector)
    figures = {
        "ms_per_window_batch": Figure(round(batch, 4), "ms", f"the detector, {BATCH} windows a call"),
        "ms_per_window_single": Figure(round(single, 4), "ms", "the detector, one window a call"),
        "ms_per_window_fft_bank": Figure(round(fft, 3), "ms", f"{count} templates by Fourier transforms"),
        "us_per_template_window": Figure(round(1e3 * fft / count, 2), "µs", "the same for one template"),
        "ms_per_window_time_domain_bank": Figure(round(slow, 1), "ms", f"{PAPER_TEMPLATES} templates, time domain"),
        "speedup_fft_bank": Figure(
            round(fft / batch, 2), "1", f"{count} templates by FFT over the detector in batches"
        ),
        "speedup_fft_bank_single": Figure(round(fft / single, 2), "1", "the same over the detector with one window"),
        "speedup_time_domain_bank": Figure(
            round(slow / batch, 1), "1", f"{PAPER_TEMPLATES} templates in the time domain over the detector in batches"
        ),
        "live_ms_per_second": Figure(round(chunk_ms, 1), "ms", "computing for a chunk of 1 s that arrives live"),
        "live_needed_s": Figure(round(needed, 2), "s", "data after a peak that a live trigger waits for, chunk aside"),
    }
    if quick:
        for key, figure in figures.items():
            progress(f"{key} = {figure.value} {figure.unit}")
        print(json.dumps({key: figure.value for key, figure in figures.items()}), flush=True)
        return
    form.publish(
        "gw-speed",
        "A window of strain in milliseconds",
        figures,
        how=HOW,
        target="10 × against the FFT bank and 1,000 × against the time-domain bank",
        distributions=("numpy", "scipy", "onnxruntime"),
        on=before,
    )


if __name__ == "__main__":
    main()
