"""Strain files: read, written, refused in sentences, and cut into windows of a dataset."""

from pathlib import Path

import h5py
import numpy as np
import pytest

from surrogate.core.errors import DataError
from surrogate.core.tables import validated_table
from surrogate.data.dataset import Dataset
from surrogate.data.readers.protocol import SourceError
from surrogate.signal.gwosc import file_name, read_strain, write_strain
from surrogate.signal.readers.gwosc import GWOSC
from surrogate.signal.strain import Strain
from tests.support.shared_data import shared_data
from workflows.config import load_campaign
from workflows.ingest.ingest import ingest
from workflows.ingest.layout import load_layout
from workflows.progress import Silent

RATE = 512
CAMPAIGN = """
schema_version = 1
name = "noise"
[data]
[model]
[gate.metrics]
relative_l2_median = { max = 0.9 }
"""


def noise(seconds=40, rate=RATE, start=1000.0, detector="H1"):
    random = np.random.default_rng(1)
    return Strain(1e-21 * random.standard_normal(seconds * rate), rate, start, detector)


def options(**table):
    return validated_table(GWOSC.options_type, table, "mapping.toml")


def windows(path: Path, **table):
    with GWOSC.open(path, options(**table)) as source:
        sketch = source.sketch()
        from surrogate.core.schema import Column, Schema

        schema = Schema((Column("gps", "input", "s"), *sketch.outputs), sketch.coordinates)
        blocks = [source.read(piece, schema) for piece in source.pieces]
    columns = {name: np.concatenate([block.columns[name] for block in blocks]) for name in ("gps", "strain")}
    return columns, [group for block in blocks for group in block.groups], sketch


def test_what_is_written_is_read(tmp_path):
    strain = noise()
    strain.data[5 * RATE + 3] = np.nan
    path = tmp_path / file_name(strain)
    assert path.name == "H-H1_SURROGATE-1000-40.hdf5"
    write_strain(path, strain, "a test")
    found = read_strain(path, rate=RATE, least_s=30.0)
    assert (found.rate, found.start, found.detector) == (RATE, 1000.0, "H1")
    assert not np.isfinite(found.data[5 * RATE : 6 * RATE]).any(), "a second with a hole is a second without data"
    keep = np.isfinite(found.data)
    assert keep.sum() == 39 * RATE
    np.testing.assert_array_equal(found.data[keep], strain.data[keep])
    with pytest.raises(DataError, match="whole GPS second"):
        write_strain(path, Strain(strain.data, RATE, 0.5))


def test_public_files_are_read():
    found = read_strain(shared_data("waveforms/H-H1_LOSC_4_V2-1126259446-32.hdf5"))
    assert (found.detector, found.rate, found.start, found.seconds) == ("H1", 4096, 1126259446.0, 32.0)
    assert np.isfinite(found.data).all()
    found = read_strain(shared_data("waveforms/o3a_real_noise_500s.hdf"))
    assert (found.rate, found.start, found.seconds) == (2048, 1238205077.0, 500.0)


def spoil(path, change):
    write_strain(path, noise())
    with h5py.File(path, "a") as file:
        change(file)
    return path


def no_spacing(file):
    del file["strain/Strain"].attrs["Xspacing"]


def odd_spacing(file):
    file["strain/Strain"].attrs["Xspacing"] = 0.0017


def short_mask(file):
    del file["quality/simple/DQmask"]
    file["quality/simple/DQmask"] = np.ones(7, dtype=np.uint32)


def no_strain(file):
    del file["strain/Strain"]


def nothing_there(file):
    file["quality/simple/DQmask"][...] = 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (no_spacing, "does not say its 'Xspacing'"),
        (odd_spacing, "a sample every 0.0017"),
        (short_mask, "quality mask of 7 seconds"),
        (no_strain, "no strain file of GWOSC's layout; it has meta, quality, strain"),
        (nothing_there, "no sample that is finite"),
    ],
)
def test_damaged_files_are_refused_in_a_sentence(tmp_path, change, says):
    with pytest.raises(SourceError, match=says):
        read_strain(spoil(tmp_path / "x.hdf5", change))


