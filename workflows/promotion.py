"""Promotion, the last stage of a campaign: on a passing verdict, and where it is demanded on a person's word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from surrogate.core.errors import ConfigError
from surrogate.registry.reader import RegistryReader
from surrogate.registry.store import Registry, resolve_registry
from surrogate.validation.verdict import Verdict
from workflows.driver import FINISHED, Driver, driving, reopen
from workflows.plan import Plan
from workflows.progress import Progress
from workflows.stopping import Stopping

STAGE = "promote"
AWAITING = "The verdict has passed; the campaign demands a person's word before the version becomes current."


class Standing(NamedTuple):
    """Where a judged version stands.

    Attributes:
        promoted: Whether it is current in the registry.
        awaiting: Whether it has passed and waits for a person's word.
    """

    promoted: bool
    awaiting: bool


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


def standing(plan: Plan, verdict: Verdict, registry: RegistryReader) -> Standing:
    """Return where a version stands; one that was promoted once does not wait any more.

    Raises:
        IntegrityError: If the version or the history is damaged.
    """
    campaign = plan.campaign
    current = registry.current(campaign.name) == verdict.version
    if current or not verdict.passed or not campaign.approval.required:
        return Standing(current, False)
    events = registry.show(verdict.version, campaign.name)["events"]
    return Standing(False, not any(event["event"] in ("promoted", "rolled_back") for event in events))


def promote(plan: Plan, verdict: Verdict, registry: Registry) -> Standing:
    """Make a version current when its verdict allows it, else write the verdict into its history.

    Doing it again moves nothing.

    Raises:
        IntegrityError: If the version or the history is damaged.
        InputError: If the version's ONNX networks differ from its Keras networks.
    """
    awaiting = standing(plan, verdict, registry).awaiting
    if verdict.passed and not awaiting:
        registry.promote(verdict.version, verdict)
    else:
        registry.record_verdict(verdict.version, verdict, note=AWAITING if awaiting else "")
    return standing(plan, verdict, registry)


def conclude_again(driver: Driver, plan: Plan, verdict: Verdict, registry: Registry) -> Standing:
    """Promote what passed earlier and was never promoted, when the campaign no longer demands a person's word for it.

    Raises:
        IntegrityError: If the version or the history is damaged.
    """
    known = driver.journal.state.stages.get(STAGE)
    promoted = known is not None and known.key == verdict.version and known.status == FINISHED
    if verdict.passed and not promoted and not plan.campaign.approval.required:
        registry.promote(verdict.version, verdict)
        journal_promotion(driver, verdict.version, registry)
    return standing(plan, verdict, registry)


def journal_promotion(
    driver: Driver, version: str, registry: RegistryReader, approved_by: str = "", note: str = ""
) -> None:
    """Journal that a version was promoted."""
    record = {"version": version, "registry": str(registry.root)}
    if approved_by:
        record |= {"approved_by": approved_by, "note": note}
    driver.finish(STAGE, version, record)


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
    wanted, verdict = _judged_version(store, campaign.name, version, workspace.verdict, workdir)
    with driving(campaign, workspace, progress, Stopping()) as driver:
        before = store.current(campaign.name)
        store.promote(wanted, verdict, note=word, approved_by=name)
        journal_promotion(driver, wanted, store, name, word)
    return Promotion(campaign.name, wanted, name, word, before != wanted, store.root)


def _judged_version(
    store: RegistryReader, campaign: str, version: str | None, verdict_file: Path, workdir: Path
) -> tuple[str, Verdict]:
    """Return the full name of a version and its last verdict."""
    if version is None:
        if not verdict_file.is_file():
            raise ConfigError(f"Nothing was judged in {workdir} yet. Bring it there with `surrogate resume {workdir}`.")
        version = Verdict.read(verdict_file).version
    _, version = store.resolve(version, campaign)
    record = store.show(version, campaign)["verdict"]
    if record is None:
        raise ConfigError(
            f"Version {version} of '{campaign}' has not been judged. Judge it with `surrogate validate {workdir}`."
        )
    return version, Verdict.from_json(record)
