"""Versions, promotion and rollback."""

from __future__ import annotations

import multiprocessing
import shutil
import stat
from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError, InputError, IntegrityError
from surrogate.inference.predictor import Predictor
from surrogate.registry import store
from surrogate.registry.record import Lineage, environment, version_of
from surrogate.registry.store import Registry, resolve_registry
from tests.support import toy_surrogate as toy
from tests.support.toy_registry import lineage_of, verdict_on


def three_promoted(registry: Registry, artifacts: list[Path]) -> list[str]:
    versions = [registry.add(artifact, lineage_of()) for artifact in artifacts]
    for version in versions:
        registry.promote(version, verdict_on(version))
    return versions


def test_a_version_is_named_by_its_content(registry: Registry, artifacts: list[Path], tmp_path: Path):
    version = registry.add(artifacts[0], lineage_of())
    assert len(version) == 16
    assert registry.add(artifacts[0], lineage_of()) == version, "adding it again changes nothing"
    assert Registry(tmp_path / "other").add(artifacts[0], lineage_of()) == version, "the place is no part of it"
    assert registry.add(artifacts[1], lineage_of()) != version
    assert registry.add(artifacts[0], lineage_of(parent=version)) != version
    assert registry.add(artifacts[0], lineage_of(run_ids=["a" * 32])) != version
    assert len(registry.versions("waves")) == 4
    assert [entry["event"] for entry in registry.show(version)["events"]] == ["added"]


def test_a_version_can_be_used_and_not_written(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    answer = Predictor.load(registry.artifact(version), family=toy.FAMILY).predict({"speed": 1.0, "width": 1.0})
    assert answer.mean["height"].shape == (1, 4, 24)
    folder = registry.artifact(version).parent
    for path in [folder, *folder.rglob("*")]:
        assert not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH), path


def test_only_listed_files_are_taken(registry: Registry, artifacts: list[Path], tmp_path: Path):
    artifact = Path(shutil.copytree(artifacts[0], tmp_path / "artifact"))
    (artifact / "notes.txt").write_text("not of the artifact")
    version = registry.add(artifact, lineage_of())
    assert not (registry.artifact(version) / "notes.txt").exists()
    assert version == registry.add(artifacts[0], lineage_of())


def test_a_damaged_artifact_is_not_taken(registry: Registry, artifacts: list[Path], tmp_path: Path):
    artifact = Path(shutil.copytree(artifacts[0], tmp_path / "artifact"))
    (artifact / "transforms.json").write_text("{}")
    with pytest.raises(IntegrityError, match=r"transforms\.json was altered"):
        registry.add(artifact, lineage_of())
    assert registry.campaigns() == []


