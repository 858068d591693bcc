"""The batch scripts and launch lines of every shipped site, word for word."""

from __future__ import annotations

import re

import pytest

from site_configs.load import read_site
from tests.support.golden_sites import FOLDER, SHIPPED, rendered, shipped_sites

pytestmark = pytest.mark.parsl
RENEW = "If the change was meant: python -m tests.support.golden_sites, and read the difference."


def test_every_site_has_a_file():
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == shipped_sites(), RENEW


@pytest.mark.parametrize("name", shipped_sites())
def test_scripts_and_lines_are_the_same(name):
    assert rendered(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8"), RENEW


@pytest.mark.parametrize("name", shipped_sites())
def test_the_account_is_the_only_placeholder(name):
    text = (SHIPPED / f"{name}.toml").read_text(encoding="utf-8")
    assert not re.search(r"<\w+>|\bchange|todo|your[_-]", text, re.IGNORECASE)
    assert set(re.findall(r"\{(\w+)\}", text)) <= {
        "account", "ranks", "ranks_per_node", "cores_per_rank", "hosts",
    }  # fmt: skip
    site = read_site(SHIPPED / f"{name}.toml")
    if site.scheduler != "local" and not name.startswith("slurm"):
        assert re.search(r"https://\S+$", site.guide)
        assert site.account is None
