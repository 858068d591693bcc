"""The baselines by name."""

from __future__ import annotations

from collections.abc import Callable

from surrogate.core.errors import ConfigError, nearest
from surrogate.validation.baselines.nearest_neighbour import NearestNeighbour
from surrogate.validation.baselines.pod_gaussian_process import PodGaussianProcess
from surrogate.validation.baselines.protocol import Baseline
from surrogate.validation.baselines.training_mean import TrainingMean

BASELINES: dict[str, Callable[[], Baseline]] = {
    NearestNeighbour.name: NearestNeighbour,
    PodGaussianProcess.name: PodGaussianProcess,
    TrainingMean.name: TrainingMean,
}
"""Name → what makes the baseline."""


def baseline(name: str) -> Baseline:
    """Return the baseline of that name.

    Raises:
        ConfigError: If there is none.
    """
    if name not in BASELINES:
        raise ConfigError(f"There is no baseline '{name}'.{nearest(name, BASELINES)} Known are {', '.join(BASELINES)}.")
    return BASELINES[name]()
