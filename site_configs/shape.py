"""How runs of some sizes are laid out on a site: nodes of a block, blocks at once, managers and workers in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from site_configs.fitting import check_fits, workers_that_fit
from site_configs.resources import ResourceRequest
from site_configs.site import RoleName, Site
from site_configs.slots import NodeSize
from surrogate.core.errors import ResourceError


@dataclass(frozen=True, slots=True)
class Shape:
    """The layout of an executor.

    Where all runs are of one size and stay on one node, each node has a manager of its own, whose workers start their
    runs where they are. Else a block has one manager, on its first node, and its workers share the block's nodes by
    `site_configs.slots`.

    Attributes:
        nodes: Nodes of one block.
        blocks: Blocks at once, at most.
        managers: Managers of one block: one, or one on each node.
        workers: Workers of one manager; each executes one run at a time.
        slots: Whether runs must ask for their share before they start.
        size: What one node has.
    """

    nodes: int
    blocks: int
    managers: int
    workers: int
    slots: bool
    size: NodeSize

    @property
    def at_once(self) -> int:
        """Workers of all blocks together."""
        return self.blocks * self.managers * self.workers


def shape_of(site: Site, role: RoleName, sizes: Sequence[ResourceRequest]) -> Shape:
    """Return the layout for runs of these sizes.

    Args:
        site: The machine.
        role: What the runs are: whose partition and limit on workers hold.
        sizes: What each kind of run needs; at least one.

    Raises:
        ResourceError: If one of them can never run there, in a sentence that says why.
    """
    for resources in sizes:
        check_fits(site, resources, role)
    has, kinds = site.capacity(role), list(dict.fromkeys(sizes))
    size = NodeSize(has.cores, has.memory_mib, has.gpus)
    if site.scheduler == "local":
        if len(kinds) > 1:
            raise ResourceError(f"On site '{site.name}' all runs of one ensemble must ask for the same resources.")
        workers = workers_that_fit(site, kinds[0], role)
        return Shape(1, 1, 1, 1 if role == "train" else workers, False, size)
    largest = max(resources.nodes for resources in kinds)
    nodes = site.partition(role).nodes_per_job or largest
    if largest > nodes or nodes > site.nodes:
        raise ResourceError(
            f"A run on {largest} nodes was asked for; a job on site '{site.name}' has {nodes} node{_s(nodes)}, and "
            f"all jobs together {site.nodes}. Ask for fewer nodes, or raise 'nodes_per_job' or 'nodes' in the site."
        )
    alone = len(kinds) == 1 and largest == 1
    managers = nodes if alone else 1
    each = max(size.holds(resources) * (1 if alone else nodes // resources.nodes) for resources in kinds)
    blocks = site.nodes // nodes
    # A training is one command at a time.
    cap = 1 if role == "train" else site.role(role).workers
    if cap is not None:
        blocks = min(blocks, max(1, cap // managers))
        each = min(each, max(1, cap // (blocks * managers)))
    return Shape(nodes, blocks, managers, each, slots=not alone or kinds[0].gpus_per_rank > 0, size=size)


def _s(count: int) -> str:
    return "" if count == 1 else "s"
