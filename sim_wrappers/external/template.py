"""Placeholders in text: found, checked before anything runs, filled.

A placeholder is `{{name}}` or `{{name:format}}`. A format is one of Python's (`.6e`, `5d`), or `logical` (Fortran's
.true. and .false.), `double` (Fortran's 1.5d-03), `json` (quoted and escaped text, true, false).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from surrogate.core.errors import ConfigError, nearest

BRACES = ("{{", "}}")
_NAMELIST = re.compile(r"^\s*&[A-Za-z_]\w*", re.MULTILINE)
_WIDE = re.compile(r"\d{4,}")
_COARSE = 1e-3
"""Share of an input's range below which the digits of a format must be able to tell two values apart."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder.

    Attributes:
        name: Whose value it takes.
        form: Its format; empty for none.
        text: The placeholder as it is written.
        line: Line of the text, from 1 on.
    """

    name: str
    form: str
    text: str
    line: int


@lru_cache(maxsize=16)
def _hole(delimiters: tuple[str, str]) -> re.Pattern[str]:
    begin, end = map(re.escape, delimiters)
    return re.compile(rf"{begin}[ \t]*(?P<name>[A-Za-z_][\w.]*)[ \t]*(?::(?P<form>[^\n]*?))?[ \t]*{end}")


def placeholders(text: str, where: str, delimiters: tuple[str, str] = BRACES) -> list[Placeholder]:
    """Return the placeholders of a text, in order.

    Args:
        text: The text.
        where: What it is, for the sentence.
        delimiters: What surrounds a placeholder.

    Raises:
        ConfigError: If something begins like a placeholder and is none.
    """
    pattern = _hole(delimiters)
    begin, end = delimiters
    rest = pattern.sub(lambda found: "\0" * len(found[0]), text)
    left = rest.find(begin)
    if left >= 0:
        line = text.count("\n", 0, left) + 1
        shown = text[left:].partition("\n")[0][:40]
        raise ConfigError(
            f"{where}, line {line}: {shown!r} is no placeholder. Write {begin}name{end} or {begin}name:.6e{end}; "
            f"a file in which {begin} means something else can have other 'delimiters'."
        )
    return [
        Placeholder(found["name"], found["form"] or "", found[0], text.count("\n", 0, found.start()) + 1)
        for found in pattern.finditer(text)
    ]


def fill(text: str, values: Mapping[str, Any], delimiters: tuple[str, str] = BRACES, *, logical: bool = False) -> str:
    """Return a text with its placeholders filled.

    Args:
        text: The text.
        values: Name → number, truth value or text.
        delimiters: What surrounds a placeholder.
        logical: Whether truth values are written as Fortran does, where no format says otherwise.
    """
    return _hole(delimiters).sub(
        lambda found: written(values[found["name"]], found["form"] or "", logical=logical), text
    )


def is_namelist(text: str, name: str) -> bool:
    """Return whether a file is a Fortran namelist, by its name or by its text."""
    return name.lower().endswith((".nml", ".namelist")) or _NAMELIST.search(text) is not None


def written(value: Any, form: str = "", *, logical: bool = False) -> str:
    """Return a value as a placeholder writes it.

    Args:
        value: Number, truth value or text.
        form: The placeholder's format.
        logical: Whether truth values are written as Fortran does when there is no format.

    Raises:
        ValueError: If the format does not suit the value.
    """
    if form == "json":
        return json.dumps(value)
    if form == "logical" or (logical and not form and isinstance(value, bool)):
        if not isinstance(value, bool):
            raise ValueError("'logical' is for true and false")
        return ".true." if value else ".false."
    if form == "double":
        if isinstance(value, bool | str):
            raise ValueError("'double' is for numbers")
        text = repr(float(value))
        return text.replace("e", "d") if "e" in text else f"{text}d0"
    if form:
        return format(value, form)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def check_placeholders(
    found: Iterable[Placeholder], where: str, samples: Sequence[Mapping[str, Any]], names: Iterable[str]
) -> None:
    """Refuse placeholders that nobody fills, and formats that do not suit or lose what tells two runs apart.

    Args:
        found: The placeholders.
        where: What they stand in, for the sentence.
        samples: Points that span the space, with everything else that fills placeholders; at least one.
        names: What a person may have meant, for the hint.

    Raises:
        ConfigError: Naming the line and the placeholder.
    """
    for hole in found:
        place = f"{where}, line {hole.line}: {hole.text!r}"
        if hole.name not in samples[0]:
            raise ConfigError(
                f"{place} is filled by nobody: '{hole.name}' is neither an input nor one of 'values'."
                f"{nearest(hole.name, names)}"
            )
        if _WIDE.search(hole.form):
            raise ConfigError(f"{place} asks for a width of more than 999 characters.")
        try:
            texts = [written(sample[hole.name], hole.form) for sample in samples]
        except ValueError as error:
            raise ConfigError(f"{place} cannot be written: {error}.") from error
        _refuse_coarse(hole, place, [sample[hole.name] for sample in samples], texts)


def _refuse_coarse(hole: Placeholder, place: str, values: Sequence[Any], texts: Sequence[str]) -> None:
    """Refuse a format that changes the input: another point would be simulated than is learned.

    Raises:
        ConfigError: If so.
    """
    if not hole.form or not all(isinstance(value, float) for value in values):
        return
    width = max(values) - min(values)
    for value, text in zip(values, texts, strict=True):
        try:
            read = float(text.lower().replace("d", "e").replace("%", "e-2"))
        except ValueError:
            continue
        if abs(read - value) > _COARSE * width and width > 0:
            raise ConfigError(
                f"{place} writes {value!r} as {text.strip()}, which is another point of the space: the program would "
                "be asked something else than what is learned. Give the format more digits, or leave it out."
            )
