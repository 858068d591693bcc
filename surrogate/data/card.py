"""The data card: what a dataset holds, what it lacks, and what it is meant for, as JSON.

It says what its reader cannot see in the numbers of a Verdict: counts, ranges and units, coverage, which runs were
refused and where, and what is the same on both sides of the holdout's border (after Gebru et al. 2021, "Datasheets for
datasets"). It holds no time and no host.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.core.identity import canonical
from surrogate.data.coverage import coverage
from surrogate.data.cube import Cube, cube_of
from surrogate.data.dataset import Dataset
from surrogate.data.gaps import computed_gaps
from surrogate.data.missing import failure_place
from surrogate.data.neighbours import THRESHOLD, duplicates
from surrogate.data.quarantine import Refused
from surrogate.data.ranges import column_ranges
from surrogate.data.samples import points
from surrogate.data.split import SPLITS, SplitConfig
from surrogate.design.space import InputSpace

FORMAT_VERSION = 1
NAME = "card.json"
_SHOWN = 50


def build_card(
    dataset: Dataset,
    split: SplitConfig,
    failures: Sequence[Refused] = (),
    quarantined: Sequence[Refused] = (),
    *,
    space: InputSpace | None = None,
    intended_use: str = "",
    known_gaps: Sequence[str] = (),
    near_threshold: float = THRESHOLD,
    admitted: int | None = None,
) -> dict[str, Any]:
    """Describe a dataset.

    Args:
        dataset: The samples.
        split: How they are divided.
        failures: Runs that failed for good before they left anything to admit.
        quarantined: Runs that were refused by admission for good.
        space: The declared input space, if there is one.
        intended_use: What the dataset is meant for, in the campaign's words.
        known_gaps: What it lacks, in the campaign's words; what can be computed is added.
        near_threshold: Largest root mean square difference of near-duplicates, as a share of the inputs' ranges.
        admitted: How many were admitted of what the refused are counted in; the dataset's runs when None.

    Returns:
        A JSON-ready mapping; `known_gaps` and `warnings` in it are sentences.

    Raises:
        IntegrityError: If a shard cannot be read.
    """
    index = dataset.index
    inputs = {column.name: dataset.column(column.name) for column in dataset.schema.inputs}
    asked = points(dataset.schema, inputs, len(dataset))
    cube = cube_of(space, dataset.schema.inputs, asked)
    unit, placed = cube.place(asked)
    assigned = dataset.assigned(split)
    refused = [*failures, *quarantined]
    runs = len(np.unique(index.runs))
    card: dict[str, Any] = {
        "format": "surrogate-data-card",
        "format_version": FORMAT_VERSION,
        "dataset_hash": dataset.hash,
        "samples": len(dataset),
        "runs": runs,
        "intended_use": intended_use,
        "counts": _counts(dataset, split),
        "columns": column_ranges(dataset),
        "coverage": _coverage(index.points[placed], assigned[placed], unit, cube),
        "refused": _refused(failures, quarantined, runs if admitted is None else admitted),
        "failure_place": _failure_place(index.points[placed], unit, refused, cube),
        "duplicates": duplicates(index, assigned, (unit, placed), cube, near_threshold),
        "simulators": _simulators(dataset.provenance().values()),
    }
    gaps = [{"source": "campaign", "sentence": sentence} for sentence in known_gaps]
    gaps += [{"source": "computed", "sentence": sentence} for sentence in computed_gaps(card)]
    card["known_gaps"] = gaps
    card["warnings"] = _warnings(card)
    return card


def _counts(dataset: Dataset, split: SplitConfig) -> dict[str, Any]:
    """Count samples and groups of each split, for each stratum and for all of them."""
    strata = sorted(set(dataset.strata))
    by_stratum = {
        name: {which: {"samples": count.samples, "groups": count.groups} for which, count in counts.items()}
        for name, counts in ((name, dataset.counts(split, name)) for name in strata)
    }
    overall = dataset.counts(split, None)
    return {
        "by_split": {which: {"samples": overall[which].samples, "groups": overall[which].groups} for which in SPLITS},
        "by_stratum": by_stratum,
        "named_groups": len(set(dataset.groups) - {""}),
        "shares": {which: split.share(which) for which in SPLITS},
        "minimum": {"samples": dict(split.minimum), "groups": dict(split.minimum_groups)},
    }


def _first_of_each(names: NDArray[np.str_]) -> NDArray[np.int64]:
    """Return the position of the first sample of each point: samples of one point count once."""
    return np.sort(np.unique(names, return_index=True)[1]).astype(np.int64)


def _coverage(
    names: NDArray[np.str_], split: NDArray[np.int8], unit: NDArray[np.float64], cube: Cube
) -> dict[str, Any]:
    rows = _first_of_each(names)
    record = {"all": coverage(unit[rows], cube)}
    for place, which in enumerate(SPLITS):
        record[which] = coverage(unit[rows[split[rows] == place]], cube)
    return record


def _refused(failures: Sequence[Refused], quarantined: Sequence[Refused], admitted: int) -> dict[str, Any]:
    every = [*failures, *quarantined]
    kinds = Counter(entry.kind for entry in every)
    return {
        "runs": len(every),
        "failed": len(failures),
        "quarantined": len(quarantined),
        "share": len(every) / (len(every) + admitted) if every else 0.0,
        "by_kind": {kind.value: {"runs": count, "budget": kind.budget.value} for kind, count in sorted(kinds.items())},
        "reasons": [
            {
                "run_id": entry.run_id,
                "kind": entry.kind.value,
                "reason": entry.reason,
                "inputs": canonical(entry.inputs),
                "path": entry.path,
            }
            for entry in every[:_SHOWN]
        ],
        "reasons_left_out": max(0, len(every) - _SHOWN),
    }


def _failure_place(
    names: NDArray[np.str_], unit: NDArray[np.float64], refused: Sequence[Refused], cube: Cube
) -> dict[str, Any]:
    failed, placed = cube.place([entry.inputs for entry in refused])
    record = failure_place(failed, unit[_first_of_each(names)], cube)
    record["not_placed"] = len(refused) - len(placed)
    record["points"] = [canonical(refused[place].inputs) for place in placed[:500]]
    return record


def _simulators(provenance: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Count runs by simulator and version, as far as the runs say."""
    counts = Counter(
        (str(record.get("simulator", "")), str(record.get("simulator_version", ""))) for record in provenance
    )
    return [{"simulator": name, "version": version, "runs": runs} for (name, version), runs in sorted(counts.items())]


def _warnings(card: Mapping[str, Any]) -> list[str]:
    warnings: list[str] = []
    place, twins = card["failure_place"], card["duplicates"]
    near = twins["near"]
    if place["clustered"]:
        warnings.append(str(place["sentence"]))
    if twins["same_inputs_across_holdout"]:
        warnings.append(
            f"{twins['same_inputs_across_holdout']} points are in the holdout and outside of it, as their group keys "
            "differ: the Verdict is too good by as much as they count."
        )
    if near["more_than_chance"]:
        warnings.append(
            f"{near['pairs']} holdout samples have a neighbour in train or tune that differs by less than "
            f"{near['threshold']:g} of the inputs' ranges, and {near['pairs_by_chance']:.2g} would by chance: "
            "give related samples one group key."
        )
    versions = [entry for entry in card["simulators"] if entry["version"]]
    if len(versions) > 1:
        names = ", ".join(f"{entry['simulator']} {entry['version']} ({entry['runs']} runs)" for entry in versions)
        warnings.append(f"The samples come from several simulators or versions: {names}.")
    return warnings
