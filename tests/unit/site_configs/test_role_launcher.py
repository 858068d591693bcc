"""A program belongs to the MPI that it was built with: a role may have a launcher of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_configs.load import find_site, is_found_everywhere, load_site
from surrogate.core.errors import ConfigError, SiteError


def site_file(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "laptop.toml"
    path.write_text(text)
    return path


def mpiexec(path: Path, says: str) -> Path:
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_simulations_have_their_own_and_training_keeps_the_site_s(tmp_path):
    other = mpiexec(tmp_path / "mpiexec.openmpi", "mpiexec (OpenRTE) 4.1.4")
    path = site_file(tmp_path / "c", f'scheduler = "local"\n[roles.simulate.launcher]\nmpiexec = "{other}"\n')
    site = load_site("laptop", [path.parent])
    assert site.find_launcher("simulate").mpiexec == str(other)
    assert site.find_launcher("simulate").dialect == "openmpi"
    assert site.find_launcher("train").mpiexec == site.find_launcher().mpiexec != str(other)


def test_a_launcher_that_is_not_there_is_told_for_its_role_only(tmp_path):
    path = site_file(tmp_path / "c", '[roles.simulate.launcher]\nmpiexec = "/no/such/mpiexec"\n')
    site = load_site(path)
    assert site.find_launcher("train")
    with pytest.raises(SiteError, match="/no/such/mpiexec"):
        site.find_launcher("simulate")


def test_a_site_beside_the_campaign_is_found_there_only(tmp_path):
    path = site_file(tmp_path / "c", 'scheduler = "local"\n')
    assert find_site("laptop", [path.parent]) == path
    assert not is_found_everywhere(path)
    assert is_found_everywhere(find_site("laptop"))
    with pytest.raises(ConfigError, match="does not exist"):
        find_site(tmp_path / "other.toml")
