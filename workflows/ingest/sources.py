"""The files that are to be ingested, and the names of what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from surrogate.core.errors import DataError
from surrogate.core.files import sha256_file
from surrogate.core.identity import digest
from surrogate.data.readers.protocol import Piece, SourceError
from workflows.ingest.layout import Layout

_ENDINGS = 5
"""Endings of unread files that are named."""


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


def find_files(
    paths: Iterable[Path], suffixes: tuple[str, ...], tell: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Return the files that are meant, each once, in order; folders are searched for files of the reader's endings.

    Args:
        paths: Files, and folders of files.
        suffixes: The reader's endings, lower case.
        tell: Is given a sentence for every folder that has further files.

    Raises:
        DataError: If a path does not exist, or a folder has no such file.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            every = sorted(entry for entry in path.rglob("*") if entry.is_file())
            inside = [entry for entry in every if entry.suffix.lower() in suffixes]
            others = Counter(_ending(entry) for entry in every if entry.suffix.lower() not in suffixes)
            told = ", ".join(f"{count:,} {ending}" for ending, count in others.most_common(_ENDINGS))
            told += ", …" if len(others) > _ENDINGS else ""
            if not inside:
                raise DataError(
                    f"The folder {path} has no file whose name ends in {', '.join(suffixes)}"
                    f"{f'; it has {told}' if told else ''}. Name the files themselves, or correct 'format' in the "
                    "mapping."
                )
            if others:
                tell(
                    f"{others.total():,} files of {path} are not read, as their names do not end in "
                    f"{', '.join(suffixes)}: {told}. A file that is named itself is read whatever its ending."
                )
            found.update(dict.fromkeys(entry.absolute() for entry in inside))
        elif path.is_file():
            found[path.absolute()] = None
        else:
            raise DataError(f"{path} does not exist, or is no file and no folder.")
    return list(found)


def _ending(path: Path) -> str:
    return path.suffix.lower() or "without an ending"


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
