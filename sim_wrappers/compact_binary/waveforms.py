"""Single waveforms from lalsimulation: units, the taper at the beginning, the peak, the sample rate.

A. Bohé et al., Phys. Rev. D 95, 044028 (2017), SEOBNRv4, aligned spins; SEOBNRv4_opt is the same model with equations
rearranged for speed (C. Devine, Z. B. Etienne, S. T. McWilliams, Class. Quantum Grav. 33, 125025 (2016)).
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from surrogate.core.errors import ConfigError, MissingExtraError, SimulationError, nearest
from surrogate.signal.constants import MPC_M, SUN_S
from surrogate.signal.waveform import Waveform, rise

APPROXIMANTS = ("SEOBNRv4_opt", "SEOBNRv4", "IMRPhenomD")
"""The fast EOB, the reference EOB, and a phenomenological model of the frequency domain for quick looks."""

_SUBJECT = "The simulator 'compact_binary'"
_FREQUENCY_DOMAIN = ("IMRPhenomD",)
_LEAST_RATE = 4096
"""Samples a second below which the ringdown of a light binary is not resolved: waveforms are made at least at it."""


def missing() -> str | None:
    """Return None when lalsimulation is installed, else a sentence with the command that installs it."""
    if importlib.util.find_spec("lalsimulation") is None:
        return str(MissingExtraError(_SUBJECT, "waveforms"))
    return None


def library_version() -> str:
    """Return the version of lalsuite, `absent` when there is none."""
    try:
        return version("lalsuite")
    except PackageNotFoundError:
        return "absent"


@cache
def _libraries() -> tuple[Any, Any]:
    """Import lal and lalsimulation, whose errors become exceptions instead of pages of text.

    Raises:
        MissingExtraError: If they are not installed.
    """
    if missing() is not None:
        raise MissingExtraError(_SUBJECT, "waveforms")
    import lal
    import lalsimulation

    lal.swig_redirect_standard_output_error(False)
    lal.ClobberDebugLevel(0)
    return lal, lalsimulation


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary on a circular orbit, spins along its axis.

    Attributes:
        mass_1: Solar masses, at the detector.
        mass_2: Solar masses, at the detector.
        spin_1: Of the first body, dimensionless, in (−1, 1).
        spin_2: Of the second body.
        inclination: Of the axis to the line of sight, rad.
        phase: At coalescence, rad.
    """

    mass_1: float
    mass_2: float
    spin_1: float = 0.0
    spin_2: float = 0.0
    inclination: float = 0.0
    phase: float = 0.0

    @property
    def total_mass(self) -> float:
        """Solar masses."""
        return self.mass_1 + self.mass_2

    @property
    def told(self) -> str:
        """The binary in words."""
        return f"{self.mass_1:g} and {self.mass_2:g} solar masses with spins of {self.spin_1:g} and {self.spin_2:g}"


def waveform(binary: Binary, *, approximant: str, rate: int, low_hz: float, distance_mpc: float = 100.0) -> Waveform:
    """Return the wave of a binary from `low_hz` to the end of its ringdown.

    The beginning fades in over one period of `low_hz`. It is made at 4096 Hz or a multiple of `rate` above that, and
    low-passed where `rate` is lower.

    Args:
        binary: The source.
        approximant: One of `APPROXIMANTS`.
        rate: Samples a second.
        low_hz: Frequency at which it begins, Hz.
        distance_mpc: Mpc.

    Raises:
        ConfigError: If the approximant is unknown.
        MissingExtraError: If lalsimulation is not installed.
        SimulationError: If lalsimulation refuses the binary.
    """
    if approximant not in APPROXIMANTS:
        raise ConfigError(
            f"There is no waveform model '{approximant}'; there are {', '.join(APPROXIMANTS)}."
            f"{nearest(approximant, APPROXIMANTS)}"
        )
    factor = max(1, -(-_LEAST_RATE // rate))
    plus, cross, epoch = _polarisations(binary, approximant, rate * factor, low_hz, distance_mpc)
    fade = min(len(plus) // 4, round(rate * factor / low_hz))
    plus[:fade] *= rise(fade)
    cross[:fade] *= rise(fade)
    if factor > 1:
        from scipy.signal import resample_poly

        plus, cross = (np.asarray(resample_poly(series, 1, factor)) for series in (plus, cross))
    del epoch
    return Waveform.of(plus, cross, rate, distance_mpc)


def _polarisations(
    binary: Binary, approximant: str, rate: int, low_hz: float, distance_mpc: float
) -> tuple[Any, Any, float]:
    """Return h₊ and h× as arrays, and the time of the first sample before the peak, s.

    Raises:
        SimulationError: If lalsimulation refuses.
    """
    lal, simulation = _libraries()
    frequency_domain = approximant in _FREQUENCY_DOMAIN
    make = simulation.SimInspiralTD if frequency_domain else simulation.SimInspiralChooseTDWaveform
    try:
        plus, cross = make(
            binary.mass_1 * lal.MSUN_SI, binary.mass_2 * lal.MSUN_SI,
            0.0, 0.0, binary.spin_1, 0.0, 0.0, binary.spin_2,
            distance_mpc * MPC_M, binary.inclination, binary.phase, 0.0, 0.0, 0.0,
            1.0 / rate, low_hz, low_hz, None, simulation.GetApproximantFromString(approximant),
        )  # fmt: skip
    except RuntimeError as error:
        raise SimulationError(
            f"WAVEFORM REFUSED: {approximant} makes no waveform of {binary.told} from {low_hz} Hz at {rate} Hz: "
            f"{error}. Narrow the space of inputs or take a higher sample rate.",
            kind="not_physical",
        ) from error
    return np.array(plus.data.data), np.array(cross.data.data), float(plus.epoch)


def seconds_from(low_hz: float, binary: Binary) -> float:
    """Return about how long a wave lasts from a frequency on, s: the quadrupole formula's time to coalescence.

    τ = 5/256 · (π f)^{−8/3} · (G𝓜/c³)^{−5/3} (M. Maggiore, Gravitational Waves, eq. 4.21).
    """
    chirp = (binary.mass_1 * binary.mass_2) ** 0.6 / binary.total_mass**0.2
    return float(5.0 / 256.0 * (np.pi * low_hz) ** (-8.0 / 3.0) * (chirp * SUN_S) ** (-5.0 / 3.0))
