"""What can be seen of this machine: free ports, and what processes are and descend from."""

from __future__ import annotations

import secrets
import socket
from pathlib import Path

from surrogate.core.proctable import process_table


def bound_socket() -> socket.socket:
    """Return a socket on a free port below those that the system gives to outgoing connections."""
    while True:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", 12_000 + secrets.randbelow(20_000)))
        except OSError:
            one.close()
        else:
            return one


def environment_of(pid: int) -> list[bytes]:
    """Return the environment of a process as `NAME=value`; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def command_of(pid: int) -> str:
    """Return the command line of a process; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def with_ancestors(pid: int) -> set[int]:
    """Return a process and all that it descends from."""
    table, found = process_table(), {pid}
    while pid in table:
        pid = table[pid].parent
        found.add(pid)
    return found
