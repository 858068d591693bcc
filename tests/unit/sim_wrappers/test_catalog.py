"""Simulators are found by entry points, those of other distributions, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sim_wrappers import catalog
from surrogate.core.errors import ConfigError

MODULE = """
from sim_wrappers.scripted.adapter import Scripted

class Foreign(Scripted):
    name = "foreign"

SIMULATOR = Foreign()
NOT_ONE = object()
"""


@pytest.fixture
def distribution(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another distribution on sys.path: one good simulator, and some that are broken in one way each."""
    module = f"foreign_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    (tmp_path / f"{module}_bad.py").write_text("raise RuntimeError('licence server is down')\n")
    info = tmp_path / "foreign_code-2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign-code\nVersion: 2.5\n")
    (info / "entry_points.txt").write_text(
        "[surrogate.simulators]\n"
        f"foreign = {module}:SIMULATOR\n"
        f"renamed = {module}:SIMULATOR\n"
        f"raising = {module}_bad:SIMULATOR\n"
        f"absent = {module}_none:SIMULATOR\n"
        f"nameless = {module}:NO_SUCH_NAME\n"
        f"shapeless = {module}:NOT_ONE\n"
        f"scripted = {module}:SIMULATOR\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(catalog, "_known", {})
    return tmp_path


def test_the_shipped_simulators_are_there() -> None:
    found = catalog.simulators()
    assert {"buckley_leverett", "scripted"} <= set(found)
    assert len(found) == len(list(found))
    assert list(found) == sorted(found)
    for name, simulator in found.items():
        assert simulator.name == name


def test_an_unknown_name_is_a_sentence_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no simulator 'buckley_leveret'.*Did you mean 'buckley_leverett'\?"):
        catalog.get("buckley_leveret")
    assert "nothing_like_it" not in catalog.simulators()


def test_the_same_object_is_returned_every_time() -> None:
    assert catalog.get("scripted") is catalog.get("scripted") is catalog.simulators()["scripted"]


def test_another_distribution_brings_one(distribution: Path) -> None:
    assert catalog.get("foreign").check_options({})["length"] == 16
    assert "foreign" in catalog.simulators()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("renamed", "calls itself 'foreign'"),
        ("raising", "RuntimeError: licence server is down"),
        ("absent", "ModuleNotFoundError"),
        ("nameless", "AttributeError"),
        ("shapeless", "is no simulator"),
        ("scripted", "is offered by foreign-code and surrogate-hpc"),
    ],
)
def test_a_broken_one_is_a_sentence_and_harms_no_other(distribution: Path, name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        catalog.get(name)
    assert "foreign-code" in str(caught.value)
    assert catalog.get("buckley_leverett").name == "buckley_leverett"
    assert set(catalog.broken()) == {"renamed", "raising", "absent", "nameless", "shapeless", "scripted"}


def test_looking_one_up_loads_no_other_and_nothing_heavy() -> None:
    code = (
        "import sys; from sim_wrappers import catalog; catalog.get('buckley_leverett'); catalog.simulators();"
        "print([name for name in ('tensorflow', 'keras', 'parsl', 'pandas', 'matplotlib', 'mpi4py.MPI', 'scipy',"
        "'sim_wrappers.scripted') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("program", "forbidden"),
    [
        ("buckley_leverett.solver", ("scipy", "pydantic", "pint", "h5py", "importlib.metadata", "surrogate.design")),
        ("scripted.program", ("numpy", "mpi4py", "h5py", "hashlib")),
    ],
)
def test_what_starts_with_every_run_imports_little(program: str, forbidden: tuple[str, ...]) -> None:
    code = f"import sys, sim_wrappers.{program}; print([name for name in {forbidden} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
