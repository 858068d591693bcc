"""Points that somebody chose: the rows of a CSV or HDF5 table, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import SpaceError
from surrogate.design.parameters import ParameterSpace
from surrogate.design.points_io import read_points
from surrogate.design.space import InputSpace, Point


@dataclass(frozen=True)
class Table:
    """Sampler `table`. The seed changes nothing; rows added at the end continue the sequence.

    Attributes:
        path: CSV or HDF5 file, see `surrogate.design.points_io`.
    """

    path: Path

    def _rows(self, space: InputSpace) -> list[Point]:
        path = Path(self.path)
        points = read_points(path, space)
        for row, point in enumerate(points, 1):
            if not space.contains(point):
                why = space.outside(point) if isinstance(space, ParameterSpace) else None
                raise SpaceError(f"In {path}, row {row} is outside the input space: {why or point}.")
        return points

    def length(self, space: InputSpace) -> int | None:
        """Return the number of rows.

        Raises:
            DataError: If the file cannot be used.
            SpaceError: If a row is outside the space.
        """
        return len(self._rows(space))

    def points(self, space: InputSpace, start: int, count: int, seed: int) -> list[Point]:
        """Return rows number `start` … `start + count − 1`, counted from 0; see `Sampler.points`.

        Raises:
            DataError: If the file cannot be used.
            SpaceError: If a row is outside the space, or the table ends earlier.
        """
        del seed
        rows = self._rows(space)
        if start < 0 or count < 0 or start + count > len(rows):
            raise SpaceError(f"{self.path} has {len(rows)} rows; {count} from number {start} on were asked for.")
        return rows[start : start + count]
