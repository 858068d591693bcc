"""How long runs take, judged by those that have finished: enough to know whether a job ends too soon for one more."""

from __future__ import annotations

from collections import defaultdict, deque

from site_configs.resources import ResourceRequest

_REMEMBERED = 64
_MARGIN = 1.25
_BESIDE_S = 2.0


class Pace:
    """Durations of the last runs of each size."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._seconds: defaultdict[ResourceRequest, deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def learn(self, resources: ResourceRequest, seconds: float) -> None:
        """Remember how long a run took.

        Args:
            resources: Its size.
            seconds: Wall-clock seconds.
        """
        self._seconds[resources].append(seconds)

    def needs_s(self, resources: ResourceRequest) -> float:
        """Return the seconds that a job must still have for one more run of this size; 0 while nothing is known.

        That is the longest of the last runs with a quarter on top, and never more than the run's own walltime.

        Args:
            resources: Its size.
        """
        known = self._seconds.get(resources)
        if not known:
            return 0.0
        return min(_MARGIN * max(known), float(resources.walltime_s)) + _BESIDE_S
