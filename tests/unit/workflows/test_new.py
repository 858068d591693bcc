"""New campaigns: whole and valid, or nothing and a sentence."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError
from surrogate.core.identity import point_hash
from tests.support.fortran import fortran_mpi
from workflows.cli import main
from workflows.config import load_campaign
from workflows.fortran_mpi import find_fortran_mpi
from workflows.learning_checks import check_learning, find_family
from workflows.new import new_campaign, templates
from workflows.plan import find_simulator, make_plan


def plan_of(folder: Path):
    campaign = load_campaign(folder / "campaign.toml")
    plan = make_plan(campaign, find_simulator(campaign))
    check_learning(campaign, find_family(campaign), plan.schema)
    return plan


def test_the_templates_say_what_they_are():
    assert list(templates()) == ["fortran-mpi", "python-mpi", "shell"]
    assert all(text.endswith(".") for text in templates().values())


@pytest.mark.parametrize("template", ["python-mpi", "shell"])
def test_a_new_campaign_is_a_valid_plan_named_like_its_folder(tmp_path, template):
    made = new_campaign(tmp_path / "deep" / "my waves!", template)
    assert made.name == "my-waves"
    plan = plan_of(made.folder)
    assert plan.campaign.name == "my-waves"
    assert plan.campaign.intended_use
    point = plan.space.canonicalise({k: float(v) for k, v in (pair.split("=") for pair in made.example)})
    assert plan.space.contains(point)
    assert all("@" not in path.read_text() for path in made.folder.iterdir())
    assert "surrogate predict my-waves" in (made.folder / "README.md").read_text()
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["my waves!"]


@pytest.mark.parametrize(("name", "told"), [("my rod", "cd 'my rod'\n"), ("-x", "cd ./-x\n"), ("rod", "cd rod\n")])
def test_the_commands_can_be_pasted(tmp_path, monkeypatch, capsys, name, told):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "--template", "shell", "--", name]) == 0
    assert told in capsys.readouterr().out


def test_the_fortran_campaign_is_short_and_its_program_is_built(tmp_path):
    mpi = fortran_mpi()
    said = []
    made = new_campaign(tmp_path / "heat", "fortran-mpi", report=said.append)
    assert made.name == "heat-campaign", "a file of the template is called heat"
    assert os.access(made.folder / "heat", os.X_OK)
    assert len((made.folder / "campaign.toml").read_text().splitlines()) <= 30
    assert not list(made.folder.glob("*.py")), "no Python to write"
    assert str(mpi.mpiexec) in (made.folder / "laptop.toml").read_text()
    assert str(mpi.compiler) in said[0]
    assert plan_of(made.folder).options["mpi"] is True


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "x").mkdir()
    new_campaign(tmp_path / "x", "shell")
    before = sorted(path.name for path in (tmp_path / "x").iterdir())
    for taken in (tmp_path / "x", tmp_path / "x" / "README.md"):
        with pytest.raises(ConfigError, match="exists and is not empty"):
            new_campaign(taken, "python-mpi")
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == before


@pytest.mark.parametrize(("template", "hint"), [("fortran", "fortran-mpi"), ("python", "python-mpi")])
def test_an_unknown_template_is_refused_with_the_nearest(tmp_path, template, hint):
    with pytest.raises(ConfigError, match=f"there are fortran-mpi, python-mpi, shell. Did you mean '{hint}'"):
        new_campaign(tmp_path / "x", template)


def script(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"No Fortran compiler for MPI \(mpif90.*apt-get install gfortran"):
        new_campaign(tmp_path / "x", "fortran-mpi")
    script(tmp_path / "mpif90")
    with pytest.raises(ConfigError, match=r"no mpiexec beside it.*apt-get install gfortran"):
        new_campaign(tmp_path / "x", "fortran-mpi")
    script(tmp_path / "mpiexec")
    with pytest.raises(ConfigError, match=r"'make' was not found.*apt-get install gfortran"):
        new_campaign(tmp_path / "x", "fortran-mpi")
    assert not (tmp_path / "x").exists()


def test_a_failed_build_leaves_nothing_behind(tmp_path, monkeypatch):
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not installed. Install it: apt-get install make")
    tools = tmp_path / "tools"
    script(tools / "mpif90", "echo gfortran: not found >&2; exit 1")
    script(tools / "mpiexec")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{Path(make).parent}")
    with pytest.raises(ConfigError, match=r"could not build the program; it said: .*gfortran: not found"):
        new_campaign(tmp_path / "made" / "x", "fortran-mpi")
    assert not list((tmp_path / "made").iterdir())


def test_compiler_and_launcher_are_of_one_mpi(tmp_path):
    bin_ = tmp_path / "bin"
    wrapper = script(bin_ / "opal_wrapper")
    (bin_ / "mpif90.openmpi").symlink_to(wrapper)
    alternatives = tmp_path / "alternatives"
    alternatives.mkdir()
    (alternatives / "mpif90").symlink_to(bin_ / "mpif90.openmpi")
    (bin_ / "mpif90").symlink_to(alternatives / "mpif90")
    script(bin_ / "mpiexec")  # may belong to another
    script(bin_ / "mpif90.mpich")
    script(bin_ / "mpiexec.mpich")
    found = find_fortran_mpi(str(bin_))
    assert (found.compiler.name, found.mpiexec.name) == ("mpif90.mpich", "mpiexec.mpich")
    script(bin_ / "mpiexec.openmpi")
    found = find_fortran_mpi(str(bin_))
    assert (found.compiler, found.mpiexec) == (bin_ / "mpif90.openmpi", bin_ / "mpiexec.openmpi")


def test_a_module_s_own_folder_has_both(tmp_path):
    script(tmp_path / "wheel" / "mpiexec")
    compiler, launcher = script(tmp_path / "hpc" / "mpifort"), script(tmp_path / "hpc" / "mpirun")
    found = find_fortran_mpi(f"{tmp_path / 'wheel'}{os.pathsep}{tmp_path / 'hpc'}")
    assert (found.compiler, found.mpiexec) == (compiler, launcher)


@pytest.mark.parametrize("template", ["python-mpi", "shell"])
def test_no_name_that_people_give_leaves_a_split_too_small(tmp_path, template):
    plan = plan_of(new_campaign(tmp_path / "first", template).folder)
    keys = [point_hash(run.request.inputs) for run in plan.runs]
    for name in [*"abcdefghijklmnopqrstuvwxyz", *(f"exp{n}" for n in range(60)), "rod", "my-waves", "test", "heat2"]:
        splits = replace(plan.splits, salt=f"{name}:1")
        assert not splits.too_few(splits.count([""] * len(keys), keys)), name
