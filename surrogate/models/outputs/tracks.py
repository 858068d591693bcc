"""Which front of one profile is which front of another, and where a front is that has left the domain or not yet come.

Fronts are told apart by the sign of their jump and by their order. A profile that shows fewer than there are is matched
to the nearest positions that a smooth function of the network's inputs expects. Where a front cannot be seen, that
function, a radial basis interpolant of the positions that were seen, says where it would be, outside the domain as a
rule: the aligned profile then changes smoothly while a front enters or leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.outputs.fronts import Fronts
from surrogate.models.outputs.positions import PositionModel, fit_positions

_LEAST_SEEN = 8
_LEAST_SHARE = 0.03
_LEAST_EXPLAINED = 0.5
_MOST_CROSSED = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """K fronts that can be followed through all profiles, left to right.

    Attributes:
        signs: Sign of each front's jump, K numbers of ±1.
        models: Position of each front as a smooth function of the features.
        low: Lower end of the domain.
        high: Upper end of it.
    """

    signs: tuple[int, ...]
    models: tuple[PositionModel, ...]
    low: float
    high: float

    @classmethod
    def fit(
        cls,
        features: NDArray[np.float64],
        fronts: Fronts,
        places: NDArray[np.float64],
        *,
        low: float,
        high: float,
        most: int,
    ) -> Tracks:
        """Find the fronts that most profiles agree on.

        Args:
            features: `[R, D]`, what the network is given.
            fronts: What was found in the training rows.
            places: `[R, Q]`, the fronts' positions in the coordinate's unit; NaN behind the last.
            low: Lower end of the domain.
            high: Upper end of it.
            most: Largest number of fronts that are followed.
        """
        found: list[tuple[float, int, PositionModel, NDArray[np.float64], float]] = []
        for sign in (1, -1):
            own = np.where(np.sign(fronts.jump) == sign, places, np.nan)
            for track in _tracks_of_sign(features, own, np.abs(fronts.jump), most):
                model = fit_positions(features, track, low, high)
                if model is not None and model.explained >= _LEAST_EXPLAINED:
                    strength = float(np.nansum(np.where(own == track[:, None], np.abs(fronts.jump), 0.0)))
                    found.append((float(np.nanmedian(model.predict(features))), sign, model, track, strength))
        found = sorted(found, key=lambda entry: -entry[4])[:most]
        found.sort(key=lambda entry: entry[0])
        while len(found) > 1 and _crossed([entry[3] for entry in found]) > _MOST_CROSSED:
            found.remove(min(found, key=lambda entry: entry[4]))
        return cls(tuple(entry[1] for entry in found), tuple(entry[2] for entry in found), low, high)

    @property
    def count(self) -> int:
        """Number of fronts K."""
        return len(self.signs)

    def positions(
        self, features: NDArray[np.float64], fronts: Fronts, places: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return where every front is, `[R, K]` rising in each row, and whether it was seen there, `[R, K]` bool.

        Args:
            features: `[R, D]`.
            fronts: What was found in the rows.
            places: `[R, Q]`, the fronts' positions in the coordinate's unit; NaN behind the last.
        """
        result = np.empty((len(features), self.count))
        seen = np.zeros_like(result, dtype=np.bool_)
        expected = np.stack([model.predict(features) for model in self.models], axis=1) if self.models else result
        for sign in sorted(set(self.signs)):
            wanted = [index for index, own in enumerate(self.signs) if own == sign]
            own = np.where(np.sign(fronts.jump) == sign, places, np.nan)
            matched = _match(own, np.abs(fronts.jump), expected[:, wanted])
            seen[:, wanted] = np.isfinite(matched)
            result[:, wanted] = np.where(np.isfinite(matched), matched, expected[:, wanted])
        return np.maximum.accumulate(result, axis=1), seen

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays to store."""
        return {
            f"front{index}/{name}": array
            for index, model in enumerate(self.models)
            for name, array in model.arrays().items()
        }

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        return {
            "signs": list(self.signs), "low": self.low, "high": self.high,
            "models": [model.to_json() for model in self.models],
        }  # fmt: skip

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> Tracks:
        """Rebuild from `arrays` and `to_json`."""
        models = []
        for index, entry in enumerate(record["models"]):
            prefix = f"front{index}/"
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            models.append(PositionModel.restore(own, entry))
        return cls(
            tuple(int(sign) for sign in record["signs"]), tuple(models), float(record["low"]), float(record["high"])
        )


def _tracks_of_sign(
    features: NDArray[np.float64], places: NDArray[np.float64], jumps: NDArray[np.float64], most: int
) -> list[NDArray[np.float64]]:
    """Return the fronts of one sign, each `[R]` with NaN where it was not seen.

    Args:
        features: `[R, D]`.
        places: `[R, Q]`, NaN where there is no front of this sign.
        jumps: `[R, Q]`, absolute jumps.
        most: Largest number of tracks.
    """
    counts = np.isfinite(places).sum(axis=1)
    least = max(_LEAST_SEEN, int(_LEAST_SHARE * np.count_nonzero(counts)))
    number = max((k for k in range(1, most + 1) if np.count_nonzero(counts >= k) >= least), default=0)
    if not number:
        return []
    full = counts >= number
    strongest = _strongest(places, jumps, number)
    expected = np.tile(np.median(strongest[full], axis=0), (len(places), 1))
    matched = _match(places, jumps, expected)
    if number == 1:
        return [matched[:, 0]]
    for _ in range(4):
        columns = [_smooth(features, matched[:, index]) for index in range(number)]
        matched = _match(places, jumps, np.stack(columns, axis=1))
    return [matched[:, index] for index in range(number)]


def _smooth(features: NDArray[np.float64], track: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `[R]` expected positions: a ridge regression, linear in the features, on rows where the front was seen."""
    known = np.isfinite(track)
    design = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    inner = design[known]
    gram = inner.T @ inner + 1e-3 * np.eye(inner.shape[1])
    return np.asarray(design @ np.linalg.solve(gram, inner.T @ track[known]), dtype=np.float64)


