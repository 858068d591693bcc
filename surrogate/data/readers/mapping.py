"""What a mapping file says for HDF5, NetCDF, NPZ and CSV: which array of a file is which input or output."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from surrogate.core.errors import UnitError
from surrogate.core.units import check_unit
from surrogate.design.parameters import ScaleName

FILE: Literal["file"] = "file"
NONE: Literal["none"] = "none"
ROWS_PER_RUN = 4096


class Strict(BaseModel):
    """A table of a mapping file: unknown keys are refused, nothing is converted silently."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


def _axis_or(word: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 32
        if value is not None and not whole and value != word:
            raise ValueError(f"the number of an axis, counted from 0, or '{word}' is needed, and {value!r} was found")
        return value

    return BeforeValidator(check)


def _pattern(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        raise ValueError(f"{value!r} is no regular expression: {error}") from error
    if groups != 1:
        raise ValueError(f"a regular expression with one group in brackets is needed, and {value!r} has {groups}")
    return value


def _unit(value: str) -> str:
    try:
        return check_unit(value)
    except UnitError as error:
        raise ValueError(str(error).removesuffix(".")) from error


Unit = Annotated[str, AfterValidator(_unit)]
Pattern = Annotated[str, AfterValidator(_pattern)]
Axis = Annotated[int | Literal["none"] | None, _axis_or(NONE)]
SampleAxis = Annotated[int | Literal["file"], _axis_or(FILE)]
Text = Annotated[str, Field(min_length=1, max_length=10_000)]


class Place(Strict):
    """Where something stands: one of `path`, `column`, `attribute` (with `path`: of that object) and `file_name`."""

    path: Text | None = Field(default=None, description="Dataset, variable or array, such as 'fields/velocity'.")
    column: Text | None = Field(default=None, description="Column of a table of text.")
    attribute: Text | None = Field(default=None, description="Attribute of the file, or of the object at 'path'.")
    file_name: Pattern | None = Field(
        default=None, description="Regular expression whose one group is the value, searched in the file's name."
    )
    index: tuple[int, ...] = Field(default=(), description="Element of a sample's array, counted from 0.")
    sample_axis: Axis = Field(
        default=None, description="Another axis of samples than the file's; 'none' for what all its samples share."
    )

    @model_validator(mode="after")
    def _check(self) -> Place:
        named = [key for key in ("path", "column", "file_name") if getattr(self, key) is not None]
        if self.attribute is not None and named == ["path"]:
            named = []
        if len(named) + (self.attribute is not None) != 1:
            found = [*named, *(["attribute"] if self.attribute is not None else [])]
            raise ValueError(
                "exactly one of 'path', 'column', 'attribute' and 'file_name' is needed ('path' may go with "
                f"'attribute'), and {' and '.join(found) or 'none'} was found"
            )
        return self


class InputEntry(Place):
    """One input: a number or a word for each sample."""

    unit: Unit | None = Field(default=None, description="Unit that is wanted; that of the file when left out.")
    unit_in_file: Unit | None = Field(
        default=None,
        description="Unit of the file's numbers; what the file itself says when left out, else the wanted unit.",
    )
    low: float | None = Field(default=None, description="Smallest value, in the wanted unit.")
    high: float | None = Field(default=None, description="Largest value, in the wanted unit.")
    scale: ScaleName | None = Field(default=None, description="How values are spread; 'linear' unless said otherwise.")
    choices: tuple[str, ...] | None = Field(default=None, description="The words of a categorical input.")
    description: str = Field(default="", description="What the input is.")


def _dtype(value: str) -> str:
    try:
        known = value == "str" or np.dtype(value).kind in "biufc"
    except TypeError:
        known = False
    if not known:
        raise ValueError(f"a type such as 'float64', 'int64' or 'str' is needed, and {value!r} was found")
    return value


class OutputEntry(Place):
    """One output: a number or an array of any shape for each sample."""

    unit: Unit | None = Field(default=None, description="Unit that is wanted; that of the file when left out.")
    unit_in_file: Unit | None = Field(
        default=None,
        description="Unit of the file's numbers; what the file itself says when left out, else the wanted unit.",
    )
    dims: tuple[Text, ...] = Field(default=(), description="Names of a sample's axes; a coordinate's name binds it.")
    ragged: bool = Field(default=False, description="Whether a sample's first axis differs in length.")
    dtype: Annotated[str, AfterValidator(_dtype)] = Field(default="float64", description="Type of the values.")
    low: float | None = Field(default=None, description="Smallest physical value, in the wanted unit.")
    high: float | None = Field(default=None, description="Largest physical value, in the wanted unit.")
    description: str = Field(default="", description="What the output is.")


class CoordinateEntry(Strict):
    """A fixed axis that all samples share."""

    path: Text | None = Field(default=None, description="Dataset, variable or array `[L]`.")
    column: Text | None = Field(default=None, description="Column of a table of text.")
    values: tuple[float, ...] | None = Field(default=None, description="The values, where no file has them.")
    unit: Unit | None = Field(default=None, description="Unit that is wanted; that of the file when left out.")
    unit_in_file: Unit | None = Field(default=None, description="Unit of the file's numbers.")

    @model_validator(mode="after")
    def _check(self) -> CoordinateEntry:
        found = [key for key in ("path", "column", "values") if getattr(self, key) is not None]
        if len(found) != 1:
            raise ValueError(
                f"exactly one of 'path', 'column' and 'values' is needed, and {' and '.join(found) or 'none'} was found"
            )
        return self


class Mapping(Strict):
    """Where inputs and outputs stand in files of one layout."""

    sample_axis: SampleAxis = Field(
        description="Axis of the arrays that runs over samples, counted from 0; or 'file' when each file is one sample."
    )
    inputs: dict[str, InputEntry] = Field(min_length=1, description="The inputs by name.")
    outputs: dict[str, OutputEntry] = Field(min_length=1, description="The outputs by name.")
    coordinates: dict[str, CoordinateEntry] = Field(default={}, description="Fixed axes by name.")
    group: Place | None = Field(
        default=None,
        description="Key of samples that belong together (one geometry, one experiment): they are never divided "
        "between training and holdout.",
    )
    rows_per_run: Annotated[int, Field(ge=1, le=2**20)] = Field(
        default=ROWS_PER_RUN, description="Samples that are taken in together at most; large samples make it fewer."
    )

    @model_validator(mode="after")
    def _check(self) -> Mapping:
        twice = sorted(set(self.inputs) & set(self.outputs))
        if twice:
            raise ValueError(f"'{twice[0]}' is an input and an output; give each a name of its own")
        ragged = [name for name, entry in self.outputs.items() if entry.ragged]
        if ragged and self.sample_axis != FILE:
            raise ValueError(
                f"the output '{ragged[0]}' is ragged, which only files of one sample each can be (sample_axis = 'file')"
            )
        return self


class TableMapping(Mapping):
    """The same for tables of text: comma-separated or other."""

    delimiter: Annotated[str, Field(max_length=10)] = Field(
        default=",", description="Character between cells, or 'whitespace'."
    )
    comment: str = Field(default="", description="What lines begin with that are no rows, such as '#'.")
    skip_lines: Annotated[int, Field(ge=0)] = Field(default=0, description="Lines at the top that are left out.")
    columns: tuple[Text, ...] = Field(
        default=(), description="Names of all columns, where no line of the file has them."
    )

    @model_validator(mode="after")
    def _check_delimiter(self) -> TableMapping:
        if len(self.delimiter) != 1 and self.delimiter != "whitespace":
            raise ValueError(f"'delimiter' is one character or 'whitespace', and {self.delimiter!r} was found")
        return self
