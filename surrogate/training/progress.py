"""Progress of a training as lines of JSON, for whoever watches: appended by rank 0, read by the driver.

Events: `started`, `pace` (what a step costs on all ranks and on one), `member` (a member begins), `epoch` (losses and
learning rate after some steps), `member_finished`, `checkpoint`, `finished`, and with a sentence for a person
`checkpoint_refused` (a damaged one was passed over), `shortened` (fewer epochs, to end in time), `advice` (what would
train faster), `failed` and `drained`.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from surrogate.core.errors import TrainingError

NAME = "progress.jsonl"
TOLD_AT_ONCE = frozenset({"checkpoint_refused", "shortened", "advice"})
"""Events whose sentence a person is told while the training goes on."""
DISK_FULL = 74
"""Exit status of a training that met a full disk (EX_IOERR)."""


class ProgressLog:
    """Appends events; every line is written in one piece and flushed.

    Attributes:
        folder: Where it stands.
    """

    def __init__(self, folder: Path | None) -> None:
        """Open the log.

        Args:
            folder: Where `progress.jsonl` is, or None to write nothing, as on every rank but the first.
        """
        self.folder = folder or Path()
        self._path = folder / NAME if folder is not None else None
        self._began = time.monotonic()

    def write(self, event: str, **facts: Any) -> None:
        """Append one event with the seconds since the log was opened.

        Raises:
            OSError: If the disk refuses.
        """
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"event": event, "seconds": round(time.monotonic() - self._began, 3), **facts}) + "\n"
        with self._path.open("ab") as log:
            log.write(line.encode())


def read_progress(folder: Path, offset: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return the events behind an offset, and where to read on.

    A last line that is not yet whole is left for the next call; a line that is no JSON is passed over.

    Args:
        folder: The training's folder.
        offset: Bytes that were read before.
    """
    path = folder / NAME
    if not path.is_file():
        return [], offset
    with path.open("rb") as log:
        log.seek(offset)
        content = log.read()
    whole = content[: content.rfind(b"\n") + 1]
    events = []
    for line in whole.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events, offset + len(whole)


def explain(folder: Path, returncode: int) -> TrainingError:
    """Return the error, as sentences, of a training program that ended without an artifact.

    Args:
        folder: The training's folder.
        returncode: Exit status of the launcher; negative for a signal.
    """
    events, _ = read_progress(folder)
    # What an earlier attempt said does not explain this one.
    starts = [place for place, event in enumerate(events) if event["event"] == "started"]
    events = events[starts[-1] :] if starts else events
    failed = [event for event in events if event["event"] == "failed"]
    if failed:
        return TrainingError(str(failed[-1].get("sentence", "The training failed.")))
    if returncode == DISK_FULL:
        return TrainingError(
            f"The training could not write below {folder}: the disk is full, or your quota is used up. Its earlier "
            "checkpoints are kept. Make room, then resume."
        )
    how = f"was ended by signal {-returncode}" if returncode < 0 else f"ended with status {returncode}"
    epochs = [event for event in events if event["event"] == "epoch"]
    where = "before its first epoch"
    if epochs:
        where = f"after epoch {epochs[-1].get('epoch')} of member {epochs[-1].get('member')}"
    saved = any(event["event"] in ("checkpoint", "member_finished") for event in events)
    way_on = "it goes on from its last checkpoint" if saved else "it begins again, as no checkpoint was written yet"
    return TrainingError(
        f"The training {how} {where}, without a word of its own: one of its ranks was killed or its node was lost. "
        f"Start it again with `surrogate resume`: {way_on}. Its output is in {folder / 'log.txt'}."
    )
