"""How it was trained: loss curves, and the facts that a record of training holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from surrogate.validation.report.data import ReportData
from surrogate.validation.report.figures import INK, MUTED, SERIES, Picture, log_ticks, render
from surrogate.validation.report.words import number, seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def losses(data: ReportData) -> Picture | None:
    """Return train and tune loss of every member, or None when none was recorded."""
    members: Sequence[Mapping[str, Any]] = [
        member for member in data.surrogate.get("training", {}).get("losses", ()) if member.get("epoch")
    ]
    if not members:
        return None

    def draw(figure: Figure) -> None:
        from matplotlib.lines import Line2D

        axes = figure.subplots()
        for place, member in enumerate(members):
            colour = SERIES[place % len(SERIES)]
            axes.plot(member["epoch"], member["train"], color=colour, lw=0.8, alpha=0.6)
            if member.get("tune"):
                axes.plot(member["epoch"], member["tune"], color=colour, lw=1.6)
            if member.get("best_tune") is not None:
                axes.plot([member["best_epoch"]], [member["best_tune"]], "o", ms=4.5, color=colour, mec=INK, mew=0.6)
        axes.set_yscale("log")
        log_ticks(axes.yaxis)
        axes.set_xlabel("epochs")
        axes.set_ylabel("loss (normalised)")
        kinds = [
            Line2D([], [], color=MUTED, lw=0.8, label="train"),
            Line2D([], [], color=MUTED, lw=1.8, label="tune"),
            Line2D([], [], color=MUTED, marker="o", ls="none", ms=4.5, label="kept weights"),
        ]
        names = [
            Line2D([], [], color=SERIES[place % len(SERIES)], lw=2.5, label=f"member {member.get('member', place)}")
            for place, member in enumerate(members[:8])
        ]
        figure.legend(handles=kinds + names, loc="outside right upper")

    best = [float(member["best_tune"]) for member in members if member.get("best_tune") is not None]
    span = f"; smallest tune losses from {number(min(best))} to {number(max(best))}" if best else ""
    return render(
        "losses",
        draw,
        size=(8.6, 3.2),
        alt=f"Train and tune loss of {len(members)} members against epochs{span}.",
        title="Loss curves",
        caption=(
            f"Loss of each of {len(members)} members on train rows (thin) and tune rows (thick), logarithmic; the dot "
            f"marks the weights that were kept, at the smallest tune loss{span}. The loss is the family's own, on "
            "scaled outputs."
        ),
    )


def facts(data: ReportData) -> list[tuple[str, str]]:
    """Return label and value of what the record of training says."""
    record = data.surrogate
    training: Mapping[str, Any] = record.get("training", {})
    found: list[tuple[str, str]] = [("Model family", str(record.get("family", "unknown")))]
    found.append(("Members of the ensemble", str(len(record.get("members", ())))))
    options = record.get("options") or {}
    if options:
        found.append(("Options", ", ".join(f"{name} = {_plain(value)}" for name, value in options.items())))
    samples = training.get("samples") or {}
    if samples:
        found.append(("Samples", ", ".join(f"{number(count)} {name}" for name, count in samples.items())))
    if training.get("ranks") is not None:
        horovod = training.get("horovod")
        backend = " with Horovod" if horovod is True else f" with {horovod}" if isinstance(horovod, str) else ""
        found.append(("Ranks", f"{training['ranks']}{backend}"))
    if training.get("seconds") is not None:
        found.append(("Training time", f"{seconds(float(training['seconds']))} wall clock, all members"))
    if record.get("seed") is not None:
        found.append(("Seed", str(record["seed"])))
    return found


def _plain(value: Any) -> str:
    """Return an option's value as short text."""
    if isinstance(value, list | tuple):
        return "–".join(str(item) for item in value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_plain(item)}" for key, item in value.items()) + "}"
    return number(value)
