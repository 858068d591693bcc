"""Strain that arrives in chunks: triggers as soon as the data that they need are there, with their latency."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from surrogate.core.errors import DataError
from surrogate.inference.detection.search import FILTERS_S
from surrogate.inference.detection.triggers import CLUSTER_S, Trigger
from surrogate.inference.detection.windows import Scores, detector_of, score
from surrogate.inference.predictor import Predictor
from surrogate.signal.psd import Psd
from surrogate.signal.strain import Strain, resample
from surrogate.signal.welch import welch
from surrogate.signal.whiten import whiten_strain, whitener


@dataclass(frozen=True, slots=True)
class LiveTrigger:
    """A trigger and how late it is.

    Attributes:
        trigger: What was found.
        needed_s: Seconds of data after its peak that had to arrive: the rest of the window, half a whitening filter,
            the cluster, and the rest of a chunk.
        computing_s: Wall-clock seconds from the last chunk's arrival to this trigger.
    """

    trigger: Trigger
    needed_s: float
    computing_s: float


class LiveSearch:
    """One detector's stream. Feed it chunks in the order of time; a gap between two is seen and not crossed.

    The spectrum is that of the last `memory_s` seconds, and is taken anew every eighth of it.
    """

    def __init__(
        self, predictor: Predictor, *, floor: float = 0.0, psd: Psd | None = None, memory_s: float = 32.0,
        filter_s: float = FILTERS_S[0],
    ) -> None:  # fmt: skip
        """Begin.

        Args:
            predictor: A detector of one strain.
            floor: Smallest logit of a trigger.
            psd: The noise, to begin at once; else `memory_s / 2` seconds are listened to first.
            memory_s: Seconds that are remembered.
            filter_s: Length of the whitening filter and of the spectrum's segments, s: half of it is waited for.

        Raises:
            ConfigError: If the surrogate is no detector of one strain.
        """
        self._predictor, self._transforms = predictor, detector_of(predictor)
        self._floor, self._given, self._memory_s, self._filter_s = floor, psd, memory_s, filter_s
        self._psd, self._psd_at = psd, -np.inf
        self._buffer: Strain | None = None
        self._seen = self._told = -np.inf
        self._waiting: Scores | None = None

    @property
    def delay_s(self) -> float:
        """Seconds of data after a peak that are needed at most, without what is left of a chunk."""
        options = self._transforms.options
        return (options.window_s - options.peak_from) + self._filter_s / 2.0 + CLUSTER_S

    def feed(self, chunk: Strain) -> list[LiveTrigger]:
        """Take a chunk; return the triggers that are now certain to be the loudest of their cluster.

        Args:
            chunk: Strain of any length; NaN where there is none.

        Raises:
            DataError: If it lies before the data that were fed already, or its rate does not fit.
        """
        began = time.perf_counter()
        self._join(resample(chunk, self._transforms.rate))
        self._listen()
        if self._psd is None:
            return []
        self._look()
        return [
            LiveTrigger(trigger, self._end - trigger.gps, time.perf_counter() - began) for trigger in self._certain()
        ]

    @property
    def _end(self) -> float:
        return self._buffer.end if self._buffer is not None else -np.inf

    @property
    def _name(self) -> str:
        return self._buffer.detector if self._buffer is not None else ""

    def _join(self, chunk: Strain) -> None:
        """Put a chunk behind the buffer, and let go what is older than the memory."""
        if self._buffer is None:
            self._buffer = chunk
            return
        gap = round((chunk.start - self._end) * chunk.rate)
        if gap < 0:
            raise DataError(
                f"A chunk begins at GPS {chunk.start}, and data up to {self._end} were fed already; feed each once, in "
                "the order of time."
            )
        hole = np.full(min(gap, round(self._memory_s * chunk.rate)), np.nan)
        data = np.concatenate([self._buffer.data, hole, chunk.data])[-round(self._memory_s * chunk.rate) :]
        self._buffer = replace(chunk, data=data, start=chunk.end - len(data) / chunk.rate)

    def _listen(self) -> None:
        """Take the spectrum when it is time."""
        if self._given is not None or self._buffer is None:
            return
        enough = self._buffer.seconds >= self._memory_s / 2.0
        if enough and self._end - self._psd_at >= self._memory_s / 8.0:
            try:
                self._psd = welch(self._buffer.data, self._buffer.rate, self._filter_s)
            except DataError:
                return  # too many gaps: the spectrum before stays
            self._psd_at = self._end

    def _look(self) -> None:
        """Score the windows that are new."""
        if self._buffer is None or self._psd is None:
            return
        options, rate = self._transforms.options, self._transforms.rate
        overlap = options.peak_to - options.peak_from
        begin = max(self._buffer.start, self._seen - options.peak_to - self._filter_s / 2.0 - overlap)
        part = self._buffer.between(begin, self._buffer.end)
        filters = whitener(self._psd, rate, self._filter_s, options.low_hz)
        try:
            scores = score(self._predictor, whiten_strain(part, filters))
        except DataError:
            return  # a gap, or not yet long enough: the next chunk tries again
        fresh = scores.take(np.flatnonzero(scores.gps > self._seen).astype(np.int64))
        self._seen = max(self._seen, part.end - self._filter_s / 2.0 - (options.window_s - options.peak_to))
        self._waiting = fresh if self._waiting is None else _joined(self._waiting, fresh)

    def _certain(self) -> Iterator[Trigger]:
        """Yield what no later window can outdo any more."""
        scores = self._waiting
        if scores is None:
            return
        settled = self._seen - CLUSTER_S
        new = (scores.logit >= self._floor) & (scores.gps > self._told) & (scores.gps <= settled)
        for row in np.flatnonzero(new).tolist():
            near = np.flatnonzero(np.abs(scores.gps - scores.gps[row]) <= CLUSTER_S)
            if row == near[np.argmax(scores.logit[near])]:
                logit = float(scores.logit[row])
                masses = float(scores.mass_1[row]), float(scores.mass_2[row])
                yield Trigger(float(scores.gps[row]), logit, *masses, self._name, logits=(logit,))
        self._told = max(self._told, settled)
        # A window stays as long as a later one may have to be compared with it.
        self._waiting = scores.take(np.flatnonzero(scores.gps > settled - CLUSTER_S).astype(np.int64))


def _joined(first: Scores, second: Scores) -> Scores:
    return Scores(
        *(
            np.concatenate([getattr(first, name), getattr(second, name)])
            for name in ("gps", "logit", "mass_1", "mass_2")
        )
    )


def stream(predictor: Predictor, chunks: Iterable[Strain], *, floor: float = 0.0) -> Iterator[LiveTrigger]:
    """Yield triggers while chunks of one detector's strain arrive.

    Args:
        predictor: A detector of one strain.
        chunks: In the order of time.
        floor: Smallest logit of a trigger.

    Raises:
        ConfigError: If the surrogate is no detector of one strain.
        DataError: If a chunk does not fit behind the one before.
    """
    search = LiveSearch(predictor, floor=floor)
    for chunk in chunks:
        yield from search.feed(chunk)
