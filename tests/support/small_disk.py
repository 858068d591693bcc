"""A small disk of one's own that can be filled and emptied: a tmpfs, which only root may mount."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
BALLAST = ".ballast"


@dataclass(frozen=True)
class SmallDisk:
    """A mounted tmpfs.

    Attributes:
        folder: Where it is mounted.
    """

    folder: Path

    @property
    def free(self) -> int:
        """Bytes that are free."""
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize

    def fill(self, leave: int = 0) -> int:
        """Take all room but `leave` bytes; return how many bytes are left."""
        with (self.folder / BALLAST).open("ab") as sink:
            size = sink.seek(0, os.SEEK_END)
            take = max(0, self.free - leave) // PAGE * PAGE
            if take:
                os.posix_fallocate(sink.fileno(), size, take)
        return self.free

    def empty(self) -> None:
        """Give the room back."""
        (self.folder / BALLAST).unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[SmallDisk]:
    """Mount a disk at `folder`; what stood there is on it, and comes back to the folder at the end.

    Args:
        folder: Where; made when missing.
        size: Bytes.

    Raises:
        PermissionError: If this process may not mount.
    """
    folder.mkdir(parents=True, exist_ok=True)
    aside = folder.parent.with_name(f"{folder.parent.name}.{folder.name}.aside")
    folder.rename(aside)
    folder.mkdir()
    options = f"size={size},mode=700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        folder.rmdir()
        aside.rename(folder)
        raise PermissionError(f"A tmpfs cannot be mounted: {mounted.stderr.strip()}")
    try:
        shutil.copytree(aside, folder, dirs_exist_ok=True)
        shutil.rmtree(aside)
        yield SmallDisk(folder)
    finally:
        if not aside.exists():
            shutil.copytree(folder, aside)
        (aside / BALLAST).unlink(missing_ok=True)
        # Lazily: a process that still has a file open there may not keep it for ever.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
        folder.rmdir()
        aside.rename(folder)
