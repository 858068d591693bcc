"""The kernel matrix of forces and its solution.

The energy is a sum over atoms I of a structure, and over centres J of the same element: the atoms of the training
structures. With x the features of an atom, scaled so that the kernel k = exp(−|x − x'|²/2) has width 1,

    E = Σ_I Σ_J k(x_I, x_J) (x_I − x_J) · w_J,        w_J = (∂x_J/∂R) α

which is Σ α ∂k/∂R over the coordinates R of the training structures. Its gradient at training structure i is K α with

    K_ij = Σ_I∈i Σ_J∈j (∂x_I/∂R_i)ᵀ [1 − (x_I − x_J)(x_I − x_J)ᵀ] k(x_I, x_J) (∂x_J/∂R_j)

and (K + λ) α = −F is solved by Cholesky decomposition (Christensen et al. 2020, eqs. 9 to 12; as in S. Chmiela et al.,
Nat. Commun. 9, 3887, 2018, energies follow from forces up to constants).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from surrogate.core.errors import DataError, TrainingError

Array = NDArray[np.float64]

MOST_BYTES = 10 * 2**30
"""Memory that the kernel matrix may take."""

_BLOCK_NUMBERS = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class ElementTable:
    """The atoms of one element in N structures, n places each.

    Attributes:
        features: `[N, n, K]`, scaled; zero where there is no atom.
        present: `[N, n]`, 1 where there is an atom, else 0.
        jacobian: `[N, n, K, D]`, change of the features with the D coordinates of the structure; zero without an atom.
    """

    features: Array
    present: Array
    jacobian: Array


def solve_forces(tables: list[ElementTable], forces: Array, real: NDArray[np.bool_], noise: float) -> Array:
    """Return the coefficients α, `[N, D]`; zero where there is no coordinate.

    Args:
        tables: One for each element.
        forces: `[N, D]`.
        real: `[N, D]`, which coordinates there are.
        noise: λ as a share of the mean of the diagonal.

    Raises:
        DataError: If the matrix would not fit into memory.
        TrainingError: If it cannot be decomposed.
    """
    size = forces.size
    if 8 * size**2 > MOST_BYTES:
        raise DataError(
            f"The kernel matrix of {len(forces)} structures with {forces.shape[1]} coordinates each needs "
            f"{8 * size**2 / 2**30:.1f} GiB, and at most {MOST_BYTES / 2**30:g} are allowed. Train on fewer, "
            "or choose the family 'ani'."
        )
    matrix = force_kernel(tables)
    kept = np.flatnonzero(real.ravel())
    if len(kept) < size:
        matrix = matrix[np.ix_(kept, kept)]
    diagonal = np.einsum("ii->i", matrix)
    diagonal += noise * float(diagonal.mean())
    try:
        # The lower triangle by rows is the upper one by columns, which is what LAPACK overwrites in place.
        factor = cho_factor(matrix.T, lower=False, overwrite_a=True, check_finite=False)
        solution = cho_solve(factor, -forces.ravel()[kept], check_finite=False)
    except LinAlgError as error:
        raise TrainingError(
            f"The kernel matrix cannot be decomposed ({error}): two structures are too alike. Raise `noise`."
        ) from error
    result = np.zeros(size)
    result[kept] = solution
    return result.reshape(forces.shape)


def force_kernel(tables: list[ElementTable]) -> Array:
    """Return K, `[N·D, N·D]`; of its blocks, those on and below the diagonal are filled."""
    count, width = len(tables[0].features), tables[0].jacobian.shape[3]
    matrix = np.zeros((count, width, count, width))
    kits = [_Kit(table) for table in tables]
    step = max(1, min(kit.step for kit in kits))
    for row in range(count):
        for start in range(0, row + 1, step):
            stop = min(start + step, row + 1)
            block = sum(kit.block(row, start, stop) for kit in kits)
            matrix[row, :, start:stop] = np.asarray(block).transpose(1, 0, 2)
    return matrix.reshape(count * width, count * width)


class _Kit:
    """One element's part of the matrix."""

    def __init__(self, table: ElementTable) -> None:
        features, jacobian = table.features, table.jacobian
        count, places, length, width = jacobian.shape
        self._x, self._present = features, table.present
        self._shape = places, length, width
        self._flat = np.ascontiguousarray(jacobian.reshape(count, places, length * width))
        self._rows = np.ascontiguousarray(jacobian.transpose(0, 3, 1, 2).reshape(count, width, places * length))
        # By rows of features, for products with the features of others: [N, n, D, K].
        self._turned = np.ascontiguousarray(jacobian.transpose(0, 1, 3, 2))
        self._along = np.einsum("njk,njdk->njd", features, self._turned)
        self._squares = np.einsum("njk,njk->nj", features, features)
        self.step = _BLOCK_NUMBERS // max(1, places * length * width)

    def block(self, row: int, start: int, stop: int) -> Array:
        """Return the blocks of one structure with others, `[b, D, D]`."""
        places, length, width = self._shape
        count, own = stop - start, self._x[row]
        others = self._x[start:stop].reshape(-1, length)
        inner = (own @ others.T).reshape(places, count, places).transpose(1, 0, 2)
        squares = self._squares[row][None, :, None] + self._squares[start:stop][:, None, :] - 2 * inner
        kernel = np.exp(-0.5 * np.maximum(squares, 0.0))
        kernel *= self._present[row][None, :, None] * self._present[start:stop][:, None, :]
        mixed = np.matmul(kernel, self._flat[start:stop]).reshape(count, places * length, width)
        result: Any = np.matmul(self._rows[row], mixed)
        # (x_I − x_J) · ∂x_I/∂R_i for every pair, and (x_I − x_J) · ∂x_J/∂R_j.
        mine = (self._turned[row].reshape(-1, length) @ others.T).reshape(places, width, count, places)
        first = self._along[row][None, :, None, :] - mine.transpose(2, 0, 3, 1)
        theirs = (own @ self._turned[start:stop].reshape(-1, length).T).reshape(places, count, places, width)
        second = theirs.transpose(1, 0, 2, 3) - self._along[start:stop][:, None]
        first *= kernel[..., None]
        flat = (count, places * places, width)
        result -= np.matmul(first.reshape(flat).transpose(0, 2, 1), second.reshape(flat))
        return np.asarray(result)
