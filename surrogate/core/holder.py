"""Who holds a lock, and whether that process still lives, seen from here."""

from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

_STATE, _START = 0, 19  # fields of /proc/PID/stat after the command's name: state, start time in clock ticks
_FIRST_NAMESPACE = "pid:[4026531836]"  # of the machine itself, in every Linux kernel (PROC_PID_INIT_INO)


class Presence(StrEnum):
    """What can be said about a holder at once, without watching it."""

    ALIVE = "alive"
    SUSPENDED = "suspended"
    GONE = "gone"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Holder:
    """Who made a claim.

    Attributes:
        token: Number of the claim: the fencing token.
        owner: Command that made it, for people.
        user: Name of the user.
        host: Host name, for people.
        pid: Process.
        start_ticks: Start of the process in clock ticks since boot, so that a pid that is used again is told apart.
        boot_id: Identity of the running kernel; empty where unknown.
        machine: Identity of the installed system; empty where unknown and in containers, which share it.
        namespace: Identity of the pid namespace (containers have their own pids).
        since: When it was made, ISO 8601 in UTC, for people.
        heartbeat_s: Seconds between two heartbeats.
    """

    token: int
    owner: str
    user: str = ""
    host: str = ""
    pid: int = 0
    start_ticks: int = 0
    boot_id: str = ""
    machine: str = ""
    namespace: str = ""
    since: str = ""
    heartbeat_s: float = 5.0

    @classmethod
    def here(cls, owner: str, heartbeat_s: float) -> Holder:
        """Describe this process; the token is set when a claim is made."""
        return cls(
            token=0,
            owner=owner,
            user=os.environ.get("USER") or str(os.getuid()),
            host=socket.gethostname(),
            pid=os.getpid(),
            start_ticks=process_start(os.getpid())[0],
            boot_id=boot_id(),
            machine=machine(),
            namespace=pid_namespace(),
            since=datetime.now(UTC).isoformat(timespec="seconds"),
            heartbeat_s=heartbeat_s,
        )

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Holder:
        """Rebuild a holder from `to_json`.

        Raises:
            TypeError: If the record is not one of `to_json`'s.
            ValueError: If a number is none.
        """
        kinds = {"token": int, "pid": int, "start_ticks": int, "heartbeat_s": float}
        known = [entry.name for entry in fields(cls) if entry.name in record]
        return cls(**{name: kinds.get(name, str)(record[name]) for name in known})

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return asdict(self)

    def numbered(self, token: int) -> Holder:
        """Return the same holder with another token."""
        return replace(self, token=token)

    def describe(self) -> str:
        """Return the holder as the subject of a sentence."""
        if not self.pid:
            return "A process that left no readable record"
        return f"'{self.owner}' (process {self.pid} of user {self.user} on {self.host}, since {self.since})"

    def presence(self) -> Presence:
        """Return whether the process lives; ELSEWHERE when that cannot be seen from here."""
        if self.boot_id and self.boot_id != boot_id():
            rebooted = bool(self.machine) and self.machine == machine() and self.host == socket.gethostname()
            return Presence.GONE if rebooted else Presence.ELSEWHERE
        if not self.pid or not self.boot_id or self.namespace != pid_namespace():
            return Presence.ELSEWHERE
        try:
            start, state = process_start(self.pid)
        except PermissionError:
            return Presence.ELSEWHERE
        except ProcessLookupError:
            start, state = -1, "X"
        if start != self.start_ticks or state in "ZX":
            return Presence.GONE
        return Presence.SUSPENDED if state in "Tt" else Presence.ALIVE

    def way_out(self, presence: Presence) -> str:
        """Return what a person can do, as a sentence."""
        where = "" if presence is not Presence.ELSEWHERE else f" on {self.host or 'its host'}"
        if not self.pid:
            return "End that process, or wait until its heartbeat has stopped, then try again."
        if presence is Presence.SUSPENDED:
            return (
                f"It is suspended: let it go on with 'kill -CONT {self.pid}', or end it with 'kill -KILL {self.pid}', "
                "then try again."
            )
        return f"Wait until it is done, or end it with 'kill -INT {self.pid}'{where}, then try again."


@cache
def boot_id() -> str:
    """Return the identity of the running kernel, or an empty string where there is none."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def machine() -> str:
    """Return the identity of the installed system, or an empty string where it tells no two machines apart."""
    if pid_namespace() != _FIRST_NAMESPACE:
        return ""
    with contextlib.suppress(OSError):
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    return ""


def pid_namespace() -> str:
    """Return the identity of this process's pid namespace, or an empty string where there is none."""
    with contextlib.suppress(OSError):
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - the link leads to no path
    return ""


def process_start(pid: int) -> tuple[int, str]:
    """Return a process's start (clock ticks since boot) and its state (one letter, as ps has it).

    Raises:
        ProcessLookupError: If there is no such process.
        PermissionError: If there is one, and it cannot be looked at.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        os.kill(pid, 0)  # raises ProcessLookupError, or PermissionError where /proc hides other people's processes
        if pid != os.getpid():
            raise PermissionError(f"Process {pid} cannot be looked at.") from None
        return 0, "R"
    words = text.rpartition(")")[2].split()
    return int(words[_START]), words[_STATE]
