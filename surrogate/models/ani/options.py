"""Options of the family `ani`, as they stand in `[model.options]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from surrogate.core.elements import symbol_of
from surrogate.models.ani.symmetry import PRESETS, SymmetryFunctions

PUBLISHED = {
    "ani-1x": {"H": [160, 128, 96], "C": [144, 112, 96], "N": [128, 112, 96], "O": [128, 112, 96]},
    "ani-2x": {
        "H": [256, 192, 160], "C": [224, 192, 160], "N": [192, 160, 128], "O": [192, 160, 128],
        "S": [160, 128, 96], "F": [160, 128, 96], "Cl": [160, 128, 96],
    },
}  # fmt: skip
"""Preset → symbol → units of each hidden layer."""

_OTHERS = [128, 112, 96]


class AniOptions(BaseModel):
    """Options of the family `ani`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    preset: Literal["ani-1x", "ani-2x"] = Field(
        "ani-1x", description="Published symmetry functions and layers that are the defaults of the rest."
    )
    radial_cutoff: float | None = Field(None, gt=0, description="Reach of the radial functions in Å.")
    radial_eta: float | None = Field(None, gt=0, description="Sharpness of the radial functions in 1/Å².")
    radial_shifts: list[float] | None = Field(
        None, min_length=1, description="Centres of the radial functions in Å, for example from 0.9 to 5 in 16 steps."
    )
    angular_cutoff: float | None = Field(
        None, gt=0, description="Reach of the angular functions in Å, at most the radial one."
    )
    angular_eta: float | None = Field(None, gt=0, description="Sharpness in distance of the angular functions, 1/Å².")
    zeta: float | None = Field(None, ge=1, description="Sharpness in angle of the angular functions.")
    angular_shifts: list[float] | None = Field(
        None, min_length=1, description="Centres in distance of the angular functions in Å."
    )
    angle_shifts: list[float] | None = Field(
        None, min_length=1, description="Centres in angle of the angular functions in rad."
    )
    hidden: dict[str, list[int]] = Field(
        default_factory=dict,
        description="Symbol of an element → units of each hidden layer of its network; '*' for all that are not named.",
    )
    activation: Literal["celu", "silu"] = Field("celu", description="Activation function of the hidden layers.")
    energy_weight: float = Field(1.0, ge=0, description="Weight of the squared error of energies in the loss.")
    force_weight: float = Field(
        0.1,
        ge=0,
        description="Weight of the squared error of forces in the loss, for lengths in Å. Without forces in the data, "
        "or with 0, energies alone are learned.",
    )

    def functions(self, elements: Sequence[int]) -> SymmetryFunctions:
        """Return the symmetry functions for some elements (atomic numbers)."""
        record = PRESETS[self.preset](elements).to_json()
        given = {name: getattr(self, name) for name in record if name != "elements"}
        return SymmetryFunctions.from_json(record | {name: value for name, value in given.items() if value is not None})

    def layers(self, element: int) -> list[int]:
        """Return the units of each hidden layer of an element's network."""
        symbol = symbol_of(element)
        published = PUBLISHED[self.preset].get(symbol, _OTHERS)
        return self.hidden.get(symbol, self.hidden.get("*", published))
