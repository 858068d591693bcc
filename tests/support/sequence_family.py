"""A throwaway model family: it tells from a sequence of any length whether its first channel outweighs its second.

A classifier over ragged inputs, with measures and a loss of its own; it shares nothing with regression on fixed shapes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from surrogate.core.schema import Column, Ragged, SampleTable, Schema, Values
from surrogate.models.protocols import Forward, Measure, Network, Prediction, Rows, Transforms

SCHEMA = Schema((Column("sequence", "input", unit="m", shape=(-1, 2)), Column("first", "output", dtype="bool")))


def samples(number: int, count: int = 3) -> dict[str, Any]:
    """Return the columns of run `number`: `count` sequences of 3 to 12 steps, and which channel outweighs."""
    random = np.random.default_rng(number)
    sequences = [random.normal(size=(random.integers(3, 13), 2)) for _ in range(count)]
    return {"sequence": sequences, "first": np.array([item[:, 0].mean() > item[:, 1].mean() for item in sequences])}


class SequenceOptions(BaseModel):
    """Options of the family."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    width: int = 8


@dataclass(frozen=True)
class SequenceTransforms:
    """The scale of the inputs."""

    scale: NDArray[np.float64]

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"scale": self.scale}

    def to_json(self) -> dict[str, Any]:
        return {}


def wrong(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    """Return 1 where the likelier class is not the true one."""
    said = np.asarray(prediction.mean["first"]) > 0.5
    return (said != np.asarray(truth.columns["first"])).astype(np.float64)


def surprise(truth: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    """Return −log₂ of the probability of the true class."""
    chance = np.clip(np.asarray(prediction.mean["first"]), 1e-9, 1 - 1e-9)
    return -np.log2(np.where(np.asarray(truth.columns["first"]), chance, 1 - chance))


class SequenceClassifier:
    """Mean over the steps of a small network, then a logit."""

    name = "sequence_classifier"
    options_type = SequenceOptions
    baselines = ()

    def measures(self, schema: Schema) -> tuple[Measure, ...]:
        return (
            Measure("error_rate", "1", "share of samples whose likelier class is not the true one", wrong, ("mean",)),
            Measure("surprise", "bit", "−log₂ of the probability of the true class", surprise, ("mean", "max")),
        )

    def fit(self, train: SampleTable, options: BaseModel, seed: int) -> SequenceTransforms:
        sequences = train.columns["sequence"]
        assert isinstance(sequences, Ragged)
        return SequenceTransforms(sequences.data.std(axis=0))

    def restore(
        self, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]
    ) -> SequenceTransforms:
        return SequenceTransforms(arrays["scale"])

    def build(self, transforms: Transforms, options: BaseModel, seed: int) -> Any:
        import keras

        width = SequenceOptions.model_validate(options).width
        sequence = keras.Input((None, 2), name="sequence")
        mask = keras.Input((None, 1), name="mask")

        def start(number: int) -> Any:
            return keras.initializers.GlorotUniform(seed=(seed + number) % 2**31)

        hidden = keras.layers.Dense(width, activation="tanh", kernel_initializer=start(0))(sequence)
        total = keras.ops.sum(hidden * mask, axis=1) / keras.ops.sum(mask, axis=1)
        logit = keras.layers.Dense(1, kernel_initializer=start(1))(total)
        return keras.Model({"sequence": sequence, "mask": mask}, {"logit": logit})

    def rows(self, transforms: Transforms, table: SampleTable) -> Rows:
        label = np.asarray(table.columns["first"], dtype=np.float32)
        return {**self._padded(transforms, table.inputs), "label": label}

    def _padded(self, transforms: Transforms, inputs: Mapping[str, Values]) -> Rows:
        sequences = inputs["sequence"]
        assert isinstance(sequences, Ragged)
        lengths = np.diff(sequences.offsets)
        steps = int(lengths.max(initial=1))
        padded = np.zeros((len(sequences), steps, 2), dtype=np.float32)
        scale = transforms.arrays()["scale"]
        for row, length in enumerate(lengths):
            padded[row, :length] = sequences[row] / scale
        mask = (np.arange(steps) < lengths[:, None])[:, :, None].astype(np.float32)
        return {"sequence": padded, "mask": mask}

    def loss(self, transforms: Transforms, network: Network, batch: Mapping[str, Any]) -> Any:
        import tensorflow as tf

        logit = network(batch)["logit"][:, 0]
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=batch["label"], logits=logit)

    def predict(
        self, transforms: Transforms, forwards: Sequence[Forward], inputs: Mapping[str, Values]
    ) -> list[dict[str, Values]]:
        rows = self._padded(transforms, inputs)
        logits = [forward(rows)["logit"][:, 0].astype(np.float64) for forward in forwards]
        return [{"first": 1 / (1 + np.exp(-logit))} for logit in logits]


FAMILY = SequenceClassifier()


def install(folder: Any) -> None:
    """Make the family that of an installed distribution, for whoever has `folder` on its path."""
    info = folder / "sequence_family-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sequence-family\nVersion: 1.0\n")
    entry = "sequence_classifier = tests.support.sequence_family:FAMILY"
    (info / "entry_points.txt").write_text(f"[surrogate.families]\n{entry}\n")
