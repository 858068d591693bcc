"""False-alarm rates as people write them."""

from __future__ import annotations

import re

from surrogate.core.errors import ConfigError

_SECONDS = {"s": 1.0, "second": 1.0, "minute": 60.0, "min": 60.0, "hour": 3600.0, "h": 3600.0, "day": 86400.0,
            "d": 86400.0, "week": 604800.0, "month": 2629746.0, "year": 31556952.0, "yr": 31556952.0}  # fmt: skip
_FORM = re.compile(r"\s*([0-9.eE+-]+)\s*/\s*([a-z]+?)s?\s*")


def parse_rate(text: str) -> float:
    """Return a rate in 1/s, written as `1/day`, `2/hour` or `0.5/s`.

    Raises:
        ConfigError: If it is not written so, or not above 0.
    """
    form = _FORM.fullmatch(text) or re.fullmatch(r"\s*([0-9.eE+-]+)\s*/\s*(s)\s*", text)
    unit = form[2] if form else ""
    try:
        number = float(form[1]) if form else 0.0
    except ValueError:
        number = 0.0
    if unit not in _SECONDS or not 0.0 < number < float("inf"):
        raise ConfigError(
            f"'{text}' is no false-alarm rate. Write a number above 0 and a unit of time, such as 1/day, 2/hour or "
            "1/month."
        )
    return number / _SECONDS[unit]
