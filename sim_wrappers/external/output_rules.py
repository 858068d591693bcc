"""The rules by which outputs are read and the axes that they lie on, as tables of the options."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sim_wrappers.external.parts import OUTPUT, Part, Pattern, RunFile, Source, Text
from surrogate.core.errors import UnitError
from surrogate.core.schema import RAGGED
from surrogate.core.tables import shown
from surrogate.core.units import check_unit

RULES = ("dataset", "variable", "column", "columns", "pattern", "array", "parser")
"""Keys that say how an output is read; each output has one of them, and a `.npy` file needs none."""

_BELONG = {
    "skip_rows": ("column", "columns"),
    "delimiter": ("column", "columns"),
    "comment": ("column", "columns"),
    "match": ("pattern",),
}
_LONGEST = 10**9
_SLICE = re.compile(r"-?\d*:-?\d*(?::-?\d*)?")
_PARSER = re.compile(r"[^:]+:[A-Za-z_]\w*")


def _unit(value: str) -> str:
    try:
        return check_unit(value)
    except UnitError as error:
        raise ValueError(str(error).removesuffix(".")) from error


def _place(value: Any) -> Any:
    """Refuse what is no place on an axis, in one sentence instead of one for each type."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole and not (isinstance(value, str) and _SLICE.fullmatch(value.replace(" ", ""))):
        raise ValueError(f"a place on an axis is needed, such as -1 or '0:100:2', and {shown(value)} was found")
    return value


def _column(value: Any) -> Any:
    number = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if not number and not (isinstance(value, str) and value.strip()):
        raise ValueError(f"a column is needed, by its number from 1 on or by its name, and {shown(value)} was found")
    return value


def _parser(value: str) -> str:
    if not _PARSER.fullmatch(value):
        raise ValueError(
            f"a function is needed, as 'file.py:function' or 'module:function', and {shown(value)} was found"
        )
    return value


def _lengths(value: Any) -> Any:
    for length in value if isinstance(value, list) else ():
        if isinstance(length, bool) or not isinstance(length, int) or not (1 <= length <= _LONGEST or length == RAGGED):
            raise ValueError(f"lengths of axes are whole numbers from 1 to {_LONGEST}, and {shown(length)} was found")
    return tuple(value) if isinstance(value, list) else value


Unit = Annotated[str, AfterValidator(_unit)]
Place = Annotated[int | str, BeforeValidator(_place)]
ColumnName = Annotated[int | str, BeforeValidator(_column)]


