"""The mean of the training samples, whatever is asked: what knowing nothing of the inputs is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from surrogate.core.schema import SampleTable, Values
from surrogate.design.space import InputSpace
from surrogate.models.values import count_samples
from surrogate.validation.baselines.features import why_no_table
from surrogate.validation.baselines.protocol import BaselineAnswer


class TrainingMean:
    """Answers every question with the training samples' mean and standard deviation.

    Attributes:
        name: `training_mean`.
        title: What people call it.
    """

    name = "training_mean"
    title = "Mean of the training samples"

    def why_not(self, train: SampleTable, space: InputSpace | None) -> str | None:
        """Return why it cannot be fitted, or None."""
        del space
        return why_no_table(train, inputs=False)

    def fit(
        self, train: SampleTable, space: InputSpace | None, seed: int
    ) -> Callable[[Mapping[str, Values]], BaselineAnswer]:
        """Average the training samples.

        Args:
            train: Training samples with outputs of fixed shape.
            space: Not needed; inputs are not looked at.
            seed: Not needed; nothing is drawn.
        """
        del space, seed
        arrays = {name: np.asarray(values, dtype=np.float64) for name, values in train.outputs.items()}
        how = f"mean of {len(train)} training samples, whatever the inputs"

        def answer(inputs: Mapping[str, Values]) -> BaselineAnswer:
            rows = count_samples(inputs)
            mean: dict[str, Values] = {
                name: np.repeat(array.mean(axis=0)[None], rows, axis=0) for name, array in arrays.items()
            }
            std: dict[str, Values] = {
                name: np.repeat(array.std(axis=0, ddof=1)[None], rows, axis=0) for name, array in arrays.items()
            }
            return BaselineAnswer(mean, std, how)

        return answer
