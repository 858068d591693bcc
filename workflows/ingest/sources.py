"""The files that are to be ingested, and the names of what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import DataError
from surrogate.core.files import sha256_file
from surrogate.core.identity import digest
from surrogate.data.readers.protocol import Piece, SourceError
from workflows.ingest.layout import Layout


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file.

    Attributes:
        path: Absolute path.
        sha256: Hash of its bytes (hex, 64 characters).
        tags: What is taken from its name.
        layout: Identity of the mapping.
    """

    path: Path
    sha256: str
    tags: Mapping[str, str]
    layout: str

    @property
    def content(self) -> str:
        """Identity of what is in the file, whatever the mapping (hex, 64 characters)."""
        return digest("source", self.sha256, dict(self.tags))

    def run_id(self, piece: Piece | None, row: int | None = None) -> str:
        """Return the identity of the run that a piece becomes, of a refused sample, or of a file without pieces.

        Args:
            piece: Rows of the file; None for a file that cannot be read.
            row: Number of a refused sample in the file, or −1 for the rest of a piece's refused samples.
        """
        rows = [] if piece is None else [piece.start, piece.stop, *([] if row is None else [row])]
        return digest("ingested", self.content, self.layout, rows)[:32]


def find_files(paths: Iterable[Path], suffixes: tuple[str, ...]) -> list[Path]:
    """Return the files that are meant, each once, in order; folders are searched for files of the reader's endings.

    Raises:
        DataError: If a path does not exist, or a folder has no such file.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(entry for entry in path.rglob("*") if entry.suffix.lower() in suffixes and entry.is_file())
            if not inside:
                raise DataError(
                    f"The folder {path} has no file whose name ends in {', '.join(suffixes)}. Name the files "
                    "themselves, or correct 'format' in the mapping."
                )
            found.update(dict.fromkeys(entry.absolute() for entry in inside))
        elif path.is_file():
            found[path.absolute()] = None
        else:
            raise DataError(f"{path} does not exist, or is no file and no folder.")
    return list(found)


def name_sources(paths: Iterable[Path], layout: Layout) -> Iterator[SourceFile | tuple[Path, SourceError]]:
    """Yield every file with its identity, or with the reason why it has none."""
    for path in paths:
        try:
            tags = layout.reader.tags(path, layout.options)
            yield SourceFile(path, sha256_file(path), tags, layout.digest)
        except SourceError as error:
            yield path, error
        except OSError as error:
            yield path, SourceError(f"{path} cannot be read: {error.strerror or error}.")
