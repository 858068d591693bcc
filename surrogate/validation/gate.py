"""The Gate: declared thresholds over named metrics, and baselines that must be beaten; nothing is judged by eye."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from surrogate.core.errors import ConfigError, nearest
from surrogate.validation.metrics import Metric, by_name


@dataclass(frozen=True, slots=True)
class Threshold:
    """Bounds of one metric, in its unit; the bounds themselves pass.

    Attributes:
        min: Smallest value that passes, or None.
        max: Largest value that passes, or None.
    """

    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that nothing or everything passes.

        Raises:
            ConfigError: If there is no bound, one is not finite, or they exclude each other.
        """
        bounds = [bound for bound in (self.min, self.max) if bound is not None]
        if not bounds:
            raise ConfigError("A threshold needs 'min', 'max' or both.")
        if not all(math.isfinite(bound) for bound in bounds):
            raise ConfigError(f"A threshold must be finite, and {bounds} was given.")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ConfigError(f"A threshold with min {self.min} above max {self.max} lets nothing pass.")

    def passes(self, value: float) -> bool:
        """Return whether a value lies within; NaN never does."""
        return (
            math.isfinite(value) and (self.min is None or value >= self.min) and (self.max is None or value <= self.max)
        )

    def words(self, unit: str = "1") -> str:
        """Return the demand in words, such as `at most 0.006`."""
        suffix = "" if unit == "1" else f" {unit}"
        if self.min is not None and self.max is not None:
            return f"from {self.min:g} to {self.max:g}{suffix}"
        if self.max is not None:
            return f"at most {self.max:g}{suffix}"
        return f"at least {self.min:g}{suffix}"

    def to_json(self) -> dict[str, float]:
        """Return a JSON-ready mapping of the bounds that there are."""
        return {key: value for key, value in (("min", self.min), ("max", self.max)) if value is not None}


