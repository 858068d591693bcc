"""Promotion, the last stage of a campaign: on a passing verdict, and where it is demanded on a person's word."""

from __future__ import annotations

from typing import NamedTuple

from surrogate.registry.reader import RegistryReader
from surrogate.registry.store import Registry
from surrogate.validation.verdict import Verdict
from workflows.driver import FINISHED, Driver
from workflows.plan import Plan

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
    """Promote what passed earlier and is owed it: never promoted though no word is demanded, or lost by the registry.

    A registry that was deleted, or another one, has the version but no verdict on it. Then the verdict is written into
    it; a person's word that the journal holds for that very registry counts again.

    Raises:
        IntegrityError: If the version or the history is damaged.
        InputError: If the version's ONNX networks differ from its Keras networks.
    """
    known = driver.journal.state.stages.get(STAGE)
    promoted = known is not None and known.key == verdict.version and known.status == FINISHED
    if registry.show(verdict.version, plan.campaign.name)["verdict"] is None:
        driver.progress.say(
            f"The registry {registry.root} knew no verdict on version {verdict.version}: it is new, or was lost. The "
            "verdict is written into it; the holdout is not consulted."
        )
        word = known.record if known is not None and promoted else {}
        same = word.get("registry") == str(registry.root)
        name, note = (str(word.get("approved_by", "")), str(word.get("note", ""))) if same else ("", "")
        if not verdict.passed or (plan.campaign.approval.required and not name):
            return promote(plan, verdict, registry)
        registry.promote(verdict.version, verdict, note=note, approved_by=name)
        journal_promotion(driver, verdict.version, registry, name, note)
    elif verdict.passed and not promoted and not plan.campaign.approval.required:
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
