"""A waveform as it reaches a detector: two polarisations, where its peak is, how far away its source."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Waveform:
    """The two polarisations of a wave.

    Attributes:
        plus: `[N]` float64, strain.
        cross: `[N]` float64, strain.
        rate: Samples a second.
        peak: Sample at which √(h₊² + h×²) is largest; between two samples where it is known so well.
        distance_mpc: Distance of the source, Mpc.
    """

    plus: Array
    cross: Array
    rate: int
    peak: float
    distance_mpc: float

    def __post_init__(self) -> None:
        """Refuse what is no waveform.

        Raises:
            DataError: If the polarisations differ in length, are empty or not finite, or the peak is outside.
        """
        sound = len(self.plus) == len(self.cross) > 0 and bool(np.isfinite([self.plus, self.cross]).all())
        if not sound or not 0 <= self.peak <= len(self.plus) - 1:
            raise DataError(
                f"A waveform has two polarisations of one length, finite, with their peak inside; lengths "
                f"{len(self.plus)} and {len(self.cross)} with the peak at {self.peak} were found."
            )

    @classmethod
    def of(cls, plus: Array, cross: Array, rate: int, distance_mpc: float) -> Waveform:
        """Return a waveform whose peak is found in it."""
        amplitude = np.hypot(plus, cross)
        return cls(plus, cross, rate, float(np.argmax(amplitude)), distance_mpc)

    def at_distance(self, distance_mpc: float) -> Waveform:
        """Return the wave of the same source at another distance; its strain falls as one over it.

        Raises:
            DataError: If the distance is not above 0.
        """
        if not distance_mpc > 0:
            raise DataError(f"A distance is above 0; {distance_mpc} Mpc was given.")
        factor = self.distance_mpc / distance_mpc
        return replace(self, plus=self.plus * factor, cross=self.cross * factor, distance_mpc=distance_mpc)

    def seen(self, plus: float, cross: float) -> Array:
        """Return the strain of a detector, F₊h₊ + F×h×, `[N]`."""
        return np.asarray(plus * self.plus + cross * self.cross)

    def window(self, before_s: float, after_s: float, taper_s: float = 0.0) -> Waveform:
        """Return a stretch around the peak, with zeros where the wave has not begun or has ended.

        Args:
            before_s: Seconds before the peak.
            after_s: Seconds after the peak.
            taper_s: A wave that is longer than the stretch fades in over so many seconds.
        """
        peak = round(self.peak)
        before, after = round(before_s * self.rate), round(after_s * self.rate)
        first, stop = max(0, peak - before), min(len(self.plus), peak + after)
        parts = []
        for whole in (self.plus, self.cross):
            part = np.zeros(before + after)
            place = first - (peak - before)
            part[place : place + stop - first] = whole[first:stop]
            if first > 0:
                part[: round(taper_s * self.rate)] *= rise(round(taper_s * self.rate))
            parts.append(part)
        return replace(self, plus=parts[0], cross=parts[1], peak=float(before) + self.peak - peak)


def rise(samples: int) -> Array:
    """Return half a Hann window that rises from nearly 0 to nearly 1, `[samples]`."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * (np.arange(samples) + 0.5) / max(samples, 1)))
