"""Training that goes on from an earlier surrogate: its weights, its transforms, and which layers stay as they are."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import ConfigError, DataError, IntegrityError
from surrogate.core.files import read_json, sha256_file
from surrogate.core.schema import SampleTable, Schema
from surrogate.models.ani.stored import layer_weights
from surrogate.models.protocols import CanContinue, Family, Transforms
from surrogate.training.config import Scalers
from surrogate.training.finished import MANIFEST
from surrogate.training.state import Weights

if TYPE_CHECKING:
    import keras
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Start:
    """An artifact to go on from.

    Attributes:
        folder: The artifact.
        record: Its `surrogate.json`.
    """

    folder: Path
    record: dict[str, Any]

    @property
    def networks(self) -> tuple[Path, ...]:
        """The members' networks."""
        return tuple(self.folder / member["keras"] for member in self.record["members"])

    def transforms(
        self, family: Family, train: SampleTable, options: BaseModel, seed: int, scalers: Scalers
    ) -> Transforms:
        """Return the transforms to train with.

        Args:
            family: The family, which must be that of the artifact.
            train: The new training samples.
            options: The new options.
            seed: Of the training.
            scalers: Whether the earlier transforms are kept, or fitted again.

        Raises:
            ConfigError: If the artifact is of another family.
            DataError: If the family cannot go on with such samples.
        """
        if self.record["family"] != family.name:
            raise ConfigError(
                f"The training is to go on from a surrogate of the family '{self.record['family']}', and the campaign "
                f"asks for '{family.name}'. Name a surrogate of that family, or change model.family."
            )
        with np.load(self.folder / "transforms.npz", allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        kept = family.restore(
            Schema.from_json(self.record["schema"]), arrays, read_json(self.folder / "transforms.json")
        )
        if isinstance(family, CanContinue):
            return family.continued(kept, train, options, refit=scalers == "refitted", networks=self.networks)
        return kept if scalers == "kept" else family.fit(train, options, seed)

    def weights(self, model: keras.Model, member: int) -> Weights:
        """Return the weights of a member for a network, in Keras's order; members beyond the last begin anew.

        Raises:
            ConfigError: If the network has other layers than the artifact's.
        """
        found = layer_weights(self.networks[member % len(self.networks)])
        arrays: dict[str, NDArray[Any]] = {}
        for layer in model.layers:
            variables = layer.variables
            stored = found.get(layer.name, [])
            if len(stored) != len(variables) or any(
                array.shape != tuple(variable.shape) for array, variable in zip(stored, variables, strict=False)
            ):
                raise ConfigError(
                    f"The layer '{layer.name}' of the network has other sizes than in the surrogate to go on from. "
                    "Give the same model options as there, and keep its scalers."
                )
            arrays |= {variable.path: array for variable, array in zip(variables, stored, strict=True)}
        return [np.asarray(arrays[variable.path]) for variable in model.variables]


def open_start(folder: Path) -> Start:
    """Open an artifact and check its files.

    Raises:
        IntegrityError: If it is unfinished, altered or damaged.
    """
    if not (folder / MANIFEST).is_file():
        raise IntegrityError(f"{folder}, which the training is to go on from, holds no finished surrogate.")
    for name, expected in read_json(folder / MANIFEST)["files"].items():
        if not (folder / name).is_file() or sha256_file(folder / name) != expected:
            raise IntegrityError(f"The file {folder / name} is missing or was altered. Go on from another version.")
    return Start(folder, read_json(folder / "surrogate.json"))


def freeze(model: keras.Model, patterns: Sequence[str]) -> None:
    """Leave some layers as they are.

    Args:
        model: The network.
        patterns: Names of layers, or of their weights as `LAYER/WEIGHT`; `*` stands for anything.

    Raises:
        ConfigError: If a pattern is nobody's name, or nothing is left to train.
    """
    names = {f"{layer.name}/{variable.name}": variable for layer in model.layers for variable in layer.variables}
    for pattern in patterns:
        hit = [name for name in names if fnmatch.fnmatch(name, pattern) or fnmatch.fnmatch(name.split("/")[0], pattern)]
        if not hit:
            raise ConfigError(f"No layer is named '{pattern}', which is to be frozen. There are {', '.join(names)}.")
        for name in hit:
            names[name].trainable = False
    if patterns and not model.trainable_variables:
        raise DataError("All layers are frozen, and nothing is left to train. Freeze fewer.")
