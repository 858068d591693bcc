"""A file that is cut, altered or overwritten at every 64th byte is told by name with a way out, or says the same."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sim_wrappers.folders import read_receipt as workers_receipt
from surrogate.core.errors import IntegrityError, SurrogateError
from surrogate.core.files import sha256_file
from surrogate.core.outcome import FailureKind
from surrogate.data.dataset import Dataset
from surrogate.data.quarantine import Quarantine, Refused
from surrogate.data.run_file import read_run_file
from surrogate.inference.artifact import open_artifact
from surrogate.registry.history import History
from surrogate.registry.store import Registry
from surrogate.training.checkpoint import CheckpointFolder, pack, unpack
from surrogate.training.config import TrainConfig
from surrogate.training.job import TrainingJob, read_job, write_job
from surrogate.validation.holdout import record_consultation
from surrogate.validation.verdict import Verdict
from tests.support import toy_surrogate as toy
from tests.support.books import leave_failure, leave_success, request
from tests.support.runs import fill, write_run
from tests.support.toy_registry import lineage_of, verdict_on
from workflows.adoption import read_receipt, run_folder
from workflows.driver import facts
from workflows.workspace import Workspace

WAY_OUT = re.compile(
    r"[Rr]estore|[Rr]emove|[Rr]esume|[Rr]un the campaign|[Tt]rain it again|surrogate validate|[Dd]elete|again"
)
EVERY = 64


class Case(NamedTuple):
    """A file that is damaged, and what reads it; None means that the reader goes on as if there were none."""

    path: Path
    read: Callable[[], Any]
    repaired: bool = False


def arrays(content: bytes | None) -> Any:
    return None if content is None else {key: value.tolist() for key, value in unpack(content, "x").arrays.items()}


def a_receipt_of_a_success(folder: Path) -> Case:
    one = request(1)
    leave_success(folder, one)
    path = run_folder(folder, one.run_id) / "receipt.json"
    both = lambda: (read_receipt(folder, one.run_id), workers_receipt(one, path.parent, folder))  # noqa: E731
    return Case(path, lambda: None if both() == (None, None) else both(), repaired=True)


def a_receipt_of_a_failure(folder: Path) -> Case:
    one = request(1)
    leave_failure(folder, one, FailureKind.UNCONVERGED, remedy="smaller_steps", details={"remedies": []})
    path = run_folder(folder, one.run_id) / "receipt.json"
    return Case(path, lambda: read_receipt(folder, one.run_id), repaired=True)


def a_run_file(folder: Path) -> Case:
    path = write_run(folder, 3, samples=2)
    return Case(path, lambda: list(read_run_file(path).columns["label"]))


def a_shard(folder: Path) -> Case:
    fill(folder / "d", [0, 1, 2], folder)
    return Case(next((folder / "d/shards").iterdir()), lambda: Dataset.open(folder / "d", "hash").hash)


def a_manifest(folder: Path) -> Case:
    fill(folder / "d", [0, 1, 2], folder)
    return Case(folder / "d/manifest.json", lambda: Dataset.open(folder / "d").hash)


def a_quarantine(folder: Path) -> Case:
    quarantine = Quarantine(folder)
    for number in range(3):
        quarantine.add(Refused(f"{number}" * 32, FailureKind.NOT_FINITE, "It is not finite.", {"a": number / 3}))
    whole = quarantine.entries()

    def read() -> Any:
        found = Quarantine(folder).entries()
        # A last line without its end never counted: the run is refused once more by whoever takes it in.
        return None if found == whole[: len(found)] and len(found) < len(whole) else found

    return Case(folder / "quarantine.jsonl", read, repaired=True)


def a_checkpoint(folder: Path) -> Case:
    path = CheckpointFolder(folder).save(pack({"w": np.arange(64.0)}, {"epoch": 1}))
    return Case(path, lambda: arrays(CheckpointFolder(folder).newest()[0]))


def a_finished_member(folder: Path) -> Case:
    CheckpointFolder(folder).save_member(0, pack({"w": np.arange(64.0)}, {"epoch": 1}))
    return Case(folder / "member-000.ckpt", lambda: arrays(CheckpointFolder(folder).member(0)), repaired=True)


def a_training_job(folder: Path) -> Case:
    job = TrainingJob(
        dataset="d", dataset_hash="d" * 64, split={}, family="mlp", members=3, train=TrainConfig(epochs=123)
    )  # fmt: skip
    write_job(folder / "job.json", job)
    return Case(folder / "job.json", lambda: read_job(folder / "job.json").key())


def a_verdict(folder: Path) -> Case:
    verdict_on("a" * 16).write(folder / "verdict.json")
    return Case(folder / "verdict.json", lambda: Verdict.read(folder / "verdict.json").to_json())


def a_count_of_looks(folder: Path) -> Case:
    path, kept = folder / "holdout.json", folder / "kept"
    for version in ("a", "b", "a"):
        record_consultation(path, salt="s", version=version, dataset_hash="d")

    def read() -> Any:
        shutil.copyfile(path, kept)
        try:
            found = record_consultation(path, salt="s", version="c", dataset_hash="d")
            return found.times, found.surrogates
        finally:
            shutil.copyfile(kept, path)

    return Case(path, read)


def the_facts_of_a_workspace(folder: Path) -> Case:
    from surrogate.core.checked import write_checked

    workspace = Workspace(folder)
    record = {"format": 1, "campaign": "small", "identity": {"seed": 3, "design": {"runs": 40}}, "site": "laptop"}
    write_checked(workspace.facts_file, record)
    return Case(workspace.facts_file, lambda: facts(workspace))


def registered(folder: Path) -> tuple[Registry, str]:
    artifact = toy.write_artifact(folder / "a", toy.table(40, seed=1), toy.table(20, seed=2), degree=1, members=1)
    registry = Registry(folder / "registry")
    version = registry.add(artifact, lineage_of())
    registry.promote(version, verdict_on(version))
    return registry, version


def a_record_of_the_registry(folder: Path) -> Case:
    registry, version = registered(folder)
    return Case(registry.artifact(version).parent / "record.json", lambda: registry.verify(version))


def a_list_of_runs_of_the_registry(folder: Path) -> Case:
    registry, version = registered(folder)
    return Case(registry.artifact(version).parent / "runs.txt", lambda: registry.verify(version))


def a_history_of_the_registry(folder: Path) -> Case:
    registry, _ = registered(folder)
    whole = History(registry.root / "waves").read()
    return Case(registry.root / "waves/history.jsonl", lambda: [*History(registry.root / "waves").read()] == whole)


def what_is_current(folder: Path) -> Case:
    registry, version = registered(folder)
    path = registry.root / "waves/current.json"
    return Case(path, lambda: (registry.current("waves"), version in path.read_text()))


def a_verdict_of_the_registry(folder: Path) -> Case:
    registry, version = registered(folder)
    return Case(next((registry.root / "waves/verdicts").iterdir()), lambda: registry.show(version)["verdict"])


def artifact_file(name: str) -> Callable[[Path], Case]:
    def make(folder: Path) -> Case:
        artifact = toy.write_artifact(folder / "a", toy.table(40, seed=1), toy.table(20, seed=2), degree=1, members=1)
        return Case(artifact / name, lambda: open_artifact(artifact).content)

    return make


CASES: dict[str, Callable[[Path], Case]] = {
    make.__name__.replace("_", " "): make
    for make in (
        a_receipt_of_a_success, a_receipt_of_a_failure, a_run_file, a_shard, a_manifest, a_quarantine, a_checkpoint,
        a_finished_member, a_training_job, a_verdict, a_count_of_looks, the_facts_of_a_workspace,
        a_record_of_the_registry, a_list_of_runs_of_the_registry, a_history_of_the_registry, what_is_current,
        a_verdict_of_the_registry,
    )
} | {
    f"{name} of an artifact": artifact_file(name)
    for name in ("artifact.json", "surrogate.json", "member-000.onnx", "transforms.npz", "transforms.json",
                 "domain.npz")
}  # fmt: skip


def damages(whole: bytes, place: int) -> list[bytes]:
    """Cut, one bit altered, a digit altered, a block of zeros."""
    flipped, shifted = bytearray(whole), bytearray(whole)
    flipped[place] ^= 0x40
    shifted[place] ^= 0x01
    return [whole[:place], bytes(flipped), bytes(shifted), whole[:place] + bytes(EVERY) + whole[place + EVERY :]]


@pytest.mark.parametrize("name", CASES)
def test_damage_is_told_or_repaired_or_harmless(name: str, tmp_path: Path) -> None:
    case = CASES[name](tmp_path)
    whole, truth = case.path.read_bytes(), case.read()
    case.path.chmod(0o644)
    for place in range(0, len(whole), EVERY):
        for content in damages(whole, place):
            if content == whole:
                continue
            case.path.write_bytes(content)
            told, found = "", None
            try:
                found = case.read()
            except SurrogateError as error:
                told = str(error)
            if told:
                assert case.path.name in told, (place, told)
                assert WAY_OUT.search(told), (place, told)
            else:
                assert found == truth or (case.repaired and found is None), (place, found)
            case.path.write_bytes(whole)


def test_the_hash_of_a_file_tells_what_its_time_does_not(tmp_path: Path) -> None:
    import os

    fill(tmp_path / "d", [0, 1, 2], tmp_path)
    shard = next((tmp_path / "d/shards").iterdir())
    status, before = shard.stat(), sha256_file(shard)
    content = bytearray(shard.read_bytes())
    content[-1] ^= 1
    shard.write_bytes(content)
    os.utime(shard, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert sha256_file(shard) != before
    with pytest.raises(IntegrityError, match=r"is damaged.*resume the campaign"):
        Dataset.open(tmp_path / "d", "hash")
