"""Networks' outputs as energies and forces: for prediction in NumPy, for the loss in TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surrogate.core.molecules import ENERGY, FORCES
from surrogate.core.schema import Ragged, Values
from surrogate.models.ani.features import Features
from surrogate.models.ani.fitting import sums
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.packing import Packing, feature_rows
from surrogate.models.ani.potential import pieces
from surrogate.models.ani.transforms import AniTransforms, atoms_of, cells_of
from surrogate.models.protocols import Forward, Network

if TYPE_CHECKING:
    import tensorflow as tf

_Answer = tuple[NDArray[np.float64], NDArray[np.float64]]


def member_answers(
    own: AniTransforms, forwards: Sequence[Forward], inputs: Mapping[str, Values], *, atoms_at_once: int = 2048
) -> list[dict[str, Values]]:
    """Return each member's energies `[N]` Ha and, where they were an output of the training, forces Ha/Å.

    Args:
        own: What was fitted.
        forwards: One network a member, with the outputs `energy` and `gradient_X`.
        inputs: Columns of N structures.
        atoms_at_once: About how many atoms are worked on at once.

    Raises:
        DataError: If an element, a charge or a multiplicity was not trained on, or atoms coincide.
    """
    own.check_states(inputs)
    species, positions, offsets = atoms_of(inputs)
    cells = cells_of(inputs)
    kinds = own.functions.kinds(species)
    energies: list[list[NDArray[np.float64]]] = [[] for _ in forwards]
    forces: list[list[NDArray[np.float64]]] = [[] for _ in forwards]
    for start, stop in pieces(offsets, atoms_at_once):
        begin, end = int(offsets[start]), int(offsets[stop])
        local = offsets[start : stop + 1] - begin
        part = None if cells is None else cells[start:stop]
        pairs = find_pairs(positions[begin:end], local, own.functions.radial_cutoff, part)
        features = Features(own.functions, kinds[begin:end], pairs)
        for member, said in enumerate(_members(own, forwards, features, kinds[begin:end], offsets=local)):
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
    *,
    offsets: NDArray[np.int64],
) -> list[_Answer]:
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


def known(own: AniTransforms, inputs: Mapping[str, Values], std: Mapping[str, Values]) -> NDArray[np.bool_]:
    """Return which structures are like those that the potential was trained on, `[N]`.

    Args:
        own: What was fitted.
        inputs: Columns of N structures, of known elements.
        std: Standard deviations between members, of which the energy's counts.
    """
    species, positions, offsets = atoms_of(inputs)
    cells, kinds = cells_of(inputs), own.functions.kinds(species)
    fine = np.ones(len(species), dtype=np.bool_)
    for start, stop in pieces(offsets, 2048) if own.reach.references else []:
        begin, end = int(offsets[start]), int(offsets[stop])
        part = None if cells is None else cells[start:stop]
        pairs = find_pairs(positions[begin:end], offsets[start : stop + 1] - begin, own.functions.radial_cutoff, part)
        values = Features(own.functions, kinds[begin:end], pairs).values
        for kind, (picked, scale) in enumerate(zip(own.columns, own.scales, strict=True)):
            atoms = np.flatnonzero(kinds[begin:end] == kind)
            others = np.delete(values[atoms], picked, axis=1)
            fine[begin + atoms] = own.reach.knows(kind, values[atoms][:, picked] * scale, others)
    inside = np.logical_and.reduceat(fine, offsets[:-1]) if len(offsets) > 1 else np.zeros(0, dtype=np.bool_)
    return np.asarray(inside & own.reach.agrees(np.asarray(std[ENERGY]), np.diff(offsets)), dtype=np.bool_)


def potential_loss(own: AniTransforms, network: Network, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
    """Return w_E ΔE² / √N + w_F Σ |ΔF|² / N of each structure of N atoms, `[B]`, in the networks' unit.

    Args:
        own: What was fitted.
        network: One member's network.
        batch: Rows of `surrogate.models.ani.rows`.
    """
    import tensorflow as tf

    inputs = [f"{part}_{symbol}" for symbol in own.symbols for part in ("features", "mask")]
    outputs = network({name: batch[name] for name in inputs})
    atoms = batch["atoms"]
    loss = own.energy_weight * tf.square(outputs["energy"][:, 0] - batch["energy"]) / tf.sqrt(atoms)
    if not own.forces:
        return loss
    # Minus the error: dE/dplace is minus the force.
    error = -batch["forces"]
    for symbol in own.symbols:
        jacobian = batch[f"jacobian_{symbol}"]
        gradient = tf.reshape(outputs[f"gradient_{symbol}"], [tf.shape(jacobian)[0], jacobian.shape[1], 1])
        error -= tf.reduce_sum(gradient * jacobian, axis=1)
    return loss + own.force_weight * tf.reduce_sum(tf.square(error), axis=1) / atoms
