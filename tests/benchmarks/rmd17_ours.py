"""Our side of the benchmark on rMD17, in a process of its own, so that it has one thread and its own clock.

python -m tests.benchmarks.rmd17_ours FAMILY IN.npz OUT FOLDER SECONDS OPTIONS.json
"""

from __future__ import annotations

import json
import os
import sys
import time

BEGUN = time.perf_counter()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections.abc import Mapping  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from surrogate.core.molecules import molecule_table  # noqa: E402
from surrogate.core.schema import SampleTable  # noqa: E402
from surrogate.core.structure import Structure  # noqa: E402
from surrogate.inference.predictor import Predictor  # noqa: E402
from surrogate.models.catalog import family  # noqa: E402
from surrogate.training import distributed  # noqa: E402
from surrogate.training.config import TrainConfig  # noqa: E402
from surrogate.training.group import Single  # noqa: E402
from surrogate.training.job import TrainingJob  # noqa: E402
from surrogate.training.prepare import Prepared, parse_options  # noqa: E402
from surrogate.training.program import train_prepared  # noqa: E402
from surrogate.training.progress import ProgressLog  # noqa: E402

_RESERVE_S = 2.0


def table(given: Mapping[str, Any], name: str) -> SampleTable:
    """Return one split as samples."""
    structures = [Structure.of(given["species"], places) for places in given[f"{name}_positions"]]
    return molecule_table(structures, given[f"{name}_energies"], list(given[f"{name}_forces"]), "PBE/def2-SVP")


def main() -> None:
    """Train, predict the test frames, write both."""
    kind, source, target, folder, seconds, text = sys.argv[1:]
    given, settings = np.load(source), json.loads(text)
    chosen = family(kind)
    options = parse_options(chosen, settings["options"])
    distributed.prepare_environment(45, 1)
    distributed.use_cores(1, 0, 0)
    train, tune = table(given, "train"), table(given, "tune")
    transforms = chosen.fit(train, options, 0)
    rows, tune_rows = chosen.rows(transforms, train), chosen.rows(transforms, tune)
    ready = Prepared(
        family=chosen, options=options, dataset_hash="", train=train, tune=tune, exam=tune, transforms=transforms,
        rows=rows, tune_rows=tune_rows,
    )  # fmt: skip
    left = float(seconds) - (time.perf_counter() - BEGUN) - _RESERVE_S
    config = TrainConfig(**{**settings["train"], "max_seconds": max(left, 1.0)})
    job = TrainingJob(dataset="", split={}, family=kind, options=settings["options"], train=config, out=folder)
    train_prepared(job, ready, Single(), ProgressLog(Path(folder)), lambda: False, begun=BEGUN)
    record = json.loads((Path(folder) / "artifact" / "surrogate.json").read_text())
    test = table(given, "test")
    said = Predictor.load(Path(folder) / "artifact").predict(test.inputs)
    np.savez(target, energies=said.mean["energy"], forces=said.mean["forces"].data.reshape(len(test), -1, 3))
    losses = record["training"]["losses"][0]
    facts = {
        "seconds": record["training"]["seconds"],
        "epochs": losses["epoch"][-1] if losses["epoch"] else 0,
        "parameters": record["training"]["parameters"],
    }
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    main()
