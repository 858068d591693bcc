"""A wall clock that can be set back for some processes: a small library that is loaded before all others.

The machine's own clock belongs to everybody on it. The library shifts what processes are told; the times of files are
the kernel's and stay. Code that compares the two sees them differ, as it would on a file server with another clock.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).with_name("set_clock.c")
COMPILERS = ("cc", "gcc", "g++")


@dataclass
class Clock:
    """The clock of whatever is started with its environment.

    Attributes:
        folder: Keeps the library and the shift.
        shift: Seconds by which the clock differs from the machine's.
    """

    folder: Path
    shift: int = 0

    def __post_init__(self) -> None:
        """Build the library.

        Raises:
            FileNotFoundError: If there is no C compiler.
        """
        compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
        if compiler is None:
            raise FileNotFoundError("There is no C compiler: none of " + ", ".join(COMPILERS))
        self.folder.mkdir(parents=True, exist_ok=True)
        line = [compiler, "-x", "c", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(SOURCE), "-ldl"]
        subprocess.run(line, check=True)
        self.set(self.shift)

    @property
    def _library(self) -> Path:
        return self.folder / "set_clock.so"

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the processes that are to have this clock."""
        return {"LD_PRELOAD": str(self._library), "CLOCK_SHIFT": str(self.folder / "shift")}

    def set(self, shift: int) -> None:
        """Set the clock, for all processes at once."""
        self.shift = shift
        path = self.folder / "shift"
        if not path.exists():
            path.write_bytes(struct.pack("=q", shift))
        with path.open("r+b") as target:  # in place: the file is mapped
            target.write(struct.pack("=q", shift))
