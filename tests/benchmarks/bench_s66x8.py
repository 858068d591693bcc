"""The imported ANI-1x on S66x8: errors against DFT, and differences from torchani's numbers."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from surrogate.core.schema import Ragged
from tests.benchmarks import form
from tests.benchmarks.form import Figure, progress
from tests.benchmarks.potentials import KCAL, Peer, imported, potential, s66x8

HOW = """
The eight networks of ANI-1x are read from the wheel of torchani 2.2.4 by `surrogate registry import-ani` and asked by
`Predictor` (ONNX, float32) for all 66 × 8 structures of S66x8 (COMP6 v1, ωB97X/6-31G(d)). Its file holds gradients
under the name of forces; their sign is turned. Errors are means over structures, and over all force components.

The **peer** is torchani 2.2.4 in its own environment, with the same networks, in float64.
""".strip()


def main() -> None:
    """Measure and publish."""
    on = form.machine()
    data = s66x8()
    count = len(data["energies"])
    with tempfile.TemporaryDirectory() as folder:
        predictor = imported(Path(folder) / "registry")
        progress(f"predicting {count} structures")
        said = predictor.predict(
            {
                "species": Ragged(data["species"], data["offsets"]),
                "coordinates": Ragged(data["positions"], data["offsets"]),
                "charge": np.zeros(count, dtype=np.int64),
                "multiplicity": np.ones(count, dtype=np.int64),
                "cell": Ragged(np.zeros((0, 3)), np.zeros(count + 1, dtype=np.int64)),
            }
        )
        exact = potential(predictor, 8, np.float64).answer(data["species"], data["positions"], data["offsets"])
        progress("asking torchani")
        peer = Peer()
        versions = peer.ask(do="load", members=8, double=True)
        given, made = Path(folder) / "in.npz", Path(folder) / "out.npz"
        np.savez(given, **{name: data[name] for name in ("species", "positions", "offsets")})
        peer.ask(do="answer", file=str(given), out=str(made))
        peer.end()
        theirs = dict(np.load(made))
    energies, forces = said.mean["energy"], said.mean["forces"].data
    error = "mean absolute error of {} against ωB97X/6-31G(d)"
    figures = {
        "energy_mae_kcal_mol": Figure(_mean(energies, data["energies"]), "kcal/mol", error.format("total energies")),
        "force_mae_kcal_mol_A": Figure(_mean(forces, data["forces"]), "kcal/mol/Å", error.format("force components")),
        "max_abs_diff_ha": Figure(
            _most(energies, theirs["energies"]), "Ha", "largest difference of an energy from torchani's in float64"
        ),
        "max_abs_diff_float64_ha": Figure(
            _most(exact.energies, theirs["energies"]), "Ha", "the same, our side in float64, too"
        ),
        "max_abs_diff_force_ha_A": Figure(
            _most(forces, theirs["forces"]), "Ha/Å", "largest difference of a force component from torchani's"
        ),
        "torchani_energy_mae_kcal_mol": Figure(
            _mean(theirs["energies"], data["energies"]), "kcal/mol", "torchani's own error of total energies"
        ),
        "torchani_force_mae_kcal_mol_A": Figure(
            _mean(theirs["forces"], data["forces"]), "kcal/mol/Å", "torchani's own error of force components"
        ),
        "structures": Figure(count, "1", "structures of S66x8"),
        "peer": Figure(f"torchani 2.2.4, torch {versions['torch']}", "1", "the peer's versions"),
    }
    form.publish(
        "s66x8",
        "ANI-1x, imported, on S66x8",
        figures,
        how=HOW,
        target="energy MAE 1.89 ± 0.02 kcal/mol, force MAE 1.56 ± 0.02 kcal/mol/Å, within 1e-6 Ha of torchani",
        distributions=("numpy", "onnxruntime"),
        on=on,
    )


def _mean(said: np.ndarray, real: np.ndarray) -> float:
    return float(KCAL * np.abs(said - real).mean())


def _most(said: np.ndarray, real: np.ndarray) -> float:
    return float(np.abs(said - real).max())


if __name__ == "__main__":
    main()
