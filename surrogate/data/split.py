"""Train, tune and holdout: where a sample belongs, and whether each split has enough."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import SplitError, nearest
from surrogate.core.identity import split_key, split_position

Split = Literal["train", "tune", "holdout"]
SPLITS: tuple[Split, ...] = ("train", "tune", "holdout")
Counted = Literal["samples", "groups"]


@dataclass(frozen=True, slots=True)
class SplitCount:
    """How much a split has.

    Attributes:
        samples: Number of samples.
        groups: Number of independent groups; a sample without group key is a group of its own, and so are all samples
            of one point together.
    """

    samples: int
    groups: int


@dataclass(frozen=True, slots=True)
class SplitConfig:
    """How samples are divided, once and for ever.

    Attributes:
        salt: The campaign's salt.
        tune: Share of the groups for early stopping, search and calibration, in [0, 1).
        holdout: Share of the groups for the Verdict and nothing else, in [0, 1).
        minimum: Split → least number of samples.
        minimum_groups: Split → least number of groups.
    """

    salt: str
    tune: float
    holdout: float
    minimum: Mapping[str, int] = field(default_factory=dict, hash=False)
    minimum_groups: Mapping[str, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse shares that leave nothing, and minima of unknown splits.

        Raises:
            SplitError: In both cases.
        """
        for name, share in (("tune", self.tune), ("holdout", self.holdout)):
            if not 0.0 <= share < 1.0:
                raise SplitError(f"The share '{name}' is {share}; it must be at least 0 and less than 1.")
        if self.tune + self.holdout >= 1.0:
            raise SplitError(
                f"The shares tune = {self.tune} and holdout = {self.holdout} leave nothing to train on: "
                "their sum must be less than 1."
            )
        for name, least in (*self.minimum.items(), *self.minimum_groups.items()):
            if name not in SPLITS:
                raise SplitError(f"There is no split '{name}'; there are {list(SPLITS)}.{nearest(name, SPLITS)}")
            if least < 0:
                raise SplitError(f"The minimum of '{name}' is {least}; it cannot be negative.")

    def share(self, split: Split) -> float:
        """Return the share of the groups that goes to a split."""
        return {"train": 1.0 - self.tune - self.holdout, "tune": self.tune, "holdout": self.holdout}[split]

    def of(self, group: str | None, inputs: Mapping[str, Any]) -> Split:
        """Return the split of a canonical point.

        Args:
            group: Group key, or None or empty text when there is none.
            inputs: The point.
        """
        return self.of_position(split_key(self.salt, group, inputs))

    def of_position(self, position: float) -> Split:
        """Return the split of a number in [0, 1) that `split_key` gave."""
        if position < self.holdout:
            return "holdout"
        return "tune" if position < self.holdout + self.tune else "train"

    def assign(self, groups: Sequence[str], points: Sequence[str]) -> NDArray[np.int8]:
        """Return the split of many samples as positions in `SPLITS`, `[N]` int8.

        Args:
            groups: Group key of each sample; empty text for none.
            points: `point_hash` of each sample.
        """
        known: dict[tuple[str, str], int] = {}
        result = np.empty(len(groups), dtype=np.int8)
        for row, (group, point) in enumerate(zip(groups, points, strict=True)):
            key = (group, "" if group else point)
            if key not in known:
                known[key] = SPLITS.index(self.of_position(split_position(self.salt, *key)))
            result[row] = known[key]
        return result

    def count(
        self, groups: Sequence[str], points: Sequence[str], assigned: NDArray[np.int8] | None = None
    ) -> dict[Split, SplitCount]:
        """Count samples and groups of each split.

        Args:
            groups: Group key of each sample; empty text for none.
            points: `point_hash` of each sample.
            assigned: What `assign` gives for them, where that is known, `[N]`.
        """
        members: dict[Split, set[tuple[str, str]]] = {split: set() for split in SPLITS}
        samples: dict[Split, int] = dict.fromkeys(SPLITS, 0)
        places = (self.assign(groups, points) if assigned is None else assigned).tolist()
        for place, group, point in zip(places, groups, points, strict=True):
            samples[SPLITS[place]] += 1
            members[SPLITS[place]].add((group, "" if group else point))
        return {split: SplitCount(samples[split], len(members[split])) for split in SPLITS}

    def check(self, counts: Mapping[Split, SplitCount], *, guess: bool = True) -> None:
        """Refuse a split below its minimum.

        Args:
            counts: What each split has.
            guess: Whether to say how many more would do on average, where nobody knows it better.

        Raises:
            SplitError: Saying for each such split what there is, what is demanded, and what to do.
        """
        sentences = self.too_few(counts, guess=guess)
        if sentences:
            raise SplitError(" ".join(sentences))

    def too_few(self, counts: Mapping[Split, SplitCount], *, guess: bool = True) -> list[str]:
        """Return a sentence for each split below its minimum; see `check`."""
        return list(self._too_few(counts, guess))

    def _too_few(self, counts: Mapping[Split, SplitCount], guess: bool) -> Iterable[str]:
        minima: tuple[tuple[Counted, Mapping[str, int]], ...] = (
            ("samples", self.minimum),
            ("groups", self.minimum_groups),
        )
        for counted, minimum in minima:
            for split in SPLITS:
                least, found = minimum.get(split, 0), getattr(counts[split], counted)
                if found >= least:
                    continue
                share = self.share(split)
                remedy = f"give '{split}' a share above 0"
                if share > 0.0:
                    more = math.ceil((least - found) / share)
                    remedy = f"plan about {more} more {counted} (a share of {share:g} goes there)"
                way_out = f": {remedy}, or lower its minimum" if guess or share <= 0.0 else ""
                yield f"The split '{split}' has {found} {counted}, and at least {least} are demanded{way_out}."

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "salt": self.salt,
            "tune": self.tune,
            "holdout": self.holdout,
            "minimum": dict(self.minimum),
            "minimum_groups": dict(self.minimum_groups),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SplitConfig:
        """Rebuild a configuration from `to_json`.

        Raises:
            SplitError: If the mapping is not one of `to_json`'s.
        """
        try:
            return cls(**record)
        except TypeError as error:
            raise SplitError(f"This is no description of splits: {error}.") from error