@dataclass(frozen=True, slots=True)
class Evidence:
    """How one condition of a gate came out.

    Attributes:
        condition: What was demanded, as half a sentence.
        metric: Name of the metric.
        value: What was found, in `unit`.
        unit: Unit.
        demand: The bounds, in `unit`, as words.
        passed: Whether it holds.
        low: Lower end of the value's 95 % confidence interval.
        high: Upper end of it.
        sure: Whether the whole confidence interval is on the same side as the value.
        sentence: The same for a reader.
        baseline: Name of the baseline that had to be beaten, or an empty text.
    """

    condition: str
    metric: str
    value: float
    unit: str
    demand: str
    passed: bool
    low: float
    high: float
    sure: bool
    sentence: str
    baseline: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping; a number that is not finite becomes None."""
        record = {name: getattr(self, name) for name in self.__slots__}
        return {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in record.items()
        }


@dataclass(frozen=True, slots=True)
class Gate:
    """What a surrogate must show before it is promoted.

    Attributes:
        thresholds: Metric name → bounds.
        beats: Baselines that must be beaten: a smaller value of the primary metric on the same samples.
    """

    thresholds: dict[str, Threshold] = field(default_factory=dict)
    beats: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a gate that everything passes.

        Raises:
            ConfigError: If it has no condition.
        """
        if not self.thresholds and not self.beats:
            raise ConfigError("A gate without thresholds and without baselines to beat lets everything pass. Add one.")

    @classmethod
    def of(cls, thresholds: Mapping[str, Mapping[str, float] | Threshold], beats: Sequence[str] = ()) -> Gate:
        """Make a gate of plain mappings, as a campaign file has them.

        Args:
            thresholds: Metric name → `min`, `max` or both.
            beats: Names of baselines.

        Raises:
            ConfigError: If a bound has another name, is no number, or there is no condition.
        """
        made: dict[str, Threshold] = {}
        for name, bounds in thresholds.items():
            if isinstance(bounds, Threshold):
                made[name] = bounds
                continue
            for key, bound in bounds.items():
                if key not in ("min", "max"):
                    raise ConfigError(f"The threshold of '{name}' has 'min' and 'max', and no '{key}'.")
                if isinstance(bound, bool) or not isinstance(bound, int | float):
                    raise ConfigError(f"The threshold of '{name}' must be a number, and {bound!r} was given.")
            try:
                made[name] = Threshold(**{key: float(bound) for key, bound in bounds.items()})
            except ConfigError as error:
                raise ConfigError(f"The gate's metric '{name}': {error}") from error
        return cls(made, tuple(beats))

    def check(self, metrics: Sequence[str], baselines: Sequence[str]) -> None:
        """Refuse names that no validation will give, before anything is run.

        Args:
            metrics: Names of the metrics of the model family.
            baselines: Names of the baselines that can be computed.

        Raises:
            ConfigError: Naming the nearest known name.
        """
        for name in self.thresholds:
            if name not in metrics:
                raise ConfigError(
                    f"The gate demands a metric '{name}', which this model family does not have."
                    f"{nearest(name, metrics)} It has {', '.join(metrics)}."
                )
        for name in self.beats:
            if name not in baselines:
                known = f"It has {', '.join(baselines)}." if baselines else "It has none."
                raise ConfigError(
                    f"The gate demands to beat a baseline '{name}', which this model family does not have."
                    f"{nearest(name, baselines)} {known}"
                )

    def judge(
        self, metrics: Sequence[Metric], baselines: Mapping[str, Sequence[Metric]], primary: str
    ) -> tuple[Evidence, ...]:
        """Hold every condition against what was found.

        Args:
            metrics: The surrogate's metrics on the holdout.
            baselines: Name → its metrics on the same samples.
            primary: The metric by which baselines are beaten.

        Raises:
            ConfigError: If a name is unknown.
        """
        found = by_name(metrics)
        self.check(tuple(found), tuple(baselines))
        evidence = [_threshold(found[name], threshold) for name, threshold in self.thresholds.items()]
        beaten = [_beaten(found[primary], name, by_name(baselines[name])[primary]) for name in self.beats]
        return (*evidence, *beaten)

    def to_json(self) -> dict[str, dict[str, float]]:
        """Return metric name → bounds."""
        return {name: threshold.to_json() for name, threshold in self.thresholds.items()}


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit, three significant digits; `not a number` for NaN."""
    text = f"{value:.3g}" if math.isfinite(value) else "not a number" if math.isnan(value) else "infinite"
    return text if unit == "1" else f"{text} {unit}"


def _threshold(metric: Metric, threshold: Threshold) -> Evidence:
    """Hold one metric against its bounds."""
    passed = threshold.passes(metric.value)
    demand = threshold.words(metric.unit)
    # A pass is sure when both ends of the interval pass, a failure when the interval does not reach the allowed range.
    inside = threshold.passes(metric.low) and threshold.passes(metric.high)
    outside = (threshold.max is not None and metric.low > threshold.max) or (
        threshold.min is not None and metric.high < threshold.min
    )
    sentence = f"{metric.name} is {quantity(metric.value, metric.unit)}, and {demand} was demanded."
    return Evidence(
        f"{metric.name} {demand}",
        metric.name,
        metric.value,
        metric.unit,
        demand,
        passed,
        metric.low,
        metric.high,
        inside if passed else outside,
        sentence,
    )


def _beaten(metric: Metric, name: str, other: Metric) -> Evidence:
    """Hold the primary metric against a baseline's. A baseline that gives no number is not beaten by one."""
    passed = math.isfinite(metric.value) and math.isfinite(other.value) and metric.value < other.value
    verb = "beats" if passed else "does not beat"
    sentence = (
        f"It {verb} the baseline {name}: {metric.name} is {quantity(metric.value, metric.unit)} "
        f"against {quantity(other.value, other.unit)}."
    )
    return Evidence(
        f"beats the baseline {name} in {metric.name}",
        metric.name,
        metric.value,
        metric.unit,
        f"below {quantity(other.value, other.unit)}",
        passed,
        metric.low,
        metric.high,
        metric.high < other.low if passed else metric.low > other.high,
        sentence,
        name,
    )
