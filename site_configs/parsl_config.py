"""A Parsl configuration from a site. Parsl is imported when one is made, not before."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from site_configs.resources import ResourceRequest
from site_configs.shape import shape_of
from site_configs.site import RoleName, Site
from surrogate.core.errors import SiteError

if TYPE_CHECKING:
    from parsl.config import Config

LOOPBACK = "127.0.0.1"
# Results wake whoever waits for them; this is only how often idle loops look up, in milliseconds.
POLL_MS = 200
# A worker that died is noticed within a period, a manager within the threshold.
HEARTBEAT_PERIOD_S = 2
HEARTBEAT_THRESHOLD_S = 10
# How long managers let their workers finish after the driver has gone.
ORPHAN_LIFE_S = 60
STRATEGY_PERIOD_S = 0.2

# -P: what happens to lie in the current folder is never imported.
_MANAGER = (
    "{python} -P -m {module} {{debug}} {{max_workers_per_node}} "
    "-a {{addresses}} -p {{prefetch_capacity}} -c {{cores_per_worker}} -m {{mem_per_worker}} --poll {{poll_period}} "
    "--port={{worker_port}} --cert_dir {{cert_dir}} --logdir={{logdir}} --logconf={{logconf}} "
    "--block_id={{{{block_id}}}} --hb_period={{heartbeat_period}} {{address_probe_timeout_string}} "
    "--hb_threshold={orphan_life} --drain_period={{drain_period}} --cpu-affinity {{cpu_affinity}} "
    "{{enable_mpi_mode}} --mpi-launcher={{mpi_launcher}} --available-accelerators {{accelerators}}"
)
_PARSLS_OWN = "parsl.executors.high_throughput.process_worker_pool"
_OURS = "site_configs.manager"


def parsl_config(
    site: Site,
    run_dir: Path,
    sizes: Sequence[ResourceRequest],
    *,
    role: RoleName = "simulate",
    variables: Mapping[str, str] | None = None,
    comment: str = "",
    prefix: str = "sg",
    scratch: str = "sg-",
    python: str | None = None,
) -> Config:
    """Return the configuration of one executor, labelled by its role.

    One worker executes one run at a time, and there are as many workers as runs fit beside each other. Traffic is
    encrypted on the loopback, too: the messages are pickles, and other users of the machine can reach the port.

    Args:
        site: The machine.
        run_dir: Where Parsl keeps its logs and scripts; inside the working directory of the campaign.
        sizes: What each kind of run needs.
        role: What the workers are for.
        variables: Environment variables that workers must have, beside the site's own.
        comment: Tag of the campaign's jobs.
        prefix: How the names of jobs begin.
        scratch: How the names of scratch folders on nodes begin.
        python: Interpreter of the workers; the site's when None.

    Raises:
        ResourceError: If a run can never fit.
        SiteError: If the site's scheduler is not supported.
    """
    from parsl.config import Config

    shape = shape_of(site, role, sizes)
    settings: dict[str, Any] = {
        "loopback_address": LOOPBACK,
        # The number of workers is ours to decide: Parsl divides the built-in cores, not those we may use.
        "cores_per_worker": 1e-6,
        "cpu_affinity": "none",
        "prefetch_capacity": 0,
        "heartbeat_period": HEARTBEAT_PERIOD_S,
        "poll_period": POLL_MS,
        "encrypted": True,
    }
    interchange = [python or sys.executable, "-P", "-m", "site_configs.interchange"]
    named = {"python": shlex.quote(python or site.python(role)), "orphan_life": ORPHAN_LIFE_S}
    if site.scheduler == "slurm":
        from site_configs.slurm_config import slurm_executor

        executor: Any = slurm_executor(
            site,
            role,
            shape,
            manager=_MANAGER.format(module=_OURS, **named),
            interchange=interchange,
            comment=comment,
            prefix=prefix,
            variables=variables or {},
            scratch=scratch,
            settings=settings,
        )
    elif site.scheduler == "local":
        from parsl.launchers import SimpleLauncher

        from site_configs.executor import LocalBlocks, SupervisedExecutor, stop_when_broken

        setup = worker_setup(site, role, variables or {})
        executor = SupervisedExecutor(
            label=role,
            provider=LocalBlocks(
                launcher=SimpleLauncher(), init_blocks=1, min_blocks=1, max_blocks=1, worker_init=setup
            ),
            launch_cmd=_MANAGER.format(module=_PARSLS_OWN, **named),
            interchange_launch_cmd=interchange,
            address=LOOPBACK,
            max_workers_per_node=shape.workers,
            heartbeat_threshold=HEARTBEAT_THRESHOLD_S,
            block_error_handler=stop_when_broken,
            **settings,
        )
    else:
        raise SiteError(
            f"Site '{site.name}' is handed out by {site.scheduler}, and this version starts work on the local machine "
            'and by SLURM. Use a site with scheduler = "local" or "slurm".'
        )
    return Config(
        executors=[executor],
        run_dir=str(run_dir),
        strategy="simple",
        strategy_period=STRATEGY_PERIOD_S,
        retries=0,
        usage_tracking=0,
        monitoring=None,
        initialize_logging=False,
    )


def worker_setup(site: Site, role: RoleName, variables: Mapping[str, str]) -> str:
    """Return the shell lines that run before the workers start.

    Args:
        site: The machine.
        role: What the workers are for.
        variables: Environment variables beside the site's own; they win.
    """
    lines = [*site.setup_lines(role)]
    for name, value in {**site.variables(role), **variables}.items():
        lines.append(f"export {name}={shlex.quote(value)}")
    return "\n".join(lines)
