"""Bounds and choices that nobody has declared: taken from the data of the first ingest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from surrogate.core.errors import ConfigError, DataError
from surrogate.core.identity import canonical_float
from surrogate.core.schema import Column, Schema
from surrogate.data.readers.protocol import Sketch, SourceError
from workflows.config import CampaignConfig
from workflows.described import known_so_far
from workflows.ingest.layout import Layout

_MOST_CHOICES = 100
_LOOKED_AT = 9


class _Range:
    """What the files hold of one input."""

    def __init__(self, text: bool) -> None:
        self.text = text
        self.low, self.high = np.inf, -np.inf
        self.words: set[str] = set()

    @property
    def filled(self) -> bool:
        """Whether there was a word or a finite number."""
        return bool(self.words) or self.low <= self.high

    def add(self, values: Any) -> None:
        """Take in the values of a piece."""
        array = np.asarray(values)
        if self.text:
            self.words.update(np.unique(array).tolist())
            return
        finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
        if finite.size:
            self.low, self.high = min(self.low, float(finite.min())), max(self.high, float(finite.max()))


def common_sketch(paths: Sequence[Path], layout: Layout) -> Sketch:
    """Return what mapping and files say about the columns: what most of a few files say, spread over all of them.

    Raises:
        DataError: If no file can be read.
    """
    problem: SourceError | None = None
    found: list[Sketch] = []
    order = list(dict.fromkeys([*paths[:: max(1, len(paths) // _LOOKED_AT)], *paths]))
    for path in order:
        try:
            with layout.reader.open(path, layout.options) as source:
                found.append(source.sketch())
        except SourceError as error:
            problem = problem or error
        if len(found) >= _LOOKED_AT:
            break
    if not found:
        if len(paths) == 1:
            raise DataError(str(problem))
        raise DataError(f"None of the {len(paths)} files can be read by {layout.where}. The first: {problem}")
    return max(found, key=lambda sketch: sum(_same_columns(sketch, other) for other in found))


def _same_columns(one: Sketch, other: Sketch) -> bool:
    return (one.outputs, one.coordinates) == (other.outputs, other.coordinates)


def with_ranges(
    campaign: CampaignConfig, sketch: Sketch, paths: list[Path], layout: Layout, tell: Callable[[str], None]
) -> Sketch:
    """Return the sketch with a bound or choice for every input.

    Args:
        campaign: The campaign; what it declares is not looked for.
        sketch: What mapping and the first file say.
        paths: All files.
        layout: How they are read.
        tell: Is given a sentence for every input whose bounds were taken from the data.

    Raises:
        ConfigError: If an input is the same in all files, or has more words than a category may have.
        DataError: If no file has a value of an input that can be read; the first file's reason is quoted.
    """
    if sketch.space is not None:
        return sketch
    known = known_so_far(campaign, sketch)
    wanted = {name: _Range(entry.get("scale") == "categorical") for name, entry in known.items() if _open(entry)}
    if not wanted:
        return sketch
    tell(
        f"Looking for the range of {', '.join(wanted)} in {len(paths)} files, as neither mapping nor campaign gives it"
    )
    columns = tuple(
        Column(name, "input", str(known[name].get("unit", "1")), "str" if found.text else "float64")
        for name, found in wanted.items()
    )
    schema = Schema(columns)
    problem: SourceError | None = None
    for path in paths:
        try:
            with layout.reader.open(path, layout.options) as source:
                for piece in source.pieces:
                    block = source.read(piece, schema, list(wanted))
                    for name, found in wanted.items():
                        found.add(block.columns[name])
        except SourceError as error:  # the file is refused with this sentence when its turn comes
            problem = problem or error
    if problem is not None and not any(found.filled for found in wanted.values()):
        raise DataError(f"No range can be found of {', '.join(wanted)}, in any of the files. The first: {problem}")
    inputs = dict(sketch.inputs)
    for name, found in wanted.items():
        extra = _found(campaign, name, found, known[name])
        inputs[name] = {**inputs[name], **extra}
        unit = known[name].get("unit", "1")
        shown = ", ".join(extra["choices"]) if found.text else f"{extra.get('low', known[name].get('low')):g} … "
        shown += "" if found.text else f"{extra.get('high', known[name].get('high')):g}"
        tell(
            f"Input '{name}': {shown}{'' if unit == '1' else ' ' + unit}, taken from the data. What lies outside is "
            f"refused from now on; [inputs.{name}] in the campaign's file says otherwise, before the first ingest."
        )
    return replace(sketch, inputs=inputs)


def _open(entry: dict[str, Any]) -> bool:
    """Return whether something is left to be found."""
    if entry.get("scale") == "categorical":
        return not entry.get("choices")
    return entry.get("low") is None or entry.get("high") is None


def _found(campaign: CampaignConfig, name: str, found: _Range, known: dict[str, Any]) -> dict[str, Any]:
    if found.text:
        if not 1 <= len(found.words) <= _MOST_CHOICES:
            raise ConfigError(
                f"The input '{name}' is text and has {len(found.words)} different words in these files, and 1 to "
                f"{_MOST_CHOICES} can be the choices of a category. Map another column, or give 'choices'."
            )
        return {"choices": tuple(sorted(found.words))}
    low = known["low"] if known.get("low") is not None else found.low
    high = known["high"] if known.get("high") is not None else found.high
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ConfigError(f"The input '{name}' has no finite number in any of the files. Correct the mapping.")
    if not low < high:
        raise ConfigError(
            f"The input '{name}' is {low:g} in all files, so that nothing can be learned of it. Leave it out of the "
            f"mapping, or give its 'low' and 'high' in [inputs.{name}] of {campaign.where}."
        )
    bounds = {"low": canonical_float(low), "high": canonical_float(high)}
    return {key: value for key, value in bounds.items() if known.get(key) is None}