def _strongest(places: NDArray[np.float64], jumps: NDArray[np.float64], number: int) -> NDArray[np.float64]:
    """Return the `number` strongest fronts of each row in their order, `[R, number]`; NaN where there are fewer."""
    rank = np.argsort(np.where(np.isfinite(places), -jumps, np.inf), axis=1, kind="stable")[:, :number]
    return np.sort(np.take_along_axis(places, rank, axis=1), axis=1)


def _match(
    places: NDArray[np.float64], jumps: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Assign the fronts of each row to tracks, keeping their order, nearest to what is expected.

    Args:
        places: `[R, Q]`, NaN where there is no front.
        jumps: `[R, Q]`, absolute jumps; of more fronts than tracks the strongest count.
        expected: `[R, K]`.

    Returns:
        `[R, K]`, NaN where a track has no front.
    """
    rows, number = expected.shape
    result = np.full((rows, number), np.nan)
    if not places.shape[1]:
        return result
    some = _strongest(places, jumps, number)
    counts = np.isfinite(some).sum(axis=1)
    for count in range(1, number + 1):
        which = np.flatnonzero(counts == count)
        if not len(which):
            continue
        choices = list(combinations(range(number), count))
        costs = [np.sum((some[which, :count] - expected[which][:, choice]) ** 2, axis=1) for choice in choices]
        best = np.argmin(np.stack(costs), axis=0)
        for index, choice in enumerate(choices):
            chosen = which[best == index]
            result[np.ix_(chosen, choice)] = some[chosen, :count]
    return result


def _crossed(tracks: list[NDArray[np.float64]]) -> float:
    """Return the share of rows, of those that show two neighbouring tracks, in which they are in the wrong order."""
    table = np.stack(tracks, axis=1)
    both = np.isfinite(table[:, 1:]) & np.isfinite(table[:, :-1])
    wrong = both & (table[:, 1:] < table[:, :-1])
    return float(wrong.sum() / max(both.sum(), 1))
