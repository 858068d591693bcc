"""Named inputs with bounds, unit and scale: the InputSpace of kind `parameters`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SpaceError, UnitError, nearest
from surrogate.core.schema import Column
from surrogate.core.units import check_unit
from surrogate.design.discrete import Categorical, Integer
from surrogate.design.scales import Linear, Log10, Scale
from surrogate.design.space import Point

ScaleName = Literal["linear", "log10", "integer", "categorical"]
SCALES: tuple[str, ...] = get_args(ScaleName)


@dataclass(frozen=True)
class Parameter:
    """One named input. The bounds are rounded to 12 significant digits, as every value is.

    Attributes:
        name: A letter, then letters, digits and underscores.
        low: Smallest value; None on a categorical scale.
        high: Largest value, above `low`; None on a categorical scale.
        unit: Unit of bounds and values; `1` for none.
        scale: `linear`, `log10` (bounds above 0), `integer` (whole numbers, bounds included) or `categorical`.
        choices: The words of a categorical scale, else empty.
        description: What it is.
    """

    name: str
    low: float | None = None
    high: float | None = None
    unit: str = "1"
    scale: ScaleName = "linear"
    choices: tuple[str, ...] = ()
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no parameter.

        Raises:
            SpaceError: If name, scale, bounds or choices are wrong.
            UnitError: If the unit is unknown.
        """
        if not str(self.name).isidentifier():
            raise SpaceError(
                f"An input's name is a letter, then letters, digits and underscores; {self.name!r} is not."
            )
        if self.scale not in SCALES:
            raise SpaceError(
                f"Input '{self.name}': the scale {self.scale!r} is not known; there are {', '.join(SCALES)}."
                f"{nearest(str(self.scale), SCALES)}"
            )
        try:
            object.__setattr__(self, "unit", check_unit(self.unit))
        except UnitError as error:
            raise UnitError(f"Input '{self.name}': {error}") from error
        object.__setattr__(self, "choices", tuple(self.choices))
        self._check_bounds()

    def _check_bounds(self) -> None:
        categorical = self.scale == "categorical"
        if categorical and not (self.low is None and self.high is None):
            raise SpaceError(f"Input '{self.name}': a categorical scale has 'choices' and neither 'low' nor 'high'.")
        if not categorical and self.choices:
            raise SpaceError(f"Input '{self.name}': 'choices' belong to the scale 'categorical', not '{self.scale}'.")
        if categorical:
            _ = self.mapping
            return
        for bound in ("low", "high"):
            if getattr(self, bound) is None:
                raise SpaceError(f"Input '{self.name}': '{bound}' is missing; give both bounds, low < high.")
        mapping = self.mapping
        if not mapping.low < mapping.high:
            raise SpaceError(
                f"Input '{self.name}': 'low' must be below 'high', and low = {self.low}, high = {self.high} was found."
            )
        object.__setattr__(self, "low", mapping.low)
        object.__setattr__(self, "high", mapping.high)

    @cached_property
    def mapping(self) -> Any:
        """The parameter's `Scale`, with bounds where it has some.

        Raises:
            SpaceError: If bounds or choices do not make one.
        """
        try:
            if self.scale == "categorical":
                return Categorical(self.choices)
            return {"linear": Linear, "log10": Log10, "integer": Integer}[self.scale](self.low, self.high)  # type: ignore[arg-type]
        except ValueError as error:
            subject = "the choices" if self.scale == "categorical" else f"low = {self.low} and high = {self.high}"
            raise SpaceError(f"Input '{self.name}': {subject} must be {error}.") from error

    @property
    def column(self) -> Column:
        """The input column that this parameter fills."""
        dtype = {"integer": "int64", "categorical": "str"}.get(self.scale, "float64")
        return Column(self.name, "input", self.unit, dtype, low=self.low, high=self.high, description=self.description)

    @property
    def size(self) -> int | None:
        """How many values there are, or None when they are not counted."""
        if self.scale == "categorical":
            return len(self.choices)
        return int(self.mapping.size) if self.scale == "integer" else None

    def canonical(self, value: Any) -> float | int | str:
        """Return a value in its type and rounded.

        Raises:
            SpaceError: If it is not of the type (text is no number), not finite, or no choice.
        """
        try:
            canonical: float | int | str = self.mapping.canonical(value)
        except ValueError as error:
            hint = nearest(str(value), self.choices)
            raise SpaceError(f"Input '{self.name}' must be {error}, and {value!r} was found.{hint}") from error
        return canonical

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "name": self.name, "low": self.low, "high": self.high, "unit": self.unit, "scale": self.scale,
            "choices": list(self.choices), "description": self.description,
        }  # fmt: skip


