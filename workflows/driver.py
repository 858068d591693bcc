"""The driver of a campaign: takes its lock, opens its journal, brings to an end what an earlier driver left."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surrogate import __version__
from surrogate.core.checked import read_checked, write_checked
from surrogate.core.errors import ConfigError, IntegrityError
from surrogate.core.files import is_partial, remove_partial, remove_partial_of, same_file, sha256_file
from surrogate.core.lock import Lease
from surrogate.core.storage import is_full, storage_error
from workflows.config import KEPT_FILES, CampaignConfig, check_same_campaign, load_campaign, save_campaign
from workflows.config.keep import remove_half_kept
from workflows.described_program import simulator_files
from workflows.journal import Journal, RunStatus
from workflows.kept_site import keep_site
from workflows.orphans import settle
from workflows.plan import Plan, find_simulator, make_plan
from workflows.progress import Progress
from workflows.requests import serving
from workflows.stopping import Stopping
from workflows.workspace import Workspace

_FACTS_VERSION = 1
FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Driver:
    """Who may write in a campaign's working directory.

    Attributes:
        campaign: The campaign.
        workspace: Its working directory.
        journal: Its journal, open for writing.
        progress: What a person is told.
        stopping: Whether somebody asked to stop.
    """

    campaign: CampaignConfig
    workspace: Workspace
    journal: Journal
    progress: Progress
    stopping: Stopping

    def done(self, stage: str, key: str) -> dict[str, Any] | None:
        """Return the record of a stage that was finished with this key, or None."""
        known = self.journal.state.stages.get(stage)
        if known is None or known.key != key or known.status != FINISHED:
            return None
        return dict(known.record)

    def begin(self, stage: str, key: str) -> None:
        """Journal that a stage begins."""
        self.journal.append({"event": "stage.started", "stage": stage, "key": key})

    def finish(self, stage: str, key: str, record: dict[str, Any]) -> None:
        """Journal durably that a stage is finished."""
        self.journal.append({"event": "stage.finished", "stage": stage, "key": key, "record": record})
        self.journal.commit()

    def fail(self, stage: str, key: str, sentence: str) -> None:
        """Journal durably that a stage cannot go on, and why."""
        self.journal.append({"event": "stage.failed", "stage": stage, "key": key, "record": {"sentence": sentence}})
        self.journal.commit()


@contextlib.contextmanager
def driving(campaign: CampaignConfig, workspace: Workspace, progress: Progress, stopping: Stopping) -> Iterator[Driver]:
    """Hold a campaign.

    Args:
        campaign: The campaign; the same that the working directory belongs to.
        workspace: The working directory, prepared by `prepare`.
        progress: What a person is told.
        stopping: Whether somebody asked to stop.

    Yields:
        The driver; the lock is held and orphans of an earlier driver are gone.

    Raises:
        LockError: If another driver is at work.
        IntegrityError: If the journal is damaged.
        StorageError: If the disk is full or refuses.
    """
    with (
        Lease.acquire(workspace.lock, " ".join(sys.argv[:3]), tell=progress.say) as lease,
        Journal.open(workspace.journal, lease, uid=_known_uid(workspace)) as journal,
        _logging_to(workspace.driver_log),
    ):
        for sentence in journal.repaired:
            progress.say(sentence)
        known = _known_uid(workspace)
        _keep_uid(workspace, journal.uid)
        journal.append(
            {
                "event": "campaign.opened",
                "name": campaign.name,
                "uid": journal.uid,
                "version": __version__,
                "token": lease.token,
            }
        )
        journal.commit()
        running = [run.run_id for run in journal.state.with_status(RunStatus.RUNNING)]
        for uid in dict.fromkeys(uid for uid in (known, "" if journal.created else journal.uid) if uid):
            left = settle(uid, workspace.root, run_ids=running or None)
            if left.found:
                progress.say(f"An earlier driver left {left.found} processes; they were ended.")
        _tidy(workspace)
        try:
            with serving(workspace.requests, journal, progress.say):
                yield Driver(campaign, workspace, journal, progress, stopping)
        except OSError as error:
            if is_full(error):
                raise storage_error(Path(error.filename or workspace.root), error) from error
            raise


def _tidy(workspace: Workspace) -> None:
    """Remove what earlier drivers were writing when they were killed; nobody else is at work."""
    for target in workspace.files:  # others may write their own files beside them
        remove_partial_of(target)
    for folder in (workspace.root / KEPT_FILES, *workspace.training.glob("*")):
        remove_partial(folder)


def _known_uid(workspace: Workspace) -> str:
    """Return the identity that this campaign's processes and jobs have carried so far, or an empty text."""
    return str(facts(workspace).get("uid", ""))


