"""A running Parsl: started, watched, restarted when its interchange dies, and ended with everything it started."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sim_wrappers.protocol import RunRequest
from site_configs.launch import Launcher
from site_configs.resources import ResourceRequest
from site_configs.shape import shape_of
from site_configs.site import RoleName, Site
from surrogate.core.errors import SiteError
from surrogate.core.outcome import FailureKind
from surrogate.core.process import CAMPAIGN_VARIABLE, find_tagged, kill_tagged
from surrogate.core.schema import Schema
from surrogate.core.shared_memory import remove_unmapped, segments_of
from workflows import jobs
from workflows.adoption import HANDOVER_S, wait_for_workers
from workflows.losses import loss_of
from workflows.parsl_log import ParslLog
from workflows.tasks import Command, RunContext, request_to_text

if TYPE_CHECKING:
    from parsl.dataflow.dflow import DataFlowKernel

    from site_configs.executor import SupervisedExecutor
    from workflows.apps import Apps
    from workflows.prediction_part import PartTask

SESSION_VARIABLE = "SURROGATE_SESSION"
_CLEANUP_S = 4.0
_JOBS_S = 15.0
# A socket's path has 107 characters, and Python's managers of shared objects take 32 of them below TMPDIR.
_LONGEST_TMPDIR = 70


class Session:
    """Parsl on a site, for one campaign.

    One worker executes one run, or one training job, at a time. A campaign has one session after the other: on one
    machine a pool of workers that waits for training would only hold memory while the runs need it. Use it as a
    context; leaving it ends every process that it started.
    """

    def __init__(
        self,
        site: Site,
        workdir: Path,
        resources: ResourceRequest | Sequence[ResourceRequest],
        *,
        campaign: str,
        schema: Schema | None = None,
        role: RoleName = "simulate",
    ) -> None:
        """Check that the site can run this; nothing is started yet.

        Args:
            site: The machine.
            workdir: Working directory of the campaign.
            resources: What one run needs, or each kind of run; decides how many go on at once.
            campaign: Identity of the campaign, carried by every process.
            schema: Inputs and outputs of a run file; needed for `submit_run` only.
            role: What the workers are for: whose environment and limits hold.

        Raises:
            ResourceError: If a run can never fit.
            SiteError: If the site's launcher is missing.
        """
        self._sizes = (resources,) if isinstance(resources, ResourceRequest) else tuple(resources)
        self.workers = shape_of(site, role, self._sizes).at_once
        self.launcher: Launcher = site.find_launcher(role)
        self.workdir = workdir.resolve()
        self.campaign = campaign
        self._site = site
        self._schema = schema
        self._role = role
        self._context = ""
        self._kernel: DataFlowKernel | None = None
        self._apps: Apps | None = None
        self._token = ""
        self._scratch: Path | None = None
        self._log = ParslLog(self.logs)

    @property
    def logs(self) -> Path:
        """Folder of Parsl's own logs."""
        return self.workdir / "logs" / "parsl"

    @property
    def started(self) -> bool:
        """Whether Parsl runs."""
        return self._kernel is not None

    def start(self) -> None:
        """Start Parsl; workers report within a few seconds.

        Raises:
            SiteError: If it does not start.
        """
        from parsl.dataflow.dflow import DataFlowKernel

        from site_configs.parsl_config import parsl_config
        from workflows.apps import bind

        if self._kernel is not None:
            return
        self._log.open()
        self._token = secrets.token_hex(12)
        self._scratch = Path(tempfile.mkdtemp(prefix=scratch_prefix(self.campaign)))
        if self._schema is not None:
            self._context = RunContext(str(self.workdir), self.launcher, self._schema).to_text()
        variables = {CAMPAIGN_VARIABLE: self.campaign, SESSION_VARIABLE: self._token}
        if self._site.scheduler != "local":
            jobs.mark(self.workdir)
        elif len(str(self._scratch)) <= _LONGEST_TMPDIR:
            variables["TMPDIR"] = str(self._scratch)
        config = parsl_config(
            self._site,
            self.logs,
            self._sizes,
            role=self._role,
            variables=variables,
            comment=jobs.comment_of(self.campaign),
            prefix=jobs.block_prefix(self.campaign, self._token),
            scratch=scratch_prefix(self.campaign),
        )
        try:
            with _exported(variables):
                self._kernel = DataFlowKernel(config)
        except Exception as error:
            self._end_processes()
            raise SiteError(
                f"Parsl did not start: {error}. Its logs are in {self.logs}. Nothing is lost: resume the campaign."
            ) from error
        self._apps = bind(self._kernel, self._role)

    def submit_run(self, request: RunRequest, needs_s: float = 0.0) -> Future[str]:
        """Hand one run to the workers; the future yields the text of its Outcome, or of a refusal (`tasks.refusal`).

        Args:
            request: The run.
            needs_s: Seconds that it is expected to take; a job that ends sooner does not begin it. 0 for not known.
        """
        return self._bound().execute_run(self._context, request_to_text(request), needs_s)

    def submit_command(self, command: Command) -> Future[str]:
        """Hand one command to the workers; the future yields the CommandResult's text."""
        return self._bound().run_command(command.to_text())

    def submit_part(self, task: PartTask) -> Future[str]:
        """Hand one part of a prediction to the workers; the future yields the text that says how it ended."""
        return self._bound().predict_part(task.to_text())

    def alive(self) -> bool:
        """Tell whether results can still arrive."""
        return self._kernel is not None and self._executor().interchange_alive()

    def broken(self) -> str | None:
        """Return a sentence when nothing can be done here until a person mends it, or None while all is well."""
        from site_configs.executor import ExecutorTroubleError

        error = self._executor().executor_exception if self._kernel is not None else None
        return str(error) if isinstance(error, ExecutorTroubleError) else None

    def lost(self, error: BaseException) -> tuple[FailureKind, str] | None:
        """Return how an execution was lost by the infrastructure, or None when it failed of itself.

        Args:
            error: What its future raised.

        Returns:
            The kind of the loss and a sentence.
        """
        return loss_of(error, lambda manager: self._executor().end_of(manager))

    def retire(self, block: str) -> None:
        """Give a block of nodes nothing more to do; it is ended and replaced as soon as it is idle."""
        if self._kernel is not None:
            self._executor().retire(block)

    def warn(self) -> bool:
        """Send what commands receive ahead of their job's end: a training writes a checkpoint and ends.

        Returns:
            Whether anybody passes that on.
        """
        return self._kernel is not None and self._executor().warn()

    def wind_up(self, wait_s: float, run_ids: Sequence[str]) -> None:
        """Close after the interchange has died: what is being executed gets time to finish.

        Args:
            wait_s: The longest time.
            run_ids: Runs that may be in execution.
        """
        wait_for_workers(self.workdir, run_ids, wait_s, HANDOVER_S)
        self.close()

    def close(self) -> None:
        """End Parsl, its workers, and every program that they run, in a few seconds."""
        kernel, self._kernel, self._apps = self._kernel, None, None
        # Parsl ends its workers with the process that would remove their semaphores.
        shared = segments_of(find_tagged(SESSION_VARIABLE, self._token)) if self._token else set()
        if kernel is not None:
            thread = threading.Thread(target=self._clean_up, args=(kernel,), daemon=True)
            thread.start()
            # Whatever Parsl has not ended by then is killed below.
            thread.join(_CLEANUP_S)
        self._end_jobs()
        self._end_processes()
        remove_unmapped(shared)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _clean_up(self, kernel: DataFlowKernel) -> None:
        """Let Parsl end itself."""
        executor: SupervisedExecutor = kernel.executors[self._role]
        try:
            if not executor.interchange_alive():
                executor.give_up()
            kernel.cleanup()
        except Exception:
            logging.getLogger("parsl").exception("Parsl did not end as it should; its processes are killed")

    def _end_jobs(self) -> None:
        """Cancel the jobs of this session that Parsl has not ended."""
        if self._site.scheduler == "local" or not self._token:
            return
        prefix = jobs.block_prefix(self.campaign, self._token)
        try:
            left = [job for job in jobs.jobs_of(self.campaign, patience_s=_JOBS_S) if job.name.startswith(prefix)]
            left = jobs.end_jobs(left, patience_s=_JOBS_S)
        except SiteError as error:
            logging.getLogger("workflows").warning("Jobs may be left behind; the next session ends them: %s", error)
        else:
            if left:
                logging.getLogger("workflows").warning("Jobs are slow to end: %s", ", ".join(job.id for job in left))

    def _end_processes(self) -> None:
        """Kill what is left of this session and remove its temporary files."""
        if self._token:
            kill_tagged(SESSION_VARIABLE, self._token)
        self._token = ""
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch = None
        for folder in Path(tempfile.gettempdir()).glob(f"{scratch_prefix(self.campaign)}*"):
            shutil.rmtree(folder, ignore_errors=True)
        self._log.close()

    def _executor(self) -> SupervisedExecutor:
        if self._kernel is None:
            raise SiteError("Parsl has not been started.")
        executor: SupervisedExecutor = self._kernel.executors[self._role]
        return executor

    def _bound(self) -> Apps:
        if self._apps is None:
            raise SiteError("Parsl has not been started.")
        return self._apps


def scratch_prefix(campaign: str) -> str:
    """Return how the names of a campaign's temporary folders begin."""
    return f"sg-{campaign[:10]}-"


@contextlib.contextmanager
def _exported(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables while processes are started that must inherit them."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
