"""Proper orthogonal decomposition of the outputs with a Gaussian process for each mode.

The standard non-neural emulator of fields (Higdon et al., J. Am. Stat. Assoc. 103, 2008; Guo & Hesthaven, Comput.
Methods Appl. Mech. Eng. 341, 2018): outputs Y ≈ ȳ + Σₖ cₖ(x) φₖ with the φₖ from a singular value decomposition of the
training outputs, and cₖ(x) a Gaussian process over the unit coordinates of the inputs.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import MissingExtraError
from surrogate.core.schema import SampleTable, Values
from surrogate.design.space import InputSpace
from surrogate.validation.baselines.features import InputFeatures, OutputTable, why_no_table
from surrogate.validation.baselines.protocol import BaselineAnswer

ENERGY = 0.9999
"""Share of the training outputs' variance that the kept modes carry."""

MODES = 20
"""Most modes that are kept."""

ROWS = 1000
"""Most training rows of a Gaussian process, whose cost grows with their third power."""


class PodGaussianProcess:
    """POD + Gaussian process, by scikit-learn.

    Attributes:
        name: `pod_gp`.
        title: What people call it.
    """

    name = "pod_gp"
    title = "POD + Gaussian process"

    def why_not(self, train: SampleTable, space: InputSpace | None) -> str | None:
        """Return why it cannot be fitted, or None."""
        del space
        return why_no_table(train)

    def fit(
        self, train: SampleTable, space: InputSpace | None, seed: int
    ) -> Callable[[Mapping[str, Values]], BaselineAnswer]:
        """Fit modes and one Gaussian process a mode.

        All coefficients are divided by one number, so that a mode keeps its weight. Each process has an anisotropic
        squared exponential kernel and white noise; its hyperparameters maximise the marginal likelihood.

        Args:
            train: Training samples, inputs and outputs of fixed shape.
            space: The declared space, or None.
            seed: Decides the subset of rows, when there are too many.

        Raises:
            MissingExtraError: If scikit-learn is not installed.
        """
        if len(train) > ROWS:
            keep = np.sort(np.random.default_rng(seed).choice(len(train), ROWS, replace=False))
            train = train.take(keep)
        features, table = InputFeatures.fit(train, space), OutputTable.fit(train)
        outputs = table.join(train.outputs)
        centre = outputs.mean(axis=0)
        left, singular, modes = np.linalg.svd(outputs - centre, full_matrices=False)
        count = _modes(singular)
        scale = float(singular[0] / np.sqrt(len(outputs))) or 1.0
        coefficients = left[:, :count] * singular[:count] / scale
        with _one_thread():
            processes = _processes(features(train.inputs), coefficients)
        lost = float(np.sum(singular[count:] ** 2) / outputs.size)
        basis = modes[:count] * scale
        carried = float(np.sum(singular[:count] ** 2) / max(np.sum(singular**2), np.finfo(float).tiny))
        how = (
            f"{count} POD modes ({carried * 100:.4g} % of the variance) of {len(outputs)} training samples, the "
            "coefficient of each by a Gaussian process with anisotropic squared exponential kernel and white noise"
        )

        def answer(inputs: Mapping[str, Values]) -> BaselineAnswer:
            points = features(inputs)
            guesses = [process.predict(points, return_std=True) for process in processes]
            mean = np.stack([guess[0] for guess in guesses], axis=1)
            spread = np.stack([guess[1] for guess in guesses], axis=1)
            std = np.sqrt(spread**2 @ basis**2 + lost)
            return BaselineAnswer(table.cut(centre + mean @ basis), table.cut(std), how)

        return answer


def _modes(singular: NDArray[np.float64]) -> int:
    """Return how many modes carry `ENERGY` of the variance, from 1 to `MODES`."""
    energy = np.cumsum(singular**2)
    if energy[-1] == 0:
        return 1
    enough = int(np.searchsorted(energy / energy[-1], ENERGY)) + 1
    return min(enough, MODES, len(singular))


def _one_thread() -> AbstractContextManager[object]:
    """Keep linear algebra on one thread: on matrices of some hundred rows the threads would wait for each other."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


def _processes(points: NDArray[np.float64], coefficients: NDArray[np.float64]) -> list[Any]:
    """Fit one Gaussian process to each column of `coefficients`, `[N, K]`, over points `[N, D]`."""
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
    except ImportError as error:
        raise MissingExtraError("The baseline 'pod_gp'", "train") from error
    fitted = []
    for column in coefficients.T:
        variance = max(float(np.var(column)), 1e-20)
        kernel = ConstantKernel(variance, (1e-2 * variance, 1e4 * variance)) * RBF(
            np.full(points.shape[1], 0.5), (0.02, 50.0)
        ) + WhiteKernel(1e-4 * variance, (1e-9 * variance, 2.0 * variance))
        # Further starts of the optimiser were tried on a moving front and changed nothing in the third digit.
        process = GaussianProcessRegressor(kernel, alpha=1e-12 * variance)
        with warnings.catch_warnings():
            # A hyperparameter at its bound, or an optimiser that stops early, is no news for a baseline.
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(points, column)
        fitted.append(process)
    return fitted
