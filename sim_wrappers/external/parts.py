"""What the tables of `[simulator.options]` are made of: the strict base, names of files in a run's folder, patterns."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from surrogate.core.tables import shown

OUTPUT = "stdout"
"""How options call what the program printed."""

_OURS = re.compile(r"run\.h5|receipt\.json|stdout.*\.txt")


class Part(BaseModel):
    """A table of the options: unknown keys are refused, nothing is converted silently, nothing changes later."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


def _run_file(value: str) -> str:
    """Return the name of a file in a run's folder, written in its shortest form."""
    path = PurePosixPath(value)
    if not value.strip() or not value.isprintable() or path.is_absolute() or ".." in path.parts or str(path) == ".":
        raise ValueError(
            f"a file inside the run's own folder is needed, such as 'out.h5', and {shown(value)} was found"
        )
    if any("**" in part and part != "**" for part in path.parts):
        raise ValueError(f"'**' stands for whole folders, and {shown(value)} was found")
    if _OURS.fullmatch(str(path)):
        raise ValueError(f"the name {shown(value)} is taken by Surrogate's own file of that name in the run's folder")
    return str(path)


def _source(value: str) -> str:
    if not value.strip() or len(value) > 4000 or not value.isprintable():
        raise ValueError(f"the path of a file is needed, and {shown(value)} was found")
    return value


def _pattern(value: str) -> str:
    try:
        re.compile(value, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"{shown(value)} is no regular expression: {error}") from error
    return value


def _word(value: str) -> str:
    if "\0" in value:
        raise ValueError("no program can be given text with a zero byte in it")
    return value


Word = Annotated[str, Field(max_length=10_000), AfterValidator(_word)]
"""A word of a command, or the value of an environment variable."""

Text = Annotated[str, Field(min_length=1, max_length=10_000)]
"""Text that is not empty."""

RunFile = Annotated[str, AfterValidator(_run_file)]
"""A file in the run's folder, or a pattern of its name; `stdout` for what the program printed."""

Source = Annotated[str, AfterValidator(_source)]
"""A file or folder; relative ones are taken from the campaign file's folder."""

Pattern = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_pattern)]
"""A regular expression; `^` and `$` match at every line."""