def _keep_uid(workspace: Workspace, uid: str) -> None:
    """Keep the identity beside the journal, in case that is lost."""
    record = facts(workspace)
    if record.get("uid") == uid:
        return
    try:
        write_checked(workspace.facts_file, {**record, "uid": uid})
    except OSError as error:
        raise storage_error(workspace.facts_file, error) from error


def prepare(plan: Plan, root: Path, site: str) -> Workspace:
    """Make the working directory of a campaign, or find that it is one already.

    Args:
        plan: The campaign and its design.
        root: The working directory.
        site: What `workflows.kept_site.site_name` returned; used again by `surrogate resume`.

    Raises:
        ConfigError: If the directory belongs to another campaign, or holds something else.
        StorageError: If the disk is full or refuses.
    """
    workspace = Workspace(root.resolve())
    kept = _kept_facts(workspace, plan, root)
    try:
        workspace.root.mkdir(parents=True, exist_ok=True)
        save_campaign(plan.campaign, workspace.root, simulator_files(plan.campaign, plan.simulator))
        if plan.kept is not None:
            plan.kept.save(workspace.root / KEPT_FILES)
        keep_site(site, workspace)
        write_checked(
            workspace.facts_file,
            {
                **kept,
                "format": _FACTS_VERSION,
                "campaign": plan.campaign.name,
                "identity": plan.parts,
                "site": site,
                "data": plan.data,
                "campaign_sha256": sha256_file(workspace.campaign_file),
            },
        )
    except OSError as error:
        raise storage_error(workspace.root, error, "written", begun=bool(kept)) from error
    return workspace


def _kept_facts(workspace: Workspace, plan: Plan, root: Path) -> dict[str, Any]:
    """Return what is to be kept of an existing working directory's facts, after a check that it is the campaign's.

    Raises:
        ConfigError: If the directory belongs to another campaign, or holds something else.
        IntegrityError: If it cannot be told whose it is.
    """
    if not workspace.root.exists() or (workspace.root.is_dir() and not any(workspace.root.iterdir())):
        return {}
    if workspace.root.is_dir() and _is_half_made(workspace, plan):
        remove_partial(workspace.root)
        remove_half_kept(workspace.root / KEPT_FILES)
        return {}
    if not workspace.root.is_dir() or not (workspace.facts_file.is_file() or workspace.campaign_file.is_file()):
        raise ConfigError(f"{root} exists and is not the working directory of a campaign. Name another --workdir.")
    try:
        record = facts(workspace)
    except IntegrityError:
        if plan.data is not None:
            raise
        # The campaign's own file is there, too: it says as much, and `check_continues` compares run by run.
        began = load_campaign(workspace.campaign_file)
        simulator = find_simulator(began)
        check_same_campaign(make_plan(began, simulator).parts, plan.parts, root, plan.campaign.where)
        if not workspace.facts_file.exists() and not workspace.journal.is_dir():
            raise ConfigError(
                f"{root} is not the working directory of a campaign: it has a {workspace.campaign_file.name}, and "
                f"neither {workspace.facts_file.name} nor a journal. Name another --workdir; a folder that does not "
                "exist yet is made."
            ) from None
        return {}
    check_same_campaign(record["identity"], plan.parts, root, plan.campaign.where)
    return {name: record[name] for name in ("uid",) if name in record}


def _is_half_made(workspace: Workspace, plan: Plan) -> bool:
    """Return whether a folder holds nothing but what `prepare` writes for this campaign before the facts, its last."""
    ours = {workspace.campaign_file.name, KEPT_FILES}
    if any(path.name not in ours and not is_partial(path.name) for path in workspace.root.iterdir()):
        return False
    given, text = plan.campaign.file, plan.campaign.text
    if given is not None and same_file(workspace.campaign_file, given):
        return False  # the campaign's own folder
    return text is not None and (
        not workspace.campaign_file.exists() or workspace.campaign_file.read_bytes() == text.encode()
    )


def facts(workspace: Workspace) -> dict[str, Any]:
    """Return what is known of a working directory.

    Raises:
        IntegrityError: If the file is damaged or of a newer version.
    """
    again = "Run the campaign again from its own file with the same --workdir; what was simulated is kept."
    record = read_checked(workspace.facts_file, again)
    if not {"format", "campaign", "identity", "site"} <= set(record):
        raise IntegrityError(f"The file {workspace.facts_file} is damaged. {again}")
    if record["format"] != _FACTS_VERSION:
        raise IntegrityError(f"The file {workspace.facts_file} was written by a newer version of this program.")
    return record


def reopen(root: Path) -> tuple[CampaignConfig, Workspace]:
    """Return the campaign of a working directory.

    Raises:
        ConfigError: If there is none, or its file was damaged.
    """
    workspace = Workspace.open(root)
    return load_campaign(workspace.campaign_file), workspace


@contextlib.contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Send warnings of this program to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
    loggers = [logging.getLogger(name) for name in ("surrogate", "workflows", "sim_wrappers", "site_configs")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        handler.close()
