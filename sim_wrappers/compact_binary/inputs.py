"""What the program is asked: options, the space of inputs, the points of a run, and its input file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.compact_binary.waveforms import APPROXIMANTS
from sim_wrappers.options import one_of, real, refuse_unknown, whole
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.files import write_json
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.space import Point

NAME = "compact_binary"
INPUT_FILE = "input.json"
DEFAULTS: dict[str, Any] = {
    "approximant": "SEOBNRv4_opt", "samples": 1, "mass_low": 10.0, "mass_high": 50.0, "spin_max": 0.0,
    "sample_rate": 2048, "low_hz": 20.0, "window_s": 2.0, "ringdown_s": 0.25, "distance_mpc": 100.0,
}  # fmt: skip
_LARGEST_SPIN = 0.99
_MOST_SAMPLES = 4096
_FADE_S = 0.125


def complete_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with defaults filled in.

    Raises:
        ConfigError: If one is unknown, of another type or beyond its bounds.
    """
    refuse_unknown(NAME, options, DEFAULTS)
    given = {**DEFAULTS, **options}
    complete: dict[str, Any] = {"approximant": one_of(NAME, "approximant", given["approximant"], APPROXIMANTS)}
    complete["samples"] = whole(NAME, "samples", given["samples"], low=1)
    complete["sample_rate"] = whole(NAME, "sample_rate", given["sample_rate"], low=256)
    for name in ("mass_low", "mass_high", "spin_max", "low_hz", "window_s", "ringdown_s", "distance_mpc"):
        complete[name] = real(NAME, name, given[name])
    _check(complete)
    return complete


def _check(options: Mapping[str, Any]) -> None:
    """Refuse options that contradict each other or physics.

    Raises:
        ConfigError: With the first that does.
    """
    rules = (
        (options["samples"] <= _MOST_SAMPLES, f"'samples' of {NAME} must be at most {_MOST_SAMPLES}"),
        (0.0 < options["mass_low"] < options["mass_high"], f"'mass_low' of {NAME} must lie between 0 and 'mass_high'"),
        (0.0 <= options["spin_max"] <= _LARGEST_SPIN, f"'spin_max' of {NAME} must lie between 0 and {_LARGEST_SPIN}"),
        (0.0 < options["low_hz"] < options["sample_rate"] / 8,
         f"'low_hz' of {NAME} must lie above 0 and below an eighth of the sample rate"),
        (options["distance_mpc"] > 0.0, f"'distance_mpc' of {NAME} must be above 0"),
        (options["ringdown_s"] > 0.0, f"'ringdown_s' of {NAME} must be above 0"),
        (options["window_s"] == 0.0 or options["window_s"] > options["ringdown_s"] + _FADE_S,
         f"'window_s' of {NAME} must be 0 (whole waveforms) or more than 'ringdown_s' and {_FADE_S} s together"),
    )  # fmt: skip
    for holds, words in rules:
        if not holds:
            raise ConfigError(f"Option {words}; the options are {dict(options)}.")


def space(options: Mapping[str, Any]) -> ParameterSpace:
    """Return both masses, and both spins where spins are allowed; which body is which does not matter."""
    masses = tuple(
        Parameter(
            f"mass_{i}", options["mass_low"], options["mass_high"], unit="solar_mass",
            description=f"mass of body {i}, as measured at the detector",
        )
        for i in (1, 2)
    )  # fmt: skip
    if not options["spin_max"]:
        return ParameterSpace(masses)
    most = options["spin_max"]
    spins = tuple(
        Parameter(f"spin_{i}", -most, most, description=f"aligned spin of body {i} over its mass²")
        for i in (1, 2)
    )  # fmt: skip
    return ParameterSpace(masses + spins)


def points(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> list[Point]:
    """Return the points of a run: those that were asked for, or one, and `samples − 1` more that it fixes.

    The further ones are the first, shifted in the unit cube by multiples of a vector, modulo 1: powers of the inverse
    of the number that solves x^{d+1} = x + 1, the golden ratio for d = 1, which scatter evenly. Runs whose first points
    fill the space evenly do so with all of their points.

    Args:
        inputs: The point that was asked for; of several points, the list of each input's values.
        options: Complete options.

    Raises:
        SimulationError: If the point is no binary, or lies outside of the options' bounds while more than one sample
            is wanted.
    """
    box = space(options)
    unknown = [name for name in inputs if name not in ("mass_1", "mass_2", "spin_1", "spin_2")]
    lacking = [name for name in ("mass_1", "mass_2") if name not in inputs]
    if unknown or lacking:
        raise SimulationError(
            f"{NAME} takes mass_1 and mass_2, and spin_1 and spin_2 where 'spin_max' is above 0; "
            f"{', '.join(inputs)} was given.",
            kind="wrong_inputs",
        )
    if any(isinstance(value, list) for value in inputs.values()):
        several = [dict(zip(inputs, map(float, row), strict=True)) for row in zip(*inputs.values(), strict=True)]
        if options["samples"] > 1:
            raise SimulationError(
                "A run has either the points that the design put into it (design.samples_per_run) or those that the "
                "option 'samples' draws; leave one of them out.",
                kind="wrong_inputs",
            )
        return several
    first = {name: float(value) for name, value in inputs.items()}
    if options["samples"] == 1:
        return [first]
    if set(first) != set(box.names) or not box.contains(first):
        raise SimulationError(
            f"A run of {options['samples']} samples draws them from the bounds of its options, and {first} lies "
            "outside. Give the bounds as mass_low, mass_high and spin_max in [simulator.options].",
            kind="wrong_inputs",
        )
    dimensions = box.dimensions
    ratio = 1.5
    for _ in range(60):
        ratio = (1.0 + ratio) ** (1.0 / (dimensions + 1))
    steps = ratio ** -np.arange(1.0, dimensions + 1.0)
    start = box.to_unit([first])
    further = np.mod(start + np.arange(1, options["samples"])[:, np.newaxis] * steps, 1.0)
    return [first, *box.from_unit(np.asarray(further, dtype=np.float64))]


def write_input(inputs: Mapping[str, Any], options: Mapping[str, Any], folder: Path) -> None:
    """Write the program's input file.

    Args:
        inputs: The point that was asked for.
        options: Complete options.
        folder: Folder of the run.

    Raises:
        SimulationError: If the point is no binary.
    """
    asked = points(inputs, options)
    case = {"points": asked, "options": dict(options), "fade_s": _FADE_S}
    for point in asked:
        spins = max(abs(point.get("spin_1", 0.0)), abs(point.get("spin_2", 0.0)))
        if min(point["mass_1"], point["mass_2"]) <= 0.0 or spins > _LARGEST_SPIN:
            raise SimulationError(
                f"A binary has masses above 0 and spins of at most {_LARGEST_SPIN}; {point} was asked for.",
                kind="not_physical",
            )
    write_json(folder / INPUT_FILE, case, durable=False)
