"""`surrogate try`: one run, here and now, before many are started."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.execute import execute
from sim_wrappers.protocol import RunRequest
from site_configs.load import load_site
from site_configs.shape import shape_of
from site_configs.site import Site
from surrogate.core.errors import ConfigError
from surrogate.core.identity import run_id
from surrogate.core.outcome import Outcome, Success
from surrogate.core.schema import Column, Ragged
from surrogate.data.run_file import read_run_file
from surrogate.design.parameters import ParameterSpace
from surrogate.design.points_io import parse_pairs
from workflows.adoption import run_folder
from workflows.checked_plan import check_site, plan_campaign
from workflows.config import CampaignConfig
from workflows.plan import Plan

_PREFIX = "surrogate-try-"
_SOURCES = frozenset((".c", ".cc", ".cpp", ".cu", ".cxx", ".f", ".f03", ".f08", ".f90", ".for", ".rs"))
_KEPT_S = 24 * 3600.0
"""For so long what a failed try left is kept at least, s."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the one run.

    Attributes:
        outcome: Success or failure.
        inputs: Its point.
        outputs: One line for each output: shape and range; empty after a failure.
        estimate: How long all runs of the campaign would take at that pace; empty after a failure.
        folder: What it left, when that was kept.
        outside: Half a sentence on the first bound of the campaign that the point breaks, or None.
        stale: A sentence on a program that is older than its source, or None.
    """

    outcome: Outcome
    inputs: dict[str, Any]
    outputs: tuple[str, ...]
    estimate: str
    folder: Path | None
    outside: str | None = None
    stale: str | None = None


def try_campaign(
    campaign: CampaignConfig, site_name: str, pairs: tuple[str, ...] = (), *, keep: Path | None = None
) -> Trial:
    """Execute one run of a campaign on this machine; the campaign's own working directory is not touched.

    Args:
        campaign: The campaign.
        site_name: Name or file of the site; one whose runs start on this machine.
        pairs: The point as `name=value`; what is left out is in the middle of the space.
        keep: Folder to keep what the run left; when None it is kept after a failure only, in the machine's temporary
            folder, until a try that begins a day later.

    Raises:
        ConfigError: If the site hands its machine out by a scheduler, or the folder is taken.
        InputError: If the campaign is wrong, as `run_campaign` says.
    """
    site = load_site(site_name, [campaign.file.parent] if campaign.file else [])
    if site.scheduler != "local":
        raise ConfigError(
            f"Site '{site.name}' is handed out by {site.scheduler}, and a try starts its run here and now. Try it on "
            "--site laptop, or inside a job."
        )
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        raise ConfigError(f"{keep} exists and is not empty. Name a folder that does not exist yet.")
    plan = plan_campaign(campaign, Path(), one_run=True)
    if plan.data is not None:
        raise ConfigError(f"{campaign.where} has data that exist already, and no run that could be tried.")
    check_site(plan, site)
    _sweep()
    root = keep.absolute() if keep is not None else Path(tempfile.mkdtemp(prefix=_PREFIX))
    with _variables(site), _nothing_left(root, kept=keep is not None):
        request = _request(plan, pairs)
        outcome = execute(
            request,
            plan.simulator,
            lambda program, asked: site.find_launcher("simulate").line(program.argv, asked, mpi=program.mpi),
            run_folder(root, request.run_id),
            workdir=root,
            space_schema=plan.schema,
        )
    outside = plan.space.outside(request.inputs) if isinstance(plan.space, ParameterSpace) else None
    if not isinstance(outcome, Success):
        return Trial(outcome, request.inputs, (), "", run_folder(root, request.run_id), outside, _stale(plan))
    outputs = tuple(_lines(plan, root / outcome.path))
    if keep is None:
        shutil.rmtree(root)
    estimate = plan.estimate(_at_once(plan, site), outcome.seconds).sentence
    folder = run_folder(root, request.run_id) if keep is not None else None
    return Trial(outcome, request.inputs, outputs, estimate, folder, outside)


def _request(plan: Plan, pairs: tuple[str, ...]) -> RunRequest:
    """Return the run at a point that was given, or else in the middle of the space."""
    space = plan.space
    middle = space.from_unit(np.full((1, space.dimensions), 0.5))[0] if space.dimensions else {}
    if pairs:
        given = parse_pairs(pairs, space.columns, partial=bool(middle))
        point = space.canonicalise({**middle, **{name: values[0].item() for name, values in given.items()}})
    elif middle:
        point = middle
    else:
        point = plan.runs[0].request.inputs
    identity = plan.simulator.identity_options(plan.options)
    name = run_id(plan.simulator.name, plan.version, identity, point)
    resources = plan.campaign.resources.request()
    return RunRequest(name, plan.simulator.name, plan.options, point, resources, seed=int(name[:8], 16))


def _lines(plan: Plan, path: Path) -> Iterator[str]:
    columns = read_run_file(path).columns
    for column in plan.schema.outputs:
        yield _line(column, columns)


def _line(column: Column, columns: Mapping[str, Any]) -> str:
    """Return an output in one line."""
    values = columns[column.name]
    numbers = np.asarray(values.data if isinstance(values, Ragged) else values)
    unit = "" if column.unit == "1" else f" {column.unit}"
    if numbers.size == 1:
        return f"{column.name} = {numbers.ravel()[0]:.6g}{unit}"
    shape = list(numbers.shape[1:]) if not isinstance(values, Ragged) else list(numbers.shape)
    if not numbers.size or numbers.dtype.kind not in "biuf":
        return f"{column.name} {shape}"
    return f"{column.name} {shape}: from {numbers.min():.6g} to {numbers.max():.6g}{unit}"


def _at_once(plan: Plan, site: Site) -> int:
    return shape_of(site, "simulate", [plan.campaign.resources.request()]).at_once


def _stale(plan: Plan) -> str | None:
    """Return a sentence when the source beside a program was changed after the program was built."""
    program = Path(str((plan.options.get("command") or ("",))[0]))
    if not program.is_absolute() or not program.is_file():
        return None
    for source in sorted(program.parent.glob(f"{program.stem}.*")):
        if source.suffix.lower() in _SOURCES and source.stat().st_mtime > program.stat().st_mtime:
            return f"{source.name} is newer than {program.name}; perhaps it was not built again."
    return None


def _sweep() -> None:
    """Remove what failed tries of this user left in the temporary folder more than a day ago."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and time.time() - found.st_mtime > _KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _nothing_left(root: Path, *, kept: bool) -> Iterator[None]:
    """Remove the folder when a try is interrupted or cannot begin."""
    try:
        yield
    except BaseException:
        if not kept:
            shutil.rmtree(root, ignore_errors=True)
        raise


@contextmanager
def _variables(site: Site) -> Iterator[None]:
    """Set the variables that the site gives its simulations."""
    before = dict(os.environ)
    os.environ.update(site.variables("simulate"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
