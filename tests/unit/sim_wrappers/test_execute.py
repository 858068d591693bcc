"""Every way in which a run can end is an Outcome, and nothing half-written is taken for one."""

from __future__ import annotations

import errno
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.folders import run_tag
from sim_wrappers.protocol import Program, RunData, RunRequest
from sim_wrappers.scripted.adapter import Scripted
from site_configs.resources import ResourceRequest
from surrogate.core.checked import read_checked
from surrogate.core.errors import ResourceError, SimulationError
from surrogate.core.files import sha256_file
from surrogate.core.outcome import FailureKind, outcome_from_json
from surrogate.core.process import is_alive
from surrogate.data.run_file import read_run_file
from tests.support.executions import (
    QUICK,
    SHORT,
    Telling,
    failed,
    folder_of,
    launch,
    lines,
    request_for,
    run,
    schema_for,
    scripted,
    stubborn_child,
    succeeded,
)


def test_a_success_names_the_file_that_it_left(tmp_path: Path) -> None:
    request = scripted(seed=5)
    outcome = succeeded(run(tmp_path, request))
    path = tmp_path / outcome.path
    assert outcome.path == f"runs/{request.run_id[:2]}/{request.run_id}/run.h5"
    assert (outcome.size, outcome.sha256) == (path.stat().st_size, sha256_file(path))
    assert outcome.mtime_ns == path.stat().st_mtime_ns
    assert (outcome.samples, outcome.attempt) == (1, 1)
    assert outcome.launch_line[0] == sys.executable
    assert outcome_from_json(read_checked(path.parent / "receipt.json", "")) == outcome
    content = read_run_file(path)
    assert content.columns["a"].tolist() == [0.5]
    assert content.columns["wave"].shape == (1, 16)
    expected = {"run_id", "simulator", "simulator_version", "options", "inputs", "seed", "attempt", "remedies"}
    assert expected | {"launch_line", "host", "began", "seconds", "notes", "resources"} == set(content.provenance)
    assert content.provenance["seed"] == 5
    assert content.provenance["launch_line"] == list(outcome.launch_line)
    assert sorted(entry.name for entry in (tmp_path / "runs").glob("??/*")) == [request.run_id]


@pytest.mark.parametrize(
    ("mode", "kind", "retryable", "says"),
    [
        ("fail", FailureKind.EXIT_STATUS, True, "exit status 1"),
        ("flaky", FailureKind.UNCONVERGED, True, "step was too large"),
        ("lost", FailureKind.NODE_LOST, True, "node was lost"),
        ("disk", FailureKind.DISK_FULL, True, "disk is full"),
        ("crash", FailureKind.EXIT_STATUS, True, "SIGSEGV"),
        ("killed", FailureKind.OUT_OF_MEMORY, True, "SIGKILL"),
        ("nan", FailureKind.NOT_FINITE, False, "wave"),
        ("bounds", FailureKind.OUT_OF_BOUNDS, False, "wave"),
        ("shape", FailureKind.WRONG_SHAPE, False, "wave"),
        ("truncate", FailureKind.OUTPUT_UNREADABLE, True, "cut off"),
        ("missing", FailureKind.OUTPUT_MISSING, True, "output.json"),
        ("unmarked", FailureKind.NO_END_MARKER, True, "mark"),
        ("unconverged", FailureKind.UNCONVERGED, True, "100 iterations"),
    ],
)
def test_each_way_to_fail_has_its_kind(
    tmp_path: Path, mode: str, kind: FailureKind, retryable: bool, says: str
) -> None:
    request = scripted({"mode": mode})
    outcome = failed(run(tmp_path, request))
    assert outcome.kind is kind
    assert outcome.retryable is retryable
    assert says in outcome.message
    assert outcome.message.endswith(".")
    assert (tmp_path / outcome.log).is_file()
    assert outcome_from_json(read_checked(folder_of(tmp_path, request) / "receipt.json", "")) == outcome
    assert json.dumps(outcome.to_json())


