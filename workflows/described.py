"""What the data of a campaign are: the files' own columns, with what the campaign's file says instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from surrogate.core.errors import ConfigError, DataError, InputError, nearest
from surrogate.core.schema import Column, Coordinate, Schema
from surrogate.core.units import conversion_factor
from surrogate.data.readers.protocol import Sketch
from surrogate.design.catalogue import space_from_json
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.space import InputSpace
from surrogate.design.structures import StructureSet
from workflows.config import CampaignConfig


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """What the data of a campaign are; fixed when the first of them are ingested.

    Attributes:
        space: The inputs with their bounds.
        schema: All columns and coordinates, inputs first.
    """

    space: InputSpace
    schema: Schema

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {"space": self.space.to_json(), "schema": self.schema.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Description:
        """Rebuild a description from `to_json`.

        Raises:
            SpaceError, DataError: If the mapping is none of `to_json`'s.
        """
        try:
            return cls(space_from_json(record["space"]), Schema.from_json(record["schema"]))
        except (KeyError, TypeError) as error:
            raise DataError(f"This is no description of a campaign's data: {error!r}.") from error


def sketch_of(description: Description) -> Sketch:
    """Return a description as a sketch, so that what a campaign's file says can be put on it again."""
    schema, space = description.schema, description.space
    if not isinstance(space, ParameterSpace):
        return Sketch({}, (*schema.outputs, *schema.facts), schema.coordinates, space)
    inputs = {entry.name: {key: value for key, value in entry.to_json().items() if key != "name"}
              for entry in space.parameters}  # fmt: skip
    return Sketch(inputs, schema.outputs, schema.coordinates)


def described(campaign: CampaignConfig, sketch: Sketch) -> Description:
    """Put together what files, mapping and campaign say; the campaign has the last word.

    Args:
        campaign: A campaign with `[data]`.
        sketch: What mapping and files say, with all bounds.

    Raises:
        ConfigError: If the campaign names what there is not, or something does not go together; the sentence names the
            file.
    """
    where = campaign.where
    try:
        space = _space(campaign, sketch)
        axes = _coordinates(campaign, sketch.coordinates)
        outputs = _outputs(campaign, sketch.outputs)
        return Description(space, Schema((*space.columns, *outputs), axes))
    except ConfigError:
        raise
    except InputError as error:
        raise ConfigError(f"In {where}, or in the mapping: {error}") from error


def refuse_idle_axes(description: Description, where: str) -> None:
    """Refuse a coordinate that no output lies on: it would be bound to nothing, and no file's axis compared with it.

    Args:
        description: What the data are.
        where: Name of the mapping, for the sentence.

    Raises:
        ConfigError: If there is one.
    """
    used = list(dict.fromkeys(dim for column in description.schema.columns for dim in column.dims))
    for axis in description.schema.coordinates:
        if axis.name not in used:
            found = f"'dims' names {', '.join(used)}" if used else "no output has 'dims'"
            raise ConfigError(
                f"In {where}, no output lies on the coordinate '{axis.name}': {found}. Name it in the 'dims' of an "
                f"output, one name for each axis of its sample, or take it out.{nearest(axis.name, used)}"
            )


def known_so_far(campaign: CampaignConfig, sketch: Sketch) -> dict[str, dict[str, Any]]:
    """Return input name → keys of a Parameter, as far as mapping and campaign say them.

    Raises:
        ConfigError: If the campaign names an input that there is not, or gives a unit that contradicts bounds.
    """
    _refuse_unknown(campaign, "inputs", campaign.inputs, sketch.inputs)
    merged: dict[str, dict[str, Any]] = {}
    for name, found in sketch.inputs.items():
        given = campaign.inputs[name].model_dump(exclude_none=True) if name in campaign.inputs else {}
        _refuse_unit(campaign, f"inputs.{name}", found, given)
        merged[name] = {**found, **given}
        if "choices" in merged[name] and "scale" not in given and "choices" in given:
            merged[name]["scale"] = "categorical"
    return merged


def _space(campaign: CampaignConfig, sketch: Sketch) -> InputSpace:
    if sketch.space is not None:
        _refuse_unknown(campaign, "inputs", campaign.inputs, ())
        if campaign.space is not None and isinstance(sketch.space, StructureSet):
            return replace(sketch.space, group=campaign.space.group)
        return sketch.space
    if campaign.space is not None:
        raise ConfigError(
            f"In {campaign.where}, [space] names structures of atoms, and the inputs of the files are single numbers "
            "and words."
        )
    inputs = known_so_far(campaign, sketch)
    return ParameterSpace(
        tuple(
            Parameter(**{**entry, "name": name, "choices": tuple(entry.get("choices") or ())})
            for name, entry in inputs.items()
        )
    )


def _outputs(campaign: CampaignConfig, found: tuple[Column, ...]) -> tuple[Column, ...]:
    sections = campaign.data.outputs if campaign.data is not None else {}
    _refuse_unknown(campaign, "data.outputs", sections, [column.name for column in found])
    outputs = []
    for column in found:
        given = sections[column.name].model_dump(exclude_none=True) if column.name in sections else {}
        known = {"unit": column.unit, "low": column.low, "high": column.high}
        _refuse_unit(campaign, f"data.outputs.{column.name}", known, given)
        if "shape" in given and given["shape"] != column.shape and column.dims and "dims" not in given:
            given["dims"] = ()
        outputs.append(replace(column, **given))
    return tuple(outputs)


def _coordinates(campaign: CampaignConfig, found: tuple[Coordinate, ...]) -> tuple[Coordinate, ...]:
    sections = dict(campaign.data.coordinates) if campaign.data is not None else {}
    axes = []
    for axis in found:
        section = sections.pop(axis.name, None)
        unit = section.unit if section is not None and section.unit is not None else axis.unit
        values = tuple((axis.array * conversion_factor(axis.unit, unit)).tolist())
        if section is not None and section.values is not None:
            values = section.values
        axes.append(Coordinate(axis.name, unit, values))
    for name, section in sections.items():
        if section.values is None:
            known = ", ".join(axis.name for axis in found) or "none"
            raise ConfigError(
                f"In {campaign.where}, 'data.coordinates.{name}.values' is missing, and the mapping has no such "
                f"coordinate; it has {known}.{nearest(name, [axis.name for axis in found])}"
            )
        axes.append(Coordinate(name, section.unit or "1", section.values))
    return tuple(axes)


def _refuse_unknown(campaign: CampaignConfig, table: str, given: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in given:
        if name not in known:
            raise ConfigError(
                f"In {campaign.where}, '{table}.{name}' is not in the mapping; it has {', '.join(known) or 'none'}."
                f"{nearest(name, known)}"
            )


def _refuse_unit(campaign: CampaignConfig, key: str, found: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse another unit than that of bounds which stay."""
    unit = given.get("unit")
    stays = [bound for bound in ("low", "high") if found.get(bound) is not None and bound not in given]
    if unit is not None and unit != found.get("unit", unit) and stays:
        raise ConfigError(
            f"In {campaign.where}, '{key}.unit' is '{unit}', and the mapping gives '{stays[0]}' in '{found['unit']}'. "
            "Give 'low' and 'high' beside the unit."
        )
