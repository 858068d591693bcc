"""The sections of a campaign file that decide what is learned and when it is trusted: model, training, gate, card."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from surrogate.validation.gate import Gate
from workflows.config.parts import Count, Section, Text


class ModelSection(Section):
    """What learns."""

    family: Text = Field(default="mlp", description="Model family, by name.")
    members: Count = Field(
        default=5, le=1000, description="Networks of the deep ensemble; their disagreement is the uncertainty."
    )
    options: dict[str, Any] = Field(default={}, description="Options of the family; each family has its own.")


class ThresholdSection(Section):
    """Bounds of one metric, in the metric's unit; the bounds themselves pass."""

    min: float | None = Field(default=None, description="Smallest value that passes.")
    max: float | None = Field(default=None, description="Largest value that passes.")

    @model_validator(mode="after")
    def _check(self) -> ThresholdSection:
        if self.min is None and self.max is None:
            raise ValueError("a threshold needs 'min', 'max' or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"'min' = {self.min} is above 'max' = {self.max}, and nothing would pass")
        return self


class GateSection(Section):
    """What the surrogate must show on the holdout before it is promoted. At least one condition is needed."""

    metrics: dict[str, ThresholdSection] = Field(
        default={}, description="Metric → bounds, for example `relative_l2_median = { max = 0.01 }`."
    )
    beats: tuple[Text, ...] = Field(
        default=(), description="Baselines that must be beaten on the same holdout, such as 'nearest_neighbour'."
    )

    @model_validator(mode="after")
    def _check(self) -> GateSection:
        if not self.metrics and not self.beats:
            raise ValueError("a gate without 'metrics' and without baselines in 'beats' lets everything pass; add one")
        return self

    def gate(self) -> Gate:
        """Return the gate for validation."""
        return Gate.of(
            {name: bounds.model_dump(exclude_none=True) for name, bounds in self.metrics.items()}, self.beats
        )


class CardSection(Section):
    """What only a person can say about the data."""

    known_gaps: tuple[Text, ...] = Field(default=(), description="What the data are known not to cover.")
