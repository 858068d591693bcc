"""What a model family brings, so that nothing else in the program knows any family."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import SampleTable, Schema, Values

if TYPE_CHECKING:
    from pathlib import Path

    import keras
    import tensorflow as tf
    from pydantic import BaseModel

Rows = dict[str, NDArray[Any]]
"""Row-aligned arrays that the trainer cuts into batches: name → `[R, ...]`; R need not be the number of samples."""

Forward = Callable[[Rows], dict[str, NDArray[Any]]]
"""One member's network as a function of its named inputs, whatever the runtime: name → `[B, ...]` float32."""

Network = Callable[[Mapping[str, "tf.Tensor"]], dict[str, "tf.Tensor"]]
"""One member's network while it is trained: rows → its named outputs, differentiable."""


DRAW = "draw"
"""Added to every batch that `Family.loss` sees: `[B, 2]` int32, the seed of what is drawn afresh for each row. It
depends on the member, the step and the row only, so that any number of ranks draws the same; on the tune split it is
fixed."""

PROGRESS = "progress"
"""Added likewise: `[B]` float32, the share of the training that is done; 1 on the tune split."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What a surrogate says about N points.

    Attributes:
        mean: Output name → `[N, *shape]` float64, or Ragged of N samples; in the output's unit.
        std: Standard deviation between members, same shapes and units.
        lower: Lower end of the calibrated 90 % interval, same shapes and units.
        upper: Upper end of it.
        in_domain: `[N]` bool, whether the point lies where the surrogate was trained.
        members: Output name → one array a member, or empty when they were not kept.
    """

    mean: dict[str, Values]
    std: dict[str, Values]
    lower: dict[str, Values]
    upper: dict[str, Values]
    in_domain: NDArray[np.bool_]
    members: dict[str, list[Values]] = field(default_factory=dict)


_REDUCTIONS: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "median": np.median,
    "p95": lambda values: np.quantile(values, 0.95),
    "max": np.max,
    "mean": np.mean,
    "rms": lambda values: np.sqrt(np.mean(np.square(values))),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """A number for each sample that says how far a prediction is from the truth.

    Attributes:
        name: For example `relative_l2`; metrics are named `<name>_median`, `<name>_p95`, `<name>_max`, `<name>_mean`.
            A measure of which only the mean counts gives one metric that bears its own name, for example `coverage_90`.
        unit: Unit of the number.
        how: How it is computed, as half a sentence for the report.
        per_sample: (truth, prediction) → `[N]` float64.
        reductions: Which of `median`, `p95`, `max`, `mean`, `rms` are metrics.
        sort: An `error` is never negative, and less is better; a `share` lies in [0, 1], and more is better. Of what is
            neither, nothing is known, and every threshold of a gate is taken.
    """

    name: str
    unit: str
    how: str
    per_sample: Callable[[SampleTable, Prediction], NDArray[np.float64]]
    reductions: tuple[str, ...] = ("median", "p95", "max")
    sort: Literal["error", "share", "other"] = "other"

    def metric_names(self) -> dict[str, str]:
        """Return reduction → name of its metric."""
        if self.reductions == ("mean",):
            return {"mean": self.name}
        return {reduction: f"{self.name}_{reduction}" for reduction in self.reductions}

    def metrics(self, values: NDArray[np.float64]) -> dict[str, float]:
        """Reduce what `per_sample` gave.

        Args:
            values: `[N]` numbers, N ≥ 1.

        Returns:
            Metric name → value; NaN where a value is NaN.
        """
        return {name: float(_REDUCTIONS[reduction](values)) for reduction, name in self.metric_names().items()}


class Transforms(Protocol):
    """Whatever a family fitted on the training rows (scalers, fronts, bases): arrays and JSON, never pickle."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return named arrays, any shapes."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of everything that is not an array."""
        ...


TransformsType = TypeVar("TransformsType")
"""A family's class of transforms."""


