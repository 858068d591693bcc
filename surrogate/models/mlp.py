"""The family `mlp`: dense networks for scalars, vectors and fields, with a choice of what they predict.

`output_transform = "none"` predicts every element, `"pod"` coefficients of modes, `"registered"` positions of moving
fronts beside a profile in which the fronts stand still. An axis of the outputs, for example time, can be asked along
instead of being predicted at once (`ask_along`): its values become inputs of the network, and every sample gives as
many rows as the axis is long.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from surrogate.core.errors import ConfigError, DataError, nearest
from surrogate.core.schema import Ragged, SampleTable, Schema, Values
from surrogate.models.features import InputEncoder, coordinate_features
from surrogate.models.measures import field_measures
from surrogate.models.outputs.base import OutputTransform
from surrogate.models.outputs.catalog import fit_output, restore_output
from surrogate.models.outputs.registered import FrontOptions
from surrogate.models.protocols import Forward, Measure, Network, Rows, Transforms, own_transforms
from surrogate.models.unroll import axis_length, rolled, row_features, row_weights, sample_norms, unrolled

if TYPE_CHECKING:
    import keras
    import tensorflow as tf


_ROWS_AT_ONCE = 8192


class MlpOptions(BaseModel):
    """Options of the family `mlp`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    width: int = Field(128, ge=1, le=65536, description="Units of each hidden layer.")
    depth: int = Field(3, ge=1, le=64, description="Number of hidden layers.")
    activation: Literal["silu", "relu", "tanh", "elu", "softplus"] = Field(
        "silu", description="Activation function of the hidden layers."
    )
    output_transform: Literal["none", "pod", "registered"] = Field(
        "none",
        description="What the network predicts: every element, coefficients of POD modes, or the positions of moving "
        "fronts beside a profile in which they stand still.",
    )
    modes: int = Field(32, ge=1, description="Number of POD modes.")
    ask_along: str = Field(
        "",
        description="Axis of the outputs that becomes an input of the network, for example 'time'; empty for "
        "none. Every "
        "output must have it.",
    )
    fronts: FrontOptions = Field(default_factory=FrontOptions, description="How moving fronts are found and aligned.")
    loss: Literal["relative", "absolute"] = Field(
        "relative",
        description="Whether errors are divided by the norm of each sample's output, as relative L2 does, or not.",
    )


@dataclass(frozen=True, slots=True, eq=False)
class MlpTransforms:
    """What the family fitted on training rows.

    Attributes:
        schema: The columns.
        encoder: Scaling of the inputs.
        ask_along: Axis that is asked along, or empty.
        along: `[T, F]` float64, features of that axis; `[1, 0]` without one.
        outputs: One transform an output column.
        norms: Output column → typical norm (root mean square) of a sample; 0 where errors are absolute.
    """

    schema: Schema
    encoder: InputEncoder
    ask_along: str
    along: NDArray[np.float64]
    outputs: tuple[OutputTransform, ...]
    norms: dict[str, float]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays, named `<part>/<array>`."""
        parts = [("inputs", self.encoder.arrays()), ("axis", {"along": self.along})]
        parts += [(f"outputs/{output.column}", output.arrays()) for output in self.outputs]
        return {f"{part}/{name}": array for part, arrays in parts for name, array in arrays.items()}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return {
            "inputs": self.encoder.to_json(),
            "ask_along": self.ask_along,
            "outputs": {output.column: output.to_json() for output in self.outputs},
            "norms": self.norms,
        }


def _part(arrays: Mapping[str, NDArray[Any]], part: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of one part, without its name."""
    prefix = f"{part}/"
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _mlp(transforms: Transforms) -> MlpTransforms:
    """Return the transforms as this family's own; see `own_transforms`."""
    return own_transforms("mlp", MlpTransforms, transforms)


