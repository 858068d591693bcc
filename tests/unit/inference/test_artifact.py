"""Nothing is loaded before every byte was checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from surrogate.core.checked import read_checked
from surrogate.core.errors import DataError, IntegrityError
from surrogate.core.files import read_json, write_json
from surrogate.inference.artifact import open_artifact, read_arrays
from surrogate.inference.predictor import Predictor
from tests.support import toy_surrogate as toy


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "artifact"))


def test_an_artifact_says_what_it_is(trained: Path):
    artifact = open_artifact(trained)
    assert artifact.family == "toy"
    assert artifact.schema == toy.SCHEMA
    assert artifact.space == toy.SPACE
    assert artifact.dataset_hash == "d" * 64
    assert artifact.onnx_difference == pytest.approx(2e-7)
    assert [path.name for path in artifact.members("onnx")] == [f"member-{i:03d}.onnx" for i in range(3)]
    assert len(artifact.content) == 64


def test_a_missing_kind_of_network_is_said(trained: Path):
    with pytest.raises(DataError, match=r"carries no keras network. Load it with runtime='onnx'"):
        open_artifact(trained).members("keras")


@pytest.mark.parametrize(
    "name", ["surrogate.json", "member-001.onnx", "transforms.npz", "transforms.json", "domain.npz"]
)
def test_an_altered_byte_is_found(copy: Path, name: str):
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(bytes(content))
    with pytest.raises(IntegrityError, match=f"{name} was altered after training.*Train it again"):
        open_artifact(copy)


def test_a_missing_file_is_named(copy: Path):
    (copy / "member-002.onnx").unlink()
    with pytest.raises(IntegrityError, match=r"member-002.onnx is missing"):
        open_artifact(copy)


def test_an_unfinished_training_is_not_read(copy: Path):
    (copy / "artifact.json").unlink()
    with pytest.raises(IntegrityError, match=r"no finished surrogate.*surrogate resume"):
        open_artifact(copy)


def test_a_newer_layout_is_refused(copy: Path):
    record = read_checked(copy / "artifact.json", "")
    write_json(copy / "artifact.json", {**record, "format": 2})
    with pytest.raises(IntegrityError, match="layout 2, and this program reads layout 1"):
        open_artifact(copy)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 1}', '{"format": 1, "files": []}', "nonsense", '{"files": {}}']
)
def test_a_damaged_manifest_is_named(copy: Path, text: str):
    (copy / "artifact.json").write_text(text)
    with pytest.raises(IntegrityError, match=r"artifact\.json is damaged"):
        open_artifact(copy)


@pytest.mark.parametrize("name", ["../escape.onnx", "/etc/passwd", "artifact.json"])
def test_a_manifest_cannot_point_outside(copy: Path, name: str):
    record = read_checked(copy / "artifact.json", "")
    record["files"][name] = "0" * 64
    write_json(copy / "artifact.json", record)
    with pytest.raises(IntegrityError, match="cannot belong to an artifact"):
        open_artifact(copy)


def test_a_manifest_without_the_record_is_refused(copy: Path):
    write_json(copy / "artifact.json", {"format": 1, "files": {}})
    with pytest.raises(IntegrityError, match=r"does not list surrogate.json"):
        open_artifact(copy)


@pytest.mark.parametrize("key", ["schema", "space", "calibration", "domain", "family", "members", "dataset_hash"])
def test_a_record_without_a_part_is_no_record(copy: Path, key: str):
    record = read_json(copy / "surrogate.json")
    del record[key]
    write_json(copy / "surrogate.json", record)
    toy.write_manifest(copy)
    with pytest.raises(IntegrityError, match="no record of a surrogate"):
        open_artifact(copy)


def test_transforms_of_another_family_are_said(copy: Path):
    (copy / "transforms.json").write_text(json.dumps({"degree": 4}))
    toy.write_manifest(copy)
    with pytest.raises(IntegrityError, match="cannot be rebuilt by family 'toy'"):
        Predictor.load(copy, family=toy.FAMILY)


def test_a_network_that_cannot_be_loaded_is_named(copy: Path):
    (copy / "member-000.onnx").write_bytes(b"no network")
    toy.write_manifest(copy)
    with pytest.raises(IntegrityError, match=r"member-000.onnx cannot be loaded by onnxruntime"):
        Predictor.load(copy, family=toy.FAMILY)


def test_pickles_are_never_read(tmp_path: Path):
    np.savez(tmp_path / "bad.npz", a=np.array([{"x": 1}], dtype=object))
    with pytest.raises(IntegrityError, match="holds no plain arrays"):
        read_arrays(tmp_path / "bad.npz")
    with pytest.raises(IntegrityError, match="holds no plain arrays"):
        read_arrays(tmp_path / "absent.npz")
