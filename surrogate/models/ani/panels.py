"""Pictures of a potential for the report: predicted against computed energies and forces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surrogate.core.molecules import ENERGY, FORCES
from surrogate.core.schema import SampleTable
from surrogate.models.ani.measures import KCAL
from surrogate.models.panels import Panel
from surrogate.models.protocols import Prediction
from surrogate.models.values import flat

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_POINTS = 4000


def potential_panels(truth: SampleTable, prediction: Prediction) -> tuple[Panel, ...]:
    """Return the pictures of N holdout samples."""
    energies = np.asarray(truth.columns[ENERGY], dtype=np.float64)
    said = np.asarray(prediction.mean[ENERGY], dtype=np.float64)
    lowest = float(energies.min(initial=np.inf))
    pictures = [_parity("Energies", "energy above the lowest, kcal/mol", energies - lowest, said - lowest)]
    if FORCES in truth.columns and FORCES in prediction.mean:
        pictures.append(
            _parity("Forces", "force component, kcal/mol/Å", flat(truth.columns[FORCES]), flat(prediction.mean[FORCES]))
        )
    return tuple(pictures)


def _parity(what: str, label: str, real: NDArray[np.float64], said: NDArray[np.float64]) -> Panel:
    """Return prediction against truth beside the errors."""
    x, y = KCAL * real.ravel(), KCAL * said.ravel()
    shown = np.linspace(0, len(x) - 1, min(len(x), _MOST_POINTS)).astype(int)
    mae = float(np.mean(np.abs(y - x))) if len(x) else float("nan")

    def draw(figure: Figure) -> None:
        axes: list[Axes] = list(figure.subplots(1, 2))
        axes[0].plot(x[shown], y[shown], ".", markersize=2.5)
        ends = [float(x.min()), float(x.max())]
        axes[0].plot(ends, ends, linewidth=0.8)
        axes[0].set(xlabel=f"computed {label}", ylabel="predicted")
        axes[1].hist(y - x, bins=60)
        axes[1].set(xlabel=f"error of {label}", ylabel="number")

    return Panel(
        f"{what} predicted and computed",
        f"Left: {label} of holdout samples, predicted against computed; the line is where both agree. Right: the "
        f"errors. "
        f"Their mean absolute value is {mae:.3g}. At most {_MOST_POINTS} points are drawn.",
        f"Scatter plot and histogram of {what.lower()}; mean absolute error {mae:.3g}.",
        draw,
    )
