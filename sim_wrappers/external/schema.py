"""The outputs and axes of a program's samples, from the options.

Shapes are declared, not taken from a first run: the schema decides what is admitted, what the dataset holds and what
the network predicts, so that it must be known before anything runs and must not depend on which run came first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sim_wrappers.external.options import ExternalOptions
from sim_wrappers.external.output_rules import CoordinateRule, OutputRule
from sim_wrappers.external.rules.text import read_columns
from surrogate.core.errors import ConfigError, DataError, SimulationError
from surrogate.core.schema import Column, Coordinate, Schema


def output_schema(options: ExternalOptions) -> Schema:
    """Return the outputs and coordinates.

    Args:
        options: The options, located.

    Raises:
        ConfigError: If an axis cannot be read, or a shape does not agree with its axes.
    """
    try:
        axes = {name: Coordinate(name, rule.unit, _values(name, rule)) for name, rule in options.coordinates.items()}
        columns = tuple(_column(name, rule, axes) for name, rule in options.outputs.items())
        return Schema(columns, tuple(axes.values()))
    except DataError as error:
        raise ConfigError(str(error)) from error


def _column(name: str, rule: OutputRule, axes: dict[str, Coordinate]) -> Column:
    shape = rule.shape if rule.shape is not None else tuple(len(axes[dim].values) for dim in rule.dims)
    try:
        return Column(
            name,
            "output",
            rule.unit,
            shape=shape,
            dims=rule.dims,
            low=rule.low,
            high=rule.high,
            description=rule.description or rule.told,
        )
    except DataError as error:
        raise ConfigError(f"'outputs.{name}': {error}") from error


def _values(name: str, rule: CoordinateRule) -> tuple[float, ...]:
    """Return the values of an axis."""
    if rule.values is not None:
        return rule.values
    if rule.file is not None:
        return tuple(map(float, _from_file(name, Path(rule.file), rule.column)))
    low, high = float(rule.start or 0.0), float(rule.stop or 0.0)
    if rule.cells is not None:
        return tuple(float(value) for value in low + (high - low) * (np.arange(rule.cells) + 0.5) / rule.cells)
    return tuple(map(float, np.linspace(low, high, rule.count or 1)))


def _from_file(name: str, path: Path, column: int) -> NDArray[np.float64]:
    """Read the values of an axis from a file beside the campaign.

    Raises:
        ConfigError: If it cannot be read, or has something else than finite numbers.
    """
    try:
        if path.suffix == ".npy":
            values = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64).ravel()
        else:
            values = read_columns(path, path.name, (column,))[:, 0]
    except (OSError, ValueError, SimulationError) as error:
        raise ConfigError(f"'coordinates.{name}': {error}") from error
    if not values.size or not np.isfinite(values).all():
        raise ConfigError(f"'coordinates.{name}': {path.name} has no values, or some that are not finite.")
    return values
