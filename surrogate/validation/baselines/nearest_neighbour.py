"""The answer of the training sample that lies nearest."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.spatial import cKDTree

from surrogate.core.schema import SampleTable, Values
from surrogate.design.space import InputSpace
from surrogate.models.domain import boxed
from surrogate.validation.baselines.features import InputFeatures, why_no_table
from surrogate.validation.baselines.protocol import BaselineAnswer


class NearestNeighbour:
    """Repeats the outputs of the nearest training sample.

    Attributes:
        name: `nearest_neighbour`.
        title: What people call it.
    """

    name = "nearest_neighbour"
    title = "Nearest neighbour"

    def why_not(self, train: SampleTable, space: InputSpace | None) -> str | None:
        """Return why it cannot be fitted, or None."""
        del space
        return why_no_table(train)

    def fit(
        self, train: SampleTable, space: InputSpace | None, seed: int
    ) -> Callable[[Mapping[str, Values]], BaselineAnswer]:
        """Keep the training samples.

        Args:
            train: Training samples, inputs and outputs of fixed shape.
            space: The declared space, or None.
            seed: Not needed; nothing is drawn.
        """
        del seed
        features = InputFeatures.fit(train, space)
        tree = cKDTree(features(train.inputs))
        outputs = {name: np.asarray(values, dtype=np.float64) for name, values in train.outputs.items()}
        place = "in the unit cube of the inputs" if boxed(space) else "in the standardised inputs"
        how = f"outputs of the nearest of {len(train)} training samples {place}"

        def answer(inputs: Mapping[str, Values]) -> BaselineAnswer:
            rows = np.asarray(tree.query(features(inputs))[1], dtype=np.int64)
            mean: dict[str, Values] = {name: values[rows] for name, values in outputs.items()}
            std: dict[str, Values] = {name: np.zeros_like(np.asarray(values)) for name, values in mean.items()}
            return BaselineAnswer(mean, std, how)

        return answer
