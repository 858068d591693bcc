"""What a search found, as files: a table of triggers, a JSON record, a picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from surrogate.core.errors import MissingExtraError
from surrogate.core.files import atomic_path, write_json
from surrogate.inference.detection.picture import draw
from surrogate.inference.detection.search import Search, summary
from surrogate.inference.detection.triggers import Trigger

TABLE, RECORD, PICTURE = "triggers.csv", "triggers.json", "strain.png"
_COLUMNS = ("gps_s", "statistic", "far_per_s", "far_per_day", "mass_1_solar_mass", "mass_2_solar_mass", "detectors",
            "delay_s", "logits")  # fmt: skip


def write_search(folder: Path, found: Search, far: float | None) -> list[Path]:
    """Write the three files atomically; return their paths. Without matplotlib there is no picture.

    Args:
        folder: Made when missing.
        found: What the search found.
        far: Largest false-alarm rate of what is listed, 1/s; None for all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / TABLE, folder / RECORD]
    _write_table(paths[0], found.significant(far))
    write_json(paths[1], summary(found, far))
    try:
        with atomic_path(folder / PICTURE) as temporary:
            draw(found, temporary)
    except MissingExtraError:
        return paths
    return [*paths, folder / PICTURE]


def _write_table(path: Path, triggers: Sequence[Trigger]) -> None:
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for entry in triggers:
            rate = "" if entry.far is None else f"{entry.far:.6g}"
            day = "" if entry.far is None else f"{entry.far * 86400.0:.6g}"
            delay = "" if entry.delay is None else f"{entry.delay:.6f}"
            writer.writerow(
                [
                    f"{entry.gps:.6f}", f"{entry.statistic:.6g}", rate, day, f"{entry.mass_1:.6g}",
                    f"{entry.mass_2:.6g}", entry.detectors, delay, " ".join(f"{one:.6g}" for one in entry.logits),
                ]
            )  # fmt: skip