@pytest.mark.parametrize(("mode", "remedy"), [("flaky", "smaller_steps"), ("unconverged", "more_iterations")])
def test_the_remedy_of_a_known_failure_makes_the_next_attempt_succeed(tmp_path: Path, mode: str, remedy: str) -> None:
    ledger = tmp_path / "ledger"
    first = scripted({"mode": mode, "ledger": str(ledger)})
    outcome = failed(run(tmp_path, first))
    assert outcome.remedy == remedy
    assert outcome.remedy_text
    again = replace(first, attempt=2, remedies=(remedy,))
    second = succeeded(run(tmp_path, again))
    assert second.attempt == 2
    words = [[attempt, word] for _, attempt, word in lines(ledger)]
    assert words[-2:] == [["2", "start"], ["2", "end"]]
    # The first attempt's output is still where its Failure says it is.
    assert "SCRIPTED" in (tmp_path / outcome.log).read_text()
    assert (folder_of(tmp_path, first) / "stdout-2.txt").is_file()
    assert not list((tmp_path / "runs").glob("??/.*"))


def test_the_output_of_earlier_attempts_outlives_one_that_never_started(tmp_path: Path, monkeypatch) -> None:
    first = failed(run(tmp_path, scripted({"mode": "fail"})))

    def refuse(*arguments: object) -> None:
        raise SimulationError("Such a point has no meaning.", kind="not_physical")

    monkeypatch.setattr(Scripted, "prepare", refuse)
    second = failed(run(tmp_path, scripted({"mode": "fail"}, attempt=2)))
    assert (second.kind, second.retryable, second.log) == (FailureKind.NOT_PHYSICAL, False, "")
    assert second.launch_line == ()
    assert "SCRIPTED" in (tmp_path / first.log).read_text()
    assert not list(tmp_path.glob("runs/??/.*"))


def test_a_hanging_run_is_ended_when_its_time_is_up(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    outcome = failed(run(tmp_path, scripted({"mode": "hang", "ledger": str(ledger)}, resources=SHORT)))
    assert outcome.kind is FailureKind.TIMEOUT
    assert outcome.retryable
    assert 1.0 <= outcome.seconds < 30.0
    assert [word for _, _, word in lines(ledger)] == ["start"]


def test_who_ignores_sigterm_is_ended_with_its_child_in_another_session(tmp_path: Path) -> None:
    outcome = failed(run(tmp_path, scripted({"mode": "stubborn"}, resources=SHORT)))
    assert outcome.kind is FailureKind.TIMEOUT
    assert not is_alive(stubborn_child(tmp_path / outcome.log))
    assert "survivors" not in outcome.details


def test_the_program_sees_no_trace_of_another_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_JOB_ID", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "HYDRA_X", "HOROVOD_RANK"):
        monkeypatch.setenv(name, "leaked")
    monkeypatch.setenv("SLURM_CONF", "kept")
    monkeypatch.setenv("SURROGATE_CAMPAIGN", "campaign-7")
    request = scripted()
    keeping = replace(QUICK, environment=("SLURM_CONF",))
    outcome = failed(run(tmp_path, request, Telling(), keeping=keeping))
    seen = dict(line.partition("=")[::2] for line in (tmp_path / outcome.log).read_text().splitlines())
    assert "leaked" not in seen.values()
    assert seen["SLURM_CONF"] == "kept"
    assert seen["SURROGATE_CAMPAIGN"] == "campaign-7"
    assert seen["SURROGATE_RUN"] == run_tag(folder_of(tmp_path, request))
    assert (seen["OWN"], seen["OMP_NUM_THREADS"]) == ("set", "7")
    assert "SURROGATE_WORLD_SIZE" not in seen


def test_a_missing_launcher_is_a_failure_of_the_launcher(tmp_path: Path) -> None:
    outcome = failed(run(tmp_path, scripted(), launch=lambda program, _: ["/no/such/mpiexec", *program.argv]))
    assert outcome.kind is FailureKind.LAUNCHER
    assert not outcome.retryable
    assert "/no/such/mpiexec" in outcome.message
    assert "doctor" in outcome.remedy_text


def test_a_request_that_no_launcher_can_serve_is_a_failure(tmp_path: Path) -> None:
    def refuse(program: Program, resources: ResourceRequest) -> list[str]:
        raise ResourceError("Two ranks were asked of a serial program.")

    outcome = failed(run(tmp_path, scripted(), launch=refuse))
    assert (outcome.kind, outcome.retryable) == (FailureKind.LAUNCHER, False)
    assert outcome.message == "Two ranks were asked of a serial program."


@pytest.mark.parametrize("step", ["prepare", "program", "parse"])
def test_a_fault_of_the_adapter_fails_its_run_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def faulty(*arguments: object) -> object:
        return {}["no such key"]

    monkeypatch.setattr(Scripted, step, faulty)
    outcome = failed(run(tmp_path, scripted()))
    assert "scripted" in outcome.message
    assert "no such key" in outcome.message
    assert "Traceback" in outcome.details["traceback"]
    assert outcome.retryable is (step == "parse")


@pytest.mark.parametrize("step", ["prepare", "parse", "receipt"])
def test_a_full_disk_is_the_infrastructures_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    if step == "receipt":
        monkeypatch.setattr("sim_wrappers.execute.write_checked", full)
    else:
        monkeypatch.setattr(Scripted, step, full)
    request = scripted()
    outcome = failed(run(tmp_path, request))
    assert outcome.kind is FailureKind.DISK_FULL
    assert (folder_of(tmp_path, request) / "receipt.json").exists() is (step != "receipt")


def test_a_wrong_column_type_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scripted, "parse", lambda *_: RunData({"wave": np.array([object()]), "level": np.zeros(1)}))
    assert failed(run(tmp_path, scripted())).kind is FailureKind.OUTPUT_UNREADABLE