def own_transforms(family: str, kind: type[TransformsType], transforms: Transforms) -> TransformsType:
    """Return transforms as those of the family that is asked.

    Args:
        family: Its name.
        kind: Its class of transforms.
        transforms: What it was handed.

    Raises:
        TypeError: If they are another family's, which is a mistake of the program.
    """
    if not isinstance(transforms, kind):
        raise TypeError(f"The family '{family}' was given {type(transforms).__name__}.")
    return transforms


class Family(Protocol):
    """A kind of model. Its instances hold no state: all state is in Options, Transforms and networks."""

    @property
    def name(self) -> str:
        """Name in campaign files."""
        ...

    @property
    def options_type(self) -> type[BaseModel]:
        """The strict model of `[model]`, without `family` and `members`."""
        ...

    @property
    def baselines(self) -> tuple[str, ...]:
        """Names of the baselines that make sense for it, of `surrogate.validation.baselines`."""
        ...

    def measures(self, schema: Schema) -> tuple[Measure, ...]:
        """Return the measures of this family; the first is the primary one, worst samples are listed by it."""
        ...

    def fit(self, train: SampleTable, options: BaseModel, seed: int) -> Transforms:
        """Fit scalers and output transforms on training rows only.

        Raises:
            DataError: If this family cannot learn from such columns.
        """
        ...

    def restore(self, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> Transforms:
        """Rebuild transforms from `Transforms.arrays` and `to_json`."""
        ...

    def build(self, transforms: Transforms, options: BaseModel, seed: int) -> keras.Model:
        """Return one member's network, initialised by `seed`; its named inputs are keys of `rows`."""
        ...

    def rows(self, transforms: Transforms, table: SampleTable) -> Rows:
        """Return the network's inputs and targets for samples with known outputs, float32 `[R, ...]`."""
        ...

    def loss(self, transforms: Transforms, network: Network, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the loss of each row, `[B]` float32; TensorFlow operations only, no Python side effects.

        The network is handed over, and not its outputs, so that a family may also ask for derivatives with respect to
        the inputs.

        Args:
            transforms: What `fit` gave.
            network: One member's network.
            batch: The rows of one batch, name → `[B, ...]`, as `rows` gave them, and beside them `DRAW` and `PROGRESS`
                for a family that draws noise or changes what it asks while training goes on.
        """
        ...

    def predict(
        self, transforms: Transforms, forwards: Sequence[Forward], inputs: Mapping[str, Values]
    ) -> list[dict[str, Values]]:
        """Return each member's outputs in physical units: a list over members of name → `[N, *shape]` float64."""
        ...


@runtime_checkable
class HasLayers(Protocol):
    """What a family offers whose networks have layers of their own."""

    def register_layers(self) -> None:
        """Make them known to Keras, which loads no class that it was not told of."""
        ...


@runtime_checkable
class IsSolved(Protocol):
    """What a family declares whose `fit` solves for everything: `build` gives the final weights, no step is taken."""

    @property
    def solved_by_fit(self) -> str:
        """How, as half a sentence."""
        ...


@runtime_checkable
class HasDomain(Protocol):
    """What a family offers that can tell by itself whether it was trained on the like of what it is asked."""

    def knows(
        self, transforms: Transforms, inputs: Mapping[str, Values], std: Mapping[str, Values]
    ) -> NDArray[np.bool_]:
        """Return which rows are like those that were trained on, `[N]`.

        Args:
            transforms: What `fit` gave.
            inputs: Checked inputs of N rows.
            std: Output name → standard deviation between members.
        """
        ...


@runtime_checkable
class CanContinue(Protocol):
    """What a family offers whose transforms can follow new data while its networks go on."""

    def continued(
        self,
        transforms: Transforms,
        train: SampleTable,
        options: BaseModel,
        *,
        refit: bool,
        networks: Sequence[Path],
    ) -> Transforms:
        """Return transforms for new training samples, with which the earlier networks still fit.

        Args:
            transforms: Of the earlier surrogate.
            train: The new training samples.
            options: The new options.
            refit: Whether what can be fitted again is, or the earlier ones are kept.
            networks: The earlier members' `.keras` files.

        Raises:
            DataError: If the family cannot go on with such samples.
        """
        ...
