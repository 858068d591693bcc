"""The page: sections put together, rendered, written as one file that needs nothing else."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from surrogate.core.errors import MissingExtraError
from surrogate.core.files import write_text
from surrogate.validation.comparison import better_baselines
from surrogate.validation.report import accuracy, card, cost, fields, input_space, tables, training, uncertainty
from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import Picture, render
from surrogate.validation.report.words import number, quantity, seconds, title, unit_text

if TYPE_CHECKING:
    import jinja2

_TEMPLATES = "surrogate.validation.report"


def write_report(path: Path, data: ReportData) -> None:
    """Write the report as one HTML file, atomically; it refers to nothing outside itself.

    Args:
        path: Where it goes, `.html`.
        data: What it is made from.

    Raises:
        MissingExtraError: If matplotlib or jinja2 is not installed.
    """
    write_text(path, render_report(data))


def render_report(data: ReportData) -> str:
    """Return the report as HTML.

    Raises:
        MissingExtraError: If matplotlib or jinja2 is not installed.
    """
    return _environment().get_template("report.html.j2").render(_context(data))


@cache
def _environment() -> jinja2.Environment:
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtraError("The report", "report") from error
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_TEMPLATES, "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(number=number, title=title, unit=unit_text, seconds=seconds, quantity=quantity)
    return environment


def _context(data: ReportData) -> dict[str, Any]:
    """Return everything that the template shows."""
    style = resources.files(_TEMPLATES).joinpath("templates/report.css").read_text(encoding="utf-8")
    validation = data.validation
    return {
        "style": Markup(style),  # noqa: S704 - our own file
        "data": data,
        "validation": validation,
        "verdict": data.verdict,
        "better": better_baselines(data.verdict) if data.verdict is not None else "",
        "headline": tables.headline(data),
        "conditions": tables.conditions(data),
        "metrics": [tables.metric_row(metric) for metric in validation.design.metrics],
        "baselines": tables.baselines(data),
        "strata": tables.strata(data),
        "distribution": accuracy.distribution(data),
        "parity": accuracy.parity(data),
        "over_inputs": input_space.over_inputs(data),
        "fields": fields.fields(data),
        "scalars": fields.scalars(data),
        "worst": tables.worst(data),
        "calibration": uncertainty.calibration(data),
        "losses": training.losses(data),
        "training": training.facts(data),
        "panels": [_panel(data, place) for place in range(len(data.panels))],
        "card": _card(data),
        "stages": cost.stages(data),
        "stage_rows": cost.stage_rows(data),
        "latencies": cost.latency_rows(data),
        "lineage": tables.lineage(data),
        "how": tables.how(data),
    }


def _panel(data: ReportData, place: int) -> Picture:
    """Draw a picture of the family."""
    panel = data.panels[place]
    return render(
        f"panel-{place}", panel.draw, size=panel.size, alt=panel.alt, title=panel.title, caption=panel.caption
    )


def _card(data: ReportData) -> dict[str, Any] | None:
    """Return the data card's tables."""
    record = data.card
    if record is None:
        return None
    return {
        "use": record.get("intended_use", ""),
        "hash": record.get("dataset_hash", ""),
        "samples": number(record.get("samples", 0)),
        "runs": number(record.get("runs", 0)),
        "warnings": list(record.get("warnings") or ()),
        "gaps": list(record.get("known_gaps") or ()),
        "counts": card.counts(record),
        "columns": card.columns(record),
        "coverage": card.coverage(data),
        "even": card.even(record),
        "refused": card.refused(record),
        "twins": card.twins(record),
        "simulators": list(record.get("simulators") or ()),
    }
