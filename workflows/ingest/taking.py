"""Going through sources piece by piece: what is known already is left out, the rest is read, judged and handed on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from surrogate.data.readers.protocol import Piece, SourceError
from workflows.ingest.layout import Layout
from workflows.ingest.reasons import Reasons
from workflows.ingest.sift import RefusedSamples, Sifted, sift
from workflows.ingest.sources import SourceFile, name_sources
from workflows.plan import Plan

_WHOLE = Piece(0, 1)


@dataclass(slots=True)
class Tally:
    """What became of the sources.

    Attributes:
        files: Files that were gone through.
        taken: Samples that were taken.
        known: Samples that were there already.
        refused_before: Samples that an earlier ingest had refused, and that were not read again.
        refused: Samples that were refused; a file that cannot be read counts as one.
        left_out: Files whose content is in the dataset by another mapping.
        refusals: Why, equal sentences together.
        kinds: Kind → samples refused.
        contents: File → identity of its content, of those that have one.
    """

    files: int = 0
    taken: int = 0
    known: int = 0
    refused_before: int = 0
    refused: int = 0
    left_out: int = 0
    refusals: Reasons = field(default_factory=Reasons)
    kinds: dict[str, int] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict, repr=False)

    def refuse(self, path: Path, entry: RefusedSamples) -> None:
        """Count refused samples."""
        self.refused += entry.samples
        self.kinds[entry.kind.value] = self.kinds.get(entry.kind.value, 0) + entry.samples
        self.refusals.add(path, entry.row, entry.samples, entry.kind.value, entry.reason)

    def leave_out(self, path: Path) -> None:
        """Count a file that is in the dataset by another mapping."""
        self.left_out += 1
        sentence = (
            "It was ingested by another mapping before, and a dataset does not hold the same data twice: begin a new "
            "working directory for the new mapping."
        )
        self.refusals.add(path, None, 1, "known", sentence)

    @property
    def reasons(self) -> list[dict[str, Any]]:
        """The different sentences (see `Reasons.entries`)."""
        return self.refusals.entries()

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "files": self.files, "samples_taken": self.taken, "samples_known": self.known,
            "samples_refused_before": self.refused_before, "samples_refused": self.refused,
            "files_left_out": self.left_out, "refused_by_kind": dict(self.kinds), "reasons": self.reasons,
        }  # fmt: skip


class Sink(Protocol):
    """Where judged pieces go."""

    def known(self, source: SourceFile, piece: Piece) -> int | None:
        """Return how many samples are known of a piece that needs no reading, or None when it must be read."""
        ...

    def put(self, source: SourceFile, piece: Piece, sifted: Sifted) -> None:
        """Take in a judged piece."""
        ...

    def unreadable(self, path: Path, source: SourceFile | None, refused: RefusedSamples) -> None:
        """Take in that a file cannot be read."""
        ...


def go_through(
    paths: Iterable[Path],
    layout: Layout,
    plan: Plan,
    sink: Sink,
    *,
    elsewhere: Collection[str] = (),
    progress: Callable[[Tally], None] = lambda _: None,
    stop: threading.Event | None = None,
) -> Tally | None:
    """Read, judge and hand on all samples of all files.

    Args:
        paths: The files.
        layout: How they are read.
        plan: Columns and inputs of the campaign.
        sink: Where they go.
        elsewhere: `SourceFile.content` of what the dataset holds by another mapping.
        progress: Called after every file.
        stop: Set it to leave between two pieces.

    Returns:
        What became of them; None when it was stopped.
    """
    tally = Tally()
    for named in name_sources(paths, layout):
        tally.files += 1
        if isinstance(named, SourceFile):
            tally.contents[str(named.path)] = named.content
            if named.content in elsewhere:
                tally.leave_out(named.path)
            elif not _take(named, layout, plan, sink=sink, tally=tally, stop=stop):
                return None
        else:
            path, error = named
            _refuse_file(path, None, error, sink, tally)
        progress(tally)
        if stop is not None and stop.is_set():
            return None
    return tally


def _take(
    source: SourceFile, layout: Layout, plan: Plan, *, sink: Sink, tally: Tally, stop: threading.Event | None
) -> bool:
    """Go through one file; return False when it was stopped."""
    try:
        with layout.reader.open(source.path, layout.options) as opened:
            for piece in opened.pieces:
                if stop is not None and stop.is_set():
                    return False
                known = sink.known(source, piece)
                if known is not None:
                    tally.known += known
                    tally.refused_before += piece.rows - known
                    continue
                try:
                    block = opened.read(piece, plan.schema)
                except SourceError as error:
                    refused = RefusedSamples(None, piece.rows, error.kind, str(error), {})
                    sifted = Sifted(None, tuple(range(piece.start, piece.stop)), (refused,))
                else:
                    sifted = sift(block, piece, plan.schema, plan.space)
                sink.put(source, piece, sifted)
                tally.taken += sifted.samples
                for entry in sifted.refused:
                    tally.refuse(source.path, entry)
    except SourceError as error:
        _refuse_file(source.path, source, error, sink, tally)
    return True


def _refuse_file(path: Path, source: SourceFile | None, error: SourceError, sink: Sink, tally: Tally) -> None:
    refused = RefusedSamples(None, _WHOLE.rows, error.kind, str(error), {})
    sink.unreadable(path, source, refused)
    tally.refuse(path, refused)


class DrySink:
    """Keeps nothing.

    Attributes:
        runs: Run id → samples of what is in the working directory already.
    """

    def __init__(self, runs: Mapping[str, int] = {}) -> None:
        """Take what is known."""
        self.runs = dict(runs)

    def known(self, source: SourceFile, piece: Piece) -> int | None:
        """Return how many samples are known (see `Sink.known`); a file that comes twice is known the second time."""
        run = source.run_id(piece)
        if run in self.runs:
            return self.runs[run]
        self.runs[run] = piece.rows
        return None

    def put(self, source: SourceFile, piece: Piece, sifted: Sifted) -> None:
        """Remember how many samples a piece has (see `Sink.put`)."""
        self.runs[source.run_id(piece)] = sifted.samples

    def unreadable(self, path: Path, source: SourceFile | None, refused: RefusedSamples) -> None:
        """Do nothing (see `Sink.unreadable`)."""
