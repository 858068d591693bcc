"""Units of measurement, by pint, loaded when first needed."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from surrogate.core.errors import UnitError

if TYPE_CHECKING:
    import pint


BOHR = 0.529177210544
"""One Bohr radius in Å (CODATA 2022)."""

_POWER = re.compile(r"(?<![\w.])([A-Za-zµμΩÅ°%]+)\s*\^?\s*([+-]?\d+)(?![\w.])")
_POINT = re.compile(r"(?<=[A-Za-z0-9])\.(?=[A-Za-z])")


@cache
def _registry() -> pint.UnitRegistry[Any]:
    import pint

    registry: pint.UnitRegistry[Any] = pint.UnitRegistry()
    # G·M☉ of IAU 2015 Resolution B3 over G of CODATA 2018; astronomers' masses have no other unit.
    registry.define("solar_mass = 1.988409870698051e30 * kilogram = M_sun")
    return registry


@cache
def _understood(unit: str) -> str:
    """Return a unit as pint writes it: as it is, or else read as the CF conventions spell units.

    There an exponent follows its unit without a sign between them, and a space or point multiplies: `m s-1`,
    `kg.m-2.s-1` (CF conventions 1.11, chapter 3.1, and UDUNITS-2).

    Raises:
        Exception: What pint raises, of several unrelated types, when neither reading is known.
    """
    try:
        _registry().parse_units(unit)
    except Exception:  # pint raises several unrelated types for malformed text
        other = _POWER.sub(r"\1**\2", _POINT.sub(" ", unit))
        if other == unit:
            raise
        _registry().parse_units(other)
        return other
    return unit


@cache
def check_unit(unit: str) -> str:
    """Return `unit` when it is known.

    Args:
        unit: For example `m/s`, `m s-1`, `hartree`; `1` or an empty string for a number without dimension.

    Raises:
        UnitError: If the unit cannot be understood.
    """
    if unit in ("", "1"):
        return "1"
    try:
        _understood(unit)
    except Exception as error:  # as above
        raise UnitError(
            f"The unit '{unit}' is not known. Write it for example as 'm/s' or 'm s-1', 'kcal/mol', 'angstrom', "
            "or '1' for a number without dimension."
        ) from error
    return unit


def conversion_factor(source: str, target: str) -> float:
    """Return the factor that turns a number in `source` into one in `target`.

    An amount per mole and the same per particle are the same thing here, as chemists say energies: 'kcal/mol' becomes
    'hartree'.

    Args:
        source: Unit of the number at hand.
        target: Unit that is wanted.

    Raises:
        UnitError: If a unit is unknown, the dimensions differ, or the conversion has an offset.
    """
    source, target = check_unit(source), check_unit(target)
    if source == target:
        return 1.0
    source, target = _understood(source), _understood(target)
    import pint

    registry = _registry()
    try:
        zero = float(registry.Quantity(0.0, source).to(target).magnitude)
        one = float(registry.Quantity(1.0, source).to(target).magnitude)
    except pint.DimensionalityError as error:
        molar = _per_particle(source, target)
        if molar is not None:
            return molar
        raise UnitError(f"'{source}' cannot be converted to '{target}': their dimensions differ.") from error
    except pint.OffsetUnitCalculusError as error:
        raise UnitError(f"'{source}' to '{target}' needs an offset; give the values in '{target}'.") from error
    if zero != 0.0:
        raise UnitError(f"'{source}' to '{target}' needs an offset; give the values in '{target}'.")
    return one


def _per_particle(source: str, target: str) -> float | None:
    """Return the factor between an amount per mole and one per particle, or None when the two are not that."""
    import pint

    registry = _registry()
    for power in (-1, 1):
        try:
            amount = registry.Quantity(1.0, source) * registry.Quantity(1.0, "avogadro_constant") ** power
            return float(amount.to(target).magnitude)
        except (pint.DimensionalityError, pint.OffsetUnitCalculusError):
            continue
    return None
