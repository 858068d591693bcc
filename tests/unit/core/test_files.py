"""Files are whole or absent."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from surrogate.core import files
from surrogate.core.errors import IntegrityError


def test_what_was_written_is_there(tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "value.json"
    files.write_json(target, {"µ": [1, 2.5, None]})
    assert files.read_json(target) == {"µ": [1, 2.5, None]}
    assert target.read_text().endswith("}\n")
    files.write_text(target, "öä")
    assert target.read_bytes() == "öä".encode()
    assert list(target.parent.iterdir()) == [target]


def test_nothing_changes_when_the_writer_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    files.write_text(target, "old")
    with pytest.raises(UnicodeEncodeError), files.atomic_path(target) as temporary, temporary.open("w") as stream:
        stream.writelines(["half", "\udc00"])
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(target, float("nan"))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_nothing_changes_when_the_check_refuses(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    seen: list[str] = []

    def refuse(path: Path) -> None:
        seen.append(path.read_text())
        raise IntegrityError("no")

    with pytest.raises(IntegrityError), files.atomic_path(target, check=refuse) as temporary:
        temporary.write_text("new")
    assert seen == ["new"]
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_wrote_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), files.atomic_path(tmp_path / "a"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_at_the_flush_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.txt"
    files.write_text(target, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            files.write_text(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_the_temporary_path_keeps_the_suffix_and_the_mode_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with files.atomic_path(tmp_path / ("long" * 60 + ".keras")) as temporary:
            assert temporary.suffix == ".keras"
            assert not temporary.exists()
            temporary.write_text("x")
        assert stat.S_IMODE((tmp_path / ("long" * 60 + ".keras")).stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_what_interrupted_writers_left_is_removed(tmp_path: Path) -> None:
    files.write_text(tmp_path / "kept.part.h5", "a file of that name is not one of ours")
    context = files.atomic_path(tmp_path / "a.h5")
    context.__enter__().write_text("half")
    assert files.remove_partial(tmp_path) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kept.part.h5"]


def test_what_interrupted_writers_of_one_file_left_is_removed(tmp_path: Path) -> None:
    writers = [files.atomic_path(tmp_path / name) for name in ("verdict.json", "other.json", "verdict.h5")]
    for writer in writers:
        writer.__enter__().write_text("half")
    (tmp_path / ".verdict.json.parts").mkdir()
    assert files.remove_partial_of(tmp_path / "verdict.json") == 1
    left = sorted(path.name for path in tmp_path.iterdir())
    assert [name.partition("-")[0] for name in left] == [".other", ".verdict", ".verdict.json.parts"]


def test_damaged_json_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match=r"a\.json is missing"):
        files.read_json(tmp_path / "a.json")
    for content in (b"", b"{", b"\xff\xfe"):
        (tmp_path / "a.json").write_bytes(content)
        with pytest.raises(IntegrityError, match=r"a\.json is damaged"):
            files.read_json(tmp_path / "a.json")


def test_sha256(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert files.sha256_file(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