def test_an_interrupted_addition_leaves_nothing(
    registry: Registry, artifacts: list[Path], monkeypatch: pytest.MonkeyPatch
):
    def stop(*args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_json", stop)
        with pytest.raises(KeyboardInterrupt):
            registry.add(artifacts[0], lineage_of())
    assert registry.versions("waves") == []
    leftover = registry.root / "waves/versions/.adding-killed"
    leftover.mkdir()
    version = registry.add(artifacts[0], lineage_of())
    assert not leftover.exists()
    assert registry.verify(version)["family"] == "toy"


def test_nothing_is_current_before_a_verdict(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    assert registry.current("waves") is None
    entry = registry.promote(version, verdict_on(version), note="first")
    assert (entry.event, entry.previous, entry.note) == ("promoted", None, "first")
    assert registry.current("waves") == version
    assert registry.show(version)["verdict"]["passed"] is True


def test_a_failing_verdict_moves_nothing(registry: Registry, artifacts: list[Path]):
    first, second = (registry.add(artifact, lineage_of()) for artifact in artifacts[:2])
    registry.promote(first, verdict_on(first))
    with pytest.raises(InputError, match=r"is not promoted\. The surrogate fails its gate"):
        registry.promote(second, verdict_on(second, value=2.0))
    with pytest.raises(InputError, match="is not promoted"):
        registry.promote(second, verdict_on(second, value=float("nan")))
    registry.record_verdict(second, verdict_on(second, value=2.0))
    assert registry.current("waves") == first
    states = {line.version: line.state for line in registry.list()}
    assert states == {first: "current", second: "rejected"}


def test_a_verdict_on_another_version_moves_nothing(registry: Registry, artifacts: list[Path]):
    first, second = (registry.add(artifact, lineage_of()) for artifact in artifacts[:2])
    with pytest.raises(InputError, match=f"The verdict is about version {first}"):
        registry.promote(second, verdict_on(first))
    with pytest.raises(InputError, match="Validate this version"):
        registry.record_verdict(second, verdict_on(first))
    assert registry.current("waves") is None


@pytest.mark.parametrize(
    "case",
    [
        (2e-5, 1e-7, "is 2e-05"),
        (None, 3e-5, "is 3e-05"),
        (None, None, "was not measured"),
        (float("inf"), 0.0, "is inf"),
    ],
)
def test_onnx_that_differs_from_keras_is_not_promoted(
    registry: Registry, artifacts: list[Path], tmp_path: Path, case: tuple[float | None, float | None, str]
):
    measured, trained, sentence = case
    from surrogate.core.files import read_json, write_json

    artifact = Path(shutil.copytree(artifacts[0], tmp_path / "artifact"))
    record = read_json(artifact / "surrogate.json")
    write_json(artifact / "surrogate.json", {**record, "onnx_difference": trained})
    toy.write_manifest(artifact)
    version = registry.add(artifact, lineage_of())
    with pytest.raises(InputError, match=f"{sentence}, and at most 1e-05 is allowed"):
        registry.promote(version, verdict_on(version, onnx_difference=measured))
    assert registry.current("waves") is None


def test_a_version_damaged_since_is_not_promoted(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    network = registry.artifact(version) / "member-000.onnx"
    network.chmod(0o644)
    network.write_bytes(b"x")
    with pytest.raises(IntegrityError, match=r"member-000\.onnx was altered"):
        registry.promote(version, verdict_on(version))
    assert registry.current("waves") is None


def test_rollback_goes_back_one_promotion_at_a_time(registry: Registry, artifacts: list[Path]):
    first, second, third = three_promoted(registry, artifacts)
    entry = registry.rollback("waves", note="drifts")
    assert (entry.event, entry.version, entry.previous) == ("rolled_back", second, third)
    assert registry.current("waves") == second
    registry.rollback("waves")
    assert registry.current("waves") == first
    with pytest.raises(InputError, match=f"no earlier promoted version to go back to: {first} is the only one"):
        registry.rollback("waves")
    registry.promote(third, verdict_on(third))
    assert registry.current("waves") == third
    registry.rollback("waves")
    assert registry.current("waves") == first, "what was rolled back is not gone back to"


def test_rollback_to_a_named_version(registry: Registry, artifacts: list[Path]):
    first, second, third = three_promoted(registry, artifacts)
    with pytest.raises(InputError, match=f"A rollback can go to {second}, {first}"):
        registry.rollback("waves", to=third)
    registry.rollback("waves", to=first[:6])
    assert registry.current("waves") == first
    with pytest.raises(InputError, match="nothing was promoted yet"):
        registry.rollback("empty")


def test_rollback_to_a_damaged_version_is_refused(registry: Registry, artifacts: list[Path]):
    _, second, third = three_promoted(registry, artifacts)
    network = registry.artifact(second) / "member-000.onnx"
    network.chmod(0o644)
    network.write_bytes(b"x")
    with pytest.raises(IntegrityError, match="altered"):
        registry.rollback("waves")
    assert registry.current("waves") == third


def test_promoting_the_current_version_again_only_keeps_the_verdict(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    registry.promote(version, verdict_on(version))
    assert registry.promote(version, verdict_on(version, value=0.25)).event == "judged"
    assert registry.show(version)["verdict"]["metrics"] == {"error": 0.25}
    with pytest.raises(InputError, match="only one"):
        registry.rollback("waves")


def test_several_campaigns_do_not_touch_each_other(registry: Registry, artifacts: list[Path]):
    waves = registry.add(artifacts[0], lineage_of("waves"))
    winds = registry.add(artifacts[0], lineage_of("winds"))
    assert waves != winds
    registry.promote(waves, verdict_on(waves))
    assert registry.current("winds") is None
    assert registry.campaigns() == ["waves", "winds"]
    assert [line.campaign for line in registry.list()] == ["waves", "winds"]
    assert [line.campaign for line in registry.list("winds")] == ["winds"]


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "x" * 200, "a b"])
def test_a_name_that_no_folder_can_bear_is_refused(name: str):
    with pytest.raises(ConfigError, match="name in the registry"):
        lineage_of(name)


def test_approval_is_kept(registry: Registry, artifacts: list[Path]):
    version = registry.add(artifacts[0], lineage_of())
    registry.promote(version, verdict_on(version), approved_by="the reviewer", note="looked at the card")
    event = registry.show(version)["events"][-1]
    assert event["approved_by"] == "the reviewer"
    assert event["note"] == "looked at the card"
    assert "@" in event["by"]


def _promote_many(root: Path, versions: list[str], start: object) -> None:
    start.wait()
    for version in versions:
        Registry(root).promote(version, verdict_on(version))


def test_promotions_at_the_same_time_all_count(registry: Registry, artifacts: list[Path]):
    versions = [registry.add(artifact, lineage_of()) for artifact in artifacts]
    context = multiprocessing.get_context("fork")
    start = context.Event()
    workers = [
        context.Process(target=_promote_many, args=(registry.root, [version] * 4, start)) for version in versions
    ]
    for worker in workers:
        worker.start()
    start.set()
    for worker in workers:
        worker.join(timeout=60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    events = [entry for line in registry.list() for entry in registry.show(line.version)["events"]]
    assert sorted(entry["sequence"] for entry in events) == list(range(1, 3 + 12 + 1))
    assert registry.current("waves") in versions


def test_which_registry_is_meant(tmp_path: Path):
    assert resolve_registry(tmp_path / "a", tmp_path, {"SURROGATE_REGISTRY": "/b"}) == tmp_path / "a"
    assert resolve_registry(None, tmp_path, {"SURROGATE_REGISTRY": str(tmp_path / "b")}) == tmp_path / "b"
    assert resolve_registry(None, tmp_path, {}) == tmp_path / "registry"
    with pytest.raises(ConfigError, match="No registry was named"):
        resolve_registry(None, None, {})


def test_the_environment_names_what_decides_numbers():
    found = environment()
    assert found["numpy"]
    assert found["python"].startswith("3.")
    assert version_of({"a": 1}) == version_of({"a": 1}) != version_of({"a": 2})
    assert Lineage("c", "d").origin == "trained"


def test_an_empty_registry_is_no_error(registry: Registry):
    assert registry.campaigns() == []
    assert list(registry.list()) == []
    assert registry.current("waves") is None
    with pytest.raises(ConfigError, match="no version"):
        registry.show("1234567890abcdef")
