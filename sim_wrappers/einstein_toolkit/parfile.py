"""Parameter files of Cactus: placeholders filled as simfactory does, and what a restart needs set.

A placeholder is @NAME@. One that nobody fills is left as it stands, since scripts test for that.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surrogate.core.errors import SimulationError

_HOLE = re.compile(r"@([A-Za-z_]\w*)@")
_PATIENCE_S = 60


def placeholders(text: str) -> set[str]:
    """Return the names of all placeholders."""
    return set(_HOLE.findall(text))


def filled(text: str, values: Mapping[str, Any]) -> str:
    """Return a text with the placeholders filled that `values` knows; numbers keep all their digits."""
    return _HOLE.sub(lambda hole: _written(values[hole[1]]) if hole[1] in values else hole[0], text)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return repr(float(value)) if isinstance(value, float) else str(value)


def rendered_script(script: Path) -> str:
    """Run a script of parameters and return the parameter file that it writes beside itself.

    Args:
        script: `NAME.rpar`, placeholders filled; it writes `NAME.par`.

    Raises:
        SimulationError: If it fails or writes nothing.
    """
    try:
        done = subprocess.run(
            [sys.executable, script.name], cwd=script.parent, capture_output=True, text=True, errors="replace",
            timeout=_PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise SimulationError(
            f"The parameter script {script.name} did not end within {_PATIENCE_S} s.", kind="exit_status"
        ) from error
    target = script.with_suffix(".par")
    if done.returncode != 0 or not target.is_file():
        said = (done.stderr.strip() or done.stdout.strip() or "it wrote no parameter file").splitlines()[-1]
        raise SimulationError(f"The parameter script {script.name} failed: {said}", kind="exit_status")
    return target.read_text(encoding="utf-8")


def parameter(text: str, name: str) -> str | None:
    """Return what a parameter is set to, without quotes; None when it is not set. The last setting counts."""
    found = _setting(name).findall(text)
    return found[-1].strip().strip('"') if found else None


def with_parameter(text: str, name: str, value: str) -> str:
    """Return a parameter file in which a parameter has a value, wherever it was set before."""
    line = f"{name} = {value}"
    if parameter(text, name) is None:
        return f"{text.rstrip()}\n{line}\n"
    return _setting(name).sub(lambda _: line, text)


def _setting(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*{re.escape(name)}[ \t]*=[ \t]*([^\n#]*?)[ \t]*$", re.MULTILINE | re.IGNORECASE)


def with_restarts(text: str, name: str, walltime_s: float, margin_s: float) -> str:
    """Return a parameter file that checkpoints before its walltime and recovers from the latest checkpoint.

    Args:
        text: The parameter file.
        name: Of the simulation: the folder of its output.
        walltime_s: Seconds that the run has.
        margin_s: Seconds before that at which it ends; at most a quarter of the walltime.
    """
    margin = min(margin_s, walltime_s / 4.0)
    if not re.search(r"\bTerminationTrigger\b(?!::)", text):
        text = f'{text.rstrip()}\nActiveThorns = "TerminationTrigger"\n'
    for key, value in (
        ("IO::out_dir", f'"{name}"'),
        ("IO::recover", '"autoprobe"'),
        ("IO::checkpoint_dir", '"../checkpoints"'),
        ("IO::recover_dir", '"../checkpoints"'),
        ("IO::checkpoint_on_terminate", "yes"),
        ("TerminationTrigger::max_walltime", f"{walltime_s / 3600.0:.6f}"),
        ("TerminationTrigger::on_remaining_walltime", f"{margin / 60.0:.6f}"),
    ):
        text = with_parameter(text, key, value)
    return text


def final_time(text: str) -> float | None:
    """Return the time at which the run ends, in the code's unit; None when something else ends it."""
    if (parameter(text, "Cactus::terminate") or "").lower() != "time":
        return None
    value = parameter(text, "Cactus::cctk_final_time")
    try:
        return float(value) if value is not None else None
    except ValueError:
        return None
