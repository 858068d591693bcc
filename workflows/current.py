"""Which version of a campaign's surrogates is current; where there is none, why, and what makes one so."""

from __future__ import annotations

from pathlib import Path

from surrogate.core.errors import ConfigError
from surrogate.registry.reader import RegistryReader
from surrogate.validation.verdict import Verdict
from workflows.config import CampaignConfig
from workflows.workspace import Workspace


def current_version(campaign: CampaignConfig, workspace: Workspace, registry: RegistryReader) -> str:
    """Return the current version.

    Args:
        campaign: The campaign.
        workspace: Its working directory.
        registry: Where its versions live.

    Raises:
        ConfigError: If there is none: because nothing was trained or judged, the registry was lost, a version awaits a
            person's word, or none has passed.
        IntegrityError: If the history is damaged.
    """
    current = registry.current(campaign.name)
    if current is None:
        raise ConfigError(_why_none(campaign, workspace, registry))
    return current


def lost_version(workspace: Workspace, registry: RegistryReader, version: str) -> str:
    """Return the sentence for a version that was judged and that the registry does not hold, or not as judged."""
    return (
        f"The registry {registry.root} has no verdict on version {version}, which was judged in {workspace.root}: the "
        f"registry was lost, or another one is meant. `surrogate resume {workspace.root}` takes the version in again, "
        "with its verdict, and consults no holdout; or name the registry with --registry."
    )


def check_held(workspace: Workspace, registry: RegistryReader, campaign: str, version: str) -> None:
    """Refuse a registry that does not hold a version of this working directory.

    Raises:
        ConfigError: If so, with what brings it back.
    """
    if version not in registry.versions(campaign):
        raise ConfigError(lost_version(workspace, registry, version))


def _why_none(campaign: CampaignConfig, workspace: Workspace, registry: RegistryReader) -> str:
    """Return why no version is current."""
    name, root, where = campaign.name, workspace.root, registry.root
    states = {entry.version: entry.state for entry in registry.list(name)}
    judged = Verdict.read(workspace.verdict).version if workspace.verdict.is_file() else None
    if judged is not None and states.get(judged, "candidate") == "candidate":
        return lost_version(workspace, registry, judged)
    passed = [version for version, state in states.items() if state == "passed"]
    if passed:
        if campaign.approval.required:
            return (
                f"No version of '{name}' has been promoted in {where}: version {passed[-1]} has passed its gate "
                f"and is awaiting approval. Read {workspace.report}, then: "
                f"surrogate promote {root} --approve NAME --note TEXT"
            )
        return (
            f"No version of '{name}' has been promoted in {where}: version {passed[-1]} has passed its gate. "
            f"Promote it with: surrogate promote {root}"
        )
    if "rejected" in states.values():
        return (
            f"No version of '{name}' has been promoted in {where}: none has passed its gate. "
            f"`surrogate registry list --workdir {root}` shows what there is; --version-id names one all the same."
        )
    stage = "judged" if states else "trained"
    return (
        f"No version of '{name}' has been promoted in {where}: nothing was {stage} in {root} yet. Bring it there "
        f"with: surrogate resume {root}"
    )


def judged_version(workspace: Workspace, workdir: Path) -> str:
    """Return the version that was judged last.

    Raises:
        ConfigError: If nothing was judged yet.
        IntegrityError: If the verdict is damaged.
    """
    if not workspace.verdict.is_file():
        raise ConfigError(f"Nothing was judged in {workdir} yet. Bring it there with `surrogate resume {workdir}`.")
    return Verdict.read(workspace.verdict).version
