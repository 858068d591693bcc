"""The family `atomic_kernel` as the rest of the program sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from surrogate.core.schema import SampleTable, Schema, Values
from surrogate.models.ani.answers import known, member_answers, potential_loss
from surrogate.models.ani.measures import potential_measures
from surrogate.models.ani.panels import potential_panels
from surrogate.models.ani.rows import training_rows
from surrogate.models.kernel.fitting import KernelTransforms, fit_kernel
from surrogate.models.kernel.options import KernelOptions
from surrogate.models.panels import Panel
from surrogate.models.protocols import Forward, Measure, Network, Prediction, Rows, Transforms, own_transforms

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

_ATOMS_AT_ONCE = 256


def _own(transforms: Transforms) -> KernelTransforms:
    """Return the transforms as this family's own; see `own_transforms`."""
    return own_transforms("atomic_kernel", KernelTransforms, transforms)


class AtomicKernel:
    """Kernel regression over the surroundings of atoms, solved from forces."""

    name = "atomic_kernel"
    options_type = KernelOptions
    baselines = ()
    solved_by_fit = "the coefficients of the kernel are the solution of one linear system"

    def measures(self, schema: Schema) -> tuple[Measure, ...]:
        """Return the errors of energies and forces, and the coverage of the 90 % interval."""
        return potential_measures(schema)

    def panels(self, truth: SampleTable, prediction: Prediction) -> Sequence[Panel]:
        """Return predicted against computed energies and forces."""
        return potential_panels(truth, prediction)

    def fit(self, train: SampleTable, options: BaseModel, seed: int) -> KernelTransforms:  # noqa: ARG002 - protocol
        """Solve for the coefficients; see `surrogate.models.kernel.fitting`."""
        return fit_kernel(train, KernelOptions.model_validate(options))

    def restore(
        self, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]
    ) -> KernelTransforms:
        """Rebuild transforms from `arrays` and `to_json`."""
        return KernelTransforms.restore(schema, arrays, record)

    def register_layers(self) -> None:
        """Make the family's layers known to Keras, which loads no class that it was not told of."""
        from surrogate.models.networks import load_keras

        load_keras()
        from surrogate.models.kernel import layers  # noqa: F401 - importing it registers them

    def build(self, transforms: Transforms, options: BaseModel, seed: int) -> keras.Model:  # noqa: ARG002 - protocol
        """Return the solution as a network; all members are the same."""
        self.register_layers()
        from surrogate.models.kernel.layers import network

        own = _own(transforms)
        return network(
            dict(zip(own.base.symbols, own.centres, strict=True)),
            dict(zip(own.base.symbols, own.coefficients, strict=True)),
        )

    def rows(self, transforms: Transforms, table: SampleTable) -> Rows:
        """Return features, Jacobians and targets; see `surrogate.models.ani.rows`."""
        return training_rows(_own(transforms).base, table)

    def loss(self, transforms: Transforms, network: Network, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """Return the loss of the family `ani`, `[B]`; nothing is trained by it."""
        return potential_loss(_own(transforms).base, network, batch)

    def predict(
        self, transforms: Transforms, forwards: Sequence[Forward], inputs: Mapping[str, Values]
    ) -> list[dict[str, Values]]:
        """Return each member's energies `[N]` Ha and forces Ha/Å.

        Raises:
            DataError: If an element, a charge or a multiplicity was not trained on, or atoms coincide.
        """
        return member_answers(_own(transforms).base, forwards, inputs, atoms_at_once=_ATOMS_AT_ONCE)

    def knows(
        self, transforms: Transforms, inputs: Mapping[str, Values], std: Mapping[str, Values]
    ) -> NDArray[np.bool_]:
        """Return which structures are like those that were trained on, `[N]`; see `surrogate.models.ani.reach`."""
        return known(_own(transforms).base, inputs, std)


FAMILY = AtomicKernel()
