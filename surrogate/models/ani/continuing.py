"""Fine-tuning: transforms of an earlier potential for new data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from surrogate.core.errors import DataError
from surrogate.core.molecules import CHARGE, ENERGY, FORCES, MULTIPLICITY
from surrogate.core.schema import SampleTable
from surrogate.models.ani.fitting import check_table, fit_self_energies, survey
from surrogate.models.ani.options import AniOptions
from surrogate.models.ani.stored import stored_potential
from surrogate.models.ani.transforms import AniTransforms, atoms_of, cells_of


def continued(
    own: AniTransforms, train: SampleTable, options: AniOptions, *, refit: bool, networks: Sequence[Path]
) -> AniTransforms:
    """Return transforms with which the earlier networks go on.

    Symmetry functions, columns, scales of the features and the unit of the outputs stay, since the networks are made
    for them. Where the scalers are fitted again, the self-energies take up what the earlier potential is off by, so
    far as it depends on the composition: another level of theory differs by hartrees. The loss is weighted by the
    spread of the new energies, and the surroundings that count as known are those of the new samples.

    Args:
        own: Of the earlier potential.
        train: The new training samples.
        options: Weights of energies and forces; the rest must be that of the earlier potential.
        refit: Whether self-energies are fitted again.
        networks: The earlier members' `.keras` files.

    Raises:
        DataError: If the samples have an element that the earlier potential does not know.
    """
    level = check_table(train)
    if not options.functions(own.functions.elements).like(own.functions):
        raise DataError(
            "The model options ask for other symmetry functions than the potential has that the training is to go on "
            "from. Give the same options as there."
        )
    species, positions, offsets = atoms_of(train.inputs)
    kinds = own.functions.kinds(species)
    energies = np.asarray(train.columns[ENERGY], dtype=np.float64)
    earlier = stored_potential(own, networks, options.activation, np.float64)
    said = earlier.answer(species, positions, offsets, cells_of(train.inputs), forces=False).energies
    shift = np.zeros(len(own.self_energies))
    if refit:
        shift = fit_self_energies(kinds, offsets, energies - said, len(own.self_energies))
    counts = np.stack(
        [np.add.reduceat((kinds == kind).astype(np.float64), offsets[:-1]) for kind in range(len(shift))], axis=1
    )
    spread = max(float(np.std(energies - said - counts @ shift)), 1e-4)
    weight = (own.unit / spread) ** 2
    seen = survey(train, own.functions, kinds)
    forces = FORCES in train.columns and options.force_weight > 0
    states = zip(
        np.asarray(train.columns[CHARGE]).tolist(), np.asarray(train.columns[MULTIPLICITY]).tolist(), strict=True
    )
    return replace(
        own,
        schema=train.schema,
        self_energies=own.self_energies + shift,
        states=tuple(sorted({(int(charge), int(spin)) for charge, spin in states})),
        forces=forces,
        energy_weight=options.energy_weight * weight,
        force_weight=options.force_weight * weight if forces else 0.0,
        level_of_theory=level,
        reach=replace(seen, columns=own.columns).reach(own.scales, len(train)),
    )
