"""The tables of the page: headline, gate, baselines, strata, worst samples, lineage, how numbers were computed."""

from __future__ import annotations

from typing import Any

from surrogate.models.values import count_samples
from surrogate.validation.metrics import Metric, by_name
from surrogate.validation.report.data import ReportData
from surrogate.validation.report.words import (
    factor,
    flatten,
    interval,
    number,
    quantity,
    seconds,
    title,
    unit_text,
)

_LONG = 6


def headline(data: ReportData) -> list[dict[str, str]]:
    """Return the few numbers that come first."""
    validation = data.validation
    metrics = by_name(validation.design.metrics)
    names = [validation.primary]
    names += [name for name in (f"{validation.primary_measure}_p95", "coverage_90") if name in metrics]
    cards = [
        {
            "label": title(name),
            "value": quantity(metrics[name].value, metrics[name].unit),
            "note": f"95 % interval {_percent_interval(metrics[name])}",
        }
        for name in dict.fromkeys(names)
    ]
    if data.speed_up is not None:
        cards.append(
            {
                "label": "speed-up over simulation",
                "value": factor(data.speed_up.single),
                "note": f"one row at a time; {factor(data.speed_up.batched)} in batches",
            }
        )
    counts = validation.counts
    cards.append(
        {
            "label": "training samples",
            "value": number(counts.get("train", 0)),
            "note": f"tune {number(counts.get('tune', 0))}, holdout {number(counts.get('holdout', 0))}",
        }
    )
    return cards


def _percent_interval(metric: Metric) -> str:
    """Return a confidence interval in the form in which `quantity` shows the value."""
    if metric.low != metric.low or metric.high != metric.high:
        return "unknown"
    return f"{quantity(metric.low, metric.unit)} to {quantity(metric.high, metric.unit)}"


def conditions(data: ReportData) -> list[dict[str, Any]]:
    """Return the gate's conditions as rows of a table."""
    if data.verdict is None:
        return []
    titles = {entry.name: entry.title for entry in data.validation.baselines}
    return [
        {
            "name": entry["metric"],
            "baseline": titles.get(entry["baseline"], ""),
            "demand": entry["demand"],
            "value": number(entry["value"]) if entry["value"] is not None else "not a number",
            "unit": unit_text(entry["unit"]),
            "interval": interval(entry["low"], entry["high"]),
            "passed": entry["passed"],
            "sure": entry["sure"],
        }
        for entry in data.verdict.evidence
    ]


def metric_row(metric: Metric) -> dict[str, Any]:
    """Return a metric as a row of a table."""
    return {
        "name": metric.name,
        "value": number(metric.value),
        "unit": unit_text(metric.unit),
        "interval": interval(metric.low, metric.high),
        "how": metric.how,
    }


def baselines(data: ReportData) -> dict[str, Any]:
    """Return metrics of surrogate and baselines side by side."""
    validation = data.validation
    fitted = [entry for entry in validation.baselines if entry.metrics]
    ours = validation.design.metrics
    rows = []
    for metric in ours:
        others = [by_name(entry.metrics)[metric.name].value for entry in fitted]
        rows.append(
            {
                "name": title(metric.name),
                "unit": unit_text(metric.unit),
                "ours": number(metric.value),
                "others": [number(value) for value in others],
                "primary": metric.name == validation.primary,
            }
        )
    primary = ours[0].value
    factors = [
        f"{factor(by_name(entry.metrics)[validation.primary].value / primary)} the {title(validation.primary)} of this "
        "surrogate"
        for entry in fitted
        if primary > 0
    ]
    return {
        "names": [entry.title for entry in fitted],
        "rows": rows,
        "how": [
            (entry.title, entry.how, seconds(entry.seconds) if entry.metrics else "") for entry in validation.baselines
        ],
        "factors": list(zip([entry.title for entry in fitted], factors, strict=False)),
    }


def strata(data: ReportData) -> list[dict[str, Any]]:
    """Return the primary metrics of each stratum as rows; empty when there is the declared distribution only."""
    validation = data.validation
    if len(validation.strata) < 2:
        return []
    return [
        {
            "stratum": entry.stratum,
            "samples": len(entry.truth),
            "in_domain": f"{100 * entry.in_domain:.3g} %",
            "metrics": [
                {"name": title(metric.name), "value": number(metric.value), "unit": unit_text(metric.unit)}
                for metric in entry.metrics[:3]
            ],
        }
        for entry in validation.strata
    ]


def worst(data: ReportData) -> dict[str, Any]:
    """Return the worst samples with their inputs."""
    result = data.validation.design
    schema = result.truth.schema
    inputs = list(result.worst[0].inputs) if result.worst else []
    return {
        "inputs": [(name, unit_text(schema.column(name).unit)) for name in inputs],
        "rows": [
            {
                "id": sample.id[:12],
                "group": sample.group,
                "value": number(sample.value),
                "inputs": [number(sample.inputs[name], 4) for name in inputs],
                "in_domain": sample.in_domain,
            }
            for sample in result.worst
        ],
        "groups": any(sample.group for sample in result.worst),
        "unit": unit_text(result.metrics[0].unit),
    }


def lineage(data: ReportData) -> list[dict[str, Any]]:
    """Return label and lines of everything that is known of the version's origin."""
    validation = data.validation
    known: dict[str, Any] = {
        "Version": validation.version,
        "Dataset": validation.dataset_hash,
        **({"Trained on dataset": validation.trained_on} if validation.trained_on != validation.dataset_hash else {}),
        "Runtime of the validation": validation.runtime,
        "ONNX against Keras": (
            "no ONNX networks, or not measured"
            if validation.onnx_difference is None
            else f"largest difference {number(validation.onnx_difference)} of the largest output; {validation.onnx_how}"
        ),
        **data.lineage,
    }
    entries = []
    for label, value in known.items():
        lines = flatten(value)
        entries.append({"label": label, "lines": lines, "long": len(lines) > _LONG, "first": lines[:1]})
    return entries


def how(data: ReportData) -> list[tuple[str, str]]:
    """Return term and explanation of how the numbers were computed."""
    validation = data.validation
    result = validation.design
    entries = [(metric.name, f"{metric.how[0].upper()}{metric.how[1:]}.") for metric in result.metrics]
    samples = count_samples(result.truth.columns)
    entries += [
        (
            "95 % interval",
            (
                f"Percentile bootstrap over the {samples} holdout samples (over groups, where samples have group "
                "keys), with a fixed seed. It says how much the number would change with another holdout of this size."
            ),
        ),
        (
            "sure",
            (
                "Whether the whole 95 % interval lies on the same side of the threshold as the value; the verdict "
                "itself is on the value."
            ),
        ),
        (
            "in domain",
            (
                "Inside the declared input space, and no farther from the nearest training point in its unit cube than "
                "99 % of the training points are from their nearest neighbour."
            ),
        ),
        (
            "worst samples",
            f"Listed by {title(validation.primary_measure)}, the primary measure of family '{validation.family}'.",
        ),
    ]
    return entries