def test_long_output_is_cut_to_its_two_ends(tmp_path: Path) -> None:
    class Chatty(Scripted):
        def program(self, request: RunRequest, folder: Path) -> Program:
            code = "print('the beginning'); print('x' * 500_000); print('the end'); raise SystemExit(2)"
            return Program((sys.executable, "-c", code), mpi=False)

    outcome = failed(run(tmp_path, scripted(), Chatty(), keeping=replace(QUICK, output_bytes=4000, tail_characters=50)))
    kept = (tmp_path / outcome.log).read_text()
    assert len(kept) < 4200
    assert kept.startswith("the beginning")
    assert "bytes were left out here" in kept
    assert outcome.details["tail"].endswith("the end\n")
    assert len(outcome.details["tail"]) == 50


def test_several_samples_and_ragged_columns_are_rows_of_one_file(tmp_path: Path) -> None:
    options = {"samples": 3, "ragged": True, "length": 9}
    outcome = succeeded(run(tmp_path, scripted(options)))
    content = read_run_file(tmp_path / outcome.path)
    assert (outcome.samples, content.samples) == (3, 3)
    assert content.columns["a"].tolist() == [0.5, 0.5, 0.5]
    trace, wave = content.columns["trace"], content.columns["wave"]
    for row in range(3):
        np.testing.assert_array_equal(trace[row], wave[row][: len(trace[row])])
    assert not np.array_equal(wave[0], wave[1])


@pytest.mark.mpi
def test_buckley_leverett_runs_through(tmp_path: Path) -> None:
    code = catalog.get("buckley_leverett")
    request = request_for(
        code, {"M": 2.0, "Swc": 0.2, "Sor": 0.1}, resources=ResourceRequest.resolve(ranks=2, walltime_s=60)
    )
    outcome = succeeded(run(tmp_path, request, launch=launch, space_schema=schema_for(code)))
    content = read_run_file(tmp_path / outcome.path)
    assert content.columns["S"].shape == (1, 10, 256)
    assert content.provenance["notes"]["mass_error_pore_volumes"] < 1e-10
    assert content.provenance["notes"]["ranks"] == 2
    assert content.provenance["notes"]["code_version"] == code.version({})
