"""A campaign whose runs gave too little: how many, why, where, and what is then missing, said at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from surrogate.core.errors import DataError, InputError, SplitError, after_work
from surrogate.data.cube import cube_of
from surrogate.data.missing import failure_place
from surrogate.data.quarantine import Refused
from surrogate.data.split import Split, SplitCount
from workflows.driver import Driver
from workflows.journal_records import ADMITTED
from workflows.plan import Plan

ASSEMBLE = "assemble"


@dataclass(frozen=True, slots=True)
class Simulated:
    """What simulating cost.

    Attributes:
        node_seconds: Node-seconds of the last execution of every run.
        seconds: Wall-clock seconds of each finished run, a sample.
        launch_line: How one of the runs was started.
        failures: Runs that failed for good.
        quarantined: Runs whose result was refused.
    """

    node_seconds: float
    seconds: tuple[float, ...]
    failures: tuple[Refused, ...]
    quarantined: tuple[Refused, ...]


def check_share(
    driver: Driver,
    plan: Plan,
    cost: Simulated,
    counts: Mapping[Split, SplitCount] | None = None,
    *,
    ended: int | None = None,
) -> None:
    """Refuse to go on when too many runs gave nothing.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        cost: What the runs came to.
        counts: What each split has got; None before the end.
        ended: Runs that have ended; None when all have.

    Raises:
        DataError: If so, with the kinds of failure and everything else that would stop the campaign.
    """
    refused = [*cost.failures, *cost.quarantined]
    allowed = plan.campaign.failures.allowed_share
    if len(refused) <= allowed * len(plan.runs):
        return
    kinds = Counter(entry.kind.value for entry in refused)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    ended = len(plan.runs) if ended is None else ended
    rest = "" if ended == len(plan.runs) else f"; the other {len(plan.runs) - ended} were not waited for"
    also = [refused[0].reason, where_they_failed(driver, plan, cost), _missing(plan, counts)]
    root = driver.workspace.root
    way_out = (
        f"mend the cause, and go on with `surrogate resume {root} --retry-failed`; a program that is built anew is "
        "another version and needs a new --workdir"
        if cost.failures
        else "and correct the simulation or its inputs in a campaign of their own, as what is not physical is never "
        "tried again"
    )
    raise _stopped(
        driver,
        DataError(
            f"{len(refused)} of {ended} runs gave no data ({counted}), and 'failures.allowed_share' is "
            f"{allowed:g} of {len(plan.runs)}{rest}. The first said: {' '.join(filter(None, also))} "
            f"Look at `surrogate status {root}`, {way_out}; or allow a larger share."
        ),
    )


def check_splits(driver: Driver, plan: Plan, cost: Simulated, counts: Mapping[Split, SplitCount]) -> None:
    """Refuse to go on when a split has got less than its minimum.

    Raises:
        SplitError: If so, with where runs failed.
    """
    try:
        plan.splits.check(counts)
    except SplitError as error:
        refused = len(cost.failures) + len(cost.quarantined)
        if plan.data is not None or not refused:
            raise (error if plan.data is not None else _stopped(driver, error)) from None
        where = where_they_failed(driver, plan, cost)
        told = SplitError(f"{error} {refused} of {len(plan.runs)} runs gave no data. {where}".rstrip())
        raise _stopped(driver, told) from error


def _stopped(driver: Driver, error: InputError) -> InputError:
    """Journal why the campaign cannot go on, for `surrogate status`; return the error, which is none of the request."""
    driver.fail(ASSEMBLE, "", str(error))
    return after_work(error)


def where_they_failed(driver: Driver, plan: Plan, cost: Simulated) -> str:
    """Return the sentence that says where in the input space runs failed, or an empty text when chance may do that."""
    known = driver.journal.state.runs
    runs = [known[run.request.run_id] for run in plan.runs if run.request.run_id in known]
    admitted = [run.inputs for run in runs if run.status in ADMITTED]
    failed = [entry.inputs for entry in (*cost.failures, *cost.quarantined)]
    cube = cube_of(plan.space, plan.schema.inputs, [*admitted, *failed])
    found = failure_place(cube.place(failed)[0], cube.place(admitted)[0], cube)
    return str(found["sentence"]) if found["clustered"] else ""


def _missing(plan: Plan, counts: Mapping[Split, SplitCount] | None) -> str:
    """Return the sentences for splits that are below their minimum without the runs that failed."""
    return "" if counts is None else " ".join(plan.splits.too_few(counts))
