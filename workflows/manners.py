"""The manners of a site around a campaign: permissions, group, where it works, and what is done when it has ended."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from site_configs.site import Site, expanded
from surrogate.core.errors import ConfigError, StorageError
from surrogate.core.process import run_process
from workflows.progress import Progress

HOOK_TIMEOUT_S = 3600.0
HOOK_LOG = "end-hook.log"


def default_workdir(site: Site, campaign: str) -> Path:
    """Return where a campaign works when nobody says: below the site's scratch, else below the current folder.

    Args:
        site: The machine.
        campaign: Name of the campaign.

    Raises:
        ConfigError: If the scratch of the site names a variable that is not set here.
    """
    scratch = site.folder("scratch")
    if scratch is None:
        return Path(campaign)
    place = expanded(scratch)
    if "$" in place:
        raise ConfigError(
            f"Site '{site.name}' works in {scratch}, and that variable is not set here. Set it, or name a --workdir."
        )
    return Path(place) / campaign


@contextlib.contextmanager
def umask_of(site: Site) -> Iterator[None]:
    """Make files with the permissions that the site asks for."""
    if site.storage.umask is None:
        yield
        return
    before = os.umask(int(site.storage.umask, 8))
    try:
        yield
    finally:
        os.umask(before)


def share_with_group(site: Site, root: Path) -> None:
    """Give a working directory, and all that will be made in it, to the group that the site names.

    Raises:
        ConfigError: If there is no such group.
        StorageError: If the directory cannot be given to it.
    """
    group = site.storage.group
    if group is None:
        return
    try:
        shutil.chown(root, group=group)
        root.chmod(stat.S_IMODE(root.stat().st_mode) | stat.S_ISGID)
    except LookupError as error:
        raise ConfigError(
            f"Site '{site.name}' names the group '{group}', and this machine knows none. Correct 'storage.group'."
        ) from error
    except OSError as error:
        raise StorageError(
            f"{root} cannot be given to the group '{group}' ({error.strerror}). Be a member of it, or correct "
            "'storage.group' in the site."
        ) from error


def run_end_hook(site: Site, workdir: Path, *, passed: bool, progress: Progress) -> None:
    """Run what the site wants done when a campaign has ended. A hook that fails is told, and nothing else comes of it.

    Args:
        site: The machine.
        workdir: Working directory of the campaign.
        passed: Whether the verdict is good.
        progress: Is told how it ended.
    """
    if site.end_hook is None:
        return
    final = site.folder("final")
    environment = {
        **os.environ,
        "SURROGATE_WORKDIR": str(workdir),
        "SURROGATE_VERDICT": "passed" if passed else "failed",
        "SURROGATE_FINAL": expanded(final) if final else "",
    }
    log = workdir / "logs" / HOOK_LOG
    log.parent.mkdir(parents=True, exist_ok=True)
    ended = run_process(
        ["bash", "-c", site.end_hook], cwd=workdir, env=environment, stdout=log, timeout_s=HOOK_TIMEOUT_S
    )
    if ended.returncode == 0:
        progress.say(f"The site's end-of-campaign hook is done; it wrote {log}.")
        return
    how = "took longer than an hour" if ended.timed_out else f"ended with exit code {ended.returncode}"
    progress.say(f"The site's end-of-campaign hook {how}; the campaign itself is complete. See {log}.")
