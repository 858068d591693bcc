"""What travels to workers and back is text, and means the same on both sides."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sim_wrappers import catalog
from sim_wrappers.protocol import RunRequest
from sim_wrappers.scripted.adapter import Scripted
from site_configs.launch import Launcher
from site_configs.resources import ResourceRequest
from surrogate.core.outcome import FailureKind, Success, outcome_from_json
from surrogate.core.process import is_alive
from tests.support.executions import schema_for
from workflows.apps import execute_run, run_command
from workflows.tasks import (
    Command,
    CommandResult,
    RunContext,
    refusal,
    refusing_block,
    request_from_text,
    request_to_text,
)

LAUNCHER = Launcher("mpich", "/no/such/mpiexec")


def test_requests_travel():
    point = {"x": 0.1, "n": 3, "kind": "µ"}
    size = ResourceRequest(2, 3, 6)
    request = RunRequest("r", "scripted", {"a": [1, {"b": None}]}, point, size, seed=7, attempt=4, remedies=("u", "v"))
    assert request_from_text(request_to_text(request)) == request


def test_commands_contexts_and_answers_travel(tmp_path):
    one = Command(("a", "b"), ResourceRequest(2, 3, 6), "/x", "/y", LAUNCHER, environment=(("A", "1"),), warn=True)
    assert Command.from_text(one.to_text()) == one
    context = RunContext(str(tmp_path), LAUNCHER, schema_for(catalog.get("scripted")))
    assert RunContext.from_text(context.to_text()) == context
    result = CommandResult(-9, True, 1.5, ("mpiexec", "-n", "2"), "node7")
    assert CommandResult.from_text(result.to_text()) == result
    assert refusing_block(refusal("3")) == "3"
    assert refusing_block('{"outcome": "success"}') is None


@pytest.fixture
def executed(tmp_path):
    """Execute one scripted run in this process, with the worker's signal handler put back."""
    before = signal.getsignal(signal.SIGTERM)

    def execute(**changes):
        simulator = catalog.get("scripted")
        options = simulator.check_options(changes.pop("options", {}))
        one = RunRequest("ab" * 16, "scripted", options, {"a": 0.5, "b": 1.0}, **changes)
        context = RunContext(str(tmp_path), LAUNCHER, schema_for(simulator, options))
        return outcome_from_json(json.loads(execute_run(context.to_text(), request_to_text(one))))

    yield execute
    signal.signal(signal.SIGTERM, before)


def test_a_serial_run_is_executed_without_a_launcher(executed, tmp_path):
    outcome = executed()
    assert isinstance(outcome, Success)
    assert outcome.launch_line[0] == sys.executable
    assert (tmp_path / outcome.path).stat().st_size == outcome.size


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"options": {"mpi": True}}, "could not be started"),
        ({"resources": ResourceRequest(1, 2, 2)}, "2 copies"),
    ],
)
def test_what_cannot_be_launched_is_a_failure_of_the_infrastructure(executed, changes, words):
    outcome = executed(**changes)
    assert outcome.kind is FailureKind.LAUNCHER
    assert words in outcome.message


def command(tmp_path: Path, *argv: str, **more) -> str:
    size = more.pop("resources", ResourceRequest(walltime_s=30))
    more = {"mpi": False, **more}
    return Command(argv, size, str(tmp_path), str(tmp_path / "logs" / "log.txt"), LAUNCHER, **more).to_text()


def test_a_command_runs_in_its_folder_with_its_variables_and_log(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    text = command(tmp_path, "sh", "-c", 'echo "$PWD $WORD $SLURM_JOB_ID."; exit 3', environment=(("WORD", "hi"),))
    result = CommandResult.from_text(run_command(text))
    assert (result.returncode, result.timed_out, result.launch_line[0]) == (3, False, "sh")
    assert (tmp_path / "logs" / "log.txt").read_text() == f"{tmp_path} hi .\n"


def test_a_command_ends_with_its_walltime(tmp_path):
    result = CommandResult.from_text(
        run_command(command(tmp_path, "sleep", "60", resources=ResourceRequest(walltime_s=1)))
    )
    assert result.timed_out


WORKER = """
import sys
from workflows.apps import run_command
run_command(sys.argv[1])
"""


@pytest.mark.parametrize("trap", ["", "trap '' TERM;"])
def test_sigterm_ends_a_worker_and_its_program(tmp_path, trap):
    text = command(tmp_path, "sh", "-c", f"{trap} echo $$; sleep 60 & wait; sleep 60")
    worker = subprocess.Popen([sys.executable, "-c", WORKER, text])
    log = tmp_path / "logs" / "log.txt"
    while not (log.exists() and log.read_text()):
        assert worker.poll() is None
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=20) == 128 + signal.SIGTERM
    assert not is_alive(int(log.read_text()))


def test_sigterm_after_the_program_has_ended_lets_the_receipt_be_written(executed, tmp_path, monkeypatch):
    parse = Scripted.parse

    def interrupted(self, request, folder, stdout):
        os.kill(os.getpid(), signal.SIGTERM)
        return parse(self, request, folder, stdout)

    monkeypatch.setattr(Scripted, "parse", interrupted)
    outcome = executed()
    assert isinstance(outcome, Success)
    assert (tmp_path / outcome.path).with_name("receipt.json").exists()


def test_sigterm_before_the_program_has_started_ends_the_worker(executed, tmp_path, monkeypatch):
    def interrupted(self, request, folder):
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Scripted, "prepare", interrupted)
    with pytest.raises(SystemExit):
        executed()
    assert not list(tmp_path.rglob("receipt.json"))
