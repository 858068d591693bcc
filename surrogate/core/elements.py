"""The chemical elements: symbols and atomic numbers."""

from __future__ import annotations

from surrogate.core.errors import DataError, nearest

_ALL = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts "
    "Og"
)
SYMBOLS: tuple[str, ...] = tuple(_ALL.split())
"""Symbol of the element with atomic number i + 1."""

_NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS, 1)}


def atomic_number(symbol: str) -> int:
    """Return the atomic number of a symbol, whatever the case of its letters.

    Raises:
        DataError: If there is no such element.
    """
    number = _NUMBERS.get(symbol.strip().capitalize())
    if number is None:
        raise DataError(f"'{symbol}' is no symbol of an element.{nearest(symbol.capitalize(), SYMBOLS)}")
    return number


def symbol_of(number: int) -> str:
    """Return the symbol of an atomic number.

    Raises:
        DataError: If there is no such element.
    """
    if not 1 <= number <= len(SYMBOLS):
        raise DataError(f"{number} is no atomic number; they go from 1 (H) to {len(SYMBOLS)} ({SYMBOLS[-1]}).")
    return SYMBOLS[number - 1]
