"""Where the detectors stand and how they respond to a wave.

Places and arms are in the Earth's frame (metres; unit vectors), as surveyed: J. W. Wise et al., LIGO-T980044 (Hanford,
Livingston), and as published for Virgo. Directions are longitude and latitude in the same frame, so that no clock of
the sky is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError, nearest
from surrogate.signal.constants import LIGHT_SPEED

Array = NDArray[np.float64]
Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Detector:
    """An interferometer.

    Attributes:
        prefix: Such as `H1`.
        place: Vertex, m, in the Earth's frame.
        x_arm: Unit vector along one arm.
        y_arm: Unit vector along the other.
    """

    prefix: str
    place: Vector
    x_arm: Vector
    y_arm: Vector

    @property
    def response(self) -> Array:
        """`[3, 3]`: half the difference of the arms' outer products, L. S. Finn, Phys. Rev. D 79, 022002 (2009)."""
        x, y = np.asarray(self.x_arm), np.asarray(self.y_arm)
        return np.asarray(0.5 * (np.outer(x, x) - np.outer(y, y)))

    def patterns(self, longitude: float, latitude: float, polarisation: float) -> tuple[float, float]:
        """Return F₊ and F×, by which the two polarisations enter the strain.

        Args:
            longitude: Of the source, rad, in the Earth's frame.
            latitude: rad.
            polarisation: Angle of the wave's axes, rad (W. G. Anderson et al., Phys. Rev. D 63, 042003 (2001)).
        """
        sin_p, cos_p = np.sin(polarisation), np.cos(polarisation)
        sin_l, cos_l = np.sin(-longitude), np.cos(-longitude)
        sin_b, cos_b = np.sin(latitude), np.cos(latitude)
        x = np.array([-cos_p * sin_l - sin_p * cos_l * sin_b, -cos_p * cos_l + sin_p * sin_l * sin_b, sin_p * cos_b])
        y = np.array([sin_p * sin_l - cos_p * cos_l * sin_b, sin_p * cos_l + cos_p * sin_l * sin_b, cos_p * cos_b])
        tensor = self.response
        return float(x @ tensor @ x - y @ tensor @ y), float(x @ tensor @ y + y @ tensor @ x)

    def delay(self, longitude: float, latitude: float) -> float:
        """Return by how many seconds a wave arrives here later than at the Earth's centre.

        Args:
            longitude: Of the source, rad, in the Earth's frame.
            latitude: rad.
        """
        towards = np.array(
            [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]
        )
        return float(-(np.asarray(self.place) @ towards) / LIGHT_SPEED)


DETECTORS: Mapping[str, Detector] = {
    "H1": Detector(
        "H1",
        (-2.16141492636e6, -3.83469517889e6, 4.60035022664e6),
        (-0.22389266154, 0.79983062746, 0.55690487831),
        (-0.91397818574, 0.02609403989, -0.40492342125),
    ),
    "L1": Detector(
        "L1",
        (-7.42760447238e4, -5.49628371971e6, 3.22425701744e6),
        (-0.95457412153, -0.14158077340, -0.26218911324),
        (0.29774156894, -0.48791033647, -0.82054461286),
    ),
    "V1": Detector(
        "V1",
        (4.54637409900e6, 8.42989697626e5, 4.37857696241e6),
        (-0.70045821479, 0.20848948619, 0.68256166277),
        (-0.05379255368, -0.96908180549, 0.24080451708),
    ),
}
"""Prefix → detector."""


def detector(prefix: str) -> Detector:
    """Return the detector of that prefix.

    Raises:
        DataError: If it is not known, with the nearest one.
    """
    if prefix not in DETECTORS:
        raise DataError(
            f"There is no detector '{prefix}'; known are {', '.join(DETECTORS)}.{nearest(prefix, DETECTORS)}"
        )
    return DETECTORS[prefix]


def light_travel_time(first: str, second: str) -> float:
    """Return how long light needs from one detector to the other, s.

    Raises:
        DataError: If one is not known.
    """
    apart = np.asarray(detector(first).place) - np.asarray(detector(second).place)
    return float(np.linalg.norm(apart)) / LIGHT_SPEED
