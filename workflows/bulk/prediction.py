"""A file of points becomes a file of predictions: the same bytes on one core or on many nodes, interrupted or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from site_configs.site import Site
from surrogate.core.errors import DataError, Interrupted
from surrogate.core.files import same_file, sha256_file
from surrogate.core.identity import digest
from surrogate.core.schema import Schema, Values
from surrogate.design.points_chunks import PointsFile, look_over, read_chunk
from surrogate.inference.bounds import add_counts, beyond_bounds
from surrogate.inference.outputs import SUFFIXES, check_table, open_output
from surrogate.inference.parts import FORMAT_VERSION
from surrogate.inference.predictor import Predictor
from surrogate.models.protocols import Prediction
from workflows.bulk.parts_folder import PartsFolder
from workflows.bulk.spread import spread
from workflows.progress import Progress
from workflows.stopping import Stopping

CHUNK_BYTES = 32 * 2**20
CHUNK_ROWS = 65536


@dataclass(frozen=True, slots=True)
class Predicted:
    """What came of predicting a file.

    Attributes:
        rows: Points.
        outside: Those of them outside the domain.
        adopted: Parts that an earlier call had finished.
        output: The file.
        beyond: Output → points whose answer breaks the output's declared bounds (see `beyond_bounds`).
    """

    rows: int
    outside: int
    adopted: int
    output: Path
    beyond: dict[str, int]


def rows_that_fit(schema: Schema) -> int:
    """Return how many rows a chunk has when nobody says it: as many as fit into some ten MiB."""
    sizes = {column.name: max(1, abs(int(np.prod(column.shape, dtype=np.int64)))) for column in schema.columns}
    wide = sum(sizes[column.name] for column in schema.inputs) + 4 * sum(sizes[c.name] for c in schema.outputs)
    return max(1, min(CHUNK_ROWS, CHUNK_BYTES // (8 * wide + 1)))


def predict_file(
    predictor: Predictor,
    points: Path,
    output: Path,
    *,
    facts: dict[str, str],
    rows_per_chunk: int | None = None,
    site: Site | None = None,
    runtime: str = "onnx",
    progress: Progress,
    stopping: Stopping | None = None,
) -> Predicted:
    """Predict all points of a file; memory does not grow with their number.

    On a site the rows are shared among workers, and every finished part is kept beside the output until all are there:
    the same command goes on where it was interrupted, whatever ended it.

    Args:
        predictor: The surrogate.
        points: `.csv` or `.h5`, one column an input.
        output: `.csv` or `.h5`.
        facts: What else is written into the file.
        rows_per_chunk: Rows that are predicted together; as many as fit when None.
        site: Where the workers are; None to predict in this process.
        runtime: What executes the networks on workers.
        progress: What a person is told.
        stopping: Whether somebody asked to stop.

    Raises:
        DataError: If points or output cannot be used.
        SiteError: If the site's workers cannot work, or get lost again and again.
        LockError: If somebody else is writing the same output.
        Interrupted: If somebody asked to stop.
    """
    schema = predictor.schema
    _check_output(output, schema, points)
    found = look_over(points, schema.inputs, rows_per_chunk or rows_that_fit(schema))
    stopping = stopping or Stopping()
    with stopping.listening():
        progress.stage("predict", len(found.chunks))
        if site is None:
            answers = _here(predictor, found, progress, stopping)
            return _written(output, schema, facts, answers, adopted=0)
        key = digest(
            "prediction", predictor.artifact.content, predictor.runtime, sha256_file(points), points.suffix.lower(),
            [len(found.chunks), found.chunks[0].stop], FORMAT_VERSION,
        )  # fmt: skip
        with PartsFolder.open(output, key, tell=progress.say) as folder:
            adopted = spread(predictor, found, folder, site=site, runtime=runtime, progress=progress, stopping=stopping)
            progress.stage("assemble", len(found.chunks))
            answers = folder.read(schema, len(found.chunks), progress, stopping)
            done = _written(output, schema, facts, answers, adopted=adopted)
            folder.remove()
            return done


def _check_output(output: Path, schema: Schema, points: Path) -> None:
    """Refuse an output before anything is predicted.

    Raises:
        DataError: If its name says no known kind, a `.csv` cannot hold it, it is the file of the points or a folder, or
            its folder does not exist.
    """
    if same_file(output, points):
        raise DataError(
            f"{output} is the file of the points itself, which would be lost. Name another file with --output."
        )
    if output.is_dir():
        raise DataError(f"{output} is a folder, and the predictions are one file. Name a file with --output.")
    if output.suffix not in SUFFIXES:
        raise DataError(f"Predictions are written as .csv or .h5, and {output.name} was asked for.")
    if output.suffix == ".csv":
        check_table(schema)
    if not output.absolute().parent.is_dir():
        raise DataError(f"The folder {output.absolute().parent} for {output.name} does not exist.")


def _here(
    predictor: Predictor, found: PointsFile, progress: Progress, stopping: Stopping
) -> Iterator[tuple[dict[str, Values], Prediction]]:
    """Yield inputs and answers of chunk after chunk, predicted in this process."""
    for number, chunk in enumerate(found.chunks, 1):
        if stopping.event.is_set():
            raise Interrupted("The prediction was interrupted; nothing was written.")
        inputs: dict[str, Values] = dict(read_chunk(found.path, found.names, predictor.schema.inputs, chunk))
        yield inputs, predictor.predict(inputs)
        progress.update(number)


def _written(
    output: Path,
    schema: Schema,
    facts: dict[str, str],
    answers: Iterator[tuple[dict[str, Values], Prediction]],
    *,
    adopted: int,
) -> Predicted:
    """Write answers as they come; the file appears when all are there."""
    rows = outside = 0
    beyond: dict[str, int] = {}
    with open_output(output, schema, facts) as writer:
        for inputs, prediction in answers:
            writer.append(inputs, prediction)
            rows += len(prediction.in_domain)
            outside += int((~prediction.in_domain).sum())
            beyond = add_counts(beyond, beyond_bounds(schema, prediction))
    return Predicted(rows, outside, adopted, output, beyond)
