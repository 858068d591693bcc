"""The family `ani` as the rest of the program sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from surrogate.core.schema import SampleTable, Schema, Values
from surrogate.models.ani.answers import known, member_answers, potential_loss
from surrogate.models.ani.continuing import continued
from surrogate.models.ani.fitting import fit_transforms
from surrogate.models.ani.measures import potential_measures
from surrogate.models.ani.options import AniOptions
from surrogate.models.ani.panels import potential_panels
from surrogate.models.ani.rows import training_rows
from surrogate.models.ani.transforms import AniTransforms
from surrogate.models.panels import Panel
from surrogate.models.protocols import Forward, Measure, Network, Prediction, Rows, Transforms, own_transforms

if TYPE_CHECKING:
    from pathlib import Path

    import keras
    import tensorflow as tf


def _ani(transforms: Transforms) -> AniTransforms:
    """Return the transforms as this family's own; see `own_transforms`."""
    return own_transforms("ani", AniTransforms, transforms)


class Ani:
    """Symmetry functions and one network an element."""

    name = "ani"
    options_type = AniOptions
    baselines = ()

    def measures(self, schema: Schema) -> tuple[Measure, ...]:
        """Return the errors of energies and forces, and the coverage of the 90 % interval."""
        return potential_measures(schema)

    def panels(self, truth: SampleTable, prediction: Prediction) -> Sequence[Panel]:
        """Return predicted against computed energies and forces."""
        return potential_panels(truth, prediction)

    def fit(self, train: SampleTable, options: BaseModel, seed: int) -> AniTransforms:  # noqa: ARG002 - protocol
        """Fit self-energies, features in use and scales.

        Raises:
            DataError: If the columns are not those of molecules, or levels of theory are mixed.
        """
        return fit_transforms(train, AniOptions.model_validate(options))

    def restore(self, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> AniTransforms:
        """Rebuild transforms from `arrays` and `to_json`."""
        return AniTransforms.restore(schema, arrays, record)

    def register_layers(self) -> None:
        """Make the family's layers known to Keras, which loads no class that it was not told of."""
        from surrogate.models.networks import load_keras

        load_keras()
        from surrogate.models.ani import layers  # noqa: F401 - importing it registers them

    def build(self, transforms: Transforms, options: BaseModel, seed: int) -> keras.Model:
        """Return one member's network."""
        self.register_layers()
        from surrogate.models.ani.layers import network

        own, options = _ani(transforms), AniOptions.model_validate(options)
        widths = {symbol: len(columns) for symbol, columns in zip(own.symbols, own.columns, strict=True)}
        numbers = dict(zip(own.symbols, own.functions.elements, strict=True))
        hidden = {symbol: options.layers(number) for symbol, number in numbers.items()}
        return network(widths, hidden, options.activation, seed)

    def rows(self, transforms: Transforms, table: SampleTable) -> Rows:
        """Return features, Jacobians and targets; see `surrogate.models.ani.rows`."""
        return training_rows(_ani(transforms), table)

    def loss(self, transforms: Transforms, network: Network, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return w_E ΔE² / √N + w_F Σ |ΔF|² / N of each structure of N atoms, `[B]`, in the networks' unit.

        The form is that of Smith et al., Nat. Commun. 10, 2903 (2019), and TorchANI.
        """
        return potential_loss(_ani(transforms), network, batch)

    def predict(
        self, transforms: Transforms, forwards: Sequence[Forward], inputs: Mapping[str, Values]
    ) -> list[dict[str, Values]]:
        """Return each member's energies `[N]` Ha and, where they were an output of the training, forces Ha/Å.

        Raises:
            DataError: If an element, a charge or a multiplicity was not trained on, or atoms coincide.
        """
        return member_answers(_ani(transforms), forwards, inputs)

    def knows(
        self, transforms: Transforms, inputs: Mapping[str, Values], std: Mapping[str, Values]
    ) -> NDArray[np.bool_]:
        """Return which structures are like those that were trained on, `[N]`; see `surrogate.models.ani.reach`."""
        return known(_ani(transforms), inputs, std)

    def continued(
        self,
        transforms: Transforms,
        train: SampleTable,
        options: BaseModel,
        *,
        refit: bool,
        networks: Sequence[Path],
    ) -> AniTransforms:
        """Return transforms for new samples; see `surrogate.models.ani.continuing`."""
        return continued(_ani(transforms), train, AniOptions.model_validate(options), refit=refit, networks=networks)


FAMILY = Ani()
