"""The detector's pictures in the report: what is found against the false alarms, and the masses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from surrogate.core.schema import SampleTable
from surrogate.models.detector.exam import RATIO
from surrogate.models.detector.measures import chirp_mass
from surrogate.models.panels import Panel
from surrogate.models.protocols import Prediction

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def detector_panels(truth: SampleTable, prediction: Prediction) -> Sequence[Panel]:
    """Return the ROC of each ratio, the distribution of the logits, and the masses of the loudest signals."""
    ratios = np.asarray(truth.columns[RATIO])
    logits = np.asarray(prediction.mean["logit"])
    noise = np.sort(logits[ratios == 0])
    steps = sorted(set(ratios[ratios > 0].tolist()))

    def curves(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        rates = np.arange(1, len(noise) + 1) / len(noise)
        for ratio in steps:
            found = logits[ratios == ratio]
            left.plot(rates, [(found > limit).mean() for limit in noise[::-1]], label=f"ratio {ratio:g}")
        left.set_xscale("log")
        left.set_xlabel("share of noise windows above the threshold")
        left.set_ylabel("share of signals found")
        left.set_ylim(0.0, 1.02)
        left.legend(loc="lower right")
        edges = np.linspace(logits.min(), np.quantile(logits, 0.99), 50)
        for ratio in (0.0, *steps):
            name = f"ratio {ratio:g}" if ratio else "noise"
            right.hist(logits[ratios == ratio], edges, histtype="step", density=True, label=name)
        right.set_xlabel("logit")
        right.set_ylabel("density")
        right.legend()

    loud = ratios == ratios.max()
    real = chirp_mass(np.asarray(truth.columns["mass_1"]), np.asarray(truth.columns["mass_2"]))[loud]
    said = chirp_mass(np.asarray(prediction.mean["mass_1"]), np.asarray(prediction.mean["mass_2"]))[loud]

    def masses(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot(real, said, ".", markersize=3)
        axes.axline((float(real.min()), float(real.min())), slope=1.0, color="0.5", linewidth=0.8)
        axes.set_xlabel("chirp mass (solar masses)")
        axes.set_ylabel("said by the detector (solar masses)")

    return (
        Panel(
            "Signals found against false alarms",
            f"Left: share of held-out signals whose logit lies above that of a share of {len(noise)} noise windows, "
            "one curve a signal-to-noise ratio. Right: how the logits are distributed.",
            "Receiver operating curves and histograms of logits.",
            curves,
        ),
        Panel(
            "Chirp masses",
            f"Chirp mass of held-out signals of ratio {ratios.max():g} against what the detector says.",
            "Scatter plot of predicted against true chirp masses.",
            masses,
        ),
    )
