"""How a campaign stands, told without its lock."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.core.lock import Lease
from surrogate.core.outcome import FailureKind
from tests.support.journalled import failed, finished, opened, packed, planned, run_id, started
from workflows import status as status_module
from workflows.journal import Journal, read_state
from workflows.requests import leave_request, take_requests
from workflows.status import status, watch
from workflows.status_view import render


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    return tmp_path / "work [1]"


@pytest.fixture
def journal(workdir: Path) -> Iterator[Journal]:
    with (
        Lease.acquire(workdir / "lock", "surrogate run a.toml", background=False) as lease,
        Journal.open(workdir / "journal", lease, background=False) as opened_journal,
    ):
        yield opened_journal


def fill(journal: Journal) -> None:
    for event in (
        opened(),
        {"event": "stage.started", "stage": "simulate", "key": "k"},
        planned(*range(6)),
        *(started(number) for number in range(4)),
        finished(0),
        finished(1),
        failed(2, remedy_text="Use a smaller step."),
        failed(3, FailureKind.NOT_FINITE),
        started(2, 2),
        failed(2, attempt=2),
        packed(0),
    ):
        journal.append(event)
    journal.commit()


def shown(of: Path) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(render(status(of)))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_all_that_is_known_is_told(workdir: Path, journal: Journal) -> None:
    fill(journal)
    told = status(workdir)
    assert told.campaign == "buckley-leverett"
    assert told.active
    assert "surrogate run a.toml" in told.holder
    assert told.presence == "alive"
    assert told.stage == "simulate"
    assert told.runs == {"planned": 2, "running": 0, "done": 1, "failed": 1, "quarantined": 1, "packed": 1}
    assert told.total == 6
    assert told.samples == 2
    assert told.shards == 1
    assert told.executions == {"success": 2, "failure": 3}
    assert told.failures == {"unconverged": 2, "not_finite": 1}
    assert [line.run_id for line in told.recent_failures] == [run_id(2), run_id(3), run_id(2)]
    assert told.recent_failures[2].remedy == "Use a smaller step."
    assert told.seconds_per_run == pytest.approx(0.25 + 0.5 / 1024)
    assert told.verdict is None
    assert json.loads(json.dumps(told.to_json()))["runs"]["planned"] == 2
    text = shown(workdir)
    for word in ("work [1]", "quarantined", "unconverged", "Use a smaller step.", "simulate", "surrogate run a.toml"):
        assert word in text


def test_rate_and_time_left_count_this_session_only(
    workdir: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    monkeypatch.setattr("workflows.journal.time.monotonic", lambda: clock[0])
    journal._wall, journal._monotonic = 5000.0, 1000.0
    journal.append(opened())
    journal.append(planned(*range(10)))
    journal.append(finished(0))
    clock[0] += 1e6
    journal.append(opened("driver-2"))
    assert status(workdir).runs_per_hour is None
    for number in range(1, 5):
        clock[0] += 2.0
        journal.append(finished(number))
    journal.commit()
    now = [5000.0 + clock[0] - 1000.0]
    monkeypatch.setattr(status_module.time, "time", lambda: now[0])
    told = status(workdir)
    assert told.runs_per_hour == pytest.approx(3 / 6 * 3600)
    assert told.eta_s == pytest.approx(5 / (3 / 6))
    now[0] -= 1e5  # the clock was set back
    assert status(workdir).runs_per_hour == pytest.approx(3 / 6 * 3600)
    now[0] += 1e5 + 6.0  # nothing has ended for a while
    assert status(workdir).runs_per_hour == pytest.approx(3 / 12 * 3600)


def test_a_campaign_that_nobody_holds_has_no_rate(workdir: Path) -> None:
    with (
        Lease.acquire(workdir / "lock", "a", background=False) as lease,
        Journal.open(workdir / "journal", lease, background=False) as journal,
    ):
        fill(journal)
    told = status(workdir)
    assert not told.active
    assert told.holder == ""
    assert told.runs_per_hour is None
    assert told.eta_s is None
    assert "Nobody works on it now." in shown(workdir)


def test_a_holder_that_died_is_told(workdir: Path) -> None:
    code = (
        "import sys, os, pathlib\n"
        "from surrogate.core.lock import Lease\nfrom workflows.journal import Journal\n"
        "base = pathlib.Path(sys.argv[1])\n"
        "journal = Journal.open(base / 'journal', Lease.acquire(base / 'lock', 'surrogate run a.toml'))\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(workdir)], check=True)
    told = status(workdir)
    assert told.presence == "gone"
    assert not told.active
    assert "has died: resume the campaign" in told.holder
    loaded = read_state(workdir / "journal")
    assert loaded is not None
    with (workdir / "journal" / str(loaded.position.name)).open("ab") as out:
        out.write(b"0000")
    assert "4 bytes of the journal are torn" in status(workdir).notes[0]


def test_verdict_notes_and_requests_are_shown(workdir: Path, journal: Journal) -> None:
    fill(journal)
    journal.append({"event": "journal.repaired", "note": "Something was repaired."})
    leave_request(workdir / "requests", "stop")
    take_requests(workdir / "requests", journal)
    (workdir / "verdict.json").write_text('{"passed": false, "metrics": {}}')
    text = shown(workdir)
    for word in ("did not pass its gate", "Something was repaired.", "stop (asked by"):
        assert word in text
    (workdir / "verdict.json").write_text('{"passed": true}')
    assert "the surrogate passed its gate" in shown(workdir)
    for content in ('{"passed": tr', "[]"):
        (workdir / "verdict.json").write_text(content)
        told = status(workdir)
        assert told.verdict is None
        assert any("surrogate validate" in note for note in told.notes)


def test_an_empty_campaign_can_be_shown(workdir: Path, journal: Journal) -> None:
    assert journal.created
    assert status(workdir).total == 0
    assert "Campaign in" in shown(workdir)


def test_a_folder_without_a_campaign_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no campaign in .*surrogate run CAMPAIGN"):
        status(tmp_path)


def test_a_damaged_journal_is_a_sentence(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workflows.journal_reader._BETWEEN_LOOKS_S", 0.0)
    with (
        Lease.acquire(workdir / "lock", "a", background=False) as lease,
        Journal.open(workdir / "journal", lease, background=False) as journal,
    ):
        fill(journal)
        fill(journal)
        path = journal.folder / str(journal.position.name)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"run.started", b"run.stopped", 1))
    with pytest.raises(IntegrityError, match="Restore the file from a copy"):
        status(workdir)


def test_watching_follows_the_journal(workdir: Path, journal: Journal) -> None:
    fill(journal)
    looks = watch(workdir, every_s=0.0)
    assert next(looks).total == 6
    journal.append(planned(6, 7))
    journal.commit()
    assert next(looks).total == 8
    for number in range(8, 12):  # so many changes of file that the watcher must read all again
        journal.append(planned(number))
        journal._renew()
    assert next(looks).total == 12
    journal.append(started(11))
    journal.commit()
    assert next(looks).runs["running"] == 1
    looks.close()


def test_asking_loads_nothing_heavy() -> None:
    code = (
        "import sys, workflows.status; print([m for m in sys.modules if m in ('rich', 'numpy', 'parsl', 'tensorflow')])"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


def test_what_was_going_on_when_a_driver_ended_is_called_interrupted(workdir: Path) -> None:
    with (
        Lease.acquire(workdir / "lock", "a", background=False) as lease,
        Journal.open(workdir / "journal", lease, background=False) as journal,
    ):
        for event in (opened(), planned(1, 2), started(1), {"event": "stage.started", "stage": "simulate", "key": "k"}):
            journal.append(event)
        journal.commit()
        assert "running, or waiting for a free worker" in shown(workdir)
    text = shown(workdir)
    assert "interrupted" in text
    assert "executed again when the campaign is resumed" in text
    assert "running" not in text
    assert "started" not in text
