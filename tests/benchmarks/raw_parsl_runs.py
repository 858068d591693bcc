"""What a careful user of Parsl alone writes to execute many runs: the peer of `bench_overhead`.

It imports nothing of this project: a Parsl app that makes a fresh folder, writes the program's input, runs the program
with its output in a file, reads the result, and writes it to HDF5 so that a file is whole or absent. The program has no
timeout: with one, `subprocess` looks for its end every 50 ms at worst, and the peer would be slower for nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any


def execute(folder: str, argv: list[str], case: dict[str, Any]) -> dict[str, Any]:
    """Execute one run and return where its file is."""
    import h5py
    import numpy as np

    place = Path(folder)
    place.mkdir(parents=True)
    (place / "input.json").write_text(json.dumps(case))
    begin = time.monotonic()
    with (place / "stdout.txt").open("wb") as log:
        done = subprocess.run(
            argv, cwd=place, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode != 0:
        raise RuntimeError(f"{argv} ended with {done.returncode}")
    seconds = time.monotonic() - begin
    result = json.loads((place / "output.json").read_text())
    part, whole = place / "run.part", place / "run.h5"
    with h5py.File(part, "w") as file:
        for name, value in case["inputs"].items():
            column = file.create_dataset(f"inputs/{name}", data=np.array([value]))
            column.attrs["unit"] = "1"
        for name in ("wave", "level"):
            column = file.create_dataset(f"outputs/{name}", data=np.asarray(result[name]))
            column.attrs["unit"] = "1"
        file["coordinates/k"] = np.arange(float(case["length"]))
        file.attrs["provenance"] = json.dumps({"argv": argv, "seconds": seconds, "host": os.uname().nodename, **case})
    with part.open("rb") as written:
        os.fsync(written.fileno())
    part.replace(whole)
    return {"path": str(whole), "size": whole.stat().st_size, "seconds": seconds}
