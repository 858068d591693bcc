"""How far a potential is from the level of theory that it learned: in kcal/mol and kcal/mol/Å, as chemists say it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surrogate.core.molecules import ENERGY, FORCES
from surrogate.core.schema import Ragged, SampleTable, Schema
from surrogate.models.measures import coverage
from surrogate.models.protocols import Measure, Prediction
from surrogate.models.values import flat, sample_means

KCAL = 627.5094740631
"""kcal/mol in one hartree (CODATA 2018)."""


def energy_errors(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    """Return |ΔE| of each structure, `[N]` kcal/mol."""
    difference = np.asarray(prediction.mean[ENERGY]) - np.asarray(truth.columns[ENERGY])
    return np.asarray(KCAL * np.abs(difference), dtype=np.float64)


def _within_one(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    return (energy_errors(truth, prediction) <= 1.0).astype(np.float64)


def force_errors(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    """Return the mean of |ΔF| over the components of each structure, `[N]` kcal/mol/Å."""
    real = truth.columns[FORCES]
    return KCAL * sample_means(real, np.abs(flat(prediction.mean[FORCES]) - flat(real)))


def force_deviations(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    """Return the largest |ΔF| of an atom of each structure, `[N]` kcal/mol/Å."""
    real = truth.columns[FORCES]
    if not isinstance(real, Ragged):
        raise TypeError("Forces are ragged.")
    lengths = np.linalg.norm(flat(prediction.mean[FORCES]) - real.data, axis=1)
    return np.asarray(KCAL * np.maximum.reduceat(lengths, real.offsets[:-1]), dtype=np.float64)


def _covered(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    return coverage(truth.columns[ENERGY], prediction.lower[ENERGY], prediction.upper[ENERGY])


def potential_measures(schema: Schema) -> tuple[Measure, ...]:
    """Return the measures of a potential; the mean absolute error of energies first.

    Args:
        schema: Columns; without forces there are no measures of them.
    """
    error = "absolute error of the total energy"
    measures = [
        Measure("energy_mae", "kcal/mol", error, energy_errors, ("mean",), sort="error"),
        Measure("energy_error", "kcal/mol", error, energy_errors, ("rms", "median", "p95", "max"), sort="error"),
        Measure(
            "within_1_kcal_mol", "1", "whether the energy is within 1 kcal/mol", _within_one, ("mean",), sort="share"
        ),
    ]
    if any(column.name == FORCES for column in schema.outputs):
        mean = "mean absolute error of a structure's force components"
        largest = "largest length of a force error on an atom of a structure"
        measures += [
            Measure("force_mae", "kcal/mol/angstrom", mean, force_errors, ("mean",), sort="error"),
            Measure(
                "force_error", "kcal/mol/angstrom", largest, force_deviations, ("median", "p95", "max"), sort="error"
            ),
        ]
    covered = "whether the energy lies in the 90 % interval calibrated on tune"
    return (*measures, Measure("coverage_90", "1", covered, _covered, ("mean",), sort="share"))
