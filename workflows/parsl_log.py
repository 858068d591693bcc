"""What Parsl says in the driver's process, kept in a folder with the logs of its last few sessions."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

KEPT = 5
NAME = "driver.log"


class ParslLog:
    """Sends Parsl's warnings to a file while it is open, and drops the logs of old sessions."""

    def __init__(self, folder: Path) -> None:
        """Open nothing yet.

        Args:
            folder: Where Parsl makes a numbered folder for each of its sessions.
        """
        self._folder = folder
        self._handler: logging.Handler | None = None

    def open(self) -> None:
        """Begin; warnings only, as Parsl writes several lines for each task."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._drop_old()
        self._handler = logging.FileHandler(self._folder / NAME, delay=True)
        self._handler.setLevel(logging.WARNING)
        self._handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s %(message)s"))
        logger = logging.getLogger("parsl")
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.addHandler(self._handler)

    def close(self) -> None:
        """End; closing again does nothing."""
        if self._handler is not None:
            logging.getLogger("parsl").removeHandler(self._handler)
            self._handler.close()
        self._handler = None

    def _drop_old(self) -> None:
        """Keep the logs of the last few sessions."""
        folders = sorted(path for path in self._folder.iterdir() if path.is_dir() and path.name.isdigit())
        for folder in folders[: -(KEPT - 1)]:
            shutil.rmtree(folder, ignore_errors=True)
