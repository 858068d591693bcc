"""Watching a campaign of 300 runs until nobody works on it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from surrogate.core.errors import ConfigError
from workflows import status_watch
from workflows.status import status

ROOT = Path(__file__).parents[3]
DRIVER = """
import sys, time
from pathlib import Path
from surrogate.core.lock import Lease
from surrogate.core.files import write_json, write_text
from tests.support.journalled import failed, finished, opened, packed, planned, started
from workflows.journal import Journal
base, pause = Path(sys.argv[1]), float(sys.argv[2])
write_text(base / "campaign.toml", "")
with Lease.acquire(base / "lock", "surrogate run x.toml") as lease, Journal.open(base / "journal", lease) as journal:
    journal.append(opened(name="many"))
    journal.append(planned(*range(300)))
    journal.append({"event": "stage.started", "stage": "simulate", "key": "k"})
    journal.commit()
    write_json(base / "workspace.json", {})
    print("ready", flush=True)
    for number in range(300):
        journal.append(started(number))
        journal.append(failed(number) if number % 50 == 7 else finished(number))
        if number % 10 == 9:
            journal.commit()
            time.sleep(pause)
    journal.append(packed(*[n for n in range(300) if n % 50 != 7]))
    journal.append({"event": "stage.finished", "stage": "simulate", "key": "k", "record": {}})
    write_json(base / "verdict.json", {"passed": True})
"""


@pytest.fixture
def driver(tmp_path):
    """A driver at work, in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path), "0.1"],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def campaign(tmp_path, driver):
    """Its working directory."""
    return tmp_path


def watching(workdir, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "workflows.cli", "status", str(workdir), "--watch", "--every", "0.2", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_lines_tell_300_runs_to_the_end(campaign):
    out, err = watching(campaign).communicate(timeout=240)
    lines = [line for line in out.splitlines() if not line.startswith(" ")]
    assert err == ""
    ended = [int(line.split(": ")[1].split(" of ")[0]) for line in lines]
    assert ended == sorted(ended)
    assert len(lines) >= 3, "it was told while it went on"
    assert "simulate: 300 of 300 runs ended, 294 in the dataset, 6 failed" in lines[-1]
    assert "the verdict is pass; nobody works on it now" in lines[-1]
    assert any("runs/h" in line and "left" in line for line in lines)
    failures = [line for line in out.splitlines() if line.startswith(" ")]
    assert 1 <= len(failures) <= 6
    assert "The iteration did not converge." in failures[0]


def test_objects_for_programs(campaign):
    looks = list(status_watch.follow(campaign, 0.2))
    assert looks[-1].runs["packed"] == 294
    assert not looks[-1].active
    out, _ = watching(campaign, "--json").communicate(timeout=240)
    (record,) = [json.loads(line) for line in out.splitlines()]
    assert record["total"] == 300


def test_ctrl_c_ends_it_without_a_traceback(campaign):
    process = watching(campaign)
    assert "of 300 runs ended" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_terminal_gets_a_live_picture(campaign, capsys):
    status_watch.watch_live(campaign, 0.2)
    assert "294 " in capsys.readouterr().out


def test_a_holder_that_died_ends_it(campaign, driver):
    lines: list[str] = []
    driver.kill()
    driver.wait()
    status_watch.watch_lines(campaign, 0.1, lines.append)
    assert "its holder has died; go on with: surrogate resume" in lines[-1]
    assert status(campaign).presence == "gone"


def test_a_watch_may_begin_before_the_campaign(tmp_path):
    """As in a second terminal: it waits, says so, and tells the campaign to its end."""
    waiting = watching(tmp_path / "later")
    assert "There is no campaign in " in waiting.stderr.readline()
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path / "later"), "0.02"],
        stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    out, _ = waiting.communicate(timeout=240)
    assert driver.wait(timeout=240) == 0
    assert waiting.returncode == 0
    assert "simulate: 300 of 300 runs ended" in out.splitlines()[-1]


def test_a_file_is_not_waited_for(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="is no folder"):
        status_watch.await_campaign(tmp_path / "file", 0.1, print)


def test_a_folder_without_a_campaign_is_a_sentence(tmp_path):
    with pytest.raises(ConfigError, match="no campaign in"):
        status_watch.watch_lines(tmp_path, 0.1, print)
