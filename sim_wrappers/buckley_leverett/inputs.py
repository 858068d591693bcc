"""What the solver is asked: options, space of inputs, and the JSON file of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim_wrappers.buckley_leverett import OUTPUT_CELLS
from sim_wrappers.buckley_leverett.limiters import COURANT_LIMITS
from sim_wrappers.options import one_of, real, refuse_unknown, whole
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.files import write_json
from surrogate.design.parameters import Parameter, ParameterSpace

PVI = tuple(index / 10 for index in range(1, 11))
"""Pore volumes injected at which the saturation is kept, `[10]`."""

INPUT_FILE = "input.json"
_NAMES = ("cells", "scheme", "limiter", "cfl")
_NARROWER = "narrower_steps"


def complete_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with defaults filled in.

    Args:
        options: Any of `cells` (a multiple of 256), `scheme` (`muscl` or `upwind`), `limiter` (of MUSCL), `cfl`.

    Raises:
        ConfigError: If one is unknown, of another type, or beyond what the scheme is proved stable for.
    """
    simulator = "buckley_leverett"
    refuse_unknown(simulator, options, _NAMES)
    cells = whole(simulator, "cells", options.get("cells", OUTPUT_CELLS), low=OUTPUT_CELLS)
    if cells % OUTPUT_CELLS:
        raise ConfigError(
            f"Option 'cells' of {simulator} must be a multiple of {OUTPUT_CELLS}, the cells of the output, "
            f"and {cells} was given. Take {round(cells / OUTPUT_CELLS) * OUTPUT_CELLS}."
        )
    scheme = one_of(simulator, "scheme", options.get("scheme", "muscl"), ("muscl", "upwind"))
    if scheme == "upwind":
        if options.get("limiter", "none") != "none":
            raise ConfigError(f"Option 'limiter' of {simulator} belongs to the scheme 'muscl'; 'upwind' has none.")
        limiter, limit = "none", 1.0
    else:
        limiter = one_of(simulator, "limiter", options.get("limiter", "monotonized_central"), tuple(COURANT_LIMITS))
        limit = COURANT_LIMITS[limiter]
    cfl = real(simulator, "cfl", options.get("cfl", limit))
    if not 0.0 < cfl <= limit:
        raise ConfigError(
            f"Option 'cfl' of {simulator} must be above 0 and at most {limit:.4g} for scheme '{scheme}' "
            f"with limiter '{limiter}', where no new extremes can arise; {cfl} was given."
        )
    return {"cells": cells, "scheme": scheme, "limiter": limiter, "cfl": cfl}


def space() -> ParameterSpace:
    """Return the inputs that the code is meant for."""
    return ParameterSpace(
        (
            Parameter("M", 0.5, 20.0, scale="log10", description="mobility ratio of water to oil at their end points"),
            Parameter("Swc", 0.0, 0.3, description="connate water saturation, everywhere at the start"),
            Parameter("Sor", 0.0, 0.3, description="residual oil saturation, what water cannot displace"),
        )
    )


def write_input(inputs: Mapping[str, Any], options: Mapping[str, Any], remedies: tuple[str, ...], folder: Path) -> None:
    """Write the solver's input file.

    Args:
        inputs: `M`, `Swc` and `Sor`.
        options: Complete options.
        remedies: Each `narrower_steps` halves the Courant number.
        folder: Folder of the run.

    Raises:
        SimulationError: If the inputs leave nothing to displace, or are not physical.
    """
    M, connate, residual = (float(inputs[name]) for name in ("M", "Swc", "Sor"))
    if M <= 0.0 or min(connate, residual) < 0.0 or connate + residual >= 1.0:
        raise SimulationError(
            f"Buckley–Leverett needs M > 0, Swc ≥ 0, Sor ≥ 0 and Swc + Sor < 1; M = {M}, Swc = {connate} and "
            f"Sor = {residual} were asked for. Narrow the space of inputs.",
            kind="not_physical",
        )
    settings = {**options, "cfl": options["cfl"] * 0.5 ** remedies.count(_NARROWER)}
    case = {"M": M, "Swc": connate, "Sor": residual, "pvi": list(PVI), "options": settings}
    write_json(folder / INPUT_FILE, case, durable=False)
