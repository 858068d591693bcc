"""The program of the scripted simulator: `python [-m mpi4py] -m sim_wrappers.scripted.program IN OUT`.

IN is JSON that the adapter wrote and that names one mode of behaving; OUT is JSON, written on rank 0. Only the standard
library is imported, and mpi4py when there are to be ranks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sim_wrappers.scripted.formulas import level, trace_length, wave

STUBBORN_CHILD = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"


def note(case: dict[str, Any], word: str) -> None:
    """Append `RUN_ID ATTEMPT WORD` to the ledger in one write, so that lines of many runs do not mix."""
    if case["ledger"]:
        handle = os.open(case["ledger"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            os.write(handle, f"{case['run_id']} {case['attempt']} {word}\n".encode())
        finally:
            os.close(handle)


def _misbehave(case: dict[str, Any]) -> None:
    """Do what a mode asks for before anything is computed."""
    mode, early = case["mode"], case["attempt"] <= case["attempts"]
    if mode == "fail":
        sys.exit("SCRIPTED: the solver failed, as it was told.")
    if mode == "flaky" and early:
        sys.exit("SCRIPTED: the step is too large.")
    if mode == "lost" and early:
        sys.exit("SCRIPTED: CANCELLED DUE TO NODE FAILURE")
    if mode == "disk" and early:
        sys.exit("SCRIPTED: No space left on device")
    if mode == "crash":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", STUBBORN_CHILD], start_new_session=True)
        print(f"SCRIPTED: stubborn child {child.pid}", flush=True)
    if mode in ("hang", "stubborn"):
        time.sleep(3600)


def _share(case: dict[str, Any], rank: int, ranks: int) -> list[list[float]]:
    """Return this rank's share of each sample's wave: every `ranks`-th point."""
    points = range(rank, case["length"], ranks)
    return [wave(case["inputs"], points, case["length"], sample) for sample in range(case["samples"])]


def _joined(case: dict[str, Any], shares: list[list[list[float]]]) -> list[list[float]]:
    """Return the whole waves from all ranks' shares."""
    waves = []
    for sample in range(case["samples"]):
        whole = [0.0] * case["length"]
        for rank, share in enumerate(shares):
            whole[rank :: len(shares)] = share[sample]
        waves.append(whole)
    return waves


def _write(case: dict[str, Any], waves: list[list[float]], target: Path) -> None:
    """Write the result, spoiled in the way that the mode asks for."""
    mode = case["mode"]
    converged = not (mode == "unconverged" and "more_iterations" not in case["remedies"])
    if not converged:
        print("SCRIPTED: not converged after 100 iterations, writing what there is.")
    result: dict[str, Any] = {
        "wave": waves,
        "level": [level(case["inputs"], sample) for sample in range(case["samples"])],
        "converged": converged,
        "end": mode != "unmarked",
    }
    if case["ragged"]:
        result["trace"] = [whole[: trace_length(case["inputs"], case["length"])] for whole in waves]
    if mode == "nan":
        waves[0][0] = float("nan")
    if mode == "bounds":
        waves[0][-1] = 7.0
    if mode == "shape":
        result["wave"] = [whole[:-1] for whole in waves]
    text = json.dumps(result)
    if mode == "truncate":
        text = text[: len(text) // 2]
    if mode != "missing":
        target.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run one case on all ranks; return the exit status."""
    source, target = (Path(argument) for argument in arguments)
    case = json.loads(source.read_text(encoding="utf-8"))
    rank, ranks, shares = 0, 1, None
    if case["mpi"]:
        from mpi4py import MPI

        from surrogate.core.world import check_world_size

        rank, ranks = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
        check_world_size(ranks)
    if rank == 0:
        note(case, "start")
        _misbehave(case)
        time.sleep(case["seconds"])
    share = _share(case, rank, ranks)
    shares = MPI.COMM_WORLD.gather(share) if case["mpi"] else [share]
    if shares is not None:
        _write(case, _joined(case, shares), target)
    if case["mpi"]:
        MPI.Finalize()
    if rank == 0:
        note(case, "end")  # after all that takes time, so that whoever ended is not ended
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
