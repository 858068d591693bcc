"""What a prediction may write to: never the points themselves, never a folder."""

from __future__ import annotations

import errno
import io
import json
import os
import threading
from pathlib import Path

import pytest

from surrogate.core.errors import StorageError
from surrogate.core.storage import refusals_of
from surrogate.inference import outputs
from tests.support.predicting import environment, write_points, write_workdir
from workflows.cli import main


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    write_workdir(folder)
    environment(folder)
    return folder


@pytest.fixture
def words(made, tmp_path, monkeypatch):
    """The beginning of a command, with points in a file."""
    monkeypatch.syspath_prepend(made / "distribution")
    write_points(tmp_path / "p.csv", 20)
    return ["predict", str(made / "w"), "--input", str(tmp_path / "p.csv"), "--output"]


def hard_link(points: Path) -> Path:
    os.link(points, points.with_name("hard.csv"))
    return points.with_name("hard.csv")


def soft_link(points: Path) -> Path:
    points.with_name("soft.csv").symlink_to(points)
    return points.with_name("soft.csv")


@pytest.mark.parametrize("name", [Path, hard_link, soft_link])
def test_the_points_are_never_written_over(words, tmp_path, capsys, name):
    before = (tmp_path / "p.csv").read_bytes()
    assert main([*words, str(name(tmp_path / "p.csv"))]) == 2
    assert "is the file of the points itself, which would be lost" in capsys.readouterr().err
    assert (tmp_path / "p.csv").read_bytes() == before


def test_a_folder_is_refused_in_a_sentence(words, tmp_path, capsys):
    (tmp_path / "d.csv").mkdir()
    assert main([*words, str(tmp_path / "d.csv")]) == 2
    assert "is a folder, and the predictions are one file" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "q.csv")]) == 0


@pytest.mark.parametrize("name", ["q.csv", "q.h5"])
def test_a_disk_that_refuses_is_told_and_nothing_is_left(words, tmp_path, monkeypatch, capsys, name):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(outputs._TableWriter, "append", full)
    monkeypatch.setattr(outputs._Hdf5Writer, "append", full)
    assert main([*words, str(tmp_path / name)]) == 1
    told = capsys.readouterr().err
    assert f"{tmp_path / name} could not be written: the disk is full. Make room, then give the same command" in told
    assert [path.name for path in tmp_path.iterdir()] == ["p.csv"]


def test_what_hdf5_says_of_the_system_is_understood(tmp_path):
    for kind in (OSError, RuntimeError):
        with pytest.raises(StorageError, match="the disk is full"), refusals_of(tmp_path / "q.h5"):
            raise kind("Can't flush (file write failed: time = now, errno = 28, error message = 'No space')")
    with pytest.raises(RuntimeError, match="another"), refusals_of(tmp_path / "q.h5"):
        raise RuntimeError("another")


def test_a_point_without_a_finite_answer_is_null_and_told(made, words, monkeypatch, capsys):
    assert main(["predict", str(made / "w"), "speed=1e300", "width=1", "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["mean"]["load"] == [None]
    assert "1 of 1 points lie so far outside that the surrogate has no finite number for them" in said.err
    assert "RuntimeWarning" not in said.err


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "named"])
def test_points_may_come_through_a_pipe(words, tmp_path, capsys, monkeypatch, name):
    assert main([*words, str(tmp_path / "file.csv")]) == 0
    text = (tmp_path / "p.csv").read_bytes()
    if name == "named":
        name = str(tmp_path / "pipe")
        os.mkfifo(name)
        threading.Thread(target=Path(name).write_bytes, args=(text,), daemon=True).start()
    else:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    words[words.index("--input") + 1] = name
    assert main([*words, str(tmp_path / "piped.csv")]) == 0, capsys.readouterr().err
    assert (tmp_path / "piped.csv").read_bytes() == (tmp_path / "file.csv").read_bytes()


def test_workers_share_no_pipe(words, tmp_path, capsys):
    words[words.index("--input") + 1] = "-"
    assert main([*words, str(tmp_path / "q.csv"), "--site", "laptop"]) == 2
    assert "name a file with --input, and no pipe" in capsys.readouterr().err