def test_other_files_are_refused_in_a_sentence(tmp_path):
    write_strain(tmp_path / "a.hdf5", noise(8))
    with pytest.raises(SourceError, match="512 samples a second, and 4096 are needed"):
        read_strain(tmp_path / "a.hdf5", rate=4096)
    with pytest.raises(SourceError, match=r"at most 8\.0 s without a gap, and 60 s are needed"):
        read_strain(tmp_path / "a.hdf5", least_s=60)
    (tmp_path / "b.hdf5").write_bytes((tmp_path / "a.hdf5").read_bytes()[:2000])
    for name in ("b.hdf5", "c.hdf5"):
        with pytest.raises(SourceError, match=r"cannot be read as HDF5|does not exist"):
            read_strain(tmp_path / name)


def test_windows_lie_inside_of_blocks_and_touch_no_gap(tmp_path):
    strain = noise()
    strain.data[10 * RATE : 11 * RATE] = np.nan
    write_strain(tmp_path / "a.hdf5", strain)
    columns, groups, sketch = windows(tmp_path / "a.hdf5", whiten=False, block_s=8.0, stride_s=0.5)
    assert sketch.outputs[0].shape == (RATE,)
    assert sketch.inputs["gps"]["unit"] == "s"
    for gps, row, group in zip(columns["gps"], columns["strain"], groups, strict=True):
        assert gps // 8 == (gps + 1 - 1e-9) // 8, "a window lies inside of its block"
        assert group == f"gps-{int(gps // 8)}"
        np.testing.assert_array_equal(row, strain.between(gps, gps + 1).data)
    assert not ((columns["gps"] > 1009) & (columns["gps"] < 1011)).any()
    assert len(groups) > 50


def test_whitened_windows_have_unit_variance_and_lower_rates_work(tmp_path):
    write_strain(tmp_path / "a.hdf5", noise(64, 1024))
    columns, _, sketch = windows(tmp_path / "a.hdf5", sample_rate=512, segment_s=2.0)
    assert sketch.outputs[0].shape == (512,)
    assert columns["gps"].min() >= 1000.5
    assert columns["gps"].max() <= 1064 - 1.5
    assert columns["strain"].std() == pytest.approx(np.sqrt(1 - 20 / 256), abs=0.06)
    for table, says in (
        ({"sample_rate": 4096}, "recorded at 1024 Hz and 4096 Hz"),
        ({"filter_s": 64.0}, "longer than the whitening filter"),
        ({"window_s": 12.0, "whiten": False, "block_s": 12.0}, None),
        ({"window_s": 16.0, "filter_s": 60.0}, "no window of 16.0 s without a gap"),
    ):
        if says is None:
            assert len(windows(tmp_path / "a.hdf5", **table)[1]) >= 3
        else:
            with pytest.raises(SourceError, match=says):
                windows(tmp_path / "a.hdf5", **table)


def test_strain_is_ingested(tmp_path):
    files = [tmp_path / "h.hdf5", tmp_path / "l.hdf5", tmp_path / "bad.hdf5"]
    write_strain(files[0], noise())
    write_strain(files[1], noise(48, start=2000.0, detector="L1"))
    files[2].write_bytes(b"nothing")
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    told = ingest(
        tmp_path / "w",
        files,
        load_layout(None, "gwosc"),
        campaign=load_campaign(tmp_path / "c.toml"),
        progress=Silent(),
    )
    assert told.tally.taken > 60
    assert told.tally.kinds == {"output_unreadable": 1}
    dataset = Dataset.open(tmp_path / "w" / "dataset")
    table = dataset.load_all()
    assert table.columns["strain"].shape == (told.tally.taken, RATE)
    assert len(set(table.groups)) >= 5
    write_strain(tmp_path / "other.hdf5", noise(40, 1024, 3000.0))
    told = ingest(tmp_path / "w", [tmp_path / "other.hdf5"], load_layout(None, "gwosc"), progress=Silent())
    assert told.tally.taken == 0
    assert "has 1024 samples a second, and the windows of this dataset have 512" in told.tally.reasons[0]["reason"]
