"""Large predictions through a site's workers: the same bytes as on one core, killed in the middle or not."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import time
from pathlib import Path

import h5py
import pytest

from tests.support.campaigns import command
from tests.support.predicting import environment, write_points, write_workdir

pytestmark = [pytest.mark.parsl, pytest.mark.slow]
ROWS, CHUNK = 3000, 100


def start(place: Path, output: str, *words: str) -> subprocess.Popen[str]:
    argv = command("predict", place / "w", "--input", place / "p.csv", "--output", place / output, "--json", *words)
    return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(place))


def finish(process: subprocess.Popen[str]) -> dict:
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    return json.loads(out)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def parts(place: Path, output: str) -> list[Path]:
    return sorted((place / f".{output}.parts" / "parts").glob("part-*.h5"))


def when(condition, process: subprocess.Popen[str], patience_s: float = 240.0) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bulk")
    write_workdir(folder)
    write_points(folder / "p.csv", ROWS)
    return folder


@pytest.fixture(scope="module")
def alone(place):
    """The hash of what one process writes."""
    told = finish(start(place, "alone.h5", "--rows-per-chunk", str(CHUNK)))
    assert told["rows"] == ROWS
    assert 0 < told["outside_domain"] < ROWS / 2
    with h5py.File(place / "alone.h5") as file:
        assert file.attrs["rows"] == ROWS
        assert file["mean/height"].shape == (ROWS, 4, 24)
    return sha256(place / "alone.h5")


def test_killed_in_the_middle_and_resumed(place, alone):
    """kill -9 of the driver; the same command adopts what is finished and writes the same bytes."""
    options = ("--site", "laptop", "--rows-per-chunk", str(CHUNK))
    first = start(place, "out.h5", *options)
    when(lambda: len(parts(place, "out.h5")) >= 3, first)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert not (place / "out.h5").exists()
    kept = parts(place, "out.h5")
    assert 3 <= len(kept) < ROWS // CHUNK
    torn = kept[0]
    torn.write_bytes(torn.read_bytes()[:-1])
    told = finish(start(place, "out.h5", *options))
    assert 2 <= told["parts_adopted"] < ROWS // CHUNK
    assert told["rows"] == ROWS
    assert sha256(place / "out.h5") == alone
    assert not (place / ".out.h5.parts").exists(), "nothing is left beside the output"


def test_interrupted_and_meant_otherwise(place):
    """Ctrl-C ends it in a sentence; what was predicted for other points is thrown away."""
    options = ("--site", "laptop", "--rows-per-chunk", "10")
    first = start(place, "other.h5", *options)
    when((place / ".other.h5.parts" / "job.json").exists, first)
    second = start(place, "other.h5", *options)
    _, err = second.communicate(timeout=240)
    assert second.returncode == 1
    assert "surrogate: " in err
    assert "Traceback" not in err
    when(lambda: len(parts(place, "other.h5")) >= 1, first)
    first.send_signal(signal.SIGINT)
    _, err = first.communicate(timeout=240)
    assert first.returncode == 130
    assert "Give the same command again to go on." in err
    write_points(place / "p.csv", 120, seed=6)
    again = start(place, "other.h5", *options)
    _, err = again.communicate(timeout=240)
    assert again.returncode == 0
    assert "it is thrown away" in err
    write_points(place / "p.csv", ROWS)


def test_a_bad_point_is_a_sentence(place):
    bad = place / "bad"
    bad.mkdir()
    (bad / "p.csv").write_text((place / "p.csv").read_text().splitlines()[0] + "\n" + "1.0,1.0\n" * 150 + "1.0,x\n")
    (bad / "w").symlink_to(place / "w")
    process = start(bad, "out.csv", "--site", "laptop", "--rows-per-chunk", "50")
    _, err = process.communicate(timeout=240)
    assert process.returncode == 2, err
    assert "row 151 (line 152), column 'width': a finite number is needed, and 'x' was found" in err
    assert "Traceback" not in err
