"""Which front of one profile is which front of another, and where a front is that has left the domain or not yet come.

Fronts are followed in two ways: by their order alone, and by their order among those whose jump has the same sign (a
pulse that leaves takes its leading front first). The way whose positions are the smoother function of the network's
inputs is taken. Where a front cannot be seen, that function, a radial basis interpolant of the positions that were
seen, says where it would be, outside the domain as a rule: the aligned profile then changes smoothly while a front
enters or leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.outputs.fronts import Fronts
from surrogate.models.outputs.matching import match, strongest, take
from surrogate.models.outputs.positions import PositionModel, fit_positions

_LEAST_SEEN = 8
_LEAST_SHARE = 0.03
_LEAST_EXPLAINED = 0.5
_MOST_CROSSED = 0.02
_ONE_SIGN = 0.98
_UNEXPLAINED = 0.1
_PREFERRED = 1.2


@dataclass(frozen=True, slots=True, eq=False)
class Tracks:
    """K fronts that can be followed through all profiles, left to right.

    Attributes:
        signs: Sign of each front's jump: K numbers, ±1, or 0 for a front whose jump changes its sign from row to row.
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
        case = _Case(features, places, fronts.jump, low, high)
        by_sign = [track for sign in (1, -1) for track in case.follow(np.sign(fronts.jump) == sign, most)]
        by_order = case.follow(np.isfinite(places), most)
        better = case.cost(by_order) < _PREFERRED * case.cost(by_sign)
        found = sorted(by_order if better else by_sign, key=lambda track: -track.strength)[:most]
        found.sort(key=lambda track: float(np.nanmedian(track.model.predict(features))))
        while len(found) > 1 and _crossed([track.seen for track in found]) > _MOST_CROSSED:
            found.remove(min(found, key=lambda track: track.strength))
        return cls(tuple(track.sign for track in found), tuple(track.model for track in found), low, high)

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
        if not self.count:
            return np.zeros((len(features), 0)), np.zeros((len(features), 0), dtype=np.bool_)
        expected = np.stack([model.predict(features) for model in self.models], axis=1)
        matched = take(places, match(places, fronts.jump, expected, self.signs))
        seen = np.isfinite(matched)
        return np.maximum.accumulate(np.where(seen, matched, expected), axis=1), seen

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
        signs = tuple(int(sign) for sign in record["signs"])
        return cls(signs, tuple(models), float(record["low"]), float(record["high"]))


@dataclass(frozen=True, slots=True, eq=False)
class _Track:
    """One front while it is being followed.

    Attributes:
        sign: Sign of its jump; 0 for either.
        seen: `[R]`, its position, NaN where it was not seen.
        model: The positions as a smooth function.
        strength: Sum of its jumps over the rows.
    """

    sign: int
    seen: NDArray[np.float64]
    model: PositionModel
    strength: float


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """The fronts of all training rows.

    Attributes:
        features: `[R, D]`.
        places: `[R, Q]`, NaN behind the last front.
        jumps: `[R, Q]`.
        low: Lower end of the domain.
        high: Upper end of it.
    """

    features: NDArray[np.float64]
    places: NDArray[np.float64]
    jumps: NDArray[np.float64]
    low: float
    high: float

    def follow(self, taken: NDArray[np.bool_], most: int) -> list[_Track]:
        """Follow some of the fronts by their order; those that no smooth function explains are left out.

        Args:
            taken: `[R, Q]`, which fronts.
            most: Largest number of tracks.
        """
        # Those that are taken move to the front of their row, in their order.
        order = np.argsort(~(taken & np.isfinite(self.places)), axis=1, kind="stable")
        there = np.take_along_axis(taken & np.isfinite(self.places), order, axis=1)
        places = np.where(there, np.take_along_axis(self.places, order, axis=1), np.nan)
        jumps = np.where(there, np.take_along_axis(self.jumps, order, axis=1), 0.0)
        counts = there.sum(axis=1)
        least = max(_LEAST_SEEN, int(_LEAST_SHARE * np.count_nonzero(counts)))
        number = max((k for k in range(1, most + 1) if np.count_nonzero(counts >= k) >= least), default=0)
        if not number:
            return []
        columns = self._assign(places, jumps, number, counts)
        return [track for index in range(number) if (track := self._track(places, jumps, columns[:, index]))]

    def _assign(
        self, places: NDArray[np.float64], jumps: NDArray[np.float64], number: int, counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the column of each of `number` tracks in each row, `[R, number]`, by alternating fits and matches."""
        full = counts >= number
        first = take(places, strongest(places, jumps, number))[full]
        expected = np.tile(np.median(first, axis=0), (len(places), 1))
        columns = match(places, jumps, expected, (0,) * number)
        # Rows that show all fronts tell them apart by order alone; the others follow.
        columns[~full] = -1
        for _ in range(4 if number > 1 else 0):
            tracks = take(places, columns)
            expected = np.stack([_smooth(self.features, tracks[:, index]) for index in range(number)], axis=1)
            columns = match(places, jumps, expected, (0,) * number)
        return columns if number > 1 else match(places, jumps, expected, (0,))

    def _track(
        self, places: NDArray[np.float64], jumps: NDArray[np.float64], column: NDArray[np.int64]
    ) -> _Track | None:
        """Return the track of the fronts in `column` `[R]` of each row, or None when nothing explains it."""
        seen, jump = take(places, column[:, None])[:, 0], take(jumps, column[:, None])[:, 0]
        model = fit_positions(self.features, seen, self.low, self.high)
        if model is None or model.explained < _LEAST_EXPLAINED:
            return None
        rising = float(np.nansum(np.abs(np.where(jump > 0, jump, 0.0))))
        strength = float(np.nansum(np.abs(jump)))
        sign = 1 if rising >= _ONE_SIGN * strength else -1 if rising <= (1 - _ONE_SIGN) * strength else 0
        return _Track(sign, seen, model, strength)

    def cost(self, tracks: list[_Track]) -> float:
        """Return the mean squared distance of all fronts from the smooth functions; one of no track counts as far."""
        count = int(np.isfinite(self.places).sum())
        explained = sum(np.isfinite(track.seen).sum() * track.model.error**2 for track in tracks)
        left = count - sum(int(np.isfinite(track.seen).sum()) for track in tracks)
        return float(explained + left * (_UNEXPLAINED * (self.high - self.low)) ** 2) / max(count, 1)


def _smooth(features: NDArray[np.float64], track: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `[R]` expected positions: a quadratic ridge regression on the rows in which the front was seen."""
    known = np.isfinite(track)
    upper = np.triu_indices(features.shape[1])
    design = np.concatenate([np.ones((len(features), 1)), features], axis=1)
    if np.count_nonzero(known) >= 2 * (design.shape[1] + len(upper[0])):
        squares = (features[:, :, None] * features[:, None, :])[:, upper[0], upper[1]]
        design = np.concatenate([design, squares], axis=1)
    inner = design[known]
    gram = inner.T @ inner + 1e-3 * np.eye(inner.shape[1])
    return np.asarray(design @ np.linalg.solve(gram, inner.T @ track[known]), dtype=np.float64)


def _crossed(tracks: list[NDArray[np.float64]]) -> float:
    """Return the share of rows, of those that show two neighbouring tracks, in which they are in the wrong order."""
    table = np.stack(tracks, axis=1)
    both = np.isfinite(table[:, 1:]) & np.isfinite(table[:, :-1])
    wrong = both & (table[:, 1:] < table[:, :-1])
    return float(wrong.sum() / max(both.sum(), 1))
