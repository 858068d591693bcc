"""An open file of molecules as a Source: pieces, columns, blocks in our own units."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np

from surrogate.core.molecules import ENERGY, FORCES, LEVEL_OF_THEORY, input_values, output_columns
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Ragged, Schema, Values
from surrogate.core.structure import Structure, problem
from surrogate.data.readers.molecules.batches import Batch, Contents, Floats
from surrogate.data.readers.molecules.conventions import Conventions
from surrogate.data.readers.molecules.options import MoleculeOptions
from surrogate.data.readers.protocol import Block, Piece, Sketch, SourceError
from surrogate.design.structures import StructureSet

_LOOKED_AT = 200


class MoleculeSource:
    """The structures of one file (see `surrogate.data.readers.protocol.Source`)."""

    def __init__(self, path: Path, contents: Contents, conventions: Conventions, options: MoleculeOptions) -> None:
        """Take a file whose conventions are settled.

        Raises:
            SourceError: If its structures are impossible.
        """
        self._path, self._contents = path, contents
        self._conventions, self._options = conventions, options
        self._ends = np.cumsum([batch.count for batch in contents.batches])
        self._refuse_impossible()

    def _refuse_impossible(self) -> None:
        """Refuse a file none of whose first structures is possible.

        Raises:
            SourceError: With what is wrong with the first.
        """
        first = ""
        for batch, start, stop in self._parts(Piece(0, min(_LOOKED_AT, self._contents.count))):
            for places in batch.read(start, stop)[0]:
                found = problem(self._structure(batch, places * self._conventions.to_angstrom))
                if found is None:
                    return
                first = first or found
        raise SourceError(f"{self._path} has no possible structure; the first: {first}", FailureKind.NOT_PHYSICAL)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """All structures in order, so many at a time."""
        step, count = self._options.rows_per_run, self._contents.count
        return tuple(Piece(start, min(start + step, count)) for start in range(0, count, step))

    def sketch(self) -> Sketch:
        """Return the columns (see `Source.sketch`)."""
        columns = output_columns(forces=self._conventions.to_force != 0.0)
        return Sketch({}, columns, space=StructureSet(), sentences=self._conventions.sentences)

    def read(self, piece: Piece, schema: Schema, names: Collection[str] | None = None) -> Block:
        """Read one piece (see `Source.read`)."""
        told = self._conventions
        structures: list[Structure] = []
        energies: list[float] = []
        forces: list[Floats] = []
        for batch, start, stop in self._parts(piece):
            coordinates, heights, pulls = batch.read(start, stop)
            for row in range(stop - start):
                structures.append(self._structure(batch, coordinates[row] * told.to_angstrom))
                energies.append(float(heights[row]) * told.to_hartree)
                if pulls is not None:
                    forces.append(pulls[row] * told.to_force)
        columns: dict[str, Values] = {
            **input_values(structures),
            ENERGY: np.asarray(energies, dtype=np.float64),
            LEVEL_OF_THEORY: np.full(len(structures), told.level_of_theory),
        }
        wanted = {column.name for column in schema.columns}
        if FORCES in wanted:
            if told.to_force == 0.0:
                raise SourceError(f"{self._path} has no forces, and the campaign's samples have them.")
            columns[FORCES] = Ragged.from_list(forces, like=np.zeros((0, 3)))
        picked = {name: columns[name] for name in columns if names is None or name in names}
        return Block(picked, tuple(entry.name for entry in structures))

    def _parts(self, piece: Piece) -> Iterator[tuple[Batch, int, int]]:
        """Yield the batches of a piece, with the first and the last of their structures."""
        for batch, end in zip(self._contents.batches, self._ends.tolist(), strict=True):
            begin = end - batch.count
            start, stop = max(piece.start, begin), min(piece.stop, end)
            if start < stop:
                yield batch, start - begin, stop - begin

    def _structure(self, batch: Batch, coordinates: Floats) -> Structure:
        options = self._options
        charge = options.charge if options.charge is not None else batch.charge
        spin = options.multiplicity if options.multiplicity is not None else batch.multiplicity
        return Structure.of(
            batch.species,
            coordinates,
            charge=charge or 0,
            multiplicity=spin,
            cell=batch.cell * self._conventions.to_angstrom,
            name=batch.name,
        )
