"""The input space of a campaign: the simulator's own, with what `[inputs]` says instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surrogate.core.errors import ConfigError, InputError, nearest
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.space import InputSpace
from workflows.config.sections import InputSection


def merged_space(
    where: str, simulator: str, inputs: Mapping[str, InputSection], default: InputSpace | None
) -> InputSpace:
    """Return where points are chosen.

    Args:
        where: Name of the campaign file, for sentences.
        simulator: Name of the simulator, for sentences.
        inputs: The section `[inputs]`: whole inputs where the simulator has no space of its own, else changes of it.
        default: The simulator's own space, or None.

    Raises:
        ConfigError: If an input is unknown to the simulator, or a bound, unit, scale or choice is wrong.
    """
    if default is not None and not inputs:
        return default
    if default is None and not inputs:
        raise ConfigError(
            f"In {where}, [inputs] is missing: the simulator '{simulator}' has no input space of its own, so that the "
            "campaign must name its inputs with 'low' and 'high'."
        )
    if default is not None and not isinstance(default, ParameterSpace):
        raise ConfigError(
            f"In {where}, [inputs] has no meaning: the simulator '{simulator}' takes a space of kind '{default.kind}'."
        )
    own = {parameter.name: parameter for parameter in default.parameters} if default is not None else {}
    for name in inputs:
        if own and name not in own:
            raise ConfigError(
                f"In {where}, 'inputs.{name}' is no input of the simulator '{simulator}'; it has {', '.join(own)}."
                f"{nearest(name, own)}"
            )
    try:
        return ParameterSpace(tuple(_parameter(name, own.get(name), inputs.get(name)) for name in own or inputs))
    except InputError as error:
        raise ConfigError(f"In {where}, [inputs]: {error}") from error


def _parameter(name: str, own: Parameter | None, given: InputSection | None) -> Parameter:
    """Return the simulator's own parameter with what the file gives instead."""
    changes = given.model_dump(exclude_none=True) if given is not None else {}
    merged: dict[str, Any] = {}
    if own is not None:
        _refuse_other_kind(own, changes)
        merged = own.to_json()
    elif "choices" in changes:
        merged = {"scale": "categorical"}
    merged |= changes
    return Parameter(**{**merged, "name": name, "choices": tuple(merged.get("choices", ()))})


def _refuse_other_kind(own: Parameter, changes: Mapping[str, Any]) -> None:
    """Refuse a unit or a kind of value that the simulator does not take for this input."""
    problem = ""
    unit, scale, real = changes.get("unit", own.unit) or "1", changes.get("scale", own.scale), ("linear", "log10")
    other = [word for word in changes.get("choices", ()) if word not in own.choices]
    if unit != own.unit:
        problem = (
            f"the simulator takes it in '{own.unit}', and the unit '{unit}' was found; give the bounds in its unit"
        )
    elif scale != own.scale and not (scale in real and own.scale in real):
        problem = f"its scale in the simulator is '{own.scale}', which cannot become '{scale}'"
    elif other and own.scale == "categorical":
        problem = f"the simulator knows {', '.join(map(repr, own.choices))}, and {other[0]!r} was found"
    if problem:
        raise ConfigError(f"Input '{own.name}': {problem}.")
