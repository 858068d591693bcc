"""The data card as tables and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import BLUE, GREEN, INK, ORANGE, RED, Picture, render
from surrogate.validation.report.words import axis_label, number, point, points_lie, short, unit_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SPLITS = (("train", BLUE), ("tune", GREEN), ("holdout", ORANGE))
_AXES = 6
_REASONS = 12


def coverage(data: ReportData) -> Picture | None:
    """Return how the samples of each split cover each input, and where runs failed; None when the card does not say."""
    card = data.card or {}
    found: Mapping[str, Any] = card.get("coverage") or {}
    axes_all = (found.get("all") or {}).get("axes") or []
    usable = [place for place, axis in enumerate(axes_all) if axis.get("counts")][:_AXES]
    if not usable:
        return None
    failed = {axis["name"]: axis.get("failed_counts", ()) for axis in (card.get("failure_place") or {}).get("axes", ())}
    across = min(3, len(usable))
    down = -(-len(usable) // across)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
        for place, (axes, index) in enumerate(zip(grid, usable, strict=False)):
            parts = [(name, (found.get(name) or {}).get("axes") or [], colour) for name, colour in _SPLITS]
            _bars(axes, [(name, part[index]["counts"], colour) for name, part, colour in parts if part])
            _failed(axes, failed.get(axes_all[index]["name"], ()))
            _ticks(axes, axes_all[index])
            if place % across == 0:
                axes.set_ylabel("samples")
        for axes in grid[len(usable) :]:
            axes.set_axis_off()
        handles, labels = grid[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))

    names = ", ".join(str(axes_all[index]["name"]) for index in usable)
    return render(
        "coverage",
        draw,
        size=(8.6, 2.5 * down + 0.3) if across > 1 else (5.0, 3.0),
        alt=f"Histograms of the inputs {names} in each split, with failed runs.",
        caption="Points in each of ten equal parts of an input's range (on its own scale), split by split.",
    )


def _bars(axes: Axes, parts: Sequence[tuple[str, Sequence[int], str]]) -> None:
    """Draw stacked bars over [0, 1]."""
    base = np.zeros(len(parts[0][1])) if parts else np.zeros(0)
    for name, counts, colour in parts:
        places = (np.arange(len(counts)) + 0.5) / len(counts)
        axes.bar(places, counts, width=0.92 / len(counts), bottom=base, color=colour, alpha=0.85, label=name)
        base = base + np.asarray(counts)


def _failed(axes: Axes, counts: Sequence[int]) -> None:
    """Draw the number of failed runs as steps."""
    if not len(counts) or not any(counts):
        return
    edges = np.linspace(0, 1, len(counts) + 1)
    axes.stairs(counts, edges, color=RED, lw=1.6, label="failed runs")


def _ticks(axes: Axes, axis: Mapping[str, Any]) -> None:
    """Write the input's values below its unit coordinate."""
    from matplotlib.ticker import MaxNLocator

    edges = list(axis.get("edges") or ())
    axes.set_xlim(0, 1)
    if edges:
        places = [0, (len(edges) - 1) // 2, len(edges) - 1]
        axes.set_xticks(
            [place / (len(edges) - 1) for place in places],
            labels=[short(edges[place], 3) for place in places],
        )
        # The outer labels stay inside, so that those of neighbouring plots do not meet.
        labels = axes.get_xticklabels()
        labels[0].set_horizontalalignment("left")
        labels[-1].set_horizontalalignment("right")
    axes.set_xlabel(axis_label(str(axis["name"]), str(axis.get("unit", "1"))))
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.axhline(0, color=INK, lw=0.6)


def counts(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return samples by stratum and split as rows of a table, all strata together last."""
    found: Mapping[str, Any] = card.get("counts") or {}
    rows = [
        {"stratum": stratum, **{name: _count(splits.get(name)) for name, _ in _SPLITS}}
        for stratum, splits in (found.get("by_stratum") or {}).items()
    ]
    if len(rows) != 1 and found.get("by_split"):
        rows.append({"stratum": "all", **{name: _count(found["by_split"].get(name)) for name, _ in _SPLITS}})
    return rows


def _count(entry: Mapping[str, Any] | None) -> str:
    """Return a number of samples, and of groups where samples share some."""
    if not entry:
        return "0"
    samples, groups = entry.get("samples", 0), entry.get("groups", 0)
    return number(samples) if samples == groups else f"{number(samples)} in {number(groups)} groups"


def columns(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the columns of the dataset as rows of a table."""
    rows = []
    for entry in card.get("columns") or ():
        words = entry.get("words")
        shape = " × ".join("ragged" if length == -1 else str(length) for length in entry.get("shape") or ()) or "scalar"
        bounds = [entry.get("low"), entry.get("high")]
        rows.append(
            {
                "name": entry.get("name"),
                "role": entry.get("role"),
                "unit": unit_text(str(entry.get("unit", "1"))),
                "shape": shape,
                "declared": "none" if bounds == [None, None] else f"{_bound(bounds[0])} to {_bound(bounds[1])}",
                "found": (
                    ", ".join(f"{word} ({number(count)})" for word, count in list(words.items())[:6])
                    if words
                    else f"{number(entry.get('smallest'))} to {number(entry.get('largest'))}"
                ),
                "mean": "–" if words else number(entry.get("mean")),
                "std": "–" if words else number(entry.get("std")),
            }
        )
    return rows


def _bound(value: float | None) -> str:
    return "…" if value is None else short(float(value))


def refused(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return which runs gave nothing to learn from, and why."""
    found: Mapping[str, Any] = card.get("refused") or {}
    units = {entry.get("name"): entry.get("unit", "1") for entry in card.get("columns") or ()}
    reasons = [
        {
            "run": str(entry.get("run_id", ""))[:12],
            "kind": str(entry.get("kind", "")).replace("_", " "),
            "reason": entry.get("reason", ""),
            "inputs": point(entry.get("inputs") or {}, units),
        }
        for entry in list(found.get("reasons") or ())[:_REASONS]
    ]
    return {
        "runs": found.get("runs", 0),
        "failed": found.get("failed", 0),
        "quarantined": found.get("quarantined", 0),
        "share": f"{100 * float(found.get('share', 0.0)):.3g} %",
        "kinds": [
            {"kind": kind.replace("_", " "), "runs": entry.get("runs"), "budget": entry.get("budget")}
            for kind, entry in (found.get("by_kind") or {}).items()
        ],
        "reasons": reasons,
        "left_out": int(found.get("runs", 0)) - len(reasons),
        "place": (card.get("failure_place") or {}).get("sentence", "") if found.get("runs") else "",
        "clustered": bool((card.get("failure_place") or {}).get("clustered")),
    }


def twins(card: Mapping[str, Any]) -> list[str]:
    """Return what is known of duplicates and near-duplicates, as sentences."""
    found: Mapping[str, Any] = card.get("duplicates") or {}
    if not found:
        return []
    near: Mapping[str, Any] = found.get("near") or {}
    sentences = [
        (
            f"{number(found.get('same_inputs', 0))} samples repeat the inputs of another, "
            f"{number(found.get('same_content', 0))} repeat its outputs, too."
        ),
        f"{points_lie(int(found.get('same_inputs_across_holdout', 0)))} on both sides of the holdout's border.",
    ]
    if near.get("tested"):
        sentences.append(
            f"{number(near.get('pairs', 0))} holdout samples have a near-duplicate in train or tune (closer than "
            f"{short(near.get('threshold'))} of the inputs' ranges); the smallest distance is "
            f"{number(near.get('smallest'))}, the median {number(near.get('median'))}."
        )
    return sentences


def even(card: Mapping[str, Any]) -> list[str]:
    """Return how evenly the inputs are covered, as sentences."""
    found: Mapping[str, Any] = (card.get("coverage") or {}).get("all") or {}
    sentences = []
    if found.get("discrepancy"):
        entry = found["discrepancy"]
        sentences.append(
            f"Evenness: the {str(entry.get('method', 'discrepancy')).split(';')[0]} is {number(entry.get('value'))}, "
            f"against {number(entry.get('random'))} for random points of the same number (smaller is more even)."
        )
    if found.get("outside"):
        sentences.append(f"{points_lie(int(found['outside']))} outside {found.get('cube', 'the declared space')}.")
    return sentences
