"""One part of a large prediction: what is asked of a worker, and the work itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surrogate.core.errors import SurrogateError
from surrogate.design.points_chunks import Chunk, read_chunk

if TYPE_CHECKING:
    from surrogate.inference.predictor import Predictor


@dataclass(frozen=True, slots=True)
class PartTask:
    """One part.

    Attributes:
        artifact: Folder of the surrogate.
        content: Identity of the surrogate's files.
        runtime: What executes its networks.
        points: File of the points.
        names: Names in the header of a table of text; empty for HDF5.
        chunk: The rows.
        target: The part's file.
    """

    artifact: str
    content: str
    runtime: str
    points: str
    names: tuple[str, ...]
    chunk: Chunk
    target: str

    def to_text(self) -> str:
        """Return the task as JSON text."""
        record = {name: getattr(self, name) for name in ("artifact", "content", "runtime", "points", "names", "target")}
        return json.dumps({**record, "chunk": self.chunk.to_json()})

    @classmethod
    def from_text(cls, text: str) -> PartTask:
        """Rebuild a task from `to_text`."""
        record = json.loads(text)
        return cls(**{**record, "names": tuple(record["names"]), "chunk": Chunk(**record["chunk"])})


def predict_part(text: str) -> str:
    """Predict one part and write its file.

    Args:
        text: A `PartTask` as text.

    Returns:
        JSON text: `rows`; or `error` (a sentence) and `exit_code`, when the points or the surrogate cannot be used.
    """
    from surrogate.inference.parts import write_part

    task = PartTask.from_text(text)
    try:
        predictor = _predictor(task.artifact, task.runtime, task.content)
        inputs: Mapping[str, Any] = read_chunk(Path(task.points), task.names, predictor.schema.inputs, task.chunk)
        write_part(Path(task.target), inputs, predictor.predict(inputs))
    except SurrogateError as error:
        return json.dumps({"error": str(error), "exit_code": error.exit_code})
    except OSError as error:
        return json.dumps({"error": f"{task.target} could not be written: {error.strerror or error}.", "exit_code": 1})
    return json.dumps({"rows": task.chunk.stop - task.chunk.start})


@lru_cache(maxsize=2)
def _predictor(artifact: str, runtime: str, content: str) -> Predictor:
    """Return the surrogate; a worker loads it once.

    Raises:
        IntegrityError: If it is not the one that is meant.
    """
    from surrogate.core.errors import IntegrityError
    from surrogate.inference.predictor import Predictor

    predictor = Predictor.load(artifact, runtime=runtime)
    if predictor.artifact.content != content:
        raise IntegrityError(f"The surrogate in {artifact} was changed while it was in use. Give the command again.")
    return predictor
