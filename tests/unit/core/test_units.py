"""Units are known or refused; conversions are factors."""

from __future__ import annotations

import subprocess
import sys

import pytest

from surrogate.core.errors import UnitError
from surrogate.core.units import check_unit, conversion_factor


@pytest.mark.parametrize("unit", ["m/s", "hartree", "kcal/mol", "angstrom", "K", "percent"])
def test_known_units_are_returned(unit: str) -> None:
    assert check_unit(unit) == unit


@pytest.mark.parametrize(
    ("spelled", "unit"),
    [("m s-1", "m/s"), ("kg.m-2.s-1", "kg/m**2/s"), ("m2 s-2", "m**2/s**2"), ("W m^-2", "W/m**2"), ("s-1", "Hz")],
)
def test_units_are_also_known_as_the_cf_conventions_spell_them(spelled: str, unit: str) -> None:
    assert check_unit(spelled) == spelled
    assert conversion_factor(spelled, unit) == pytest.approx(1.0)


@pytest.mark.parametrize("unit", ["", "1"])
def test_no_unit_is_one(unit: str) -> None:
    assert check_unit(unit) == "1"


@pytest.mark.parametrize("unit", ["furlongs per blink", "m/", "((", "metre/secnd", "blink-1", "m--1", "m s-"])
def test_unknown_units_are_refused_in_a_sentence(unit: str) -> None:
    with pytest.raises(UnitError, match=r"is not known\. Write it for example as"):
        check_unit(unit)


def test_factors() -> None:
    assert conversion_factor("km", "m") == pytest.approx(1000.0)
    assert conversion_factor("hartree/bohr", "eV/angstrom") == pytest.approx(51.422067, rel=1e-6)
    assert conversion_factor("m", "m") == 1.0
    assert conversion_factor("percent", "1") == pytest.approx(0.01)


def test_dimensions_and_offsets() -> None:
    with pytest.raises(UnitError, match="dimensions differ"):
        conversion_factor("m", "s")
    with pytest.raises(UnitError, match="needs an offset"):
        conversion_factor("degC", "K")


def test_importing_units_does_not_load_pint() -> None:
    code = "import sys, surrogate.core.units; assert 'pint' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
