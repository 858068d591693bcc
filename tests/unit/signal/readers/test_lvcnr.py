"""Waveforms in the exchange format of numerical relativity: splines are evaluated, the rest is refused in sentences."""

import h5py
import numpy as np
import pytest

from surrogate.core.schema import Column, Schema
from surrogate.core.tables import validated_table
from surrogate.data.dataset import Dataset
from surrogate.data.readers.protocol import SourceError
from surrogate.signal.readers.lvcnr import LVCNR
from tests.support.cactus.waves import PEAK, strain
from workflows.config import load_campaign
from workflows.ingest.ingest import ingest
from workflows.ingest.layout import load_layout
from workflows.progress import Silent

CAMPAIGN = """
schema_version = 1
name = "relativity"
[data]
[model]
[gate.metrics]
relative_l2_median = { max = 0.9 }
"""


def write(path, mass_ratio=1.3, swap=False, **attributes):
    """A waveform on uneven knots, as a reduced spline has them."""
    knots = PEAK + np.concatenate([np.arange(-650, -60, 2.0), np.arange(-60, 100, 0.5)])
    mode = strain(knots, mass_ratio)
    with h5py.File(path, "w") as file:
        masses = (mass_ratio / (1 + mass_ratio), 1 / (1 + mass_ratio))
        file.attrs["mass1"], file.attrs["mass2"] = masses[::-1] if swap else masses
        file.attrs["spin1z"], file.attrs["spin2z"] = (-0.2, 0.4) if swap else (0.4, -0.2)
        for name, value in attributes.items():
            file.attrs[name] = value
        for kind, values in (("amp", np.abs(mode)), ("phase", np.unwrap(np.angle(mode)))):
            group = file.create_group(f"{kind}_l2_m2")
            group["X"], group["Y"], group["deg"] = knots, values, 5
    return path


def read(path, **table):
    chosen = validated_table(LVCNR.options_type, table, "mapping.toml")
    with LVCNR.open(path, chosen) as source:
        sketch = source.sketch()
        inputs = tuple(Column(name, "input") for name in sketch.inputs)
        return source.read(source.pieces[0], Schema(inputs + sketch.outputs, sketch.coordinates)), sketch


@pytest.mark.parametrize("swap", [False, True])
def test_a_waveform_is_read_on_its_grid(tmp_path, swap):
    block, sketch = read(write(tmp_path / "a.h5", swap=swap))
    assert sketch.outputs[0].shape == (1151,)
    assert {name: block.columns[name][0] for name in sketch.inputs} == pytest.approx(
        {"mass_ratio": 1.3, "spin_1": 0.4, "spin_2": -0.2}
    )
    found = block.columns["h_re"][0] + 1j * block.columns["h_im"][0]
    grid = np.asarray(sketch.coordinates[0].values)
    known = strain(grid + PEAK, 1.3)
    peak = int(np.argmax(np.abs(known)))
    assert abs(grid[np.argmax(np.abs(found))]) < 0.6
    shift = grid[peak]
    known = strain(grid + PEAK + shift, 1.3)
    known *= np.exp(-1j * np.angle(known[1000]))
    assert np.abs(found - known).max() < 0.02 * np.abs(known).max()
    assert abs(found[1000].imag) < 1e-9


@pytest.mark.parametrize(
    ("change", "table", "says"),
    [
        ({"spin1x": 0.3}, {}, "spin of 0.3 in the orbit's plane"),
        ({"mass1": -1.0}, {}, "masses of"),
        ({}, {"mode": [3, 3]}, "no spline 'amp_l3_m3'; its modes are amp_l2_m2"),
        ({}, {"before": 900.0}, "-900.* are asked for. Ask for less"),
        ({}, {"inputs": ["spin"]}, "'spin' is no input"),
    ],
)
def test_what_cannot_be_used_is_told(tmp_path, change, table, says):
    with pytest.raises(SourceError, match=says):
        read(write(tmp_path / "a.h5", **change), **table)


def test_damage_is_told(tmp_path):
    with h5py.File(write(tmp_path / "a.h5"), "a") as file:
        del file.attrs["mass1"]
    with pytest.raises(SourceError, match="no attribute 'mass1'"):
        read(tmp_path / "a.h5")
    with h5py.File(write(tmp_path / "b.h5"), "a") as file:
        file["amp_l2_m2/X"][5] = 1e9
    with pytest.raises(SourceError, match="knots must rise"):
        read(tmp_path / "b.h5")
    (tmp_path / "c.h5").write_bytes(b"nothing")
    with pytest.raises(SourceError, match="cannot be read as HDF5"):
        read(tmp_path / "c.h5")


def test_waveforms_are_ingested(tmp_path):
    (tmp_path / "old").mkdir()
    for number, ratio in enumerate(np.linspace(1.0, 2.0, 8)):
        write(tmp_path / "old" / f"{number}.h5", float(ratio))
    write(tmp_path / "old" / "tilted.h5", spin2y=0.2)
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    told = ingest(
        tmp_path / "w", [tmp_path / "old"], load_layout(None, "lvcnr"), campaign=load_campaign(tmp_path / "c.toml"),
        progress=Silent(),
    )  # fmt: skip
    assert (told.tally.taken, told.tally.kinds) == (8, {"wrong_inputs": 1})
    table = Dataset.open(tmp_path / "w" / "dataset").load_all()
    assert table.columns["h_re"].shape == (8, 1151)
    assert sorted(table.columns["mass_ratio"]) == pytest.approx(np.linspace(1.0, 2.0, 8))