class OutputRule(Part):
    """One output: where it stands in what the program left, and what it is."""

    file: RunFile = Field(
        default=OUTPUT,
        description="File in the run's folder, or a pattern that one file matches; 'stdout' is what was printed.",
    )
    dataset: Text | None = Field(default=None, description="Path of a dataset in an HDF5 file.")
    variable: Text | None = Field(
        default=None, description="Path of a variable in a NetCDF file, classic or NetCDF-4; packed ones are unpacked."
    )
    column: ColumnName | None = Field(
        default=None,
        description="Column of a text file: its number, from 1 on as awk and gnuplot count, or its name in the header.",
    )
    columns: tuple[ColumnName, ...] | None = Field(
        default=None, min_length=1, description="Several columns of a text file; they become the last axis."
    )
    pattern: Pattern | None = Field(
        default=None, description="Regular expression whose first group, or whole match, is a number."
    )
    array: Text | None = Field(default=None, description="Name of an array in a NumPy .npz file.")
    parser: Annotated[str, AfterValidator(_parser)] | None = Field(
        default=None,
        description="Function of your own, 'file.py:function' or 'module:function': it is given the run's folder (a "
        "pathlib.Path) and returns the numbers.",
    )
    skip_rows: int = Field(default=0, ge=0, description="Lines at the file's start before the columns.")
    delimiter: Text | None = Field(default=None, description="What separates columns; white space when left out.")
    comment: str = Field(default="#", description="What begins a comment in a file of columns; empty for nothing.")
    match: Literal["last", "first", "all"] = Field(
        default="last", description="Which matches of the pattern count; 'all' gives a vector."
    )
    index: tuple[Place, ...] = Field(
        default=(), description="Part of what was read, axis by axis, counted from 0: -1, '0:100', '::2'."
    )
    unit: Unit = Field(default="1", description="Unit of the numbers as the program writes them; '1' for none.")
    dims: tuple[Text, ...] = Field(default=(), description="Names of the axes; those of coordinates have their length.")
    shape: Annotated[tuple[int, ...], BeforeValidator(_lengths)] | None = Field(
        default=None,
        description="Length of each axis; known from 'dims' where these are coordinates. -1 for a first axis that "
        "differs from run to run.",
    )
    low: float | None = Field(default=None, description="Smallest value that physics allows, in the output's unit.")
    high: float | None = Field(default=None, description="Largest value that physics allows, in the output's unit.")
    description: str = Field(default="", description="What the output is.")

    @model_validator(mode="after")
    def _check(self) -> OutputRule:
        given = [name for name in RULES if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"'{given[0]}' and '{given[1]}' are two ways to read one output; keep one of them")
        if not given and not self.file.endswith(".npy"):
            raise ValueError(f"it is not said how the output is read: give one of {', '.join(RULES)}")
        for name, rules in _BELONG.items():
            if name in self.model_fields_set and self.rule not in rules and getattr(self, name) != _default(name):
                raise ValueError(f"'{name}' has no meaning here; it belongs to {' and '.join(map(repr, rules))}")
        if self.file == OUTPUT and self.rule not in ("column", "columns", "pattern", "parser"):
            raise ValueError(f"'{self.rule}' reads a file, and 'file' is missing: name the file in the run's folder")
        if self.pattern is not None and re.compile(self.pattern).groups > 1:
            raise ValueError("the pattern has more than one group; mark the others as '(?:…)'")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"'low' must be below 'high', and low = {self.low}, high = {self.high} was found")
        if self.shape is not None and self.dims and len(self.shape) != len(self.dims):
            raise ValueError(f"'shape' has {len(self.shape)} axes and 'dims' has {len(self.dims)}; they must agree")
        return self

    @property
    def rule(self) -> str:
        """The key that says how the output is read, or `npy`."""
        return next((name for name in RULES if getattr(self, name) is not None), "npy")

    @property
    def told(self) -> str:
        """The rule in words, for sentences and where the output has no description."""
        where = "the program's output" if self.file == OUTPUT else self.file
        if self.rule == "npy":
            return f"the array in {where}"
        if self.rule == "parser":
            return f"what {self.parser} returns"
        if self.columns is not None:
            return f"columns {', '.join(map(str, self.columns))} of {where}"
        return f"{self.rule} {getattr(self, self.rule)} {'of' if self.rule == 'column' else 'in'} {where}"


def _default(name: str) -> Any:
    return OutputRule.model_fields[name].default


class CoordinateRule(Part):
    """An axis that outputs lie on: its values, or from where to where, or a file that has them."""

    unit: Unit = Field(default="1", description="Unit of the values; '1' for none.")
    values: tuple[float, ...] | None = Field(default=None, min_length=1, description="The values.")
    start: float | None = Field(default=None, description="First value, or lower edge of the first cell.")
    stop: float | None = Field(default=None, description="Last value, or upper edge of the last cell.")
    count: int | None = Field(default=None, ge=1, le=10**6, description="Number of points, both ends included.")
    cells: int | None = Field(default=None, ge=1, le=10**6, description="Number of equal cells; values are centres.")
    file: Source | None = Field(default=None, description="Text or .npy file beside the campaign that has the values.")
    column: Annotated[int, Field(ge=1)] = Field(default=1, description="Column of that text file, from 1 on.")

    @model_validator(mode="after")
    def _check(self) -> CoordinateRule:
        ends = [name for name in ("start", "stop") if getattr(self, name) is not None]
        ways = [name for name in ("values", "count", "cells", "file") if getattr(self, name) is not None]
        if len(ways) != 1:
            found = " and ".join(f"'{name}'" for name in ways) or "none of them"
            raise ValueError(
                "an axis is given by 'values', by 'start', 'stop' and 'count' (or 'cells'), or by 'file', "
                f"and {found} was found"
            )
        spread = ways[0] in ("count", "cells")
        if spread and len(ends) < 2:
            raise ValueError(f"'{ways[0]}' needs 'start' and 'stop'")
        if not spread and ends:
            raise ValueError(f"'{ends[0]}' has no meaning beside '{ways[0]}'")
        if ways[0] == "count" and self.count == 1 and self.start != self.stop:
            raise ValueError("one point cannot be at 'start' and at 'stop'; 'count' must be 2 at least")
        return self
