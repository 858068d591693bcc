"""Records, run lists and verdicts that were altered are found; lineage and names lead to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.registry.store import Registry
from tests.support.toy_registry import lineage_of, verdict_on


def test_lineage_reaches_back_to_the_first(registry: Registry, artifacts: list[Path]):
    first = registry.add(artifacts[0], lineage_of())
    second = registry.add(artifacts[1], lineage_of(parent=first, origin="trained"))
    third = registry.add(artifacts[2], lineage_of(parent="f" * 16, origin="imported from elsewhere"))
    chain = registry.lineage(second)
    assert [entry["version"] for entry in chain] == [second, first]
    record = chain[0]["record"]
    assert record["runs"]["count"] == 2
    assert registry.run_ids(second) == ["a" * 32, "b" * 32]
    assert record["launch_lines"] == ["mpiexec -n 2 python -m mpi4py solver.py"]
    assert record["code"]["solver"] == "1.0"
    assert "surrogate" in record["code"]
    assert registry.lineage(third)[1] == {"version": "f" * 16, "missing": True}


def test_versions_are_found_by_their_beginning(
    registry: Registry, artifacts: list[Path], monkeypatch: pytest.MonkeyPatch
):
    version = registry.add(artifacts[0], lineage_of())
    assert registry.resolve(version[:4]) == ("waves", version)
    with pytest.raises(ConfigError, match="'abc' is too short to name a version"):
        registry.resolve("abc")
    with pytest.raises(ConfigError, match="Did you mean"):
        registry.resolve(version[:-1] + "z")
    monkeypatch.setattr(Registry, "versions", lambda self, name: ["1234aaaa", "1234bbbb"])
    with pytest.raises(ConfigError, match="'1234' could be 1234aaaa of waves, 1234bbbb of waves"):
        registry.resolve("1234")


def test_a_damaged_record_is_listed_as_such_and_refused(registry: Registry, artifacts: list[Path]):
    good, bad = (registry.add(artifact, lineage_of()) for artifact in artifacts[:2])
    path = registry.artifact(bad).parent / "record.json"
    path.chmod(0o644)
    content = path.read_text()
    for text, sentence in (
        (
            content.replace('"solver": "1.0"', '"solver": "1.1"'),
            "damaged or was altered: its content belongs to version",
        ),
        (content[: len(content) // 2], "damaged: it is not JSON"),
        ("[]", "no record of a version"),
        (content.replace('"format": 1', '"format": 9'), "newer version of this program"),
    ):
        path.write_text(text)
        with pytest.raises(IntegrityError, match=sentence) as refused:
            registry.artifact(bad)
        assert str(path) in str(refused.value)
        states = {line.version: line.state for line in registry.list()}
        assert states == {good: "candidate", bad: "damaged"}
    path.unlink()
    with pytest.raises(IntegrityError, match=r"record\.json is missing.*surrogate registry list"):
        registry.artifact(bad)


def test_every_damaged_byte_of_a_record_is_found_or_harmless(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    path = registry.artifact(version).parent / "record.json"
    path.chmod(0o644)
    whole, truth = path.read_bytes(), registry.verify(version)
    for offset in range(0, len(whole), 16):
        flipped = bytearray(whole)
        flipped[offset] ^= 0x01
        for damaged in (bytes(flipped), whole[:offset]):
            path.write_bytes(damaged)
            sentence, found = "", truth
            try:
                found = registry.verify(version)
            except IntegrityError as error:
                sentence = str(error)
            assert found == truth, offset
            assert sentence == "" or (str(path) in sentence and "restore" in sentence), sentence


def test_a_registry_that_cannot_be_written_is_said(artifacts: list[Path], tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ConfigError, match=r"cannot be written.*name another with --registry"):
        Registry(tmp_path / "file").add(artifacts[0], lineage_of())


def test_an_altered_run_list_is_found(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    runs = registry.artifact(version).parent / "runs.txt"
    runs.chmod(0o644)
    runs.write_text("c" * 32 + "\n")
    with pytest.raises(IntegrityError, match="lists the runs behind version"):
        registry.run_ids(version)


def test_an_altered_verdict_is_found(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    entry = registry.promote(version, verdict_on(version))
    path = registry.root / "waves" / entry.verdict
    path.write_text(path.read_text().replace("0.5", "0.1"))
    with pytest.raises(IntegrityError, match=r"verdict .* is missing or was altered"):
        registry.show(version)
