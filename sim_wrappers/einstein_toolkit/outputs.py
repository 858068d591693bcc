"""What a simulation yields: the schema, and the waveform of one mode from its ψ₄."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from sim_wrappers.einstein_toolkit import VERSION
from sim_wrappers.einstein_toolkit.horizons import early_mass, irreducible_mass, late_mass
from sim_wrappers.einstein_toolkit.options import EinsteinToolkitOptions
from sim_wrappers.einstein_toolkit.restarts import read_psi4, segments
from sim_wrappers.protocol import RunData
from surrogate.core.errors import DataError, SimulationError
from surrogate.core.schema import Column, Coordinate, Schema
from surrogate.signal.psi4 import mode_frequency, strain_from_psi4

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
HORIZONS = 3


def _grid(options: EinsteinToolkitOptions) -> tuple[int, int]:
    return round(options.before / options.step), round(options.after / options.step)


def schema(options: EinsteinToolkitOptions) -> Schema:
    """Return both parts of r·h/M, and the irreducible masses of the horizons over the total mass, float64."""
    before, after = _grid(options)
    times = Coordinate("time", "1", tuple(options.step * number for number in range(-before, after + 1)))
    order, m = options.mode
    fields = tuple(
        Column(
            name, "output", "1", shape=(len(times.values),), dims=("time",), low=-1.0, high=1.0,
            description=f"{part} part of r·h/M, mode ({order}, {m}), phase 0 at the peak, time in total masses",
        )
        for name, part in (("h_re", "real"), ("h_im", "imaginary"))
    )  # fmt: skip
    masses = tuple(
        Column(
            f"irreducible_mass_{number}", "output", "1", low=0.0, high=2.0,
            description=f"irreducible mass of the {hole} over the total mass; 0 where its horizon was not found",
        )
        for number, hole in enumerate(("first hole", "second hole", "final hole"), 1)
    )  # fmt: skip
    return Schema(fields + masses, (times,))


def waveform(folder: Path, options: EinsteinToolkitOptions) -> tuple[Array, Complex, dict[str, Any]]:
    """Return times `[N]` (in total masses), r·h/M `[N]` complex128 of a simulation, and how it was made.

    Args:
        folder: Of the simulation, with its restarts.
        options: Which mode, where, and how it is integrated.

    Raises:
        SimulationError: If there is no such mode, or it cannot be integrated.
    """
    table = read_psi4(folder, options.mode, options.radius)
    mass = options.total_mass
    times = table[:, 0] / mass
    # Extracted at r, the mode is r·ψ₄; the mass makes it free of dimension.
    psi4 = np.asarray((table[:, 1] + 1j * table[:, 2]) * options.radius * mass, dtype=np.complex128)
    arrived = times >= options.radius / mass + options.junk
    if np.count_nonzero(arrived) < 16:
        raise SimulationError(
            f"ψ₄ ends at {times[-1]:.0f} total masses, before the initial radiation has passed the radius "
            f"{options.radius:g} ({options.radius / mass + options.junk:.0f}).",
            kind="wrong_shape",
        )
    times, psi4 = times[arrived], psi4[arrived]
    lowest = options.lowest_frequency or _lowest(times, psi4)
    try:
        grid, strain = strain_from_psi4(times, psi4, lowest, step=options.step)
    except DataError as error:
        raise SimulationError(f"ψ₄ cannot be integrated: {error}", kind="output_unreadable") from error
    notes = {
        "lowest_frequency": lowest,
        "radius": options.radius,
        "psi4_from": float(times[0]),
        "psi4_to": float(times[-1]),
    }
    return grid, strain, notes


def _peak(times: Array, strain: Complex) -> float:
    """Return the time of the largest amplitude, between two steps, by a parabola through three of them."""
    amplitude = np.abs(strain)
    top = min(max(int(np.argmax(amplitude)), 1), len(amplitude) - 2)
    low, middle, high = amplitude[top - 1 : top + 2]
    curvature = low - 2.0 * middle + high
    part = 0.5 * (low - high) / curvature if curvature < 0.0 else 0.0
    return float(times[top] + part * (times[top + 1] - times[top]))


def _lowest(times: Array, psi4: Complex) -> float:
    """Return half of the mode's frequency in its first tenth, where it is lowest, in one over the mass."""
    early = slice(0, max(8, len(times) // 10))
    return 0.5 * float(np.median(mode_frequency(times[early], psi4[early])))


def read(folder: Path, options: EinsteinToolkitOptions) -> RunData:
    """Read a finished simulation.

    Args:
        folder: Of the simulation.
        options: Which waveform is wanted.

    Raises:
        SimulationError: If it lacks something, or the waveform is shorter than was asked for.
    """
    times, strain, notes = waveform(folder, options)
    series = CubicSpline(times, strain)
    peak = _peak(times, strain)
    grid = peak + schema(options).coordinates[0].array
    if grid[0] < times[0] or grid[-1] > times[-1]:
        raise SimulationError(
            f"The waveform reaches from {times[0] - peak:.0f} to {times[-1] - peak:.0f} total masses "
            f"around its peak, and {-options.before:g} to {options.after:g} are asked for. Ask for less ('before', "
            "'after'), or simulate more.",
            kind="wrong_shape",
        )
    part = np.asarray(series(grid) * np.exp(-1j * np.angle(series(peak))))
    outputs: dict[str, Any] = {"h_re": part.real[np.newaxis].copy(), "h_im": part.imag[np.newaxis].copy()}
    holes = [irreducible_mass(folder, number) for number in range(1, HORIZONS + 1)]
    begin, span = options.junk * options.total_mass, 100.0 * options.total_mass
    masses = [*(early_mass(hole, begin, span) for hole in holes[:-1]), late_mass(holes[-1])]
    for number, mass in enumerate(masses, 1):
        outputs[f"irreducible_mass_{number}"] = np.asarray([mass / options.total_mass])
    told = {"code": "einstein_toolkit", "code_version": VERSION, "restarts": len(segments(folder)), **notes}
    return RunData(outputs, notes=told)
