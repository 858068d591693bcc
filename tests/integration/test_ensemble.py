"""Ensembles on a real Parsl: failures of each kind, faults of each part, a killed driver."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from site_configs.site import Environment, Site
from surrogate.core.errors import SiteError
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged
from surrogate.core.proctable import process_table
from surrogate.core.shared_memory import segments_of
from surrogate.data.dataset import Dataset
from tests.support.ensembles import SITE, Ensemble
from workflows.adoption import run_folder
from workflows.budgets import Budgets
from workflows.journal import RunStatus, read_state

pytestmark = [pytest.mark.parsl, pytest.mark.slow, pytest.mark.timeout(240)]
REPOSITORY = Path(__file__).parents[2]
SHARED = Path("/dev/shm")


def wait_until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return what the condition gives as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)
    return found


def processes(campaign: str, words: str) -> list[int]:
    """Return the campaign's processes with these words in their command line."""
    found = []
    for pid in find_tagged(CAMPAIGN_VARIABLE, campaign):
        try:
            if words in " ".join(psutil.Process(pid).cmdline()):
                found.append(pid)
        except psutil.Error:
            continue
    return found


INTERCHANGE, MANAGER, PROGRAM = "site_configs.interchange", "site_configs.worker_pool", "scripted.program"


def workers(campaign: str) -> list[int]:
    """Return the processes that execute apps at this moment: parents of programs."""
    parents = set()
    for pid in processes(campaign, PROGRAM):
        with contextlib.suppress(psutil.Error):
            parents.add(psutil.Process(pid).ppid())
    return sorted(parents & set(find_tagged(CAMPAIGN_VARIABLE, campaign)))


