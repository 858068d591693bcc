"""A person's word for a version: the promotion that it brings, and the report that then says so."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import ConfigError, SurrogateError
from surrogate.registry.reader import RegistryReader
from surrogate.registry.store import Registry, resolve_registry
from surrogate.validation.verdict import Verdict
from workflows.checked_plan import plan_campaign
from workflows.current import check_held, judged_version, lost_version
from workflows.driver import Driver, driving, reopen
from workflows.progress import Progress
from workflows.promotion import journal_promotion
from workflows.reporting import renew_report
from workflows.stopping import Stopping
from workflows.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Promotion:
    """What came of `surrogate promote`.

    Attributes:
        campaign: Name of the campaign.
        version: The version.
        approved_by: Who gave the word; empty for nobody.
        note: Why.
        moved: Whether it was not current before.
        registry: The registry.
    """

    campaign: str
    version: str
    approved_by: str
    note: str
    moved: bool
    registry: Path


def approve(
    workdir: Path,
    version: str | None = None,
    *,
    approved_by: str = "",
    note: str = "",
    registry: Path | None = None,
    progress: Progress,
) -> Promotion:
    """Make a version current that has passed its gate, on a person's word where the campaign demands one.

    Args:
        workdir: Working directory of the campaign.
        version: The version, or the beginning of its name; that of the last verdict when None.
        approved_by: Who gives the word.
        note: Why; kept in the history.
        registry: The registry, or None for the default.
        progress: What a person is told.

    Raises:
        ConfigError: If there is no such version, it was never judged, or a word is demanded and not given.
        InputError: If its last verdict failed.
        LockError: If somebody else works in the working directory.
        IntegrityError: If the version or the history is damaged.
    """
    campaign, workspace = reopen(workdir)
    store = Registry(resolve_registry(registry, workspace.root))
    name, word = approved_by.strip(), note.strip()
    if campaign.approval.required and not (name and word):
        raise ConfigError(
            f"The campaign '{campaign.name}' demands a person's word before a version becomes current. Say who gives "
            f"it and why: surrogate promote {workdir} --approve NAME --note TEXT"
        )
    wanted, verdict = _judged_version(store, campaign.name, version, workspace, workdir)
    with driving(campaign, workspace, progress, Stopping()) as driver:
        before = store.current(campaign.name)
        if before == wanted and not (name or word):  # nothing to move, and nothing to keep
            return Promotion(campaign.name, wanted, name, word, False, store.root)
        store.promote(wanted, verdict, note=word, approved_by=name)
        journal_promotion(driver, wanted, store, name, word)
        _renew_report(driver, store)
    return Promotion(campaign.name, wanted, name, word, before != wanted, store.root)


def _renew_report(driver: Driver, store: Registry) -> None:
    """Let the report say who is current now. The version is promoted already, so that trouble here is only told."""
    workspace = driver.workspace
    if not workspace.report.is_file():
        return
    try:
        renew_report(driver, plan_campaign(driver.campaign, workspace.root), store)
    except SurrogateError as error:
        driver.progress.say(
            f"The report does not say so yet, since it could not be written again: {error} When that is mended: "
            f"surrogate report {workspace.root}"
        )


def _judged_version(
    store: RegistryReader, campaign: str, version: str | None, workspace: Workspace, workdir: Path
) -> tuple[str, Verdict]:
    """Return the full name of a version and its last verdict."""
    last = version is None
    wanted = judged_version(workspace, workdir) if version is None else version
    if last:
        check_held(workspace, store, campaign, wanted)
    _, wanted = store.resolve(wanted, campaign)
    record = store.show(wanted, campaign)["verdict"]
    if record is None and last:
        raise ConfigError(lost_version(workspace, store, wanted))
    if record is None:
        raise ConfigError(
            f"Version {wanted} of '{campaign}' has not been judged. Judge it with `surrogate validate {workdir}`."
        )
    return wanted, Verdict.from_json(record)
