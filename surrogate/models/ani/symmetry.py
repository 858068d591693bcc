"""Which symmetry functions describe an atom's surroundings: elements, cutoffs, exponents and shifts.

Radial, for every neighbour j of atom i (Smith et al. 2017, eq. 3; the factor is that of NeuroChem and TorchANI):

    ¼ exp(−η (R_ij − R_s)²) f_c(R_ij),      f_c(R) = ½ cos(π R / R_c) + ½   for R < R_c

Angular, for every pair j, k of neighbours (eq. 4):

    2 ((1 + cos(θ − θ_s)) / 2)^ζ exp(−η ((R_ij + R_ik) / 2 − R_s)²) f_c(R_ij) f_c(R_ik),   θ = arccos(0.95 cos θ_jik)

Radial ones are summed for each element of j, angular ones for each unordered pair of elements of j and k. An atom's
features are the radial blocks in the order of the elements, then the angular blocks in the order of the upper triangle
of pairs; within an angular block R_s is the outer and θ_s the inner index.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import symbol_of
from surrogate.core.errors import DataError


@dataclass(frozen=True)
class SymmetryFunctions:
    """Symmetry functions for a set of elements.

    Attributes:
        elements: Atomic numbers; their order decides that of the features.
        radial_cutoff: R_c of the radial functions, Å.
        radial_eta: η of the radial functions, Å⁻².
        radial_shifts: R_s of the radial functions, Å.
        angular_cutoff: R_c of the angular functions, Å.
        angular_eta: η of the angular functions, Å⁻².
        zeta: ζ.
        angular_shifts: R_s of the angular functions, Å.
        angle_shifts: θ_s, rad.
    """

    elements: tuple[int, ...]
    radial_cutoff: float
    radial_eta: float
    radial_shifts: tuple[float, ...]
    angular_cutoff: float
    angular_eta: float
    zeta: float
    angular_shifts: tuple[float, ...]
    angle_shifts: tuple[float, ...]

    @property
    def radial_length(self) -> int:
        """Number of radial features of an atom."""
        return len(self.elements) * len(self.radial_shifts)

    @property
    def angular_block(self) -> int:
        """Number of angular features of one pair of elements."""
        return len(self.angular_shifts) * len(self.angle_shifts)

    @property
    def pair_count(self) -> int:
        """Number of unordered pairs of elements."""
        return len(self.elements) * (len(self.elements) + 1) // 2

    @property
    def length(self) -> int:
        """Number of features of an atom, F."""
        return self.radial_length + self.pair_count * self.angular_block

    @cached_property
    def pair_index(self) -> NDArray[np.int64]:
        """`[E, E]` symmetric: position of the block of two elements."""
        count = len(self.elements)
        index = np.zeros((count, count), dtype=np.int64)
        rows, columns = np.triu_indices(count)
        index[rows, columns] = index[columns, rows] = np.arange(len(rows))
        return index

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        places = np.full(max(self.elements) + 2, -1, dtype=np.int64)
        places[list(self.elements)] = np.arange(len(self.elements))
        return places

    def kinds(self, species: NDArray[Any]) -> NDArray[np.int64]:
        """Return the position among `elements` of each atom, `[M]`.

        Args:
            species: `[M]` atomic numbers.

        Raises:
            DataError: If an element is not one of these.
        """
        numbers = np.asarray(species, dtype=np.int64)
        kinds = self._places[np.clip(numbers, 0, len(self._places) - 1)]
        if len(kinds) and kinds.min() < 0:
            stranger = int(numbers[kinds < 0][0])
            known = ", ".join(symbol_of(number) for number in self.elements)
            name = symbol_of(stranger) if 1 <= stranger <= 118 else f"atomic number {stranger}"
            raise DataError(
                f"The potential knows the elements {known}, and an atom of {name} was given. Train on structures with "
                "that element, or leave such structures out."
            )
        return kinds

    def like(self, other: SymmetryFunctions) -> bool:
        """Return whether two sets are the same but for the last digits, to which files round."""
        one, two = self.to_json(), other.to_json()
        return all(np.shape(one[name]) == np.shape(two[name]) and np.allclose(one[name], two[name]) for name in one)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SymmetryFunctions:
        """Rebuild from `to_json`."""
        return cls(
            elements=tuple(int(number) for number in record["elements"]),
            radial_cutoff=float(record["radial_cutoff"]),
            radial_eta=float(record["radial_eta"]),
            radial_shifts=tuple(map(float, record["radial_shifts"])),
            angular_cutoff=float(record["angular_cutoff"]),
            angular_eta=float(record["angular_eta"]),
            zeta=float(record["zeta"]),
            angular_shifts=tuple(map(float, record["angular_shifts"])),
            angle_shifts=tuple(map(float, record["angle_shifts"])),
        )


def ani_1x(elements: Sequence[int] = (1, 6, 7, 8)) -> SymmetryFunctions:
    """Return the functions of ANI-1 and ANI-1x (J. Chem. Phys. 148, 241733, 2018) for any elements."""
    return SymmetryFunctions(
        elements=tuple(elements),
        radial_cutoff=5.2,
        radial_eta=16.0,
        radial_shifts=tuple(0.9 + 0.26875 * step for step in range(16)),
        angular_cutoff=3.5,
        angular_eta=8.0,
        zeta=32.0,
        angular_shifts=(0.9, 1.55, 2.2, 2.85),
        angle_shifts=tuple((step + 0.5) * math.pi / 8 for step in range(8)),
    )


def ani_2x(elements: Sequence[int] = (1, 6, 7, 8, 16, 9, 17)) -> SymmetryFunctions:
    """Return the functions of ANI-2x (J. Chem. Theory Comput. 16, 4192, 2020) for any elements."""
    return SymmetryFunctions(
        elements=tuple(elements),
        radial_cutoff=5.1,
        radial_eta=19.7,
        radial_shifts=tuple(0.8 + 0.26875 * step for step in range(16)),
        angular_cutoff=3.5,
        angular_eta=12.5,
        zeta=14.1,
        angular_shifts=tuple(0.8 + 0.3375 * step for step in range(8)),
        angle_shifts=tuple((step + 0.5) * math.pi / 4 for step in range(4)),
    )


PRESETS = {"ani-1x": ani_1x, "ani-2x": ani_2x}
"""Name in campaign files → the published functions for a set of elements."""
