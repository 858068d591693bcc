"""Gaps of a dataset that can be computed from its card, each as a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from surrogate.data.coverage import BINS
from surrogate.data.split import SPLITS

_FILLED = 5
"""A histogram's empty part means something only with so many points for each part."""


def computed_gaps(card: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a dataset lacks.

    Args:
        card: The card, as far as it is built: counts, columns, coverage and refused.
    """
    yield from _constants(card["columns"])
    yield from _empty_parts(card["coverage"]["train"])
    counts = card["counts"]["by_split"]
    for which in SPLITS:
        if card["counts"]["shares"][which] > 0 and not counts[which]["samples"]:
            yield f"The split '{which}' has no sample."
    outside = card["coverage"]["all"]["outside"]
    if outside:
        yield f"{outside} of {card['coverage']['all']['points']} points lie outside of the declared input space."
    if card["refused"]["share"] > 0.1:
        refused = card["refused"]
        yield f"{refused['runs']} runs ({refused['share']:.0%}) gave nothing to learn from."


def _constants(columns: list[dict[str, Any]]) -> Iterator[str]:
    for column in columns:
        if "words" in column:
            constant, value = column["distinct"] == 1, next(iter(column["words"]), "")
        else:
            constant = column["smallest"] is not None and column["smallest"] == column["largest"]
            value = column["smallest"]
        if constant:
            unit = "" if column["unit"] == "1" else f" {column['unit']}"
            yield f"The {column['role']} '{column['name']}' is {value}{unit} in every sample; nothing is learned of it."


def _empty_parts(train: Mapping[str, Any]) -> Iterator[str]:
    """Name the parts of an input's range in which there is no training point."""
    if train["points"] - train["outside"] < _FILLED * BINS:
        return
    for axis in train["axes"]:
        if axis["discrete"]:
            continue
        start: int | None = None
        for part, count in enumerate([*axis["counts"], 1]):
            if count == 0 and start is None:
                start = part
            elif count and start is not None:
                yield f"No training point has '{axis['name']}' {_between(axis, start, part)}."
                start = None


def _between(axis: Mapping[str, Any], start: int, stop: int) -> str:
    if not axis["edges"]:
        return f"between {axis['edges_unit'][start]:.0%} and {axis['edges_unit'][stop]:.0%} of its range"
    unit = "" if axis["unit"] == "1" else f" {axis['unit']}"
    return f"between {axis['edges'][start]:.4g} and {axis['edges'][stop]:.4g}{unit}"
