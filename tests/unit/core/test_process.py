"""Programs are started clean and ended whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from surrogate.core import shared_memory
from surrogate.core.process import (
    RUN_VARIABLE,
    ProcessResult,
    find_tagged,
    is_alive,
    kill_tagged,
    kill_tree,
    run_process,
    scrubbed_environment,
    start_time,
    sweep_shared_memory,
)

# A child that leaves: own session, adopted by init, deaf to SIGTERM. Its pid goes to a file.
DEAF = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(str(os.getpid()))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(3600)
    os._exit(0)
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-c", code, *arguments]


def run(tmp_path: Path, argv: list[str], **options) -> ProcessResult:
    options = {"timeout_s": 30.0, "grace_s": 0.2, "env": dict(os.environ), **options}
    return run_process(argv, cwd=tmp_path, stdout=tmp_path / "out.txt", **options)


def wait_for(path: Path) -> int:
    for _ in range(1000):
        if path.exists():
            return int(path.read_text())
        time.sleep(0.01)
    raise AssertionError(f"{path} did not appear")


def test_output_and_exit_status_are_kept(tmp_path: Path) -> None:
    code = "import sys; print('to stdout', flush=True); print('to stderr', file=sys.stderr); sys.exit(7)"
    result = run(tmp_path, python(code))
    assert (result.returncode, result.timed_out, result.survivors) == (7, False, ())
    assert (tmp_path / "out.txt").read_text() == "to stdout\nto stderr\n"
    assert 0.0 < result.seconds < 30.0


def test_a_second_run_replaces_the_output(tmp_path: Path) -> None:
    run(tmp_path, ["echo", "first, and long"])
    run(tmp_path, ["echo", "second"])
    assert (tmp_path / "out.txt").read_text() == "second\n"


def test_a_signal_is_a_negative_status(tmp_path: Path) -> None:
    assert run(tmp_path, ["sh", "-c", "kill -SEGV $$"]).returncode == -signal.SIGSEGV


def test_nothing_to_read_on_stdin(tmp_path: Path) -> None:
    assert run(tmp_path, ["cat"], timeout_s=10).returncode == 0


def test_it_runs_in_its_folder_and_session_with_its_environment_only(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.getsid(0) == os.getpid(), os.environ['ONLY'], 'HOME' in os.environ)"
    run(tmp_path, python(code), env={"ONLY": "this"})
    assert (tmp_path / "out.txt").read_text().split() == [str(tmp_path), "True", "this", "False"]


def test_a_missing_program_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run(tmp_path, ["/no/such/program"])


def test_timeout_ends_a_sleeper_with_its_children(tmp_path: Path) -> None:
    result = run(tmp_path, ["sh", "-c", "sleep 3600 & echo $! > child; sleep 3600"], timeout_s=0.5)
    assert result.timed_out
    # The shell itself may be ended, or see its child ended and say so.
    assert result.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert not is_alive(result.pid)
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_an_old_kernel_is_served_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    monkeypatch.setattr("surrogate.core.process._TICK_S", 0.05)
    assert run(tmp_path, ["sh", "-c", "sleep 0.2; exit 4"]).returncode == 4
    assert run(tmp_path, ["sleep", "3600"], timeout_s=0.2).timed_out


def test_timeout_ends_who_ignores_sigterm(tmp_path: Path) -> None:
    result = run(tmp_path, ["sh", "-c", "trap '' TERM; sleep 3600 & echo $! > child; wait; sleep 3600"], timeout_s=0.5)
    assert (result.timed_out, result.returncode) == (True, -signal.SIGKILL)
    assert not is_alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("ending", ["time.sleep(3600)", "sys.exit(3)"], ids=["timeout", "failure"])
def test_children_in_another_session_that_init_adopted_end_too(tmp_path: Path, ending: str) -> None:
    code = DEAF + "\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n" + ending
    result = run(tmp_path, python(code, str(tmp_path / "deaf")), timeout_s=2.0 if "sleep" in ending else 30.0)
    deaf = wait_for(tmp_path / "deaf")
    assert result.timed_out == ("sleep" in ending)
    assert not is_alive(deaf)
    assert result.survivors == ()


def test_children_left_in_the_background_by_a_success_end_too(tmp_path: Path) -> None:
    result = run(tmp_path, ["sh", "-c", "sleep 3600 & echo $! > child; exit 0"])
    assert result.returncode == 0
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_an_interruption_leaves_nothing_alive(tmp_path: Path) -> None:
    main = threading.get_ident()

    def interrupt() -> None:
        wait_for(tmp_path / "child")
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, ["sh", "-c", "sleep 3600 & echo $! > new; mv new child; sleep 3600"])
    assert not is_alive(int((tmp_path / "child").read_text()))


def test_runaway_output_is_cut_back_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surrogate.core.process._TICK_S", 0.02)
    code = "import time\nfor i in range(40): print('x' * 9999, flush=True); time.sleep(0.01)\nprint('the end')"
    assert run(tmp_path, python(code), output_limit=50_000).returncode == 0
    written = (tmp_path / "out.txt").read_text()
    assert len(written) < 150_000
    assert written.endswith("the end\n")


def test_what_a_launcher_or_scheduler_told_another_job_is_dropped() -> None:
    told = {
        "SLURM_JOB_ID": "1", "SLURM_NTASKS": "4", "SBATCH_ACCOUNT": "x", "PMI_RANK": "1", "PMI_FD": "7", "PMI2_X": "1",
        "PMIX_RANK": "1", "PMIX_SERVER_URI41": "x", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_MCA_btl": "self", "OPAL_X": "1",
        "PRTE_X": "1", "HYDRA_PROXY_ID": "0", "HYDI_CONTROL_FD": "9", "MPI_LOCALRANKID": "1", "MPIEXEC_X": "1",
        "HOROVOD_RANK": "1", "PBS_NODEFILE": "/x", "PALS_RANKID": "1",
    }  # fmt: skip
    own = {"PATH": "/bin", "HOME": "/h", "MPICH_X": "tuning", "MPIR_CVAR_X": "tuning", "PMIDDLE": "mine", "": "odd"}
    assert scrubbed_environment({**told, **own}) == own
    kept = scrubbed_environment({**told, **own}, keep=("SLURM_*", "OMPI_MCA_btl"))
    assert set(kept) - set(own) == {"SLURM_JOB_ID", "SLURM_NTASKS", "OMPI_MCA_btl"}


@contextlib.contextmanager
def sleeper(**environment: str):
    with subprocess.Popen(["sleep", "3600"], env={**os.environ, **environment}) as process:
        try:
            yield process
        finally:
            process.kill()


def test_processes_are_found_and_ended_by_their_tag() -> None:
    with sleeper(**{RUN_VARIABLE: "tag-a"}) as first, sleeper(**{RUN_VARIABLE: "tag-a-longer"}) as second:
        assert find_tagged(RUN_VARIABLE, "tag-a") == [first.pid]
        assert kill_tagged(RUN_VARIABLE, "tag-a", grace_s=1.0) == ()
        assert first.wait() == -signal.SIGTERM
        assert find_tagged(RUN_VARIABLE, "tag-a") == []
        assert second.poll() is None


def test_a_tree_is_ended_only_when_it_started_when_it_should_have() -> None:
    with sleeper() as process:
        began = start_time(process.pid)
        assert began is not None
        assert is_alive(process.pid, began)
        assert not is_alive(process.pid, began + 1)
        assert kill_tree(process.pid, start=began + 1) == ()
        assert process.poll() is None
        assert kill_tree(process.pid, start=began) == ()
        assert process.wait() == -signal.SIGTERM
        assert start_time(process.pid) is None


def test_a_zombie_is_not_alive() -> None:
    with subprocess.Popen(["true"]) as process:
        for _ in range(500):
            if not is_alive(process.pid):
                break
            time.sleep(0.01)
        assert not is_alive(process.pid)


def test_shared_memory_that_nobody_maps_is_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    used, unused, young, foreign = (shared_memory._SHM / f"mpich_shm_test-{os.getpid()}-{name}" for name in "abcd")
    foreign = foreign.with_name(f"other-{os.getpid()}")
    code = (
        "import mmap, sys\nf = open(sys.argv[1], 'r+b'); m = mmap.mmap(f.fileno(), 4096)\n"
        "print('on', flush=True); input()"
    )
    try:
        for path in (used, unused, foreign):
            path.write_bytes(bytes(4096))
        with subprocess.Popen(python(code, str(used)), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"on\n"
            young.write_bytes(bytes(4096))
            assert sweep_shared_memory(minimum_age_s=3600.0) == 0
            monkeypatch.setattr(shared_memory, "_own_segments", lambda: [(used, 0.0), (unused, 0.0)])
            assert sweep_shared_memory(minimum_age_s=0.0) == 1
            assert (used.exists(), unused.exists(), young.exists(), foreign.exists()) == (True, False, True, True)
            holder.communicate(b"\n")
    finally:
        for path in (used, unused, young, foreign):
            path.unlink(missing_ok=True)


def test_shared_memory_of_ended_processes_goes_with_them(tmp_path: Path) -> None:
    segment = shared_memory._SHM / f"mpich_shm_test-{os.getpid()}"
    code = (
        "import mmap, sys, time\nf = open(sys.argv[1], 'w+b'); f.truncate(4096)\n"
        "m = mmap.mmap(f.fileno(), 4096); time.sleep(3600)"
    )
    assert run(tmp_path, python(code, str(segment)), timeout_s=1.0).timed_out
    assert not segment.exists()


def test_shared_memory_of_a_program_that_failed_by_itself_goes_too(tmp_path: Path) -> None:
    segment = shared_memory._SHM / f"mpich_shm_test-{os.getpid()}"
    assert run(tmp_path, ["sh", "-c", f"echo x > {segment}; exit 9"]).returncode == 9
    assert not segment.exists()


def test_shared_memory_goes_although_the_clock_was_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = shared_memory._SHM / f"mpich_shm_test-{os.getpid()}"
    ahead = time.time() + 3600.0
    with monkeypatch.context() as patch:  # the program is started an hour before the clock is set back by an hour
        patch.setattr("time.time", lambda: ahead)
        assert run(tmp_path, ["sh", "-c", f"echo x > {segment}; exit 9"]).returncode == 9
    assert not segment.exists()
    try:
        segment.write_bytes(bytes(4096))
        monkeypatch.setattr(shared_memory, "_own_segments", lambda: [(segment, ahead)])
        assert sweep_shared_memory() == 1
        assert not segment.exists()
    finally:
        segment.unlink(missing_ok=True)
