"""Latin hypercubes in blocks: within each block every input's range is cut into as many slices as there are points.

M. D. McKay, R. J. Beckman, W. J. Conover (1979), Technometrics 21, 239; engine of `scipy.stats.qmc`. A Latin hypercube
cannot be made longer and stay one. The sequence is therefore made of blocks of a declared size; block k is a Latin
hypercube of its own, drawn from (seed, k), so that a later design continues with whole blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surrogate.core.errors import SpaceError
from surrogate.design.scales import is_count
from surrogate.design.space import InputSpace, Point


@dataclass(frozen=True, slots=True)
class LatinHypercube:
    """Sampler `latin_hypercube`.

    Attributes:
        block: Points of one hypercube; None takes all points of the first call, and then nothing can continue it.
    """

    block: int | None = None

    def __post_init__(self) -> None:
        """Refuse a block without points.

        Raises:
            SpaceError: If the block is no whole number of at least 1.
        """
        if self.block is not None and not is_count(self.block):
            raise SpaceError(
                f"'block' of a Latin hypercube is a whole number of at least 1, and {self.block!r} was given."
            )

    def length(self, space: InputSpace) -> int | None:
        """Return None: blocks can always be added.

        Raises:
            SpaceError: If the space is no box.
        """
        if space.dimensions < 1:
            raise SpaceError(
                f"The sampler 'latin_hypercube' needs a box of inputs, and a space of kind '{space.kind}' is none."
            )
        return None

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return points number `start` … `start + count − 1`; see `Sampler.points`.

        Raises:
            SpaceError: If the space is no box, or the sequence is to be continued without a declared block size.
        """
        from scipy.stats import qmc

        self.length(space)
        if start < 0 or count < 0:
            raise SpaceError(f"Points are numbered from 0 on; {count} from {start} on were asked for.")
        if count == 0:
            return []
        if self.block is None and start > 0:
            raise SpaceError(
                "A Latin hypercube cannot be made longer. Declare the size of its blocks ('block') and later points "
                "come in blocks of that size, or use the sampler 'sobol'."
            )
        block = self.block or count
        cubes = []
        for index in range(start // block, (start + count - 1) // block + 1):
            engine = qmc.LatinHypercube(space.dimensions, rng=np.random.default_rng([seed, index]))
            first, last = max(start - index * block, 0), min(start + count - index * block, block)
            cubes.append(engine.random(block)[first:last])
        return space.from_unit(np.concatenate(cubes))
