"""The sections of a campaign file for data that exist already, and for a person's word before a promotion."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from surrogate.core.errors import DataError, UnitError
from surrogate.core.schema import Column
from surrogate.core.units import check_unit
from workflows.config.parts import Section, Text, clause


def _unit(value: str) -> str:
    try:
        return check_unit(value)
    except UnitError as error:
        raise clause(error) from error


Unit = Annotated[str, AfterValidator(_unit)]
"""A unit, as pint writes it."""


class OutputSection(Section):
    """One output. What is left out is taken from the mapping that the data are ingested by, and from the files."""

    unit: Unit | None = Field(default=None, description="Unit that is wanted; '1' for none.")
    shape: tuple[int, ...] | None = Field(default=None, description="Shape of a sample; [] for a single value.")
    dims: tuple[Text, ...] | None = Field(default=None, description="Names of the axes; a coordinate's name binds it.")
    low: float | None = Field(default=None, description="Smallest physical value, in the output's unit.")
    high: float | None = Field(default=None, description="Largest physical value, in the output's unit.")
    description: str | None = Field(default=None, description="What the output is.")

    @model_validator(mode="after")
    def _check(self) -> OutputSection:
        try:
            Column("x", "output", shape=self.shape or ())
        except DataError as error:
            raise ValueError(f"'shape' is {list(self.shape or ())}, which no array has") from error
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ValueError(f"'low' must be below 'high', and low = {self.low}, high = {self.high} was found")
        return self


class CoordinateSection(Section):
    """A fixed axis that all samples share; files that have another one are refused."""

    unit: Unit | None = Field(default=None, description="Unit that is wanted; '1' for none.")
    values: tuple[float, ...] | None = Field(default=None, min_length=1, description="The values, in that unit.")


class DataSection(Section):
    """Data that exist already and are taken in by `surrogate ingest`, instead of [simulator] and [design]."""

    outputs: dict[str, OutputSection] = Field(
        default={}, description="The outputs by name; those of the mapping when left out."
    )
    coordinates: dict[str, CoordinateSection] = Field(
        default={}, description="Fixed axes of the outputs by name; those of the mapping when left out."
    )


class ApprovalSection(Section):
    """A person's word before a version becomes the current one."""

    required: bool = Field(
        default=False,
        description="Whether a passing verdict is not enough: `surrogate promote … --approve NAME --note TEXT` gives "
        "the word.",
    )
