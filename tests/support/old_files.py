"""Old output of a code that nobody runs any more: HDF5 files in a layout of their own, one sample a file or many."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np

from workflows.config import CampaignConfig, load_campaign
from workflows.ingest.layout import Layout, load_layout

MAPPING = """
format = "hdf5"
sample_axis = "file"
[inputs.nu]
attribute = "viscosity"
[inputs.amp]
path = "setup/params"
index = [0]
unit_in_file = "mm"
unit = "m"
low = 0.5
high = 6
[outputs.u]
path = "res/u"
unit = "m"
dims = ["x"]
[coordinates.x]
path = "grid/x"
unit = "m"
"""
CAMPAIGN = """
schema_version = 1
name = "old"
[data]
[split]
tune = 0.2
holdout = 0.3
minimum = { train = 8, tune = 3, holdout = 5 }
[model]
members = 1
[train]
epochs = 60
[gate.metrics]
relative_l2_median = { max = 0.9 }
"""
X = np.linspace(0.0, 100.0, 9)


def points(count: int, seed: int = 3) -> list[tuple[float, float]]:
    """Return viscosities and amplitudes (m)."""
    random = np.random.default_rng(seed)
    return [(float(random.uniform(0.1, 2.0)), float(random.uniform(1.0, 5.0))) for _ in range(count)]


def write_case(path: Path, nu: float, amp: float, **changes: object) -> Path:
    """Write one file: lengths in mm, the amplitude in an array of parameters, the viscosity as an attribute."""
    path.parent.mkdir(parents=True, exist_ok=True)
    u = 1000.0 * amp * np.exp(-nu * X / 50.0)
    with h5py.File(path, "w") as file:
        file.attrs["viscosity"] = nu
        file["setup/params"] = np.asarray([1000.0 * amp, 7.0])
        file["grid/x"], file["res/u"] = changes.get("x", X), changes.get("u", u)
        for name in ("grid/x", "res/u"):
            file[name].attrs["units"] = "mm"
    return path


def write_cases(folder: Path, count: int, seed: int = 3) -> list[Path]:
    """Write a folder of such files."""
    return [write_case(folder / f"case_{i:04d}.h5", *point) for i, point in enumerate(points(count, seed))]


def write_texts(folder: Path, campaign: str = CAMPAIGN, mapping: str = MAPPING) -> tuple[CampaignConfig, Layout]:
    """Write campaign and mapping, and read them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "old.toml").write_text(campaign)
    (folder / "mapping.toml").write_text(mapping)
    return load_campaign(folder / "old.toml"), load_layout(folder / "mapping.toml")
