"""How far the answers of two runtimes lie apart: the one measure by which ONNX is held against Keras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-5
"""Largest difference with which networks are exported, and a version is promoted."""


def output_difference(answer: NDArray[Any], reference: NDArray[Any]) -> float:
    """Return the largest difference of one network output, over the largest output or 1, whichever is larger.

    Network outputs are normalised, so that the number means the same for every unit.

    Args:
        answer: `[N, …]`, the output of one runtime.
        reference: `[N, …]`, that of the other; its largest absolute value is what is divided by.

    Returns:
        The difference; infinite when either has a number that is not finite.
    """
    gap = np.abs(answer.astype(np.float64) - reference)
    if not np.isfinite(gap).all():
        return float("inf")
    return float(gap.max(initial=0.0)) / float(np.abs(reference).max(initial=1.0))


def largest_difference(answer: Mapping[str, NDArray[Any]], reference: Mapping[str, NDArray[Any]]) -> tuple[float, str]:
    """Return the largest `output_difference` over all outputs, and the name of that output.

    Args:
        answer: Output name → `[N, …]`.
        reference: The same names.

    Raises:
        KeyError: If an output has no answer.
    """
    return max(
        ((output_difference(answer[name], values), name) for name, values in reference.items()), default=(0.0, "")
    )
