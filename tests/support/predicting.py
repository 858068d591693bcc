"""A working directory with a promoted surrogate that needs no training and no TensorFlow, for whole commands."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from surrogate.registry.store import Registry
from tests.support import toy_surrogate as toy
from tests.support.toy_registry import lineage_of, verdict_on
from workflows.config import load_campaign
from workflows.described import Description
from workflows.driver import prepare
from workflows.existing_data import data_plan

ROOT = Path(__file__).parents[2]
CAMPAIGN = """
schema_version = 1
name = "toy"
[data]
[model]
family = "toy"
[gate.metrics]
error = { max = 1.0 }
"""
FAMILY = "[surrogate.families]\ntoy = tests.support.toy_surrogate:FAMILY\n"


def write_workdir(folder: Path, *, degree: int = 4) -> Path:
    """Write a working directory; the surrogate has the inputs speed and width."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy.toml").write_text(CAMPAIGN)
    campaign = load_campaign(folder / "toy.toml")
    prepare(data_plan(campaign, Description(toy.SPACE, toy.SCHEMA)), folder / "w", "laptop")
    artifact = toy.write_artifact(folder / "artifact", toy.table(60, seed=1), toy.table(30, seed=2), degree=degree)
    registry = Registry(folder / "w" / "registry")
    version = registry.add(artifact, lineage_of("toy"))
    registry.promote(version, verdict_on(version))
    return folder / "w"


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which commands and workers know the family, as that of another distribution."""
    known = folder / "distribution" / "toy_family-1.0.dist-info"
    known.mkdir(parents=True, exist_ok=True)
    (known / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-family\nVersion: 1.0\n")
    (known / "entry_points.txt").write_text(FAMILY)
    return {**os.environ, "PYTHONPATH": f"{known.parent}{os.pathsep}{ROOT}"}


def write_points(path: Path, rows: int, seed: int = 5) -> Path:
    """Write a table of points; some of them lie outside of the domain."""
    random = np.random.default_rng(seed)
    speed, width = random.uniform(0.4, 2.0, rows), 10 ** random.uniform(-1, 1, rows)
    lines = (f"{a!r},{b!r}" for a, b in zip(speed.tolist(), width.tolist(), strict=True))
    path.write_text("speed,width\n" + "\n".join(lines) + "\n")
    return path
