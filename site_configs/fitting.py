"""What a site can never do is refused before anything is asked of it."""

from __future__ import annotations

from site_configs.resources import ResourceRequest
from site_configs.site import ACCOUNT_VARIABLE, RoleName, Site
from surrogate.core.errors import ConfigError, ResourceError


def check_account(site: Site, role: RoleName) -> None:
    """Ask for the account where the machine needs one and none is known.

    Raises:
        ConfigError: If so, in a sentence that says how to name it.
    """
    if site.scheduler == "local" or not site.needs_account or site.partition(role).account:
        return
    raise ConfigError(
        f"Jobs on site '{site.name}' are charged to an account, and none was named. Give --account NAME, set "
        f'{ACCOUNT_VARIABLE}, or write a site of your own that has: extends = "{site.name}" and account = "NAME".'
    )


def check_fits(site: Site, resources: ResourceRequest, role: RoleName = "simulate") -> None:
    """Refuse what a site can never run.

    Args:
        site: The site.
        resources: What is asked of it.
        role: Whose partition is meant.

    Raises:
        ResourceError: In a sentence that says what was asked, what the site has, and what to change.
        ConfigError: If the site needs an account and none was named.
    """
    check_account(site, role)
    has = site.capacity(role)
    memory = resources.ranks_per_node * resources.memory_per_rank_mib
    limits = (
        (resources.nodes, has.nodes, "node", "nodes", ""),
        (resources.cores_per_node, has.cores, "core", "cores", " on each node"),
        (resources.ranks_per_node * resources.gpus_per_rank, has.gpus, "GPU", "GPUs", " on each node"),
        (memory, has.memory_mib, "MiB", "MiB", " of memory on each node"),
    )
    for asked, there, one, many, where in limits:
        if asked > there:
            raise ResourceError(
                f"A run with {_ranks(resources)} needs {asked} {one if asked == 1 else many}{where}, and site "
                f"'{site.name}' has {there}. Ask for less, or name a larger site."
            )
    if site.walltime_s is not None and resources.walltime_s > site.walltime_s:
        raise ResourceError(
            f"A run may take {resources.walltime_s} s, and site '{site.name}' ends runs after {site.walltime_s} s. "
            "Ask for a shorter walltime."
        )
    if site.scheduler != "local" and resources.walltime_s > site.partition(role).walltime_s:
        raise ResourceError(
            f"A run may take {resources.walltime_s} s, and a job on site '{site.name}' ends after "
            f"{site.partition(role).walltime_s} s. Ask for a shorter walltime, or give jobs more time in the site."
        )


def workers_that_fit(site: Site, resources: ResourceRequest, role: RoleName = "simulate") -> int:
    """Return how many runs of this size go on at once on one node.

    Args:
        site: The site.
        resources: What one run needs.
        role: Whose limit on workers holds.

    Raises:
        ResourceError: If not even one fits.
    """
    check_fits(site, resources, role)
    has = site.capacity(role)
    fits = has.cores // resources.cores_per_node
    for per_rank, there in ((resources.memory_per_rank_mib, has.memory_mib), (resources.gpus_per_rank, has.gpus)):
        if per_rank:
            fits = min(fits, there // (per_rank * resources.ranks_per_node))
    cap = site.role(role).workers
    return max(1, fits if cap is None else min(fits, cap))


def _ranks(resources: ResourceRequest) -> str:
    """Return `2 ranks` or `2 ranks of 4 cores`."""
    ranks = f"{resources.ranks} rank{'' if resources.ranks == 1 else 's'}"
    return ranks if resources.cores_per_rank == 1 else f"{ranks} of {resources.cores_per_rank} cores"
