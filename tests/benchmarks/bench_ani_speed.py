"""Energies and forces of ANI-1x: calls interleaved with torchani's, one thread each, one network and eight."""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402 - the threads must be set before it is loaded

from tests.benchmarks import form  # noqa: E402
from tests.benchmarks.form import Figure, progress  # noqa: E402
from tests.benchmarks.potentials import Peer, data_file, imported, potential  # noqa: E402

BATCHES = {1: 150, 32: 60, 1000: 7}
"""Structures a call → calls of each side."""

FRAMES, TRAINING_S = 1000, 600.0
"""Frames that the potential of `make bench-rmd17` is made from, and the seconds of its training."""

HOW = """
Energies and forces of frames of ethanol (rMD17, 9 atoms) by the published ANI-1x networks, one of them and all eight:
from an array of places to arrays of energies and forces, in float32, neighbours and features included. Ours is
`surrogate.models.ani.potential.Potential`, which the ASE calculator uses: NumPy, without TensorFlow. The **peer** is
torchani 2.2.4 in its own environment with its own weights of the same networks. Both run on one thread, in processes
that stay alive; calls alternate, one of ours and one of theirs, and the other process sleeps meanwhile. Medians over
the calls; the first five calls of each side are not counted. *speedup_N* is the
smaller one of the single network and the eight.
""".strip()


def measure(
    ours: Any, peer: Peer, species: np.ndarray, places: np.ndarray, calls: int
) -> tuple[list[float], list[float]]:
    """Return the seconds of each call of both sides, alternating."""
    count = len(places)
    numbers, flat = np.tile(species, count), places.reshape(-1, 3).copy()
    offsets = np.arange(count + 1) * len(species)
    mine, theirs = [], []
    warm = min(5, calls)
    for call in range(warm + calls):
        begun = time.perf_counter()
        ours.answer(numbers, flat, offsets)
        seconds = time.perf_counter() - begun
        other = peer.ask(do="time")["seconds"]
        if call >= warm:
            mine.append(seconds)
            theirs.append(other)
    return mine, theirs


def dft_seconds(species: np.ndarray, places: np.ndarray) -> float:
    """Return the seconds of one energy and gradient by density functional theory."""
    from pyscf import dft, gto, lib

    lib.num_threads(1)
    atoms = [(int(number), tuple(place)) for number, place in zip(species, places, strict=True)]
    begun = time.perf_counter()
    molecule = gto.M(atom=atoms, basis="6-31g*", cart=True, verbose=0)
    method = dft.RKS(molecule)
    method.xc = "wb97x"
    method.kernel()
    method.nuc_grad_method().kernel()
    return time.perf_counter() - begun


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls, nothing published")
    quick = parser.parse_args().quick
    on = form.machine()
    frames = np.load(data_file("rmd17_ethanol_train_01.npz"))
    species, coords = frames["nuclear_charges"].astype(np.int64), frames["coords"].astype(np.float64)
    ratios: dict[int, dict[int, float]] = {batch: {} for batch in BATCHES}
    figures: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory() as folder:
        predictor = imported(Path(folder) / "registry")
        peer = Peer()
        for members in (1, 8):
            ours = potential(predictor, members)
            versions = peer.ask(do="load", members=members, double=False)
            for batch, calls in BATCHES.items():
                file = Path(folder) / "batch.npz"
                np.savez(file, species=species, positions=coords[:batch])
                peer.ask(do="batch", file=str(file))
                mine, theirs = measure(ours, peer, species, coords[:batch], max(3, calls // (10 if quick else 1)))
                a, b = float(np.median(mine)), float(np.median(theirs))
                ratios[batch][members] = b / a
                progress(f"{members} networks, {batch} structures: ours {1e3 * a:.2f} ms, torchani {1e3 * b:.2f} ms")
                what = f"median of {len(mine)} calls, {batch} structures, {members} network{'s' * (members > 1)}"
                figures[f"ours_ms_{batch}_members_{members}"] = Figure(1e3 * a, "ms", f"ours: {what}")
                figures[f"torchani_ms_{batch}_members_{members}"] = Figure(1e3 * b, "ms", f"torchani: {what}")
        peer.end()
    if quick:
        return
    head = {
        f"speedup_{batch}": Figure(
            min(found.values()),
            "1",
            f"torchani's median over ours, {batch} structures, the smaller of 1 and 8 networks",
        )
        for batch, found in ratios.items()
    }
    progress("one DFT calculation")
    dft, call = dft_seconds(species, coords[0]), figures["ours_ms_1_members_1"].value / 1e3
    head["dft_seconds"] = Figure(
        dft,
        "s",
        "ωB97X/6-31G(d) energy and gradient of one frame of ethanol by PySCF, one thread, measured in this run",
    )
    head["break_even_calls"] = Figure(
        int(np.ceil((FRAMES * dft + TRAINING_S) / (dft - call))),
        "1",
        f"evaluations after which {FRAMES} such calculations and a training of {TRAINING_S:g} s have paid",
    )
    head["peer"] = Figure(f"torchani 2.2.4, torch {versions['torch']}", "1", "the peer's versions")
    form.publish(
        "ani-speed",
        "Speed of ANI-1x against torchani",
        head | figures,
        how=HOW,
        target="at least 2 × at 1 and 32 structures, 1.25 × at 1000",
        distributions=("numpy", "scipy", "pyscf"),
        on=on,
    )


if __name__ == "__main__":
    main()
