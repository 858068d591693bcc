"""What it cost, and what an answer costs now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import BLUE, Picture, render
from surrogate.validation.report.words import factor, number, seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def stages(data: ReportData) -> Picture | None:
    """Return node-seconds by stage as bars, or None when nothing was recorded."""
    shown = [stage for stage in data.stages if stage.node_seconds > 0]
    if not shown:
        return None
    total = sum(stage.node_seconds for stage in shown)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        places = range(len(shown))
        values = [stage.node_seconds for stage in shown]
        axes.barh(list(places), values, height=0.62, color=BLUE)
        for place, value in zip(places, values, strict=True):
            axes.annotate(
                f"{number(value)} · {100 * value / total:.2g} %",
                (value, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
        axes.set_yticks(list(places), labels=[stage.stage for stage in shown])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.28 * max(values))
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("node-seconds")

    words = ", ".join(f"{stage.stage} {seconds(stage.node_seconds)}" for stage in shown)
    return render(
        "stages",
        draw,
        size=(8.6, 0.75 + 0.34 * len(shown)),
        alt=f"Node-seconds by stage: {words}.",
        title="Node-seconds by stage",
        caption=f"{number(total)} node-seconds ({seconds(total)} of one node) in all. {data.stages_how}".strip(),
    )


def stage_rows(data: ReportData) -> list[dict[str, str]]:
    """Return the stages as rows of a table."""
    return [
        {
            "stage": stage.stage,
            "node_seconds": number(stage.node_seconds),
            "wall_seconds": number(stage.wall_seconds),
            "detail": stage.detail,
        }
        for stage in data.stages
    ]


def latency_rows(data: ReportData) -> list[dict[str, Any]]:
    """Return measured latencies as rows of a table; empty when nothing was measured."""
    if data.speed_up is None:
        return []
    return [
        {
            "batch": number(latency.batch),
            "p50": seconds(latency.p50_s),
            "p95": seconds(latency.p95_s),
            "row": seconds(latency.row_s),
            "calls": latency.calls,
            "factor": factor(data.speed_up.simulation_s / latency.row_s),
        }
        for latency in data.speed_up.latencies
    ]
