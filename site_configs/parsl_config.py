"""A Parsl configuration from a site. Parsl is imported when one is made, not before."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from site_configs.resources import ResourceRequest
from site_configs.shape import Shape, shape_of
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
_ON_THIS_MACHINE, _ON_NODES = "site_configs.worker_pool", "site_configs.manager"

_SETTINGS: dict[str, Any] = {
    "loopback_address": LOOPBACK,
    # The number of workers is ours to decide: Parsl divides the built-in cores, not those we may use.
    "cores_per_worker": 1e-6,
    "cpu_affinity": "none",
    "prefetch_capacity": 0,
    "heartbeat_period": HEARTBEAT_PERIOD_S,
    "poll_period": POLL_MS,
    "encrypted": True,
}


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
    interchange = [python or sys.executable, "-P", "-m", "site_configs.interchange"]
    if site.scheduler == "slurm":
        from site_configs.slurm_config import slurm_executor

        executor: Any = slurm_executor(
            site,
            role,
            shape,
            manager=manager_template(site, role, python),
            interchange=interchange,
            comment=comment,
            prefix=prefix,
            variables=variables or {},
            scratch=scratch,
            settings=_SETTINGS,
        )
    elif site.scheduler == "local":
        executor = _local_executor(
            role,
            shape,
            manager=manager_template(site, role, python),
            interchange=interchange,
            setup=worker_setup(site, role, variables or {}),
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


def _local_executor(role: RoleName, shape: Shape, *, manager: str, interchange: list[str], setup: str) -> Any:
    """Return the executor of a role on this machine: one block, which is the machine itself."""
    from parsl.launchers import SimpleLauncher

    from site_configs.executor import LocalBlocks, SupervisedExecutor, stop_when_broken

    provider = LocalBlocks(launcher=SimpleLauncher(), init_blocks=1, min_blocks=1, max_blocks=1, worker_init=setup)
    return SupervisedExecutor(
        label=role,
        provider=provider,
        launch_cmd=manager,
        interchange_launch_cmd=interchange,
        address=LOOPBACK,
        max_workers_per_node=shape.workers,
        heartbeat_threshold=HEARTBEAT_THRESHOLD_S,
        block_error_handler=stop_when_broken,
        **_SETTINGS,
    )


def manager_template(site: Site, role: RoleName, python: str | None = None) -> str:
    """Return the command of a manager of workers, as Parsl takes it: what it fills in itself stands in braces.

    Args:
        site: The machine.
        role: What the workers are for.
        python: Interpreter of the workers; the site's when None.
    """
    module = _ON_NODES if site.scheduler == "slurm" else _ON_THIS_MACHINE
    return _MANAGER.format(python=shlex.quote(python or site.python(role)), module=module, orphan_life=ORPHAN_LIFE_S)


def manager_command(site: Site, role: RoleName, workers: int, logs: str) -> str:
    """Return the command of a manager as it is started, to be shown: what only Parsl knows stands in capitals.

    Args:
        site: The machine.
        role: What the workers are for.
        workers: Workers of one manager.
        logs: Folder of Parsl's logs.
    """
    once = manager_template(site, role).format(
        debug="",
        max_workers_per_node=f"--max_workers_per_node={workers}",
        addresses=site.interchange.address or "ADDRESSES",
        worker_port="PORT",
        cert_dir="CERTIFICATES",
        logdir=f"{logs}/SESSION/{role}",
        logconf=None,
        address_probe_timeout_string="",
        drain_period=None,
        enable_mpi_mode="",
        mpi_launcher="mpiexec",
        accelerators="",
        mem_per_worker=None,
        prefetch_capacity=_SETTINGS["prefetch_capacity"],
        cores_per_worker=_SETTINGS["cores_per_worker"],
        poll_period=_SETTINGS["poll_period"],
        heartbeat_period=_SETTINGS["heartbeat_period"],
        cpu_affinity=_SETTINGS["cpu_affinity"],
    )
    return " ".join(once.format(block_id="BLOCK").split())


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
