"""`surrogate site new`: a site file of one's own, drafted from the cluster or laid over another site."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

from site_configs.cluster import (
    ADDRESSES,
    MPI_KINDS,
    NODES,
    PARTITIONS,
    ask,
    parse_mpi_kinds,
    parse_nodes,
    parse_records,
    partition_facts,
)
from site_configs.draft import Cluster, draft_site
from site_configs.load import available_sites, read_site, user_folder
from site_configs.mpiexec import detect_dialect, find_mpiexec
from surrogate.core.errors import ConfigError, SiteError, nearest
from surrogate.core.files import write_text

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SETTING = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE)


def new_site(
    name: str, *, from_cluster: bool = False, extends: str | None = None, account: str | None = None,
    output: Path | None = None,
) -> Path:  # fmt: skip
    """Write a site file and return where it is.

    Args:
        name: Name of the site.
        from_cluster: Draft it from what sinfo and scontrol say.
        extends: The site that it is laid over, when it is not drafted.
        account: Account that its jobs are charged to.
        output: The file; in the user's own folder of sites when None.

    Raises:
        ConfigError: If the name cannot be one, neither source was named or both were, or the file exists.
        SiteError: If SLURM does not answer, or has no partition that is up.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"'{name}' cannot be the name of a site: use letters, digits, '.', '_' and '-'.")
    if from_cluster == (extends is not None):
        raise ConfigError("Say what the site is made from: --from-cluster, or --extends SITE.")
    path = output or user_folder() / f"{name}.toml"
    if path.exists():
        raise ConfigError(f"{path} exists already. Remove it, or name another file with --output.")
    text = draft_site(name, look_at_cluster(), own_dialect()) if from_cluster else _over(name, str(extends))
    if account:
        text = _with_account(text, account)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    read_site(path)
    return path


def look_at_cluster() -> Cluster:
    """Return what SLURM says of the cluster that this machine belongs to.

    Raises:
        SiteError: If it does not answer, or has no partition that is up.
    """
    partitions = partition_facts(parse_nodes(ask(*NODES)), parse_records(ask(*PARTITIONS)))
    if not partitions:
        raise SiteError("SLURM has no partition that is up, so that nothing can be drafted. Look at `sinfo`.")
    settings = dict(_SETTING.findall(ask("scontrol", "show", "config")))
    addresses = {record.get("NodeAddr", "") for record in parse_records(ask(*ADDRESSES))}
    return Cluster(
        name=settings.get("ClusterName", "unknown"),
        version=settings.get("SLURM_VERSION", "unknown"),
        partitions=tuple(partitions),
        mpi_kinds=parse_mpi_kinds(ask(*MPI_KINDS)),
        default_mpi=settings.get("MpiDefault", "none"),
        loopback=addresses <= {"127.0.0.1", "localhost"},
        login=socket.gethostname(),
    )


def own_dialect() -> str | None:
    """Return the dialect of the launcher beside this Python, or None when there is none."""
    try:
        return detect_dialect(find_mpiexec("embedded", "new"))
    except SiteError:
        return None


def _over(name: str, base: str) -> str:
    """Return a site that is laid over another one."""
    known = available_sites()
    if base not in known:
        raise ConfigError(f"There is no site '{base}'.{nearest(base, known)} Known are: {', '.join(known)}.")
    return (
        f"# What is written here takes the place of what site '{base}' says; `surrogate site show {name}` tells all.\n"
        f'schema_version = 1\nname = "{name}"\nextends = "{base}"\n# account = "NAME"\n'
    )


def _with_account(text: str, account: str) -> str:
    return text.replace('# account = "NAME"', f"account = {json.dumps(account)}")
