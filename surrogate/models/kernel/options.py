"""Options of the family `atomic_kernel`, as they stand in `[model.options]`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from surrogate.models.ani.symmetry import SymmetryFunctions


def _even(first: float, last: float, count: int) -> list[float]:
    """Return `count` numbers from first to last, equally far apart."""
    return [float(value) for value in np.linspace(first, last, count)]


class KernelOptions(BaseModel):
    """Options of the family `atomic_kernel`."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    radial_cutoff: float = Field(7.0, gt=0, description="Reach of the radial functions in Å.")
    radial_eta: float = Field(8.0, gt=0, description="Sharpness of the radial functions in 1/Å².")
    radial_shifts: list[float] = Field(
        default_factory=lambda: _even(0.8, 5.0, 16), min_length=1, description="Centres of the radial functions in Å."
    )
    angular_cutoff: float = Field(5.5, gt=0, description="Reach of the angular functions in Å, at most the radial one.")
    angular_eta: float = Field(6.0, gt=0, description="Sharpness in distance of the angular functions in 1/Å².")
    zeta: float = Field(16.0, ge=1, description="Sharpness in angle of the angular functions.")
    angular_shifts: list[float] = Field(
        default_factory=lambda: _even(0.9, 4.0, 9),
        min_length=1,
        description="Centres in distance of the angular functions in Å.",
    )
    angle_shifts: list[float] = Field(
        default_factory=lambda: [(step + 0.5) * math.pi / 6 for step in range(6)],
        min_length=1,
        description="Centres in angle of the angular functions in rad.",
    )
    radial_decay: float = Field(
        1.8,
        ge=0,
        description="Radial functions are weighted by their centre to minus this power: near atoms matter more.",
    )
    angular_decay: float = Field(1.5, ge=0, description="The same for the angular functions.")
    angular_weight: float = Field(0.3, gt=0, description="Weight of the angular functions beside the radial ones.")
    width: float = Field(
        10.0, gt=0, description="Width of the kernel, in standard deviations of the weighted features of an element."
    )
    noise: float = Field(
        1e-7, gt=0, lt=1, description="What is added to the diagonal of the kernel matrix, as a share of its mean."
    )

    def functions(self, elements: Sequence[int]) -> SymmetryFunctions:
        """Return the symmetry functions for some elements (atomic numbers)."""
        return SymmetryFunctions(
            elements=tuple(elements),
            radial_cutoff=self.radial_cutoff,
            radial_eta=self.radial_eta,
            radial_shifts=tuple(self.radial_shifts),
            angular_cutoff=self.angular_cutoff,
            angular_eta=self.angular_eta,
            zeta=self.zeta,
            angular_shifts=tuple(self.angular_shifts),
            angle_shifts=tuple(self.angle_shifts),
        )

    def weights(self, elements: int) -> NDArray[np.float64]:
        """Return the weight of each of the F features for a number of elements, `[F]`."""
        radial = np.asarray(self.radial_shifts) ** -self.radial_decay
        angular = np.repeat(np.asarray(self.angular_shifts) ** -self.angular_decay, len(self.angle_shifts))
        blocks = elements * (elements + 1) // 2
        return np.concatenate([np.tile(radial, elements), self.angular_weight * np.tile(angular, blocks)])
