"""The options of the simulator `pyscf`, and the level of theory that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim_wrappers.options import real, refuse_unknown, text, truth, whole
from surrogate.core.errors import ConfigError

NAME = "pyscf"
FINEST = 9
_DEFAULTS: dict[str, Any] = {
    "xc": "wb97x",
    "basis": "6-31g(d)",
    "cart": True,
    "grid": 3,
    "conv_tol": 1e-9,
    "max_cycle": 50,
    "grid_response": False,
    "density_fit": False,
    "memory_mb": 4000,
}
_DECIDING = ("xc", "basis", "cart", "grid", "conv_tol", "grid_response", "density_fit")


def complete_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with defaults filled in.

    Args:
        options: Any of `xc` (functional as PySCF names it, or `hf`), `basis`, `cart` (Cartesian d functions and higher
            ones), `grid` (level 0 to 9), `conv_tol` (Ha), `max_cycle`, `grid_response` (of forces), `density_fit`,
            `memory_mb`.

    Raises:
        ConfigError: If one is unknown or of another type, or PySCF has no such functional or basis.
    """
    refuse_unknown(NAME, options, _DEFAULTS)
    given = {**_DEFAULTS, **options}
    grid = whole(NAME, "grid", given["grid"], low=0)
    if grid > FINEST:
        raise ConfigError(f"Option 'grid' of {NAME} is a level from 0 to {FINEST}; {grid} was given.")
    tolerance = real(NAME, "conv_tol", given["conv_tol"])
    if not 1e-13 <= tolerance <= 1e-4:
        raise ConfigError(f"Option 'conv_tol' of {NAME} must be between 1e-13 and 1e-4 Ha; {tolerance:g} was given.")
    complete: dict[str, Any] = {
        "xc": text(NAME, "xc", given["xc"]).strip().lower(),
        "basis": text(NAME, "basis", given["basis"]).strip().lower(),
        "cart": truth(NAME, "cart", given["cart"]),
        "grid": grid,
        "conv_tol": tolerance,
        "max_cycle": whole(NAME, "max_cycle", given["max_cycle"], low=1),
        "grid_response": truth(NAME, "grid_response", given["grid_response"]),
        "density_fit": truth(NAME, "density_fit", given["density_fit"]),
        "memory_mb": whole(NAME, "memory_mb", given["memory_mb"], low=100),
    }
    _check_names(complete["xc"], complete["basis"])
    return complete


def deciding_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that decide the result: neither the number of iterations nor the memory does."""
    return {name: options[name] for name in _DECIDING}


def level_of_theory(options: Mapping[str, Any]) -> str:
    """Return the level in words, such as `wb97x/6-31g(d) cartesian, grid 3, pyscf`."""
    functions = "cartesian" if options["cart"] else "spherical"
    grid = "" if options["xc"] == "hf" else f", grid {options['grid']}"
    fitted = ", density fit" if options["density_fit"] else ""
    return f"{options['xc']}/{options['basis']} {functions}{grid}{fitted}, pyscf"


def _check_names(functional: str, basis: str) -> None:
    """Refuse a functional or basis that PySCF does not have; without PySCF nothing is known of either."""
    try:
        from pyscf.dft import libxc
        from pyscf.gto import basis as library
    except ImportError:
        return
    if functional != "hf":
        try:
            libxc.parse_xc(functional)
        except (KeyError, ValueError, AttributeError) as error:
            raise ConfigError(
                f"Option 'xc' of {NAME} is '{functional}', and PySCF knows no such functional. Examples are 'wb97x', "
                "'b3lyp', 'pbe', and 'hf' for Hartree–Fock."
            ) from error
    try:
        library.load(basis, "H")
    except Exception as error:  # PySCF's errors for an unknown basis are of several unrelated kinds
        raise ConfigError(
            f"Option 'basis' of {NAME} is '{basis}', and PySCF has no such basis set (for hydrogen). Examples are "
            "'6-31g(d)', 'def2-svp' and 'cc-pvtz'."
        ) from error
