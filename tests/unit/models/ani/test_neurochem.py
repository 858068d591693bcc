"""Potentials in NeuroChem's files: a tiny one is written and read back."""

from __future__ import annotations

import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.models.ani.neurochem import parse_network, parse_parameters, parse_self_energies
from surrogate.training.published import find_collection, read_collection
from tests.support.atoms import FUNCTIONS, write_neurochem


def test_what_was_written_is_read(tmp_path):
    networks = write_neurochem(tmp_path / "a.whl", FUNCTIONS, 11)
    collection = find_collection(tmp_path / "a.whl", "tiny_2x")
    assert [folder.split("/")[-2] for folder in collection.members] == [f"train{number}" for number in range(11)]
    potential, digest = read_collection(collection)
    assert potential.functions == FUNCTIONS
    assert potential.self_energies.tolist() == [-0.5, -1.5, -2.5, -3.5]
    assert potential.hidden == {symbol: [6, 4] for symbol in "HCNO"}
    for number, network in potential.networks.items():
        for found, expected in zip(network.kernels, networks[number].kernels, strict=True):
            np.testing.assert_array_equal(found, expected.astype(np.float32))
    assert digest == read_collection(collection)[1]


def test_what_is_no_wheel_or_has_no_such_potential_is_refused(tmp_path):
    (tmp_path / "b.whl").write_text("no zip")
    with pytest.raises(DataError, match="is no wheel"):
        find_collection(tmp_path / "b.whl", "tiny_2x")
    write_neurochem(tmp_path / "a.whl", FUNCTIONS, 1)
    with pytest.raises(DataError, match=r"no potential 'tiny_2y'.* Did you mean 'tiny_2x'"):
        find_collection(tmp_path / "a.whl", "tiny_2y")


def test_broken_files_are_refused():
    with pytest.raises(DataError, match="lack 'Rcr'"):
        parse_parameters("Atyp = [H,O]\n")
    with pytest.raises(DataError, match="'Atyp'"):
        parse_parameters("Rcr = 5.2\n")
    with pytest.raises(DataError, match="none for O"):
        parse_self_energies("H,0=-0.5\n", ("H", "O"))
    with pytest.raises(DataError, match="cannot be unpacked"):
        parse_network(b"nothing", "", lambda _: b"")
