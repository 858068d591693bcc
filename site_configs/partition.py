"""The parts of a site that only a scheduler needs: partitions, the way back to the driver, limits on submitting."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1)]


class SitePart(BaseModel):
    """A table of a site file: unknown keys are refused, nothing is converted silently, nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Partition(SitePart):
    """A part of the machine that jobs are submitted to; each job of ours is one block of nodes."""

    name: str | None = Field(default=None, description="The scheduler's name for it; its default when absent.")
    nodes: Count | None = Field(default=None, description="Nodes that one job may have at most; no limit when absent.")
    nodes_per_job: Count | None = Field(
        default=None, description="Nodes of one job; as many as the largest run needs when absent."
    )
    walltime_s: Count = Field(default=3600, description="Wall-clock time of one job, seconds.")
    account: str | None = Field(
        default=None,
        description="Account that is charged, where it is not the site's; '{account}' in it stands for the site's.",
    )
    qos: str | None = Field(default=None, description="Quality of service.")
    constraint: str | None = Field(default=None, description="Features that the nodes must have.")
    exclusive: bool = Field(default=True, description="Whether a job has its nodes for itself.")
    cores: Count | None = Field(default=None, description="Cores of a node; the site's when absent.")
    memory_mib: Count | None = Field(default=None, description="Memory of a node in MiB; the site's when absent.")
    gpus: Annotated[int, Field(ge=0)] | None = Field(default=None, description="GPUs of a node; the site's if absent.")
    mps: bool = Field(default=False, description="Start NVIDIA's multi-process service, so that programs share a GPU.")
    directives: tuple[str, ...] = Field(
        default=(), description="Further options of the scheduler's submission, such as '--licenses=scratch'."
    )


class Interchange(SitePart):
    """How compute nodes reach the driver."""

    address: str | None = Field(default=None, description="Its address; all of this machine's are tried when absent.")
    interface: str | None = Field(default=None, description="The network interface whose address is meant, like hsn0.")


class Limits(SitePart):
    """How gently the scheduler is treated."""

    jobs_queued: Count | None = Field(default=None, description="Jobs that may wait in the queue at once.")
    submissions_a_minute: Count | None = Field(default=None, description="Submissions in any minute.")
    poll_s: Annotated[float, Field(gt=0)] = Field(default=5.0, description="Seconds between two looks at the queue.")
