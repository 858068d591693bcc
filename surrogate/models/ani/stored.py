"""A potential out of an artifact's files: weights are read from `.keras` archives, which are zip and HDF5, by h5py."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import IntegrityError
from surrogate.models.ani.committee import Activation, ElementNetworks
from surrogate.models.ani.potential import Potential
from surrogate.models.ani.transforms import AniTransforms

_WEIGHTS = "model.weights.h5"


def layer_weights(path: Path) -> dict[str, list[NDArray[Any]]]:
    """Return name of each layer with weights → its arrays, in the order in which the layer made them.

    Args:
        path: A `.keras` file.

    Raises:
        IntegrityError: If it cannot be read.
    """
    found: dict[str, list[NDArray[Any]]] = {}

    def visit(_: str, item: Any) -> None:
        if isinstance(item, h5py.Group) and "name" in item.attrs and len(item):
            names = sorted((name for name in item if isinstance(item[name], h5py.Dataset)), key=int)
            if names:
                found[_text(item.attrs["name"])] = [np.asarray(item[name]) for name in names]

    try:
        with zipfile.ZipFile(path) as archive:
            content = archive.read(_WEIGHTS)
        with h5py.File(io.BytesIO(content), "r") as file:
            file.visititems(visit)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise IntegrityError(f"The network {path} cannot be read: {error}. Take another version.") from error
    return found


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def stored_potential(
    transforms: AniTransforms, networks: Sequence[Path], activation: Activation, dtype: Any = np.float32
) -> Potential:
    """Return the potential of an artifact of the family `ani`.

    Args:
        transforms: Of the artifact.
        networks: The members' `.keras` files.
        activation: Option of the family.
        dtype: float32, or float64 for the last digits; the weights are float32 in either case.

    Raises:
        IntegrityError: If a file cannot be read, or lacks an element's network.
    """
    members = [layer_weights(path) for path in networks]
    stacked, columns, scales = {}, {}, {}
    for kind, (number, symbol) in enumerate(zip(transforms.functions.elements, transforms.symbols, strict=True)):
        name = f"network_{symbol}"
        if any(name not in member for member in members):
            raise IntegrityError(f"A network of this potential has no layer '{name}'. Take another version.")
        stacked[number] = ElementNetworks.stack([member[name] for member in members])
        columns[number], scales[number] = transforms.columns[kind], transforms.scales[kind]
    return Potential(
        transforms.functions,
        stacked,
        transforms.self_energies,
        columns=columns,
        scales=scales,
        unit=transforms.unit,
        activation=activation,
        dtype=dtype,
    )
