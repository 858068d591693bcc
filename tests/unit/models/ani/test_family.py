"""The family without a training: what it fits, the rows it makes, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.molecules import input_values, molecule_table
from surrogate.core.schema import Column, Ragged, SampleTable, Schema
from surrogate.core.structure import Structure
from surrogate.models import catalog
from surrogate.models.ani import rows as rows_module
from surrogate.models.ani.family import FAMILY
from surrogate.models.ani.fitting import fit_self_energies
from surrogate.models.ani.options import AniOptions
from surrogate.models.protocols import Prediction
from tests.support.atoms import AMMONIA, METHANE, WATER, table

OPTIONS = AniOptions(radial_shifts=[0.9, 1.7, 2.5], angular_shifts=[0.9, 1.9], angle_shifts=[0.6, 2.0], zeta=8.0)
TRAIN = table(30)
TRANSFORMS = FAMILY.fit(TRAIN, OPTIONS, 0)


def test_it_is_in_the_catalogue():
    assert catalog.family("ani") is FAMILY


def test_self_energies_are_recovered_from_compositions():
    random = np.random.default_rng(0)
    counts = random.integers(1, 6, (20, 3))
    true = np.array([-0.6, -38.0, -75.0])
    offsets = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
    kinds = np.concatenate([np.repeat(np.arange(3), row) for row in counts])
    np.testing.assert_allclose(fit_self_energies(kinds, offsets, counts @ true, 3), true, atol=1e-10)


def test_targets_are_energies_without_self_energies_in_the_fitted_unit():
    rows = FAMILY.rows(TRANSFORMS, TRAIN)
    assert {len(array) for array in rows.values()} == {30}
    assert all(array.dtype == np.float32 for array in rows.values())
    assert np.std(rows["energy"]) == pytest.approx(1, abs=1e-3)
    assert rows["forces"].shape == (30, 15)
    assert rows["atoms"].tolist()[:3] == [3, 5, 4]
    assert rows["mask_H"].sum(axis=1).tolist()[:3] == [2, 4, 3]


def test_only_training_rows_decide_what_is_fitted():
    few = FAMILY.fit(TRAIN.take(np.arange(12)), OPTIONS, 0)
    again = FAMILY.fit(TRAIN.take(np.arange(12)), OPTIONS, 1)
    np.testing.assert_array_equal(few.self_energies, again.self_energies)
    assert not np.array_equal(few.self_energies, TRANSFORMS.self_energies)


def test_restored_transforms_give_the_same_rows():
    again = FAMILY.restore(TRAIN.schema, TRANSFORMS.arrays(), TRANSFORMS.to_json())
    other = table(7, seed=2)
    for name, array in FAMILY.rows(TRANSFORMS, other).items():
        np.testing.assert_array_equal(array, FAMILY.rows(again, other)[name])


def test_features_that_never_occur_are_not_given_to_the_networks():
    water = FAMILY.fit(table(6, kinds=(WATER,)), OPTIONS, 0)
    assert water.symbols == ("H", "O")
    # O sees two H: no O–O distance, no H–O or O–O pair.
    assert len(water.columns[1]) <= 3 + 4
    assert all(len(picked) < water.functions.length for picked in water.columns)


def linear(transforms):
    """Return a network whose energy is the sum of all features: its gradient is one everywhere."""

    def forward(given):
        energy = sum(given[f"features_{symbol}"].sum(axis=(1, 2)) for symbol in transforms.symbols)
        ones = {f"gradient_{symbol}": np.ones_like(given[f"features_{symbol}"]) for symbol in transforms.symbols}
        return {"energy": energy[:, None], **ones}

    return forward


def test_rows_and_predictions_agree_about_forces():
    """The Jacobian that is trained with gives the forces that are predicted."""
    predicted = FAMILY.predict(TRANSFORMS, [linear(TRANSFORMS)], TRAIN.inputs)[0]
    rows = FAMILY.rows(TRANSFORMS, TRAIN)
    forces = -sum(rows[f"jacobian_{symbol}"].sum(axis=1) for symbol in TRANSFORMS.symbols) * TRANSFORMS.unit
    for row in range(5):
        np.testing.assert_allclose(
            forces[row].reshape(5, 3)[: len(predicted["forces"][row])], predicted["forces"][row], atol=1e-5
        )


def test_a_molecule_alone_and_padded_has_the_same_features():
    alone = FAMILY.predict(TRANSFORMS, [linear(TRANSFORMS)], input_values([WATER]))[0]
    padded = FAMILY.predict(TRANSFORMS, [linear(TRANSFORMS)], input_values([METHANE, WATER, AMMONIA]))[0]
    assert padded["energy"][1] == alone["energy"][0]
    np.testing.assert_array_equal(padded["forces"][1], alone["forces"][0])


def test_energies_alone_can_be_learned():
    energies_only = table(9, forces=False)
    transforms = FAMILY.fit(energies_only, OPTIONS, 0)
    rows = FAMILY.rows(transforms, energies_only)
    assert "forces" not in rows
    assert list(FAMILY.predict(transforms, [linear(transforms)], energies_only.inputs)[0]) == ["energy"]
    assert [measure.name for measure in FAMILY.measures(energies_only.schema)].count("force_mae") == 0


def test_measures_are_in_kcal_per_mol():
    shift = 1 / 627.5094740631
    mean = {
        "energy": TRAIN.columns["energy"] + shift,
        "forces": Ragged(TRAIN.columns["forces"].data - 2 * shift, TRAIN.columns["forces"].offsets),
    }
    prediction = Prediction(mean, mean, mean, mean, np.ones(30, bool))
    found = {}
    for measure in FAMILY.measures(TRAIN.schema):
        found |= measure.metrics(measure.per_sample(TRAIN, prediction))
    assert found["energy_mae"] == pytest.approx(1)
    assert found["energy_error_rms"] == pytest.approx(1)
    assert found["force_mae"] == pytest.approx(2)
    assert found["force_error_max"] == pytest.approx(2 * np.sqrt(3))
    assert len(FAMILY.panels(TRAIN, prediction)) == 2


def with_state(charge, multiplicity):
    return input_values([Structure.of(WATER.species, WATER.coordinates, charge=charge, multiplicity=multiplicity)])


@pytest.mark.parametrize(("charge", "multiplicity"), [(1, 2), (0, 3)])
def test_a_charge_or_multiplicity_that_was_not_trained_on_is_refused(charge, multiplicity):
    with pytest.raises(DataError, match=f"charge [+]?{charge} and the multiplicity {multiplicity}"):
        FAMILY.predict(TRANSFORMS, [linear(TRANSFORMS)], with_state(charge, multiplicity))


def test_mixed_levels_of_theory_are_refused():
    one, two = table(3), molecule_table([WATER], [-76.0], [np.zeros((3, 3))], "another")
    columns = {name: _joined(one.columns[name], two.columns[name]) for name in one.columns}
    mixed = SampleTable(one.schema, one.ids + two.ids, one.groups + two.groups, columns)
    with pytest.raises(DataError, match="different levels of theory: another, springs"):
        FAMILY.fit(mixed, OPTIONS, 0)


def _joined(one, two):
    return Ragged.join([one, two]) if isinstance(one, Ragged) else np.concatenate([one, two])


def test_columns_that_are_no_molecules_are_refused():
    schema = Schema((Column("x", "input"), Column("y", "output")))
    plain = SampleTable(schema, ("a",), ("",), {"x": np.zeros(1), "y": np.zeros(1)})
    with pytest.raises(DataError, match="the dataset has x, y"):
        FAMILY.fit(plain, OPTIONS, 0)


def test_derivatives_that_would_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr(rows_module, "MOST_BYTES", 1000)
    with pytest.raises(DataError, match="force_weight = 0"):
        FAMILY.rows(TRANSFORMS, TRAIN)
