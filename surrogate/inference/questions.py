"""What is asked of a surrogate, checked before any network sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surrogate.core.errors import DataError, nearest
from surrogate.core.schema import RAGGED, Column, Ragged, Schema, Values


def check_inputs(schema: Schema, inputs: Mapping[str, ArrayLike | Ragged]) -> dict[str, Values]:
    """Return the inputs as columns of their declared type, in the schema's order.

    Args:
        schema: Columns that the surrogate was trained on.
        inputs: Input name → `[N, *shape]`, `[*shape]` for one point, or Ragged of N samples; in the declared units.

    Returns:
        Input name → `[N, *shape]` float64, int64 or str, or Ragged.

    Raises:
        DataError: If an input is missing, unknown, of another shape or type, not finite, or the lengths differ.
    """
    known = [column.name for column in schema.inputs]
    for name in inputs:
        if name not in known:
            raise DataError(
                f"The surrogate has no input '{name}'.{nearest(name, known)} Its inputs are {', '.join(known)}."
            )
    missing = [name for name in known if name not in inputs]
    if missing:
        raise DataError(f"The inputs {', '.join(missing)} are missing. The surrogate needs {', '.join(known)}.")
    checked = {column.name: _check_column(column, inputs[column.name]) for column in schema.inputs}
    lengths = {name: len(values) for name, values in checked.items()}
    if len(set(lengths.values())) > 1:
        raise DataError(f"All inputs need equally many rows, and these were given: {lengths}.")
    return checked


def _check_column(column: Column, given: ArrayLike | Ragged) -> Values:
    """Return one input column in its declared type."""
    if column.ragged:
        if not isinstance(given, Ragged):
            raise DataError(f"Input '{column.name}' differs in length from sample to sample: give it as Ragged.")
        if given.data.shape[1:] != column.shape[1:]:
            raise DataError(
                f"A row of input '{column.name}' has shape {column.shape[1:]}, and {given.data.shape[1:]} was given."
            )
        return Ragged(_typed(column, given.data), given.offsets)
    if isinstance(given, Ragged):
        raise DataError(f"Input '{column.name}' has the fixed shape {column.shape}, and ragged samples were given.")
    array = np.asarray(given)
    if array.ndim == len(column.shape):
        array = array[np.newaxis]
    if array.ndim != len(column.shape) + 1 or RAGGED in array.shape or array.shape[1:] != column.shape:
        raise DataError(
            f"Input '{column.name}' has shape {column.shape} for a point, and an array of shape "
            f"{np.shape(given)} was given."
        )
    return _typed(column, array)


def _typed(column: Column, array: NDArray[Any]) -> NDArray[Any]:
    """Return the numbers of one input in its declared type."""
    if column.dtype == "str":
        return array.astype(np.str_)
    if array.dtype.kind not in "biuf":
        raise DataError(f"Input '{column.name}' is a number in {column.unit}, and text was given.")
    finite = np.isfinite(array)
    if not finite.all():
        row = int(np.argwhere(~finite)[0][0])
        raise DataError(
            f"Input '{column.name}' is {array[np.argwhere(~finite)[0][0]]} in row {row} (counted from 0), and a finite "
            "number is needed. Remove or mend such rows."
        )
    if np.dtype(column.dtype).kind in "iu":
        rounded = np.rint(array)
        if np.any(rounded != array):
            row = int(np.argwhere(rounded != array)[0][0])
            raise DataError(f"Input '{column.name}' is a whole number, and row {row} (counted from 0) holds another.")
        return np.asarray(rounded, dtype=np.int64)
    return np.asarray(array, dtype=np.float64)
