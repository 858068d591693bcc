"""Requests that other commands leave for the holder of a campaign: each is journalled exactly once, then acted on.

Only the holder of the lock writes the journal, so `cancel`, `stop` or `approve` leave a file. The holder takes it:
the request is journalled and durable before its file is removed, and a file whose request is journalled already is
only removed. What is journalled and not done yet is in the journal's state, also after the holder was killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surrogate.core.errors import IntegrityError, SurrogateError
from surrogate.core.files import read_json, write_json
from surrogate.core.storage import storage_error
from workflows.journal import Journal

STOP = "stop"
LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody asked of the holder.

    Attributes:
        id: Unique; sorts by time.
        kind: What is asked, for example `stop`.
        values: JSON-ready particulars.
        user: Who asked.
        host: From where.
    """

    id: str
    kind: str
    values: dict[str, Any]
    user: str = ""
    host: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping without the id."""
        return {"kind": self.kind, "values": self.values, "user": self.user, "host": self.host}

    @classmethod
    def from_json(cls, request_id: str, record: dict[str, Any]) -> Request:
        """Rebuild a request.

        Raises:
            KeyError, TypeError: If the record is none of `to_json`'s.
        """
        return cls(request_id, str(record["kind"]), dict(record["values"]), str(record["user"]), str(record["host"]))


def leave_request(folder: Path, kind: str, **values: Any) -> Request:
    """Leave a request for the holder of the campaign.

    Args:
        folder: The campaign's folder of requests; made when missing.
        kind: What is asked.
        **values: JSON-ready particulars.

    Raises:
        StorageError: If the disk is full or refuses; nothing was asked then.
    """
    name = f"{time.time_ns():020d}-{uuid.uuid4().hex[:12]}"
    user = os.environ.get("USER") or str(os.getuid())
    request = Request(name, kind, values, user, socket.gethostname())
    path = folder / f"{name}.json"
    try:
        write_json(path, request.to_json())
    except OSError as error:
        raise storage_error(path, error) from error
    return request


def take_requests(folder: Path, journal: Journal) -> list[Request]:
    """Journal all requests that were left and return those that are not done, oldest first.

    After acting on one, append `{"event": "request.done", "id": request.id}`. A request whose file is damaged is set
    aside and told in the state's notes.

    Args:
        folder: The campaign's folder of requests.
        journal: Open for writing.

    Raises:
        LockError, StorageError: As `Journal.commit`; the files stay then.
    """
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    taken: list[Path] = []
    for path in paths:
        if path.stem in journal.state.requests_seen:
            taken.append(path)
            continue
        try:
            request = Request.from_json(path.stem, read_json(path))
        except (IntegrityError, KeyError, TypeError, ValueError) as error:
            aside = path.with_suffix(".damaged")
            journal.append(
                {
                    "event": "request.refused",
                    "id": path.stem,
                    "reason": f"The request {path} cannot be read and was set aside as {aside.name} ({error!r}). "
                    "Ask again.",
                }
            )
            path.rename(aside)
            continue
        journal.append({"event": "request.taken", "id": request.id, "request": request.to_json()})
        taken.append(path)
    if paths:
        journal.commit()
    for path in taken:
        path.unlink(missing_ok=True)
    return [Request.from_json(name, record) for name, record in journal.state.requests.items()]


@contextlib.contextmanager
def serving(folder: Path, journal: Journal, tell: Callable[[str], None], every_s: float = LOOK_S) -> Iterator[None]:
    """Take requests and act on them for as long as the context lasts.

    A request to stop reaches the campaign as SIGTERM does. What is asked and not known here is refused in the journal.

    Args:
        folder: The campaign's folder of requests.
        journal: Open for writing.
        tell: Is given a sentence about each request.
        every_s: Seconds between two looks.
    """
    over = threading.Event()
    for request in take_requests(folder, journal):
        if request.kind == STOP:  # it was meant for an earlier driver, which has ended
            journal.append({"event": "request.done", "id": request.id})

    def serve() -> None:
        while not over.wait(every_s):
            try:
                asked = take_requests(folder, journal)
                for request in asked:
                    _answer(request, journal, tell)
            except (OSError, SurrogateError):
                continue  # a disk that refuses, or a lost lock: whoever commits next tells

    thread = threading.Thread(target=serve, name="requests", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _answer(request: Request, journal: Journal, tell: Callable[[str], None]) -> None:
    """Act on one request; it is journalled as done first, so that the next driver is not stopped by it, too."""
    asker = f"{request.user} on {request.host}"
    if request.kind == STOP:
        journal.append({"event": "request.done", "id": request.id})
        journal.commit()
        tell(f"{asker} asked the campaign to stop.")
        os.kill(os.getpid(), signal.SIGTERM)
        return
    sentence = f"{asker} asked for '{request.kind}', which this program does not know; nothing was done."
    journal.append({"event": "request.done", "id": request.id})
    journal.append({"event": "request.refused", "id": request.id, "reason": sentence})
    tell(sentence)
