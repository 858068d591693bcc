"""Numbers and names as a reader wants them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any


def number(value: Any, digits: int = 3) -> str:
    """Return a number with `digits` significant digits; other values as text.

    Args:
        value: A number, a truth value, a text or None.
        digits: Significant digits.
    """
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _float(value, digits)
    if isinstance(value, int):
        return _grouped(str(value))
    return str(value)


def short(value: Any, digits: int = 4) -> str:
    """Return a number that somebody wrote, such as a bound, without trailing zeros; other values as text."""
    if isinstance(value, float) and math.isfinite(value) and 1e-4 <= abs(value) < 1e7:
        whole = math.floor(math.log10(abs(value))) + 1
        return _grouped(f"{value:.{max(digits, whole)}g}")
    return number(value, digits)


def tick(value: float) -> str:
    """Return a round number at an axis: as `short` does, or as a power of ten, such as `2 × 10⁻⁶`."""
    if value == 0 or not math.isfinite(value) or 1e-4 <= abs(value) < 1e7:
        return "0" if value == 0 else short(float(value))
    exponent = math.floor(math.log10(abs(value)) + 1e-9)
    factor = f"{value / 10.0**exponent:.4g}".replace("-", "−")
    return (f"{factor} × " if factor != "1" else "") + f"10{_superscript(exponent)}"


def points_lie(count: int) -> str:
    """Return a count of points as the beginning of a sentence, such as `1 point lies`."""
    return f"{number(count)} point lies" if count == 1 else f"{number(count)} points lie"


def factor(value: float) -> str:
    """Return how many times something is larger, with two significant digits."""
    return f"{number(float(f'{value:.2g}'), 2)} ×"


def _float(value: float, digits: int) -> str:
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    exponent = math.floor(math.log10(abs(value))) if value else 0
    if value and not -4 <= exponent < 7:
        mantissa = f"{value / 10.0**exponent:.{digits - 1}f}"
        return f"{mantissa} × 10{_superscript(exponent)}".replace("-", "−")
    return "0" if value == 0 else _grouped(f"{value:.{max(digits - 1 - exponent, 0)}f}")


def _grouped(text: str) -> str:
    """Return a number's text with a minus sign and thin spaces between thousands, from five digits on."""
    whole, point, rest = text.replace("-", "−").partition(".")
    digits = whole.removeprefix("−")
    if len(digits) >= 5:
        whole = whole.replace(digits, f"{int(digits):,}".replace(",", "\u202f"))
    return whole + point + rest


def unit_text(unit: str) -> str:
    """Return a unit for a table cell; a dash for numbers without dimension."""
    return "–" if unit in ("", "1") else unit


def quantity(value: Any, unit: str, digits: int = 3) -> str:
    """Return a number with its unit; a number without dimension of at most 1 as a percentage."""
    if unit in ("", "1"):
        if isinstance(value, float) and math.isfinite(value) and abs(value) <= 1:
            return f"{number(100 * value, digits)} %"
        return number(value, digits)
    return f"{number(value, digits)} {unit}"


def interval(low: float | None, high: float | None, digits: int = 3) -> str:
    """Return a confidence interval as text."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "unknown"
    return f"{number(low, digits)} to {number(high, digits)}"


def seconds(value: float) -> str:
    """Return a duration in the unit that suits it."""
    for limit, factor, unit in (
        (1e-3, 1e6, "µs"),
        (1.0, 1e3, "ms"),
        (120.0, 1.0, "s"),
        (7200.0, 1 / 60, "min"),
        (172_800.0, 1 / 3600, "h"),
    ):
        if abs(value) < limit:
            return f"{number(value * factor)} {unit}"
    return f"{number(value / 86_400)} d"


def title(name: str) -> str:
    """Return an identifier as words, such as `relative l2 median`."""
    return " ".join(_SPELLINGS.get(word, word) for word in name.split("_"))


_SPELLINGS = {"l2": "L2", "l1": "L1", "rmse": "RMSE", "mae": "MAE", "pod": "POD", "gp": "GP"}


def sentence(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def axis_label(name: str, unit: str) -> str:
    """Return the label of an axis: name, and unit in brackets where there is one."""
    return name if unit in ("", "1") else f"{name} [{unit}]"


def point(inputs: Mapping[str, Any], units: Mapping[str, str], most: int = 6) -> str:
    """Return a point as text, such as `speed = 1.2 m/s, width = 3`."""
    shown = list(inputs.items())[:most]
    parts = []
    for name, value in shown:
        unit = units.get(name, "1")
        parts.append(f"{name} = {short(value)}{'' if unit in ('', '1') else f' {unit}'}")
    return ", ".join(parts) + (", …" if len(inputs) > most else "")


def flatten(value: Any) -> list[str]:
    """Return a value of a lineage as lines of text."""
    if isinstance(value, Mapping):
        return [f"{key} {number(item)}" for key, item in value.items()]
    if value is None:
        return ["none"]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [number(item) for item in value]
    return [number(value)]


def _superscript(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
