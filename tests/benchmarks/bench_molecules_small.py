"""The campaign `molecules-small` from nothing to its verdict, and ANI-1x on the same structures.

make bench-molecules-small
make bench-molecules-small WORKDIR=FOLDER     judges the finished working directory of an earlier run
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import atomic_number
from surrogate.core.molecules import input_values, structures_of
from surrogate.core.schema import Values
from surrogate.core.structure import Structure
from surrogate.data.dataset import Dataset
from surrogate.inference.predictor import Predictor
from surrogate.registry.reader import RegistryReader
from surrogate.validation.verdict import Verdict
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from tests.benchmarks.potentials import KCAL, data_file, imported
from workflows.config import load_campaign

NAME = "molecules-small"
CONFORMERS, HOTTEST = 1000, 50.0
Floats = NDArray[np.float64]

HOW = """
`surrogate run molecules-small`: structures of CH₄, NH₃ and H₂O with energy in their normal modes at 2000 K, labelled by
PySCF at ωB97X/6-31G(d) (Cartesian), a committee of the family `ani` trained on train and tuned on tune. The **holdout**
is labelled in the same way, and nothing was trained, tuned or chosen on it. The **conformers** are 1,000 of ANI-1's
`gdb11_s01`, drawn at random (seed 0) among those below 50 kcal/mol over the lowest of their molecule; their labels come
from elsewhere. Errors are of the committee's mean.

The **peer** is ANI-1x, imported from torchani 2.2.4 (eight networks), on the same structures; it was trained on five
million structures of this level of theory.
""".strip()


def main() -> None:
    """Measure and publish."""
    on = form.machine()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        given = os.environ.get("WORKDIR")
        workdir = Path(given) if given else _campaign(Path(scratch) / "w")
        seconds = time.monotonic() - begun
        figures = _figures(workdir, Path(scratch))
    figures["seconds"] = Figure(round(seconds, 1), "s", "the campaign, simulations and training included")
    if given:
        del figures["seconds"]
    form.publish(
        NAME,
        "Methane, ammonia and water from DFT",
        figures,
        how=HOW,
        target="holdout: energy MAE at most 0.30 kcal/mol; at most 30 minutes on 2 cores",
        distributions=("pyscf", "tensorflow-cpu", "keras"),
        on=on,
    )


def _campaign(workdir: Path) -> Path:
    progress("running the campaign")
    line = [str(Path(sys.executable).parent / "surrogate"), "run", NAME, "--workdir", str(workdir)]
    ended = subprocess.run(line, check=False, stdout=sys.stderr)
    if ended.returncode not in (0, 3):
        raise SystemExit(f"`surrogate run {NAME}` ended with {ended.returncode}.")
    return workdir


def _figures(workdir: Path, scratch: Path) -> dict[str, Figure]:
    verdict = Verdict.read(workdir / "verdict.json")
    predictor = Predictor.load(RegistryReader(workdir / "registry").artifact(verdict.version))
    splits = load_campaign(workdir / "campaign.toml").splits
    dataset = Dataset.open(workdir / "dataset")
    holdout = dataset.load(splits, "holdout")
    published = imported(scratch / "ani-1x")
    truth, names = np.asarray(holdout.columns["energy"]), [entry.name for entry in structures_of(holdout.inputs)]
    ours, theirs = (_said(model, holdout.inputs) for model in (predictor, published))
    errors, others = np.abs(ours[0] - truth) * KCAL, np.abs(theirs[0] - truth) * KCAL
    forces = holdout.columns["forces"].data
    spread = {
        name: round(float(truth[[row for row, entry in enumerate(names) if entry == name]].std() * KCAL), 2)
        for name in sorted(set(names))
    }
    provenance = dataset.provenance().values()
    return {
        "energy_mae_kcal_mol": Figure(_r(errors.mean()), "kcal/mol", "holdout: mean |ΔE|"),
        "energy_p95_kcal_mol": Figure(_r(np.quantile(errors, 0.95)), "kcal/mol", "95 % of |ΔE| are below"),
        "energy_max_kcal_mol": Figure(_r(errors.max()), "kcal/mol", "largest |ΔE|"),
        "within_1_kcal_mol": Figure(_r((errors < 1.0).mean()), "1", "share of |ΔE| below 1 kcal/mol"),
        "force_mae_kcal_mol_A": Figure(
            _r(np.abs(ours[1] - forces).mean() * KCAL), "kcal/mol/Å", "holdout: mean |ΔF| of a component"
        ),
        "holdout": Figure(len(holdout), "1", "fresh DFT structures"),
        "energy_std_kcal_mol": Figure(spread, "kcal/mol", "standard deviation of each molecule's energy there"),
        "ani1x_energy_mae_kcal_mol": Figure(_r(others.mean()), "kcal/mol", "holdout: mean |ΔE| of ANI-1x"),
        "ani1x_force_mae_kcal_mol_A": Figure(
            _r(np.abs(theirs[1] - forces).mean() * KCAL), "kcal/mol/Å", "holdout: mean |ΔF| of ANI-1x"
        ),
        **_conformers(predictor, published),
        "dft_seconds": Figure(
            round(sum(float(record["seconds"]) for record in provenance), 1), "s", "all DFT runs, wall clock added up"
        ),
        "structures": Figure(len(dataset), "1", "structures that were computed"),
    }


def _conformers(predictor: Predictor, published: Predictor) -> dict[str, Figure]:
    progress(f"{CONFORMERS} conformers of ANI-1")
    structures: list[Structure] = []
    energies: list[float] = []
    with h5py.File(data_file("ani_gdb_s01.h5")) as file:
        for group in file["gdb11_s01"].values():
            species = [atomic_number(symbol.decode()) for symbol in group["species"][()]]
            heights = np.asarray(group["energies"][()])
            for row in np.flatnonzero((heights - heights.min()) * KCAL < HOTTEST).tolist():
                structures.append(Structure.of(species, group["coordinates"][row]))
                energies.append(float(heights[row]))
    rows = np.random.default_rng(0).choice(len(structures), CONFORMERS, replace=False)
    inputs, truth = input_values([structures[row] for row in rows]), np.asarray(energies)[rows]
    errors, others = (np.abs(_said(model, inputs)[0] - truth) * KCAL for model in (predictor, published))
    return {
        "conformers_energy_mae_kcal_mol": Figure(_r(errors.mean()), "kcal/mol", "1,000 conformers: mean |ΔE|"),
        "conformers_energy_p95_kcal_mol": Figure(_r(np.quantile(errors, 0.95)), "kcal/mol", "95 % are below"),
        "conformers_energy_max_kcal_mol": Figure(_r(errors.max()), "kcal/mol", "largest"),
        "conformers_within_1_kcal_mol": Figure(_r((errors < 1.0).mean()), "1", "share below 1 kcal/mol"),
        "ani1x_conformers_energy_mae_kcal_mol": Figure(_r(others.mean()), "kcal/mol", "the same of ANI-1x: mean |ΔE|"),
    }


def _said(predictor: Predictor, inputs: Mapping[str, Values]) -> tuple[Floats, Floats]:
    """Return energies `[N]` Ha and all forces `[Σn, 3]` Ha/Å."""
    said: Any = predictor.predict(inputs).mean
    return np.asarray(said["energy"], dtype=np.float64), np.asarray(said["forces"].data, dtype=np.float64)


def _r(value: Any) -> float:
    return round(float(value), 4)


if __name__ == "__main__":
    main()