def kill(pids: list[int]) -> None:
    """Kill processes; one that has ended meanwhile is dead as well."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def known(ensemble: Ensemble):
    loaded = read_state(ensemble.workdir / "journal")
    assert loaded is not None
    return loaded.state


def test_each_failure_is_charged_to_its_budget_and_the_others_go_on(tmp_path):
    modes = {
        0: "fail", 1: "flaky", 2: "lost", 3: "disk", 4: "crash", 5: "killed", 6: "hang", 7: "stubborn", 8: "nan",
        9: "bounds", 10: "shape", 11: "truncate", 12: "missing", 13: "unmarked", 14: "unconverged",
    }  # fmt: skip
    ensemble = Ensemble(tmp_path / "w", 24, modes, walltime_s=3)
    seen = []
    result = ensemble.run(budgets=Budgets(solver=1, storm=20), progress=seen.append)
    starts = ensemble.executions()
    times = {mode: starts[ensemble.id_of(number)] for number, mode in modes.items()}
    twice = dict.fromkeys(("fail", "crash", "killed", "hang", "stubborn", "truncate", "missing", "unmarked"), 2)
    assert times == {
        **twice, "flaky": 2, "lost": 2, "disk": 2, "unconverged": 2, "nan": 1, "bounds": 1, "shape": 1,
    }  # fmt: skip
    assert all(starts[ensemble.id_of(number)] == 1 for number in range(15, 24))
    counts = result.counts
    assert (counts.total, counts.finished, counts.failed, counts.quarantined) == (24, 13, 8, 3)
    assert (counts.losses, counts.executed, counts.running) == (2, sum(starts.values()), 0)
    assert counts.solver_failures == 2 * 8 + 2
    assert seen[-1] == counts
    state = known(ensemble)
    assert state.counts[RunStatus.PACKED] == 13
    assert state.counts[RunStatus.QUARANTINED] == 3
    assert state.runs[ensemble.id_of(2)].charged == (1, 0, 0)
    assert state.runs[ensemble.id_of(0)].charged == (0, 2, 0)
    assert set(result.failures) == {ensemble.id_of(number) for number in (0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)}
    for run_id, failure in result.failures.items():
        assert (ensemble.workdir / failure.log).is_file()
        assert run_folder(ensemble.workdir, run_id).is_dir()
    assert not run_folder(ensemble.workdir, ensemble.id_of(20)).exists()
    assert len(Dataset.open(ensemble.workdir / "dataset", verify="hash")) == 13
    assert processes(ensemble.campaign, "") == []
    # Once more: everything is settled, nothing is started.
    again = ensemble.run(budgets=Budgets(solver=1))
    assert (again.counts.finished, again.counts.failed, again.counts.quarantined, again.counts.executed) == (
        13,
        8,
        3,
        0,
    )
    assert ensemble.executions() == starts


def test_an_ensemble_leaves_no_semaphore(tmp_path):
    # Those of other Python programs may come and go meanwhile: only what no process maps can be this ensemble's.
    before = set(SHARED.glob("sem.mp-*"))
    assert Ensemble(tmp_path / "w", 4).run().counts.finished == 4
    mapped = segments_of(process_table())
    assert set(SHARED.glob("sem.mp-*")) - before - mapped == set()


def test_a_stop_ends_everything_and_the_ensemble_goes_on_later(tmp_path):
    ensemble = Ensemble(tmp_path / "w", 8, {0: "stubborn", 1: "hang"})
    stop = threading.Event()

    def stop_soon() -> None:
        wait_until(lambda: len(processes(ensemble.campaign, PROGRAM)) >= 2)
        stop.set()

    thread = threading.Thread(target=stop_soon)
    thread.start()
    result = ensemble.run(stop=stop)
    thread.join()
    assert result.interrupted
    assert processes(ensemble.campaign, "") == []
    calm = Ensemble(tmp_path / "w", 8)
    result = calm.run()
    assert (result.counts.finished, result.interrupted) == (8, False)
    starts = ensemble.executions()
    assert all(starts[ensemble.id_of(number)] == 1 for number in range(2, 8))


def test_workers_managers_and_the_interchange_may_be_killed(tmp_path):
    ensemble = Ensemble(tmp_path / "w", 24, seconds=0.5)
    campaign = ensemble.campaign
    problems: list[BaseException] = []

    def kill_about() -> None:
        try:
            kill(wait_until(lambda: len(ensemble.executions("end")) >= 3 and workers(campaign))[:1])
            wait_until(lambda: len(ensemble.executions("end")) >= 8 and processes(campaign, PROGRAM))
            kill(processes(campaign, INTERCHANGE))
            kill(wait_until(lambda: len(ensemble.executions("end")) >= 14 and processes(campaign, MANAGER)))
        except BaseException as error:  # noqa: BLE001 - told to the test below
            problems.append(error)

    thread = threading.Thread(target=kill_about)
    thread.start()
    result = ensemble.run()
    thread.join()
    assert problems == []
    assert result.counts.finished == 24
    assert result.counts.failed == result.counts.quarantined == result.counts.solver_failures == 0
    starts = ensemble.executions()
    assert set(starts) == {one.run_id for one in ensemble.requests}
    # At most what the killed worker was executing was begun twice; the others' work was adopted.
    assert sum(starts.values()) - 24 == result.counts.losses <= 1
    assert len(Dataset.open(ensemble.workdir / "dataset")) == 24
    assert processes(campaign, "") == []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> str:
    ensemble = Ensemble(tmp_path_factory.mktemp("calm") / "w", 16)
    assert ensemble.run().counts.finished == 16
    return Dataset.open(ensemble.workdir / "dataset").hash


@pytest.mark.parametrize("moment", [0, 1, 9])
def test_a_killed_driver_repeats_and_loses_nothing(tmp_path, undisturbed, moment):
    ensemble = Ensemble(tmp_path / "w", 16, seconds=0.3)
    case = tmp_path / "case.json"
    case.write_text(ensemble.to_json())
    command = [sys.executable, "-m", "tests.support.ensembles", str(case)]
    driver = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
    wait_until(
        lambda: len(ensemble.executions("end")) >= moment and (moment == 0 or processes(ensemble.campaign, PROGRAM))
    )
    driver.kill()
    driver.wait()
    settlement = ensemble.settle()
    assert processes(ensemble.campaign, "") == []
    assert len(settlement.finished) == len(settlement.waited_for)
    result = ensemble.run()
    assert result.counts.finished == 16
    assert result.counts.adopted >= len(settlement.finished)
    assert ensemble.executions() == dict.fromkeys((one.run_id for one in ensemble.requests), 1)
    assert Dataset.open(ensemble.workdir / "dataset").hash == undisturbed


def test_workers_that_cannot_start_end_the_ensemble_in_a_sentence(tmp_path):
    ensemble = Ensemble(tmp_path / "w", 4)
    setup = ("echo the module gcc/99 is unknown >&2", "exit 7")
    site = SITE.model_copy(update={"environment": Environment(setup=setup)})
    with pytest.raises(SiteError, match=r"end before they have done anything.*the module gcc/99 is unknown"):
        ensemble.run(site=site)
    assert not ensemble.executions()
    assert processes(ensemble.campaign, "") == []


def test_a_fault_in_our_own_code_is_not_swallowed(tmp_path):
    from dataclasses import replace

    ensemble = Ensemble(tmp_path / "w", 3)
    unknown = [replace(one, simulator="scriptde") for one in ensemble.requests]
    with pytest.raises(SiteError, match=r"failed in our own code.*Did you mean 'scripted'\?"):
        ensemble.run(requests=unknown)
    assert processes(ensemble.campaign, "") == []


def test_a_site_without_its_launcher_refuses_before_anything_starts(tmp_path):
    site = Site.model_validate_json('{"name": "none", "launcher": {"mpiexec": "no-such-mpiexec"}}')
    with pytest.raises(SiteError, match="no such program"):
        Ensemble(tmp_path / "w", 1).run(site=site)
