"""Everything that a report is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from surrogate.design.space import InputSpace
from surrogate.inference.latency import SpeedUp
from surrogate.models.panels import Panel
from surrogate.validation.validation import Validation
from surrogate.validation.verdict import Verdict


@dataclass(frozen=True, slots=True)
class StageCost:
    """What one stage of a campaign cost.

    Attributes:
        stage: For example `simulate`.
        node_seconds: Nodes × wall-clock seconds that were occupied, failed attempts included.
        wall_seconds: Wall-clock seconds from the stage's begin to its end.
        detail: What was done, for example `176 runs on 2 ranks each`.
    """

    stage: str
    node_seconds: float
    wall_seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class ReportData:
    """What is known; whatever is None or empty is left out of the report, or said to be unknown.

    Attributes:
        campaign: Name of the campaign.
        validation: Surrogate against holdout.
        verdict: What the gate said, or None when the campaign has no gate.
        surrogate: The artifact's record (`surrogate.json`).
        space: The declared input space.
        outcome: What became of the version, as a sentence, for example that it is current now.
        description: What the campaign is about.
        card: The data card (`surrogate.data.card`).
        stages: Cost of each stage, in order.
        stages_how: How the costs were measured, as a sentence.
        speed_up: Surrogate against simulation.
        lineage: Label → value: a text, a number, or a sequence or mapping of such.
        panels: Pictures of the model family.
        commands: Label → command that a reader can run.
        created: When the validation was made, as text.
        program: Name and version of the program.
    """

    campaign: str
    validation: Validation
    verdict: Verdict | None
    surrogate: Mapping[str, Any]
    space: InputSpace | None = None
    outcome: str = ""
    description: str = ""
    card: Mapping[str, Any] | None = None
    stages: Sequence[StageCost] = ()
    stages_how: str = ""
    speed_up: SpeedUp | None = None
    lineage: Mapping[str, Any] = field(default_factory=dict)
    panels: Sequence[Panel] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    program: str = ""
