"""Parsl's manager of workers inside a job of ours: `python -m site_configs.manager` and the manager's own arguments.

Beside what Parsl's does: it gives its node a scratch folder and takes it away again, tells its workers what the job has
and when it ends, hears the warning that SLURM sends ahead of that, and bears a name by which its block is known.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import runpy
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from site_configs.allocation import VARIABLE, Allocation
from site_configs.slots import NodeSize
from site_configs.steady import hold_clock
from site_configs.worker_pool import PARSLS_OWN

BLOCK_VARIABLE = "SURROGATE_BLOCK"
BEGAN_VARIABLE = "SURROGATE_BLOCK_BEGAN"
# A socket's path has 107 characters, and Python's managers of shared objects take 32 of them below TMPDIR.
_LONGEST_TMPDIR = 70
_LAST_WORDS_S = 1.5


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """What the driver tells its managers.

    Attributes:
        walltime_s: Wall-clock seconds of the job.
        lead_s: How long before its end it is warned.
        scratch: How the names of scratch folders begin.
        shared: Whether the workers of this manager share all nodes of the job.
        slots: Whether runs must ask for their share.
        size: What one node has.
    """

    walltime_s: int
    lead_s: int
    scratch: str
    shared: bool
    slots: bool
    size: NodeSize

    def to_text(self) -> str:
        """Return the facts as JSON text."""
        size = {"cores": self.size.cores, "memory_mib": self.size.memory_mib, "gpus": self.size.gpus}
        names = ("walltime_s", "lead_s", "scratch", "shared", "slots")
        return json.dumps({**{name: getattr(self, name) for name in names}, "size": size})

    @classmethod
    def from_text(cls, text: str) -> BlockFacts:
        """Rebuild the facts."""
        record: dict[str, Any] = json.loads(text)
        return cls(**{**record, "size": NodeSize(**record["size"])})


def manager_name(block: str, node: str) -> str:
    """Return a name for a manager; `block_of` reads the block from it."""
    return f"{block}.{node}.{secrets.token_hex(4)}"


def block_of(name: str) -> str:
    """Return the block of a manager."""
    return name.partition(".")[0]


def allocation(facts: BlockFacts, block: str, scratch: Path, environment: Mapping[str, str]) -> Allocation:
    """Return what the workers of this manager are told.

    Args:
        facts: What the driver told.
        block: Number of the block.
        scratch: Folder of this node.
        environment: SLURM's variables.
    """
    node = environment.get("SLURMD_NODENAME") or "localhost"
    hosts = _hosts(environment) if facts.shared else (node,)
    began = float(environment.get(BEGAN_VARIABLE) or time.time())
    return Allocation(
        hosts=hosts,
        node=node,
        block=block,
        began=began,
        ends=began + facts.walltime_s,
        lead_s=float(facts.lead_s),
        warning=str(scratch / "warning"),
        slots=str(scratch / "slots.json") if facts.slots else "",
        size=facts.size,
    )


def _hosts(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the job's nodes."""
    nodes = environment.get("SLURM_JOB_NODELIST", "")
    if not nodes:
        return ("localhost",)
    answer = subprocess.run(
        ["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, timeout=60, check=True
    )
    return tuple(answer.stdout.split())


def main(arguments: list[str]) -> None:
    """Prepare this node and run Parsl's manager."""
    hold_clock()
    facts = BlockFacts.from_text(os.environ[BLOCK_VARIABLE])
    scratch = Path(tempfile.mkdtemp(prefix=facts.scratch))
    block = next((word.partition("=")[2] for word in arguments if word.startswith("--block_id=")), "0")
    found = allocation(facts, block, scratch, os.environ)
    os.environ[VARIABLE] = found.to_text()
    if len(str(scratch)) <= _LONGEST_TMPDIR:
        os.environ["TMPDIR"] = str(scratch)
        tempfile.tempdir = None

    def warned(number: int, frame: FrameType | None) -> None:
        del number, frame
        Path(found.warning).touch()

    def ended(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_IGN)
        _end_children()
        shutil.rmtree(scratch, ignore_errors=True)
        # Parsl's threads would keep this process from leaving in any other way.
        os._exit(128 + number)

    signal.signal(signal.SIGUSR1, warned)
    signal.signal(signal.SIGTERM, ended)
    sys.argv = [PARSLS_OWN, *arguments, "--uid", manager_name(block, found.node)]
    try:
        runpy.run_module(PARSLS_OWN, run_name="__main__", alter_sys=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _end_children() -> None:
    """Ask the workers to end; each first ends the program that it runs."""
    children = multiprocessing.active_children()
    for child in children:
        with contextlib.suppress(OSError):
            child.terminate()
    deadline = time.monotonic() + _LAST_WORDS_S
    for child in children:
        child.join(max(0.0, deadline - time.monotonic()))


if __name__ == "__main__":
    main(sys.argv[1:])
