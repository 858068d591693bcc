"""The finding of one of the doctor's checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """The finding of one check.

    Attributes:
        name: What was looked at.
        state: `ok`; `warn` when something useful is absent or slow; `fail` when work would go wrong.
        sentence: What was found, and what to do about it.
    """

    name: str
    state: State
    sentence: str
