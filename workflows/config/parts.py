"""What the sections of a campaign file are made of: the strict base, and values such as times and memory."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from surrogate.core.errors import SurrogateError
from surrogate.core.tables import shown


class Section(BaseModel):
    """A table of a campaign file: unknown keys are refused, nothing is converted silently, nothing changes later."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


LONGEST_S = 1_000_000_000
"""The longest time that can be asked for, s: some 31 years."""

_CLOCK = re.compile(r"(?:(\d{1,6})-)?(\d{1,6}):([0-5]\d):([0-5]\d)")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*(KiB|MiB|GiB|TiB|MB|GB|TB)")
_MIB = {
    "KiB": 2.0**-10,
    "MiB": 1.0,
    "GiB": 2.0**10,
    "TiB": 2.0**20,
    "MB": 1e6 / 2**20,
    "GB": 1e9 / 2**20,
    "TB": 1e12 / 2**20,
}


def _seconds(value: Any) -> int:
    """Return whole seconds from a number or `[D-]HH:MM:SS`."""
    clock = _CLOCK.fullmatch(value.strip()) if isinstance(value, str) else None
    if clock:
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        value = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if clock and not 1 <= value <= LONGEST_S:
        raise ValueError(f"a time from 1 s to {LONGEST_S} s (some 31 years) is needed, and {value} s was found")
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LONGEST_S:
        raise ValueError(
            f"a time is needed, as whole seconds up to {LONGEST_S} or as 'HH:MM:SS' ('D-HH:MM:SS' for days), and "
            f"{shown(value)} was found"
        )
    return value


def _mebibytes(value: Any) -> int:
    """Return whole MiB, rounded up, from text such as `2 GiB`; 0 stays 0."""
    memory = _MEMORY.fullmatch(value.strip()) if isinstance(value, str) else None
    if memory:
        return math.ceil(float(memory[1]) * _MIB[memory[2]])
    if value == 0 and isinstance(value, int) and not isinstance(value, bool):
        return 0
    raise ValueError(f"an amount of memory is needed, such as '500 MiB' or '2 GiB', and {shown(value)} was found")


Seconds = Annotated[
    int,
    BeforeValidator(_seconds),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _CLOCK.pattern}]}),
]
"""Seconds, written as a whole number or `[D-]HH:MM:SS`."""

Memory = Annotated[
    int,
    BeforeValidator(_mebibytes),
    WithJsonSchema({"anyOf": [{"const": 0}, {"type": "string", "pattern": _MEMORY.pattern}]}),
]
"""MiB, written as text with its unit."""

Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""A whole number of at least 1."""

MOST_POINTS = 1_000_000
"""Points that one design may have."""

Points = Annotated[int, Field(ge=1, le=MOST_POINTS)]
"""A number of points of a design."""

Tally = Annotated[int, Field(ge=0, le=2**31 - 1)]
"""A whole number of at least 0."""

Text = Annotated[str, Field(min_length=1, max_length=10_000)]
"""Text that is not empty."""


def _name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", value):
        raise ValueError(
            "a name of at most 64 letters, digits, dots, hyphens and underscores is needed, starting with a letter or "
            f"digit, and {shown(value)} was found"
        )
    return value


def _file_name(value: str) -> str:
    if not value.strip() or len(value) > 4000 or not value.isprintable():
        raise ValueError(f"the path of a file is needed, and {shown(value)} was found")
    return value


Name = Annotated[str, AfterValidator(_name)]
"""A name that may stand in the names of files."""

FileName = Annotated[str, AfterValidator(_file_name)]
"""The path of a file; relative ones are taken from the campaign file's folder."""


def clause(error: SurrogateError) -> ValueError:
    """Return an error of ours as one that pydantic collects; its sentence is kept."""
    return ValueError(str(error).removesuffix("."))
