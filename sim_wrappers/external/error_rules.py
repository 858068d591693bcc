"""Failures that the program tells by its text, and what the next attempt does about them, as tables of the options."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from sim_wrappers.external.parts import Part, Pattern, Text
from sim_wrappers.protocol import KnownError
from surrogate.core.errors import nearest
from surrogate.core.outcome import FailureKind
from surrogate.core.tables import shown

Setting = bool | int | float | str


def setting(value: Any) -> Any:
    """Refuse what is neither a number, a truth value nor text, in one sentence instead of one for each type."""
    if not isinstance(value, Setting):
        raise ValueError(f"a number, text, true or false is needed, and {shown(value)} was found")  # noqa: TRY004 - pydantic collects these
    return value


Value = Annotated[Setting, BeforeValidator(setting)]


def _kind(value: Any) -> Any:
    kinds = [kind.value for kind in FailureKind]
    if value not in kinds:
        raise ValueError(
            f"one of {', '.join(kinds)} is needed, and {shown(value)} was found.{nearest(str(value), kinds)}"
        )
    return value


class ErrorRule(Part):
    """A failure that the program tells by its text. It counts whatever the program's exit status is."""

    pattern: Pattern = Field(description="Regular expression, searched in the output and in 'logs'.")
    kind: Annotated[str, BeforeValidator(_kind)] = Field(
        default=FailureKind.EXIT_STATUS.value, description="What it means: 'unconverged', 'not_physical', and so on."
    )
    message: Text = Field(
        description="A sentence for whoever reads the status; {name} is the pattern's group (?P<name>…)."
    )
    remedy_text: str = Field(default="", description="What a person can do about it.")
    retry: bool = Field(default=True, description="Whether running it again, with the remedy, can help.")
    multiply: dict[str, float] = Field(
        default={}, description="Remedy: factors for numbers of 'values', applied to the next attempt."
    )
    set: dict[str, Value] = Field(default={}, description="Remedy: what 'values' become in the next attempt.")

    @model_validator(mode="after")
    def _check(self) -> ErrorRule:
        both = set(self.multiply) & set(self.set)
        if both:
            raise ValueError(f"'{min(both)}' stands in 'multiply' and in 'set'; keep one of them")
        if not self.retry and self.remedy:
            raise ValueError("a remedy is for the next attempt, and 'retry' is false; take out one of them")
        groups = re.compile(self.pattern).groupindex
        try:
            if groups:
                self.message.format(**dict.fromkeys(groups, ""))
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(
                f"the message cannot be filled ({type(error).__name__}: {error}); the pattern has the groups "
                f"{', '.join(groups)}"
            ) from error
        return self

    @property
    def remedy(self) -> str | None:
        """Name of the remedy, made of what it does, or None."""
        steps = [f"{name} × {factor:g}" for name, factor in self.multiply.items()]
        steps += [f"{name} = {value}" for name, value in self.set.items()]
        return ", ".join(steps) or None

    def known(self) -> KnownError:
        """Return the failure as execution knows it."""
        text = self.remedy_text or (
            f"The next attempt takes {self.remedy}." if self.remedy else "The kept output says more."
        )
        message = self.message if self.message.endswith((".", "!", "?")) else f"{self.message}."
        return KnownError(f"(?m){self.pattern}", FailureKind(self.kind), message, self.remedy, text, self.retry)
