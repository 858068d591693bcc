"""What a reader of existing data must offer. Another distribution brings one by the entry point `surrogate.readers`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from surrogate.core.errors import DataError
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column, Coordinate, Schema, Values
from surrogate.design.space import InputSpace


class SourceError(DataError):
    """A file, or a part of it, that cannot be used; the message says what was looked for and what was found.

    Attributes:
        kind: What is wrong.
    """

    def __init__(self, message: str, kind: FailureKind = FailureKind.OUTPUT_UNREADABLE) -> None:
        """Keep the kind beside the sentence."""
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a source that are read together and become one run.

    Attributes:
        start: Number of the first sample in the source, from 0.
        stop: Number after the last one.
    """

    start: int
    stop: int

    @property
    def rows(self) -> int:
        """Number of samples."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Sketch:
    """What mapping and file say about the columns, before a campaign adds or changes anything.

    Attributes:
        inputs: Input name → what is known of `low`, `high`, `unit`, `scale`, `choices` and `description`.
        outputs: The output columns.
        coordinates: Fixed axes of the outputs.
        space: The whole input space, for readers whose inputs are not single numbers and words; else None.
        sentences: What the reader assumes of the file, and what it converts.
    """

    inputs: dict[str, dict[str, Any]]
    outputs: tuple[Column, ...]
    coordinates: tuple[Coordinate, ...] = ()
    space: InputSpace | None = None
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The samples of one piece.

    Attributes:
        columns: Name → `[N, *shape]` or Ragged of N samples, in the units and dtypes that were asked for; shapes are
            those of the file.
        groups: Group key of each sample, or empty for none.
        coordinates: The axes as the file has them, in the units that were asked for.
    """

    columns: dict[str, Values]
    groups: tuple[str, ...] = ()
    coordinates: tuple[Coordinate, ...] = field(default=())


class Source(Protocol):
    """One open file."""

    @property
    def pieces(self) -> Sequence[Piece]:
        """All samples of the file, in order, cut so that no piece is large; the same file always gives the same."""
        ...

    def sketch(self) -> Sketch:
        """Return what mapping and file say about the columns.

        Raises:
            SourceError: If the file lacks something that is mapped.
            UnitError: If a unit is unknown, or has another dimension.
        """
        ...

    def read(self, piece: Piece, schema: Schema, names: Collection[str] | None = None) -> Block:
        """Read one piece; pieces are asked for in order, and may be left out.

        Args:
            piece: One of `pieces`.
            schema: The columns that are wanted, with their units.
            names: Only these columns; all when None.

        Raises:
            SourceError: If it cannot be read, or lacks something.
        """
        ...


@runtime_checkable
class Reader(Protocol):
    """Reads files of one format."""

    @property
    def name(self) -> str:
        """The format's name, in mapping files and on the command line."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings of such files' names, lower case; a folder is searched for them."""
        ...

    @property
    def options_type(self) -> type[BaseModel]:
        """The strict model of a mapping file, without `format`."""
        ...

    def tags(self, path: Path, options: BaseModel) -> Mapping[str, str]:
        """Return what is taken from the name of a file; it is part of the identity of the file's samples.

        Raises:
            SourceError: If the name does not have the form that the options describe.
        """
        ...

    def open(self, path: Path, options: BaseModel) -> AbstractContextManager[Source]:
        """Open a file.

        Raises:
            SourceError: If it is no such file, or is damaged.
        """
        ...
