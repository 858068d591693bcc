"""The failures of runs as tables of Markdown: what is printed, who finds it, what to do, whether the run goes again."""

from __future__ import annotations

import errno
import re
import signal
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from scripts.docs.sentences import module_pairs, sentences
from sim_wrappers.catalog import get
from sim_wrappers.diagnose import GENERAL, Diagnosis, diagnose, storage_trouble
from sim_wrappers.protocol import KnownError
from surrogate.core.outcome import Budget, FailureKind

GAP = "…"
_MODULES = {
    "sim_wrappers.execute": "execution",
    "surrogate.data.admission": "admission",
    "surrogate.data.conform": "admission",
    "workflows.dispatch": "workers",
    "workflows.losses": "workers",
    "sim_wrappers.external.adapter": "`external`",
    "sim_wrappers.external.fingerprint": "`external`",
    "sim_wrappers.external.rules.hdf5": "`external`",
    "sim_wrappers.external.rules.netcdf": "`external`",
    "sim_wrappers.external.rules.numpy_files": "`external`",
    "sim_wrappers.external.rules.parser": "`external`",
    "sim_wrappers.external.rules.read": "`external`",
    "sim_wrappers.external.rules.text": "`external`",
    "sim_wrappers.buckley_leverett.inputs": "`buckley_leverett`",
    "sim_wrappers.buckley_leverett.outputs": "`buckley_leverett`",
    "sim_wrappers.compact_binary.inputs": "`compact_binary`",
    "sim_wrappers.compact_binary.outputs": "`compact_binary`",
    "sim_wrappers.einstein_toolkit.adapter": "`einstein_toolkit`",
    "sim_wrappers.einstein_toolkit.horizons": "`einstein_toolkit`",
    "sim_wrappers.einstein_toolkit.outputs": "`einstein_toolkit`",
    "sim_wrappers.einstein_toolkit.parfile": "`einstein_toolkit`",
    "sim_wrappers.einstein_toolkit.restarts": "`einstein_toolkit`",
}
_UNKNOWN = 7
"""An exit status that means nothing in particular."""


class Told(NamedTuple):
    """One sentence of a failure.

    Attributes:
        kind: What went wrong.
        sentence: What is printed, with `…` for what is filled in.
        by: Who finds it.
        remedy: What to do, as a sentence; may be empty.
        again: Whether the run can go again.
    """

    kind: FailureKind
    sentence: str
    by: str
    remedy: str
    again: bool


@cache
def told() -> tuple[Told, ...]:
    """Return every sentence of a failed run that this program words itself, without repetitions."""
    return tuple(dict.fromkeys([*_of_programs(), *_of_adapters(), *_of_sources(), *_of_jobs()]))


def failure_table(kind: FailureKind) -> str:
    """Return the table of one kind."""
    lines = ["| what is printed | found by | what to do | goes again |", "|---|---|---|---|"]
    for entry in told():
        if entry.kind is kind:
            again = (
                "no" if kind.budget is Budget.PHYSICS or (kind.budget is Budget.SOLVER and not entry.again) else "yes"
            )
            lines.append(f"| {_cell(entry.sentence)} | {entry.by} | {_cell(entry.remedy)} | {again} |")
    return "\n".join(lines) + "\n"


def budget_table() -> str:
    """Return the three budgets with their kinds."""
    lines = ["| budget | kinds |", "|---|---|"]
    for budget in Budget:
        kinds = ", ".join(f"[`{kind.value}`](#{kind.value})" for kind in FailureKind if kind.budget is budget)
        lines.append(f"| {budget.value} | {kinds} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _of_programs() -> Iterator[Told]:
    """Yield what the end of a program says: its output, its exit status, its signal, its time, the disk."""
    yield from (_known(error, "program's output") for error in GENERAL)
    yield _diagnosed(diagnose(0, True, ""), "walltime")
    for status in (127, 126, _UNKNOWN):
        yield _diagnosed(diagnose(status, False, ""), "exit status")
    for number in signal.Signals:
        found = diagnose(-number, False, "")
        if "by signal" in found.message:
            yield _diagnosed(found, "signal")
    full, other = OSError(errno.ENOSPC, GAP), OSError(errno.EIO, GAP, GAP)
    yield _diagnosed(storage_trouble(full), "disk")
    yield _diagnosed(storage_trouble(other), "disk")


def _known(error: KnownError, by: str) -> Told:
    return Told(error.kind, re.sub(r"\{\w+\}", GAP, error.message), by, error.remedy_text, error.retryable)


def _diagnosed(found: Diagnosis, by: str) -> Told:
    sentence = found.message.replace(f"status {_UNKNOWN} ", f"status {GAP} ")
    return Told(found.kind, sentence, by, found.remedy_text, found.retryable)


def _of_adapters() -> Iterator[Told]:
    for name in ("buckley_leverett", "compact_binary", "einstein_toolkit"):
        yield from (_known(error, f"`{name}`") for error in get(name).known_errors)


def _of_sources() -> Iterator[Told]:
    for module, by in _MODULES.items():
        for kind, sentence in sentences(module):
            again = not (kind is FailureKind.EXIT_STATUS and by == "execution")
            yield Told(kind, sentence, by, "", again)


def _of_jobs() -> Iterator[Told]:
    """Yield how jobs of a scheduler end."""
    for kind, how in module_pairs("site_configs.slurm_executor"):
        yield Told(kind, f"The SLURM job {GAP} that executed the run {how}.", "scheduler", "", True)
