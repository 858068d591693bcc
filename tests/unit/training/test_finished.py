"""Whether an artifact is there, whole, and of this job."""

from __future__ import annotations

from surrogate.core.files import sha256_file, write_json
from surrogate.training.finished import FOLDER, is_finished


def artifact(out):
    folder = out / FOLDER
    write_json(folder / "surrogate.json", {"job": "key"})
    files = {"surrogate.json": sha256_file(folder / "surrogate.json")}
    write_json(folder / "artifact.json", {"format": 1, "files": files})
    return folder


def test_a_whole_artifact_of_this_job_is_finished(tmp_path):
    assert not is_finished(tmp_path, "key")
    artifact(tmp_path)
    assert is_finished(tmp_path, "key")
    assert not is_finished(tmp_path, "another")


def test_an_altered_or_missing_file_is_not(tmp_path):
    folder = artifact(tmp_path)
    (folder / "surrogate.json").write_text('{"job": "key", "more": 1}')
    assert not is_finished(tmp_path, "key")
    (folder / "surrogate.json").unlink()
    assert not is_finished(tmp_path, "key")


def test_a_damaged_manifest_is_not(tmp_path):
    folder = artifact(tmp_path)
    for content in ("", "[]", '{"files": 3}', "{}"):
        (folder / "artifact.json").write_text(content)
        assert not is_finished(tmp_path, "key")
