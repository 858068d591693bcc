"""Environments of programs that this one is compared with: made once from their lock, found afterwards."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.form import progress

ROOT = Path(__file__).resolve().parents[3]


def peer_python(name: str) -> Path:
    """Return the Python of a peer's environment, made from `requirements/peers-NAME.txt` where it is not there yet.

    It lies in `$SURROGATE_PEERS`, else in `peers` of the folder for temporary files.

    Args:
        name: `waveforms`, for example.

    Raises:
        SystemExit: If it cannot be made.
    """
    base = Path(os.environ.get("SURROGATE_PEERS") or Path(tempfile.gettempdir()) / "peers")
    folder = base / {"waveforms": "waves-venv"}.get(name, f"{name}-venv")
    lock = ROOT / "requirements" / f"peers-{name}.txt"
    stamp = folder / f".lock-{hashlib.sha256(lock.read_bytes()).hexdigest()[:16]}"
    python = folder / "bin" / "python"
    if stamp.exists():
        return python
    progress(f"making {folder} from {lock.name}")
    uv = Path(sys.executable).with_name("uv")
    environment = {**os.environ, **_mirror()}
    for words in (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder],
        [uv, "--no-config", "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", lock],
    ):
        done = subprocess.run([str(word) for word in words], env=environment, check=False)
        if done.returncode:
            raise SystemExit(
                f"The environment of {lock.name} cannot be made in {folder}; uv ended with {done.returncode}."
            )
    stamp.touch()
    return python


def _mirror() -> dict[str, str]:
    """Return the site's mirror of packages, which pip's settings know and uv's do not."""
    if os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL"):
        return {}
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    found = os.environ.get("PIP_INDEX_URL") or asked.stdout.strip()
    return {"UV_DEFAULT_INDEX": found} if found else {}
