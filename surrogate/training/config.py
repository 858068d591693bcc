"""How a network is trained: the `[train]` table of a campaign file. TensorFlow is not needed to read it."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

MOST_EPOCHS = 1_000_000
"""Beyond it is a slip of the pen."""

Scalers = Literal["kept", "refitted"]


class TrainConfig(BaseModel):
    """Everything about training except the model and the seed."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, populate_by_name=True, serialize_by_alias=True
    )

    nodes: int = Field(1, ge=1, description="Nodes that the training's ranks are spread over.")
    ranks: int = Field(1, ge=1, description="MPI ranks of the training; each takes its share of every batch.")
    cores_per_rank: int = Field(1, ge=1, description="Cores of each rank.")
    gpus_per_rank: int = Field(0, ge=0, le=1, description="GPUs of each rank.")
    walltime_s: int = Field(3600, ge=1, description="Seconds after which the site ends the training.")

    epochs: int = Field(500, ge=1, le=MOST_EPOCHS, description="Passes over the training rows.")
    batch_size: int = Field(256, ge=1, description="Rows of a step over all ranks together.")
    learning_rate: float = Field(3e-3, gt=0, description="Largest step width of the optimiser (Adam).")
    schedule: Literal["cosine", "exponential", "constant"] = Field(
        "cosine", description="How the learning rate falls after warm-up."
    )
    final_learning_rate: float = Field(
        1e-3, gt=0, le=1, description="Learning rate at the last step, as a share of the largest."
    )
    warmup_steps: int = Field(100, ge=0, description="Steps over which the learning rate rises from nearly zero.")
    weight_decay: float = Field(0.0, ge=0, description="Decoupled weight decay (AdamW).")
    clip_norm: float = Field(0.0, ge=0, description="Largest norm of all gradients together; 0 for no limit.")
    scale_learning_rate: bool = Field(
        False,
        description="Take `batch_size` rows on every rank instead of over all ranks, and multiply the learning "
        "rate by the "
        "number of ranks; warm-up then matters.",
    )

    patience: int = Field(
        0, ge=0, description="Epochs without a better tune loss after which a member is done; 0 for never."
    )
    max_seconds: float = Field(
        0.0,
        ge=0,
        description="Seconds that all members together may be trained for; 0 for no limit. The members share it "
        "evenly.",
    )
    steps_per_call: int = Field(
        100, ge=1, description="Steps between two looks at the tune rows, about; they run in one piece."
    )
    checkpoint_every_s: float = Field(60.0, gt=0, description="Seconds between two checkpoints.")
    stall_seconds: int = Field(
        45, ge=5, description="Seconds after which ranks that wait in vain for another one give up."
    )
    xla: bool = Field(True, description="Compile the step by XLA.")

    start: str | None = Field(
        None,
        min_length=1,
        alias="from",
        description="Version of the registry, or folder of an artifact, whose weights the members begin with; a "
        "random start without it.",
    )
    freeze: tuple[str, ...] = Field(
        (),
        strict=False,
        description="Layers that are left as they are, by name, or `LAYER/WEIGHT`; `*` stands for anything.",
    )
    scalers: Scalers = Field(
        "kept", description="With `from`: whether its transforms are kept, or fitted to the new training rows."
    )

    @model_validator(mode="after")
    def _check(self) -> TrainConfig:
        if self.ranks % self.nodes:
            raise ValueError(
                f"{self.ranks} ranks do not divide over {self.nodes} nodes; ask for a multiple of the nodes"
            )
        if not self.start and self.scalers != "kept":
            raise ValueError("'scalers' belongs to 'from', and there is none")
        return self

    def global_batch(self) -> int:
        """Return the rows of a step over all ranks."""
        return self.batch_size * (self.ranks if self.scale_learning_rate else 1)

    def peak_learning_rate(self) -> float:
        """Return the largest learning rate (linear scaling: Goyal et al., arXiv:1706.02677, 2017)."""
        return self.learning_rate * (self.ranks if self.scale_learning_rate else 1)

    def learning_rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate of a step.

        Args:
            step: Number of the step from 0.
            steps: Steps of the whole training of a member.
        """
        peak = self.peak_learning_rate()
        if step < self.warmup_steps:
            return peak * (step + 1) / self.warmup_steps
        done = min(1.0, (step - self.warmup_steps) / max(1, steps - self.warmup_steps))
        if self.schedule == "cosine":
            share = self.final_learning_rate + (1 - self.final_learning_rate) * 0.5 * (1 + math.cos(math.pi * done))
        elif self.schedule == "exponential":
            share = self.final_learning_rate**done
        else:
            share = 1.0
        return peak * share

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return self.model_dump(mode="json")
