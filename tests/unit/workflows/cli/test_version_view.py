"""Versions as a person is shown them."""

from __future__ import annotations

import pytest

from surrogate.registry.store import Registry
from tests.support import toy_surrogate as toy
from tests.support.toy_registry import lineage_of, verdict_on
from workflows.cli import main
from workflows.cli.version_view import version_lines


@pytest.fixture
def registry(tmp_path) -> tuple[Registry, str]:
    artifact = toy.write_artifact(tmp_path / "a", toy.table(40, seed=1), toy.table(20, seed=2), members=1, degree=2)
    made = Registry(tmp_path / "registry")
    version = made.add(artifact, lineage_of("old", run_ids=[f"{number:032x}" for number in range(500)]))
    made.promote(version, verdict_on(version), note="looked", approved_by="Ada")
    return made, version


def test_a_version_is_a_few_short_lines(registry):
    made, version = registry
    lines = list(version_lines(made.show(version)))
    assert max(map(len, lines)) < 250
    assert not [line for line in lines if "{" in line]
    text = "\n".join(lines)
    for words in (f"version          {version}", "state            current", "runs             500", "solver 1.0",
                  "approved by Ada: looked", "The surrogate passes its gate"):  # fmt: skip
        assert words in text


def test_an_ancestor_that_is_gone_is_named():
    assert list(version_lines({"version": "beef", "missing": True})) == [
        "version          beef, which is not in this registry"
    ]


def test_show_takes_the_beginning_of_a_name_and_says_how_much_of_it(registry, capsys):
    made, version = registry
    assert main(["registry", "show", version[:4], "--registry", str(made.root)]) == 0
    assert f"version          {version}" in capsys.readouterr().out
    assert main(["registry", "show", version[:2], "--registry", str(made.root)]) == 2
    told = capsys.readouterr().err
    assert f"'{version[:2]}' is too short to name a version: write at least 4 of its letters." in told
