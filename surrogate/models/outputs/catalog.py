"""The output transforms by name: fitted on training rows, or rebuilt from an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import ConfigError, IntegrityError, nearest
from surrogate.core.schema import Column, Schema
from surrogate.models.features import coordinate_features
from surrogate.models.outputs.base import OutputTransform
from surrogate.models.outputs.plain import PlainOutput
from surrogate.models.outputs.pod import PodOutput
from surrogate.models.outputs.registered import FrontOptions, RegisteredOutput

_LEAST_CELLS = 16


def fit_output(
    kind: str,
    column: Column,
    dims: tuple[str, ...],
    *,
    schema: Schema,
    features: NDArray[np.float64],
    values: NDArray[np.float64],
    modes: int,
    fronts: FrontOptions,
) -> OutputTransform:
    """Fit the transform of one output column; scalars are always predicted as they are.

    Args:
        kind: `none`, `pod` or `registered`.
        column: The output column.
        dims: Names of the axes of a row.
        schema: Gives the coordinates.
        features: `[R, D]`, what the network is given.
        values: `[R, *shape]`, rows of the column.
        modes: Number of POD modes.
        fronts: How fronts are found.

    Raises:
        ConfigError: If fronts are to be followed along an axis that the column does not have.
    """
    if kind == "none" or not dims:
        return PlainOutput.fit(column.name, values)
    if kind == "pod":
        return PodOutput.fit(column.name, values, modes)
    place = _front_axis(column.name, dims, schema, fronts.axis)
    if values.shape[place + 1] < _LEAST_CELLS:
        raise ConfigError(
            f"Fronts of '{column.name}' cannot be followed along '{dims[place]}': it has "
            f"{values.shape[place + 1]} cells, "
            f"and at least {_LEAST_CELLS} are needed. Choose another axis, or output_transform = 'pod'."
        )
    axis = schema.coordinate(dims[place])
    points = axis.array if axis is not None else np.arange(values.shape[place + 1], dtype=np.float64)
    if np.any(np.diff(points) <= 0):
        raise ConfigError(
            f"Fronts of '{column.name}' cannot be followed along '{dims[place]}': its coordinate does not rise "
            "from cell to "
            "cell. Sort the axis, or choose another."
        )
    lanes = _lanes(values.shape[1:], dims, place, schema)
    return RegisteredOutput.fit(column.name, features, values, place=place, points=points, lanes=lanes, options=fronts)


def restore_output(column: str, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> OutputTransform:
    """Rebuild a transform from `arrays` and `to_json`.

    Raises:
        IntegrityError: If its kind is unknown.
    """
    kinds: dict[str, Any] = {"none": PlainOutput, "pod": PodOutput, "registered": RegisteredOutput}
    if record.get("kind") not in kinds:
        raise IntegrityError(
            f"The output '{column}' was trained with the transform {record.get('kind')!r}, and this version knows "
            f"{sorted(kinds)}. Use the version of the program that trained it."
        )
    restored: OutputTransform = kinds[record["kind"]].restore(column, arrays, record)
    return restored


def _front_axis(column: str, dims: tuple[str, ...], schema: Schema, wanted: str) -> int:
    """Return the axis of a row along which fronts move.

    Raises:
        ConfigError: If the wanted one is not there.
    """
    if wanted and wanted not in dims:
        raise ConfigError(
            f"Fronts of '{column}' are to be followed along '{wanted}', and its axes are {list(dims)}."
            f"{nearest(wanted, dims)}"
        )
    if wanted:
        return dims.index(wanted)
    known = [place for place, name in enumerate(dims) if name and schema.coordinate(name) is not None]
    return known[-1] if known else len(dims) - 1


def _lanes(shape: tuple[int, ...], dims: tuple[str, ...], place: int, schema: Schema) -> NDArray[np.float64]:
    """Return the features of every place on the other axes, `[L, F]`, in the order of the flattened axes."""
    lanes = np.zeros((1, 0))
    for axis, (name, length) in enumerate(zip(dims, shape, strict=True)):
        if axis == place:
            continue
        known = schema.coordinate(name) if name else None
        own = coordinate_features(known.array if known is not None else np.arange(length, dtype=np.float64))
        lanes = np.concatenate([np.repeat(lanes, length, axis=0), np.tile(own, (len(lanes), 1))], axis=1)
    return lanes