@dataclass(frozen=True)
class ParameterSpace:
    """A box of named inputs.

    Attributes:
        parameters: At least one, names all different.
    """

    parameters: tuple[Parameter, ...]

    def __post_init__(self) -> None:
        """Refuse an empty space and two inputs of one name.

        Raises:
            SpaceError: In both cases.
        """
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if not self.parameters:
            raise SpaceError("An input space needs at least one input, and none was declared.")
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            raise SpaceError(f"The input '{twice[0]}' is declared twice; give each input a name of its own.")

    @property
    def kind(self) -> str:
        """Name of the kind: `parameters`."""
        return "parameters"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the inputs, in order."""
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The input columns, in order."""
        return tuple(parameter.column for parameter in self.parameters)

    @property
    def dimensions(self) -> int:
        """Number of axes of the unit cube: one an input."""
        return len(self.parameters)

    def parameter(self, name: str) -> Parameter:
        """Return the parameter of that name.

        Raises:
            SpaceError: If there is none.
        """
        for parameter in self.parameters:
            if parameter.name == name:
                return parameter
        raise SpaceError(f"There is no input '{name}'; there are {', '.join(self.names)}.{nearest(name, self.names)}")

    def canonicalise(self, point: Mapping[str, Any]) -> Point:
        """Return the point with every input present, in order, of its type and rounded.

        Raises:
            SpaceError: If an input is missing, unknown, or not of its type. Being out of bounds is no error here.
        """
        for name in point:
            if name not in self.names:
                self.parameter(str(name))
                raise SpaceError(f"The input name {name!r} is no text.")
        missing = [name for name in self.names if name not in point]
        if missing:
            raise SpaceError(f"The point has no value for '{missing[0]}'; it must give {', '.join(self.names)}.")
        return {parameter.name: parameter.canonical(point[parameter.name]) for parameter in self.parameters}

    def contains(self, point: Mapping[str, Any]) -> bool:
        """Return whether a canonical point is within all bounds."""
        return all(parameter.mapping.contains(point[parameter.name]) for parameter in self.parameters)

    def outside(self, point: Mapping[str, Any]) -> str | None:
        """Return half a sentence on the first bound that a canonical point breaks, or None when it breaks none."""
        for parameter in self.parameters:
            value = point[parameter.name]
            if not parameter.mapping.contains(value):
                unit = "" if parameter.unit == "1" else f" {parameter.unit}"
                return f"'{parameter.name}' is {value}{unit}, outside [{parameter.low}, {parameter.high}]{unit}"
        return None

    def from_unit(self, unit: NDArray[np.float64]) -> list[Point]:
        """Map `[N, dimensions]` numbers of [0, 1] to N canonical points.

        Raises:
            SpaceError: If the shape is another, or a number is outside [0, 1] or not finite.
        """
        cube = np.asarray(unit, dtype=np.float64)
        if cube.ndim != 2 or cube.shape[1] != self.dimensions:
            raise SpaceError(
                f"Unit points of this space have shape [N, {self.dimensions}]; {list(cube.shape)} was found."
            )
        if not np.all((cube >= 0) & (cube <= 1)):
            raise SpaceError("Unit points must lie in [0, 1], and at least one does not.")
        values = [parameter.mapping.from_unit(cube[:, axis]) for axis, parameter in enumerate(self.parameters)]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*values, strict=True)]

    def to_unit(self, points: Sequence[Mapping[str, Any]]) -> NDArray[np.float64]:
        """Map N canonical points to `[N, dimensions]` float64; out-of-bounds points leave [0, 1].

        On a log10 scale a value that is not above 0 becomes −inf.
        """
        cube = np.empty((len(points), self.dimensions), dtype=np.float64)
        for axis, parameter in enumerate(self.parameters):
            mapping: Scale = parameter.mapping
            cube[:, axis] = mapping.to_unit([point[parameter.name] for point in points])
        return cube

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping with `"kind": "parameters"`."""
        return {"kind": self.kind, "parameters": [parameter.to_json() for parameter in self.parameters]}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ParameterSpace:
        """Rebuild a space from `to_json`.

        Raises:
            SpaceError: If the mapping is not one of `to_json`'s.
        """
        try:
            return cls(
                tuple(Parameter(**{**entry, "choices": tuple(entry["choices"])}) for entry in record["parameters"])
            )
        except (KeyError, TypeError) as error:
            raise SpaceError(f"This is no record of a parameter space: {error}.") from error
