"""What makes a campaign the one that it is: whatever decides its data and their splits.

A working directory belongs to one campaign. Its owner may change, and then resume: title, description and intended use;
`[resources]` and the site; `[failures]`; `[model]`, `[train]` (another training is made); `[gate]` (another verdict is
made, and it says how often the holdout has been consulted); `[card]`; `split.minimum`; and `design.runs` where a longer
design continues the shorter one (not in a Latin hypercube without `block`, nor downwards: see `workflows.plan`). Where
the data exist already, more of them may be ingested at any time, and `[approval]` may change always.
Everything else would mix data of two designs or move points across the border of the holdout.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surrogate.core.errors import ConfigError
from surrogate.core.files import sha256_file
from surrogate.core.identity import canonical, digest
from surrogate.core.schema import Schema
from surrogate.design.space import InputSpace
from workflows.config.campaign import CampaignConfig


def identity_parts(campaign: CampaignConfig, space: InputSpace, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides a campaign's data, by the keys of its file; JSON-ready.

    Args:
        campaign: The campaign.
        space: Its input space, the simulator's defaults filled in.
        options: The simulator's options that decide results, defaults filled in.
    """
    simulator, chosen = campaign.simulation()
    design: dict[str, Any] = {"sampler": chosen.sampler}
    if chosen.sampler == "grid":
        design["levels"] = chosen.levels
    if chosen.sampler == "latin_hypercube":
        design["block"] = chosen.block or chosen.runs
    if chosen.of_structures:
        design |= structure_design(campaign)
    parts: dict[str, Any] = canonical(
        {
            "simulator": {"name": simulator.name, "options": dict(options)},
            "inputs": _inputs(space),
            "design": design,
            "seed": campaign.seed,
            "split": _split(campaign),
        }
    )
    return parts


def structure_design(campaign: CampaignConfig) -> dict[str, Any]:
    """Return what decides which structures a campaign's sampler chooses, beside the space and the seed; JSON-ready.

    Raises:
        ConfigError: If a file with a Hessian cannot be read.
    """
    chosen = campaign.simulation().design
    kept: dict[str, Any] = {"normal_modes": {"temperature": chosen.temperature}, "rattle": {"stdev": chosen.stdev}}.get(
        chosen.sampler, {}
    )
    if chosen.sampler == "dynamics":
        kept = {"temperature": chosen.temperature, "timestep": chosen.timestep, "spacing": chosen.spacing}
    if chosen.hessians:
        kept["hessians"] = [_hash_of(campaign, path) for path in chosen.hessians]
    return kept


def _hash_of(campaign: CampaignConfig, path: str) -> str:
    """Return the hash of a file that a campaign names.

    Raises:
        ConfigError: If it cannot be read.
    """
    file = campaign.resolve(path)
    try:
        return sha256_file(file)
    except OSError as error:
        raise ConfigError(f"{file}, which {campaign.where} names, cannot be read: {error.strerror}.") from error


def data_parts(campaign: CampaignConfig, space: InputSpace, schema: Schema) -> dict[str, Any]:
    """Return the same for a campaign whose data exist already.

    Args:
        campaign: The campaign.
        space: The inputs with their bounds.
        schema: All columns and coordinates.
    """
    outputs = {column.name: {**column.to_json(), "description": ""} for column in schema.outputs}
    axes = {axis.name: {"unit": axis.unit, "values": digest("axis", axis.values)[:16]} for axis in schema.coordinates}
    parts: dict[str, Any] = canonical(
        {
            "inputs": _inputs(space),
            "data": {"outputs": outputs, "coordinates": axes},
            "split": _split(campaign),
        }
    )
    return parts


def _inputs(space: InputSpace) -> dict[str, Any]:
    inputs = space.to_json()
    for entry in inputs.get("parameters", ()):
        entry.pop("description", None)
    return {entry["name"]: entry for entry in inputs["parameters"]} if "parameters" in inputs else inputs


def _split(campaign: CampaignConfig) -> dict[str, Any]:
    splits = campaign.splits
    return {"salt": splits.salt, "tune": splits.tune, "holdout": splits.holdout}


def identity_of(parts: Mapping[str, Any]) -> str:
    """Return the campaign's identity (hex, 64 characters) from `identity_parts`."""
    return digest("campaign", dict(parts))


def check_same_campaign(recorded: Mapping[str, Any], parts: Mapping[str, Any], workdir: Path, where: str) -> None:
    """Refuse the working directory of another campaign.

    Args:
        recorded: `identity_parts` that the working directory was begun with.
        parts: Those of the campaign at hand.
        workdir: The working directory.
        where: Name of the campaign file, for the sentence.

    Raises:
        ConfigError: Naming the first key that differs, with both values.
    """
    difference = _first_difference(recorded, parts, "")
    if difference is not None:
        key, old, new = _as_written(*difference)
        raise ConfigError(
            f"{workdir} belongs to another campaign: there '{key}' is {_told(old)}, and in {where} it is {_told(new)}. "
            "Give this campaign a working directory of its own with --workdir."
        )


_DEFAULT_SALT = re.compile(r"(.+):(\d+)")


def _as_written(key: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    """Return a difference by the key that was written: where no salt was, it is made of name and seed."""
    if key != "split.salt":
        return key, old, new
    made = [_DEFAULT_SALT.fullmatch(str(value)) for value in (old, new)]
    if made[0] is None or made[1] is None:
        return key, old, new
    part = ("name", 1) if made[0][1] != made[1][1] else ("seed", 2)
    return part[0], made[0][part[1]], made[1][part[1]]


_ABSENT = object()


def _told(value: Any) -> str:
    return "absent" if value is _ABSENT else repr(value)


def _first_difference(old: Any, new: Any, key: str) -> tuple[str, Any, Any] | None:
    """Return the first place at which two JSON values differ, and what stands there."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in [*old, *(name for name in new if name not in old)]:
            place = f"{key}.{name}" if key else str(name)
            found = _first_difference(old.get(name, _ABSENT), new.get(name, _ABSENT), place)
            if found is not None:
                return found
        return None
    return None if old == new else (key, old, new)