class Mlp:
    """Dense networks for scalars, vectors and fields."""

    name = "mlp"
    options_type = MlpOptions
    baselines = ("nearest_neighbour", "pod_gp")

    def measures(self, schema: Schema) -> tuple[Measure, ...]:
        """Return relative L2, root mean square error and coverage of the 90 % interval."""
        return field_measures(schema.outputs)

    def fit(self, train: SampleTable, options: BaseModel, seed: int) -> MlpTransforms:  # noqa: ARG002 - protocol
        """Fit scalers and output transforms.

        Args:
            train: Training samples, at least two.
            options: `MlpOptions`.
            seed: Unused: nothing here is random.

        Raises:
            ConfigError: If an axis is named that the outputs do not have.
            DataError: If a column is ragged or of text, or there are fewer than two samples.
        """
        options = MlpOptions.model_validate(options)
        schema = train.schema
        _check(train, options)
        encoder = InputEncoder.fit(schema, train.inputs)
        along = np.zeros((1, 0))
        if options.ask_along:
            axis = schema.coordinate(options.ask_along)
            length = axis_length(schema.outputs[0], options.ask_along)
            along = coordinate_features(axis.array if axis is not None else np.arange(length, dtype=np.float64))
        features = row_features(encoder, along, train.inputs)
        outputs = []
        for column in schema.outputs:
            rows, dims = unrolled(column, options.ask_along, np.asarray(train.columns[column.name], dtype=np.float64))
            outputs.append(
                fit_output(
                    options.output_transform, column, dims, schema=schema, features=features, values=rows,
                    modes=options.modes, fronts=options.fronts,
                )
            )  # fmt: skip
        relative = options.loss == "relative"
        norms = {
            name: float(np.sqrt(np.mean(np.square(sample_norms(values))))) * relative
            for name, values in train.outputs.items()
        }
        return MlpTransforms(schema, encoder, options.ask_along, along, tuple(outputs), norms)

    def restore(self, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> MlpTransforms:
        """Rebuild transforms from `arrays` and `to_json`."""
        outputs = [
            restore_output(name, _part(arrays, f"outputs/{name}"), entry) for name, entry in record["outputs"].items()
        ]
        # Order follows the schema, whatever order JSON was written in.
        places = {column.name: place for place, column in enumerate(schema.outputs)}
        return MlpTransforms(
            schema,
            InputEncoder.restore(_part(arrays, "inputs"), record["inputs"]),
            str(record["ask_along"]),
            np.asarray(arrays["axis/along"], dtype=np.float64),
            tuple(sorted(outputs, key=lambda output: places[output.column])),
            {str(name): float(norm) for name, norm in record["norms"].items()},
        )

    def build(self, transforms: Transforms, options: BaseModel, seed: int) -> keras.Model:
        """Return one member's network."""
        from surrogate.models.networks import dense_network

        own, options = _mlp(transforms), MlpOptions.model_validate(options)
        heads = [head for output in own.outputs for head in output.heads]
        return dense_network(
            own.encoder.width + own.along.shape[1], heads, width=options.width, depth=options.depth,
            activation=options.activation, positions_width=options.fronts.width, seed=seed,
        )  # fmt: skip

    def rows(self, transforms: Transforms, table: SampleTable) -> Rows:
        """Return inputs `[R, D]`, targets of every output, and the weight of each output in each row `[R]`."""
        own = _mlp(transforms)
        features = row_features(own.encoder, own.along, table.inputs)
        rows: Rows = {"inputs": features.astype(np.float32)}
        for output in own.outputs:
            column = own.schema.column(output.column)
            values = np.asarray(table.columns[column.name], dtype=np.float64)
            rows |= output.targets(features, unrolled(column, own.ask_along, values)[0])
            rows[f"{column.name}.weight"] = row_weights(values, own.norms[column.name], len(own.along))
        return rows

    def loss(self, transforms: Transforms, network: Network, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the sum over the outputs of their weighted losses, `[B]`."""
        outputs = network({"inputs": batch["inputs"]})
        parts = [output.loss(outputs, batch) * batch[f"{output.column}.weight"] for output in _mlp(transforms).outputs]
        return sum(parts[1:], start=parts[0])

    def predict(
        self, transforms: Transforms, forwards: Sequence[Forward], inputs: Mapping[str, Values]
    ) -> list[dict[str, Values]]:
        """Return each member's outputs, name → `[N, *shape]` float64."""
        own = _mlp(transforms)
        features = row_features(own.encoder, own.along, inputs).astype(np.float32)
        steps = len(own.along)
        # A field and its intermediate steps are many numbers a row: some thousand rows at once bound the memory.
        chunk = max(1, _ROWS_AT_ONCE // steps) * steps
        members: list[dict[str, Values]] = []
        for forward in forwards:
            parts: dict[str, list[NDArray[np.float64]]] = {output.column: [] for output in own.outputs}
            for start in range(0, max(len(features), 1), chunk):
                heads = forward({"inputs": features[start : start + chunk]})
                for output in own.outputs:
                    column = own.schema.column(output.column)
                    parts[output.column].append(rolled(column, own.ask_along, output.decode(heads), steps))
            members.append({name: np.concatenate(pieces) for name, pieces in parts.items()})
        return members


FAMILY = Mlp()


def _check(train: SampleTable, options: MlpOptions) -> None:
    """Refuse what this family cannot learn.

    Raises:
        ConfigError: If an output lacks the axis that is asked along.
        DataError: If an output is ragged or of text, there is none, or there are fewer than two samples.
    """
    outputs = train.schema.outputs
    unfit = [
        column.name for column in outputs if column.dtype == "str" or isinstance(train.columns[column.name], Ragged)
    ]
    if unfit or not outputs:
        found = f"{unfit} are ragged or text" if unfit else "there is no output column"
        raise DataError(f"The family 'mlp' predicts numbers of fixed shape, and {found}. Choose another family.")
    if len(train) < 2:
        raise DataError(f"A network needs at least 2 training samples, and there are {len(train)}.")
    for column in outputs:
        if options.ask_along and options.ask_along not in column.dims:
            raise ConfigError(
                f"The model is to be asked along '{options.ask_along}', and the output '{column.name}' has the axes "
                f"{list(column.dims)}.{nearest(options.ask_along, column.dims)} Name an axis that every output "
                "has, or none."
            )
