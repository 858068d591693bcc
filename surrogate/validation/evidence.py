"""A Validation on disk, so that a report can be written again without another look at the holdout."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from surrogate.core.errors import IntegrityError
from surrogate.core.files import write_bytes
from surrogate.core.schema import Ragged, SampleTable, Schema, Values
from surrogate.data.columns import read_values, write_array
from surrogate.data.quick_hdf5 import group, groups
from surrogate.data.sealed import open_sealed, sealed_bytes
from surrogate.models.protocols import Prediction
from surrogate.validation.holdout import Consultations
from surrogate.validation.metrics import CoverageCurve, Extreme, Metric
from surrogate.validation.validation import BaselineResult, StratumResult, Validation

KIND = "validation"
FORMAT = 1
_WAY_OUT = "Validate again with `surrogate validate`, which counts as another look at the holdout."
_PARTS = ("mean", "std", "lower", "upper")
_PLAIN = (
    "version", "family", "dataset_hash", "trained_on", "primary", "primary_measure", "counts", "runtime",
    "onnx_difference", "onnx_how",
)  # fmt: skip


def save_validation(path: Path, validation: Validation) -> None:
    """Write everything that was found, atomically: numbers, samples and predictions.

    Args:
        path: Where it goes, `.h5`.
        validation: What was found.
    """

    def fill(file: h5py.File) -> None:
        record = {name: getattr(validation, name) for name in _PLAIN}
        record["consultations"] = asdict(validation.consultations)
        record["schema"] = validation.design.truth.schema.to_json()
        record["curves"] = [asdict(curve) for curve in validation.curves]
        record["strata"] = [_save_stratum(file, number, part) for number, part in enumerate(validation.strata)]
        record["baselines"] = [_save_baseline(file, number, part) for number, part in enumerate(validation.baselines)]
        text = json.dumps(_without_nan(record), ensure_ascii=False, allow_nan=False)
        write_array(file, "record", np.frombuffer(text.encode(), dtype=np.uint8))

    write_bytes(path, bytes(sealed_bytes(KIND, FORMAT, fill)))


def load_validation(path: Path) -> Validation:
    """Read what `save_validation` wrote.

    Raises:
        DataError: If the file is of another kind, or newer than this program.
        IntegrityError: If it is missing or damaged.
    """
    with open_sealed(path, KIND, FORMAT, _WAY_OUT) as (file, _):
        try:
            record = json.loads(file["record"][()].tobytes().decode())
            schema = Schema.from_json(record["schema"])
            return Validation(
                **{name: record[name] for name in _PLAIN},
                strata=tuple(_load_stratum(file, n, part, schema) for n, part in enumerate(record["strata"])),
                baselines=tuple(_load_baseline(file, n, part) for n, part in enumerate(record["baselines"])),
                curves=tuple(_curve(entry) for entry in record["curves"]),
                consultations=Consultations(**record["consultations"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise IntegrityError(f"The file {path} is no record of a validation ({error!r}). {_WAY_OUT}") from error


def _save_stratum(file: h5py.File, number: int, part: StratumResult) -> dict[str, Any]:
    """Write arrays of a stratum; return the rest."""
    place = groups(file, f"strata/{number}")
    for name, values in part.truth.columns.items():
        _write(place, f"truth/{name}", values)
    for pick in _PARTS:
        for name, values in getattr(part.prediction, pick).items():
            _write(place, f"{pick}/{name}", values)
    write_array(place, "in_domain", part.prediction.in_domain)
    for name, values in part.per_sample.items():
        _write(place, f"per_sample/{name}", values)
    return {
        "stratum": part.stratum,
        "in_domain": part.in_domain,
        "metrics": [asdict(metric) for metric in part.metrics],
        "worst": [asdict(sample) for sample in part.worst],
        "ids": list(part.truth.ids),
        "groups": list(part.truth.groups),
    }


def _load_stratum(file: h5py.File, number: int, record: Mapping[str, Any], schema: Schema) -> StratumResult:
    """Read a stratum."""
    place = file[f"strata/{number}"]

    def columns(part: str) -> dict[str, Values]:
        return {name: read_values(place[part][name]) for name in place[part]} if part in place else {}

    truth = SampleTable(schema, tuple(record["ids"]), tuple(record["groups"]), columns("truth"))
    parts = {pick: columns(pick) for pick in _PARTS}
    flags = np.asarray(place["in_domain"][()], dtype=np.bool_)
    return StratumResult(
        stratum=record["stratum"],
        metrics=tuple(_metric(entry) for entry in record["metrics"]),
        worst=tuple(Extreme(**{**entry, "value": _number(entry["value"])}) for entry in record["worst"]),
        in_domain=record["in_domain"],
        truth=truth,
        prediction=Prediction(parts["mean"], parts["std"], parts["lower"], parts["upper"], flags),
        per_sample={name: np.asarray(values, dtype=np.float64) for name, values in columns("per_sample").items()},
    )


def _save_baseline(file: h5py.File, number: int, part: BaselineResult) -> dict[str, Any]:
    """Write arrays of a baseline; return the rest."""
    if part.per_sample is not None:
        _write(file, f"baselines/{number}", part.per_sample)
    return {
        "name": part.name,
        "title": part.title,
        "how": part.how,
        "seconds": part.seconds,
        "metrics": [asdict(metric) for metric in part.metrics],
    }


def _load_baseline(file: h5py.File, number: int, record: Mapping[str, Any]) -> BaselineResult:
    """Read a baseline."""
    place = f"baselines/{number}"
    values = np.asarray(file[place][()], dtype=np.float64) if place in file else None
    metrics = tuple(_metric(entry) for entry in record["metrics"])
    return BaselineResult(record["name"], record["title"], record["how"], metrics, record["seconds"], values)


def _write(place: h5py.Group, name: str, values: Values) -> None:
    """Write a column, compressed."""
    folder, _, leaf = name.rpartition("/")
    parent = groups(place, folder) if folder else place
    options: dict[str, Any] = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
    if isinstance(values, Ragged):
        node = group(parent, leaf)
        write_array(node, "data", values.data)
        write_array(node, "offsets", values.offsets)
    elif values.size and values.dtype.kind != "U":
        write_array(parent, leaf, values, **options)
    else:
        write_array(parent, leaf, values)


def _metric(entry: Mapping[str, Any]) -> Metric:
    return Metric(**{**entry, **{name: _number(entry[name]) for name in ("value", "low", "high")}})


def _curve(entry: Mapping[str, Any]) -> CoverageCurve:
    numbers = {name: tuple(_number(item) for item in entry[name]) for name in ("nominal", "observed", "low", "high")}
    return CoverageCurve(output=entry["output"], **numbers)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)


def _without_nan(value: Any) -> Any:
    """Return a JSON-ready value in which a number that is not finite is None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return value
