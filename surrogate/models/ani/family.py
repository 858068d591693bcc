"""The family `ani` as the rest of the program sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from surrogate.core.molecules import ENERGY, FORCES
from surrogate.core.schema import Ragged, SampleTable, Schema, Values
from surrogate.models.ani.features import Features
from surrogate.models.ani.fitting import fit_transforms, sums
from surrogate.models.ani.measures import potential_measures
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.options import AniOptions
from surrogate.models.ani.packing import Packing, feature_rows
from surrogate.models.ani.panels import potential_panels
from surrogate.models.ani.potential import pieces
from surrogate.models.ani.rows import training_rows
from surrogate.models.ani.transforms import AniTransforms, atoms_of, cells_of
from surrogate.models.panels import Panel
from surrogate.models.protocols import Forward, Measure, Network, Prediction, Rows, Transforms

if TYPE_CHECKING:
    import keras
    import tensorflow as tf

_ATOMS_AT_ONCE = 2048


def _ani(transforms: Transforms) -> AniTransforms:
    """Return the transforms as this family's own.

    Raises:
        TypeError: If they are another family's, which is a mistake of the program.
    """
    if not isinstance(transforms, AniTransforms):
        raise TypeError(f"The family 'ani' was given {type(transforms).__name__}.")
    return transforms


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
        import tensorflow as tf

        own = _ani(transforms)
        inputs = [f"{part}_{symbol}" for symbol in own.symbols for part in ("features", "mask")]
        outputs = network({name: batch[name] for name in inputs})
        atoms = batch["atoms"]
        loss = own.energy_weight * tf.square(outputs["energy"][:, 0] - batch["energy"]) / tf.sqrt(atoms)
        if not own.forces:
            return loss
        forces = -batch["forces"]
        for symbol in own.symbols:
            jacobian = batch[f"jacobian_{symbol}"]
            gradient = tf.reshape(outputs[f"gradient_{symbol}"], [tf.shape(jacobian)[0], jacobian.shape[1], 1])
            # Minus the error: dE/dplace is minus the force.
            forces -= tf.reduce_sum(gradient * jacobian, axis=1)
        return loss + own.force_weight * tf.reduce_sum(tf.square(forces), axis=1) / atoms

    def predict(
        self, transforms: Transforms, forwards: Sequence[Forward], inputs: Mapping[str, Values]
    ) -> list[dict[str, Values]]:
        """Return each member's energies `[N]` Ha and, where they were an output of the training, forces Ha/Å.

        Raises:
            DataError: If an element, a charge or a multiplicity was not trained on, or atoms coincide.
        """
        own = _ani(transforms)
        own.check_states(inputs)
        species, positions, offsets = atoms_of(inputs)
        cells = cells_of(inputs)
        kinds = own.functions.kinds(species)
        energies: list[list[NDArray[np.float64]]] = [[] for _ in forwards]
        forces: list[list[NDArray[np.float64]]] = [[] for _ in forwards]
        for start, stop in pieces(offsets, _ATOMS_AT_ONCE):
            begin, end = int(offsets[start]), int(offsets[stop])
            local = offsets[start : stop + 1] - begin
            part = None if cells is None else cells[start:stop]
            pairs = find_pairs(positions[begin:end], local, own.functions.radial_cutoff, part)
            features = Features(own.functions, kinds[begin:end], pairs)
            for member, said in enumerate(_members(own, forwards, features, kinds[begin:end], local)):
                energies[member].append(said[0])
                forces[member].append(said[1])
        answers: list[dict[str, Values]] = []
        for member in range(len(forwards)):
            answer: dict[str, Values] = {ENERGY: np.concatenate([np.zeros(0), *energies[member]])}
            if own.has_forces:
                answer[FORCES] = Ragged(np.concatenate([np.zeros((0, 3)), *forces[member]]), offsets)
            answers.append(answer)
        return answers


def _members(
    own: AniTransforms,
    forwards: Sequence[Forward],
    features: Features,
    kinds: NDArray[np.int64],
    offsets: NDArray[np.int64],
) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return each member's energies `[N]` and forces `[M, 3]` of a piece."""
    packing = Packing(kinds, offsets, len(own.symbols))
    rows = feature_rows(packing, own, features.values)
    lone = sums(own.self_energies[kinds], offsets)
    answers = []
    for forward in forwards:
        outputs = forward(rows)
        energies = outputs["energy"][:, 0].astype(np.float64) * own.unit + lone
        forces = np.zeros((0, 3))
        if own.has_forces:
            gradient = np.zeros_like(features.values)
            for kind, symbol in enumerate(own.symbols):
                found = packing.unpack(kind, outputs[f"gradient_{symbol}"]).astype(np.float64)
                gradient[packing.atoms[kind][:, None], own.columns[kind]] = found * (own.scales[kind] * own.unit)
            forces = features.forces(features.pair_gradient(gradient))
        answers.append((energies, forces))
    return answers


FAMILY = Ani()
