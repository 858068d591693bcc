"""What is known of earlier looks at a campaign's holdout beside `holdout.json`, so that losing that file hides none."""

from __future__ import annotations

from typing import Any

from surrogate.core.checked import read_checked
from surrogate.core.errors import IntegrityError
from surrogate.registry.reader import RegistryReader
from surrogate.validation.holdout import Consultations, KnownLooks, holdout_id
from workflows.driver import Driver
from workflows.plan import Plan


def stage_record(version: str, passed: bool, looks: Consultations) -> dict[str, Any]:
    """Return what the journal keeps of a judging."""
    return {
        "version": version,
        "passed": passed,
        "holdout": {"id": looks.holdout, "consultations": looks.times, "surrogates": looks.surrogates},
    }


def known_looks(driver: Driver, plan: Plan, registry: RegistryReader, stage: str) -> KnownLooks:
    """Return what the last verdict, the journal and the verdicts in the registry say of this holdout.

    Args:
        driver: Holds the campaign.
        plan: The campaign and its design.
        registry: Where versions live.
        stage: Name of the stage that judges.
    """
    known, holdout = KnownLooks(), holdout_id(plan.splits.salt)
    judged = driver.journal.state.stages.get(stage)
    if judged is not None and "version" in judged.record:
        known |= _looks(judged.record, holdout)
    try:
        if driver.workspace.verdict.is_file():
            known |= _looks(read_checked(driver.workspace.verdict, ""), holdout)
    except IntegrityError:
        pass  # it is about to be written anew
    for version in registry.versions(plan.campaign.name):
        try:
            verdict = registry.show(version, plan.campaign.name)["verdict"]
        except IntegrityError:
            continue  # another version's damage is told where that version is used
        if verdict is not None and verdict.get("holdout", {}).get("id") == holdout:
            known |= _looks(verdict, holdout)
    return known


def _looks(record: dict[str, Any], holdout: str) -> KnownLooks:
    """Return what one verdict, or the journal's record of one, says; at least that its own version was judged."""
    told = record.get("holdout", {})
    if told.get("id", holdout) != holdout:
        return KnownLooks()
    times, surrogates = int(told.get("consultations", 1)), int(told.get("surrogates", 1))
    return KnownLooks(times, surrogates, frozenset({str(record["version"])}))
