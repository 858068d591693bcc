"""A Validation: a surrogate against its holdout, as a value that verdict and report are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.schema import SampleTable
from surrogate.models.protocols import Prediction
from surrogate.validation.gate import Gate
from surrogate.validation.holdout import Consultations
from surrogate.validation.metrics import CoverageCurve, Extreme, Metric, PerSample, by_name, finite_or_none
from surrogate.validation.verdict import Verdict, pronounce


@dataclass(frozen=True, slots=True, eq=False)
class StratumResult:
    """How a surrogate does on the holdout samples of one stratum.

    Attributes:
        stratum: `design` is the declared distribution, on which the gate is judged; others are reported beside.
        metrics: The metrics, the primary one first.
        worst: Samples with the largest numbers of the primary measure.
        in_domain: Share of the samples that the surrogate flags as inside its domain.
        truth: The samples.
        prediction: What the surrogate says.
        per_sample: Every measure of every sample.
    """

    stratum: str
    metrics: tuple[Metric, ...]
    worst: tuple[Extreme, ...]
    in_domain: float
    truth: SampleTable
    prediction: Prediction
    per_sample: PerSample


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """How a baseline does on the same holdout samples.

    Attributes:
        name: Name in the gate.
        title: What people call it.
        how: How it was fitted, as half a sentence; or why it was not.
        metrics: The metrics, or empty when it could not be fitted.
        seconds: Wall-clock seconds of fitting and answering.
        per_sample: The primary measure of every sample, or None.
    """

    name: str
    title: str
    how: str
    metrics: tuple[Metric, ...]
    seconds: float
    per_sample: NDArray[np.float64] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """Everything that was found.

    Attributes:
        version: Version that was judged.
        family: Name of the model family.
        dataset_hash: Hash of the dataset.
        trained_on: Hash of the dataset that it was trained on; the same one, unless data has arrived since.
        primary: Metric by which surrogates are compared.
        primary_measure: Measure behind it.
        counts: Split → number of samples of the declared distribution.
        strata: Results, the declared distribution first.
        baselines: Results of the baselines on the declared distribution.
        curves: Nominal against observed coverage of each output.
        consultations: Looks at this holdout, this one included.
        runtime: What executed the networks.
        onnx_difference: Difference between ONNX and Keras (see `surrogate.models.agreement`); None if unknown.
        onnx_how: Who measured that.
    """

    version: str
    family: str
    dataset_hash: str
    trained_on: str
    primary: str
    primary_measure: str
    counts: dict[str, int]
    strata: tuple[StratumResult, ...]
    baselines: tuple[BaselineResult, ...]
    curves: tuple[CoverageCurve, ...]
    consultations: Consultations
    runtime: str
    onnx_difference: float | None
    onnx_how: str

    @property
    def design(self) -> StratumResult:
        """The result on the declared distribution."""
        return self.strata[0]

    def judge(self, gate: Gate) -> Verdict:
        """Hold the gate's conditions against the metrics on the declared distribution.

        Args:
            gate: The conditions.

        Raises:
            ConfigError: If the gate names a metric or a baseline that there is not.
        """
        fitted = {entry.name: entry.metrics for entry in self.baselines if entry.metrics}
        evidence = gate.judge(self.design.metrics, fitted, self.primary)
        values = {metric.name: finite_or_none(metric.value) for metric in self.design.metrics}
        return pronounce(
            gate,
            evidence,
            version=self.version,
            dataset_hash=self.dataset_hash,
            metrics=values,
            samples=len(self.design.truth),
            details=self.details(),
        )

    def details(self) -> dict[str, Any]:
        """Return what a verdict keeps beside metrics and gate, JSON-ready."""
        metrics = self.design.metrics
        return {
            "primary": self.primary,
            "family": self.family,
            "units": {metric.name: metric.unit for metric in metrics},
            "how": {metric.name: metric.how for metric in metrics},
            "confidence_95": {
                metric.name: [finite_or_none(metric.low), finite_or_none(metric.high)] for metric in metrics
            },
            "baselines": {
                entry.name: {metric.name: finite_or_none(metric.value) for metric in entry.metrics}
                for entry in self.baselines
            },
            "baselines_how": {entry.name: entry.how for entry in self.baselines},
            "samples": dict(self.counts),
            "strata": {
                entry.stratum: {
                    "samples": len(entry.truth),
                    "in_domain": entry.in_domain,
                    "metrics": {metric.name: finite_or_none(metric.value) for metric in entry.metrics},
                }
                for entry in self.strata
            },
            "worst": [sample.to_json() for sample in self.design.worst],
            "coverage": [curve.to_json() for curve in self.curves],
            "holdout": {
                "id": self.consultations.holdout,
                "consultations": self.consultations.times,
                "surrogates": self.consultations.surrogates,
                "sentence": self.consultations.sentence,
            },
            "trained_on": self.trained_on,
            "runtime": self.runtime,
            "onnx_difference": self.onnx_difference,
            "onnx_how": self.onnx_how,
        }

    def metric(self, name: str) -> Metric:
        """Return a metric on the declared distribution.

        Raises:
            KeyError: If there is none of that name.
        """
        return by_name(self.design.metrics)[name]
