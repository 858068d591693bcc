"""Where a potential was trained: which surroundings of atoms are like those of the training structures.

An atom is known when the distance of its features to those of the nearest reference atom of its element is no larger
than a radius. References are training atoms, at most 1,000 of an element, evenly picked; the radius is the quantile of
the distances that further training atoms have to them at which 99 of 100 structures of the usual size would pass. A
committee that disagrees too much is another sign: the standard deviation of the energy over √N (J. S. Smith, B. Nebgen,
N. Lubbers, O. Isayev, A. E. Roitberg, J. Chem. Phys. 148, 241733, 2018, eq. 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

MOST = 1000
"""Most references of an element."""

SHARE = 0.99
"""Share of structures like the training's that are to pass."""

_TESTED = 2000
_UNSEEN = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """The surroundings that training has seen.

    Attributes:
        references: For each element `[R, K]` float32, scaled features of training atoms.
        radii: For each element, how far an atom may be from the nearest of them.
        deviation: Most that members may differ, Ha: standard deviation of the energy over √N; infinite for no bound.
    """

    references: tuple[NDArray[np.float32], ...]
    radii: tuple[float, ...]
    deviation: float = float("inf")

    @classmethod
    def fit(cls, features: list[NDArray[np.float64]], atoms: float) -> Reach:
        """Choose references and radii.

        Args:
            features: For each element `[n, K]`, scaled features of its atoms in the training structures.
            atoms: Mean number of atoms of a structure.
        """
        references, radii = [], []
        quantile = SHARE ** (1 / max(atoms, 1.0))
        for own in features:
            if not len(own):
                references.append(own.astype(np.float32))
                radii.append(0.0)
                continue
            picked = np.unique(np.linspace(0, len(own) - 1, min(len(own), MOST)).astype(int))
            others = np.setdiff1d(np.arange(len(own)), picked)
            chosen = own[picked].astype(np.float32)
            if len(others) >= MOST // 4:
                tested = others[np.unique(np.linspace(0, len(others) - 1, _TESTED).astype(int))]
                distances = cdist(own[tested], chosen).min(axis=1)
            else:
                between = cdist(chosen, chosen)
                np.fill_diagonal(between, np.inf)
                distances = between.min(axis=1)
            finite = distances[np.isfinite(distances)]
            references.append(chosen)
            radii.append(float(np.quantile(finite, quantile)) if len(finite) else 0.0)
        return cls(tuple(references), tuple(radii))

    def knows(self, kind: int, features: NDArray[Any], others: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which atoms of an element are known, `[n]`.

        Args:
            kind: Position of the element.
            features: `[n, K]`, scaled.
            others: `[n, F − K]`, features that no training atom of the element had.
        """
        if not self.references:
            return np.ones(len(features), dtype=np.bool_)
        if not len(self.references[kind]):
            return np.zeros(len(features), dtype=np.bool_)
        near = cdist(features, self.references[kind]).min(axis=1) <= self.radii[kind]
        return np.asarray(near & (others < _UNSEEN).all(axis=1), dtype=np.bool_)

    def agrees(self, deviation: NDArray[np.float64], atoms: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for which structures the members agree well enough, `[N]`.

        Args:
            deviation: `[N]` Ha, standard deviation of the energy between members.
            atoms: `[N]`, numbers of atoms.
        """
        return np.asarray(deviation / np.sqrt(atoms) <= self.deviation, dtype=np.bool_)

    def arrays(self, symbols: tuple[str, ...]) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        return {f"reach/{symbol}": rows for symbol, rows in zip(symbols, self.references, strict=False)}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest; no bound is None."""
        return {"radii": list(self.radii), "deviation": self.deviation if np.isfinite(self.deviation) else None}

    @classmethod
    def restore(cls, symbols: tuple[str, ...], arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> Reach:
        """Rebuild from `arrays` and `to_json`."""
        bound = record["deviation"]
        references = tuple(
            np.asarray(arrays[f"reach/{symbol}"], dtype=np.float32) for symbol in symbols if f"reach/{symbol}" in arrays
        )
        radii = tuple(float(radius) for radius in record["radii"])
        return cls(references, radii, float("inf") if bound is None else float(bound))
