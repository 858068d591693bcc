"""The Sobol sequence, scrambled by the seed: even coverage at every length, and it can always be continued.

I. M. Sobol' (1967), USSR Comput. Math. Math. Phys. 7, 86; scrambling by A. B. Owen (1998), J. Complexity 14, 466, as
implemented in `scipy.stats.qmc`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surrogate.core.errors import SpaceError
from surrogate.design.space import InputSpace, Point

LONGEST = 2**30
"""Points that the 30-bit sequence has."""


@dataclass(frozen=True, slots=True)
class Sobol:
    """Sampler `sobol`. Points `start` … are the same as in a longer run's prefix; lengths need no power of two."""

    def length(self, space: InputSpace) -> int | None:
        """Return None: the sequence goes on.

        Raises:
            SpaceError: If the space is no box, or has more axes than the sequence.
        """
        from scipy.stats import qmc

        if space.dimensions < 1:
            raise SpaceError(f"The sampler 'sobol' needs a box of inputs, and a space of kind '{space.kind}' is none.")
        if space.dimensions > qmc.Sobol.MAXDIM:
            raise SpaceError(
                f"The sampler 'sobol' serves at most {qmc.Sobol.MAXDIM} inputs, and {space.dimensions} are declared; "
                "use 'latin_hypercube'."
            )
        return None

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points number `start` … `start + count − 1`; see `Sampler.points`.

        Raises:
            SpaceError: If the space is no box, or the sequence's 2³⁰ points are used up.
        """
        from scipy.stats import qmc

        self.length(space)
        if start < 0 or count < 0 or start + count > LONGEST:
            raise SpaceError(
                f"The Sobol sequence has points 0 to {LONGEST - 1}; {count} from {start} on were asked for."
            )
        if count == 0:
            return []
        engine = qmc.Sobol(space.dimensions, scramble=True, rng=np.random.default_rng(seed))
        # Whole powers of two are what the engine draws without complaint; the sequence does not depend on it.
        unit = engine.random_base2((start + count - 1).bit_length())
        return space.from_unit(unit[start : start + count])
