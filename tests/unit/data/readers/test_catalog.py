"""Readers by their entry points."""

from importlib.metadata import EntryPoint

import pytest

from surrogate.core.errors import ConfigError
from surrogate.data.readers import catalog
from surrogate.data.readers.generic import HDF5


def offered(monkeypatch, *entries):
    points = [EntryPoint(name, value, catalog.GROUP) for name, value in entries]
    monkeypatch.setattr(catalog, "entry_points", lambda group, name=None: [p for p in points if name in (None, p.name)])


def test_our_own_are_installed():
    assert {"csv", "hdf5", "netcdf", "npz"} <= set(catalog.reader_names())
    assert catalog.find_reader("hdf5") is HDF5
    with pytest.raises(ConfigError, match=r"no reader for the format 'hdf'; installed are: .*Did you mean 'hdf5'"):
        catalog.find_reader("hdf")


def test_another_distribution_can_bring_one(monkeypatch):
    module = "surrogate.data.readers.generic"
    offered(monkeypatch, ("hdf5", f"{module}:HDF5"), ("odd", f"{module}:HDF5"), ("none", f"{module}:NOTHING"))
    assert catalog.find_reader("hdf5") is HDF5
    with pytest.raises(ConfigError, match=r"'odd' .* is no reader of that name"):
        catalog.find_reader("odd")
    with pytest.raises(ConfigError, match=r"'none' .* cannot be loaded: AttributeError"):
        catalog.find_reader("none")
    offered(monkeypatch, ("hdf5", f"{module}:HDF5"), ("hdf5", "other:READER"))
    with pytest.raises(ConfigError, match="'hdf5' is offered by"):
        catalog.find_reader("hdf5")
