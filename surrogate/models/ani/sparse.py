"""Sums by sparse matrices: rows of values added up where indices say.

SciPy's public classes check and copy their indices, which for a molecule of ten atoms costs several times what the
product does. The compiled routines below them are called directly where they are there, and the classes otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

_routines: Any
try:
    from scipy.sparse import _sparsetools as _routines
except ImportError:  # a SciPy that keeps them elsewhere
    _routines = None

Array = NDArray[Any]
Index = NDArray[np.int32]


def rows_of(values: Array, index: NDArray[Any]) -> Array:
    """Return some rows of an array; for short rows several times faster than indexing."""
    return np.take(values, index, axis=0)


def scatter(rows: NDArray[Any], values: Array, count: int, entries: Array | None = None) -> Array:
    """Return `[count, W]`: rows of values added up where `rows` says.

    Args:
        rows: `[K, T]` int, for each of T values the K rows that it is added to.
        values: `[T, W]`.
        count: Number of rows of the result.
        entries: `[K, T]` factors; ones when None.
    """
    fold, total = rows.shape
    data = np.ones(rows.size, dtype=values.dtype) if entries is None else entries.T.ravel()
    start = np.arange(0, rows.size + 1, fold, dtype=np.int32)
    return by_columns((data, rows.T.ravel().astype(np.int32, copy=False), start), (count, total), values)


def by_columns(parts: tuple[Array, Index, Index], shape: tuple[int, int], values: Array) -> Array:
    """Return A v, `[R, W]`, for a matrix by columns: entries, their rows, and where columns begin.

    Args:
        parts: `[Z]`, `[Z]`, `[C + 1]`.
        shape: R, C.
        values: `[C, W]`, of the entries' dtype.
    """
    return _product("csc", parts, shape, values)


def by_rows(parts: tuple[Array, Index, Index], shape: tuple[int, int], values: Array) -> Array:
    """Return A v, `[R, W]`, for a matrix by rows: entries, their columns, and where rows begin.

    Args:
        parts: `[Z]`, `[Z]`, `[R + 1]`.
        shape: R, C.
        values: `[C, W]`, of the entries' dtype.
    """
    return _product("csr", parts, shape, values)


_CLASSES = {"csc": csc_array, "csr": csr_array}


def _product(kind: str, parts: tuple[Array, Index, Index], shape: tuple[int, int], values: Array) -> Array:
    """Return A v for a matrix stored in one of SciPy's two kinds."""
    data, index, start = parts
    if _routines is None or data.dtype != values.dtype:
        return np.asarray(_CLASSES[kind]((data, index, start), shape=shape) @ values)
    result = np.zeros((shape[0], values.shape[1]), dtype=values.dtype)
    flat = np.ascontiguousarray(values).ravel()
    routine = getattr(_routines, f"{kind}_matvecs")
    routine(*shape, values.shape[1], start, index, data, flat, result.ravel())
    return result
