"""Structures in files, answered: extended XYZ in, the same frames with energies and forces out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from surrogate.core.errors import DataError
from surrogate.core.molecules import ENERGY, FORCES, input_values, is_molecular
from surrogate.design.xyz import read_structures, write_frames
from surrogate.inference.predictor import Predictor
from surrogate.models.protocols import Prediction

ENDINGS = (".xyz", ".extxyz")
"""Endings of files of structures."""


def predict_structures(predictor: Predictor, points: Path, output: Path | None) -> Prediction:
    """Answer all structures of a file.

    Args:
        predictor: A surrogate of molecules.
        points: An XYZ or extended XYZ file.
        output: Where the answered frames go, as extended XYZ: energy and forces as `write_frames` has them, and in the
            comment line `energy_std`, `energy_low` and `energy_high` (the 90 % interval, where it is calibrated) in Ha,
            and `in_domain`; None to write nothing.

    Raises:
        DataError: If the file cannot be read, a structure is not one that the surrogate can answer, the output has
            another ending, or the surrogate is not one of molecules.
        MissingExtraError: If ASE is not installed.
    """
    if not is_molecular(predictor.schema):
        names = ", ".join(column.name for column in predictor.schema.inputs)
        raise DataError(f"{points} holds structures of atoms, and this surrogate is asked by {names}.")
    if output is not None and output.suffix not in ENDINGS:
        raise DataError(f"Structures are answered in a file that ends in {' or '.join(ENDINGS)}, and not in {output}.")
    structures = read_structures([points])
    prediction = predictor.predict(input_values(structures))
    if output is not None:
        forces = prediction.mean.get(FORCES)
        write_frames(
            output,
            structures,
            np.asarray(prediction.mean[ENERGY]),
            None if forces is None else [forces[row] for row in range(len(structures))],
            [_facts(prediction, row) for row in range(len(structures))],
        )
    return prediction


def _facts(prediction: Prediction, row: int) -> dict[str, Any]:
    """Return what stands in a frame's comment line beside its energy."""
    ends = {"energy_low": prediction.lower[ENERGY][row], "energy_high": prediction.upper[ENERGY][row]}
    facts: dict[str, Any] = {"energy_std": float(prediction.std[ENERGY][row])}
    facts |= {name: float(value) for name, value in ends.items() if np.isfinite(value)}
    return facts | {"in_domain": bool(prediction.in_domain[row])}
