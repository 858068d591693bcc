"""A small surrogate that needs no TensorFlow: polynomials fitted by least squares, executed from real ONNX files.

The truth is a smooth travelling field of two inputs, with a scalar beside it, so that every shape that a report shows
is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from surrogate.core.checked import write_checked
from surrogate.core.files import sha256_file, write_json
from surrogate.core.schema import Column, Coordinate, SampleTable, Schema, Values
from surrogate.data.split import SPLITS, Split, SplitConfig, SplitCount
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.models.calibration import Calibration
from surrogate.models.combine import combine
from surrogate.models.domain import Domain
from surrogate.models.protocols import Forward, Measure, Prediction, Rows

TIMES = (0.25, 0.5, 0.75, 1.0)
PLACES = tuple(np.linspace(0.0, 1.0, 24).tolist())
SPACE = ParameterSpace(
    (Parameter("speed", 0.5, 2.0, "m/s", description="speed of the wave"), Parameter("width", 0.1, 10.0, "m", "log10"))
)
SCHEMA = Schema(
    (
        *SPACE.columns,
        Column(
            "height", "output", "m", "float64", (len(TIMES), len(PLACES)), ("t", "x"), description="height of the wave"
        ),
        Column("load", "output", "newton", description="largest load"),
    ),
    (Coordinate("t", "s", TIMES), Coordinate("x", "m", PLACES)),
)


def truth(speed: NDArray[np.float64], width: NDArray[np.float64]) -> dict[str, Values]:
    """Return the outputs of N points."""
    t, x = np.meshgrid(TIMES, PLACES, indexing="ij")
    phase = (x[None] - 0.4 * speed[:, None, None] * t[None]) / (0.4 + 0.2 * np.log10(width)[:, None, None])
    return {"height": 1.0 + np.exp(-(phase**2)), "load": 3.0 + speed**2 + 0.5 * np.log10(width)}


def table(count: int, seed: int = 0, first: int = 0) -> SampleTable:
    """Return `count` samples at random points of the space."""
    unit = np.random.default_rng(seed).random((count, 2))
    points = SPACE.from_unit(unit)
    inputs = {name: np.asarray([point[name] for point in points]) for name in SPACE.names}
    ids = tuple(f"{seed:04d}{index + first:012d}" for index in range(count))
    return SampleTable(SCHEMA, ids, ("",) * count, {**inputs, **truth(inputs["speed"], inputs["width"])})


@dataclass(frozen=True)
class ToyTransforms:
    """Scale of the outputs, as fitted on train rows."""

    centre: NDArray[np.float64]
    spread: float
    degree: int

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"centre": self.centre}

    def to_json(self) -> dict[str, Any]:
        return {"spread": self.spread, "degree": self.degree}


class ToyOptions(BaseModel):
    """Options of the toy family."""

    degree: int = 4


def _stack(columns: Mapping[str, Values]) -> NDArray[np.float64]:
    height = np.asarray(columns["height"])
    return np.concatenate([height.reshape(len(height), -1), np.asarray(columns["load"])[:, None]], axis=1)


def relative_l2(samples: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    exact = np.asarray(samples.columns["height"]).reshape(len(samples), -1)
    gap = np.asarray(prediction.mean["height"]).reshape(len(samples), -1) - exact
    return np.asarray(np.linalg.norm(gap, axis=1) / np.linalg.norm(exact, axis=1))


def load_error(samples: SampleTable, prediction: Prediction) -> NDArray[np.float64]:
    return np.abs(np.asarray(prediction.mean["load"]) - np.asarray(samples.columns["load"]))


class ToyFamily:
    """A polynomial in the unit coordinates."""

    name = "toy"
    options_type = ToyOptions
    baselines = ("nearest_neighbour", "pod_gp")

    def measures(self, schema: Schema) -> tuple[Measure, ...]:
        return (
            Measure("relative_l2", "1", "‖prediction − simulation‖₂ / ‖simulation‖₂ of `height`", relative_l2),
            Measure("load_error", "newton", "|prediction − simulation| of `load`", load_error, ("median", "max")),
        )

    def fit(self, train: SampleTable, options: BaseModel, seed: int) -> ToyTransforms:
        rows = _stack(train.outputs)
        return ToyTransforms(
            rows.mean(axis=0), float(rows.std()), ToyOptions.model_validate(options.model_dump()).degree
        )

    def restore(self, schema: Schema, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> ToyTransforms:
        return ToyTransforms(arrays["centre"], float(record["spread"]), int(record["degree"]))

    def build(self, transforms: Any, options: BaseModel, seed: int) -> Any:
        raise NotImplementedError("the toy family is fitted by least squares")

    def features(self, transforms: ToyTransforms, inputs: Mapping[str, Values]) -> NDArray[np.float32]:
        points = [
            dict(zip(SPACE.names, row, strict=True))
            for row in zip(*(inputs[n].tolist() for n in SPACE.names), strict=True)
        ]
        unit = 2 * SPACE.to_unit(points) - 1 if points else np.zeros((0, 2))
        powers = [(i, j) for i in range(transforms.degree + 1) for j in range(transforms.degree + 1 - i)]
        return np.stack([unit[:, 0] ** i * unit[:, 1] ** j for i, j in powers], axis=1).astype(np.float32)

    def rows(self, transforms: Any, samples: SampleTable) -> Rows:
        target = (_stack(samples.outputs) - transforms.centre) / transforms.spread
        return {"features": self.features(transforms, samples.inputs), "target": target.astype(np.float32)}

    def row_loss(self, outputs: Any, batch: Any) -> Any:
        raise NotImplementedError("the toy family is fitted by least squares")

    def predict(
        self, transforms: Any, forwards: Sequence[Forward], inputs: Mapping[str, Values]
    ) -> list[dict[str, Values]]:
        features = self.features(transforms, inputs)
        answers = []
        for forward in forwards:
            rows = forward({"features": features})["values"].astype(np.float64) * transforms.spread + transforms.centre
            answers.append({"height": rows[:, :-1].reshape(-1, len(TIMES), len(PLACES)), "load": rows[:, -1]})
        return answers


FAMILY = ToyFamily()


def linear_forward(weights: NDArray[np.float32]) -> Forward:
    """Return a network that multiplies its features by `weights`, `[F, O]`."""
    return lambda rows: {"values": rows["features"] @ weights}


def write_onnx(path: Path, weights: NDArray[np.float32]) -> None:
    """Write that network as an ONNX file."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    graph = helper.make_graph(
        [helper.make_node("MatMul", ["features", "weights"], ["values"])],
        "toy",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [None, weights.shape[0]])],
        [helper.make_tensor_value_info("values", TensorProto.FLOAT, [None, weights.shape[1]])],
        [numpy_helper.from_array(weights, "weights")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def fit_members(
    transforms: ToyTransforms, train: SampleTable, members: int, seed: int = 0
) -> list[NDArray[np.float32]]:
    """Fit each member on a bootstrap of the training rows; return weights `[F, O]`."""
    rows = FAMILY.rows(transforms, train)
    random = np.random.default_rng(seed)
    fitted = []
    for _ in range(members):
        pick = random.integers(0, len(train), len(train))
        solution = np.linalg.lstsq(rows["features"][pick].astype(float), rows["target"][pick].astype(float), rcond=1e-6)
        fitted.append(solution[0].astype(np.float32))
    return fitted


def write_artifact(
    folder: Path,
    train: SampleTable,
    tune: SampleTable,
    *,
    members: int = 3,
    degree: int = 4,
    dataset_hash: str = "d" * 64,
) -> Path:
    """Train the toy family and write an artifact, the manifest last."""
    folder.mkdir(parents=True)
    options = ToyOptions(degree=degree)
    transforms = FAMILY.fit(train, options, 0)
    weights = fit_members(transforms, train, members)
    names = []
    for index, matrix in enumerate(weights):
        write_onnx(folder / f"member-{index:03d}.onnx", matrix)
        names.append({"onnx": f"member-{index:03d}.onnx"})
    mean, std = combine(FAMILY.predict(transforms, [linear_forward(matrix) for matrix in weights], tune.inputs))
    domain = Domain.fit(SPACE, train.inputs)
    assert domain is not None
    np.savez(folder / "transforms.npz", **transforms.arrays())
    np.savez(folder / "domain.npz", **domain.arrays())
    write_json(folder / "transforms.json", transforms.to_json())
    record = {
        "family": "toy",
        "options": options.model_dump(),
        "schema": SCHEMA.to_json(),
        "space": SPACE.to_json(),
        "members": names,
        "calibration": Calibration.fit(mean, std, tune.outputs).to_json(),
        "domain": domain.to_json(),
        "training": {"seconds": 0.5, "ranks": 1, "horovod": False, "losses": []},
        "onnx_difference": 2e-7,
        "dataset_hash": dataset_hash,
        "code": {"surrogate": "0.1.0"},
    }
    write_json(folder / "surrogate.json", record)
    write_manifest(folder)
    return folder


@dataclass(frozen=True)
class ToyDataset:
    """Splits that are known beforehand; what was loaded is written down."""

    tables: dict[tuple[str, str], SampleTable]
    loaded: list[tuple[str, str]]
    hash: str = "d" * 64

    @classmethod
    def of(cls, train: int = 80, tune: int = 30, holdout: int = 40, **acquired: int) -> ToyDataset:
        tables = {
            ("train", "design"): table(train, seed=1),
            ("tune", "design"): table(tune, seed=2),
            ("holdout", "design"): table(holdout, seed=3),
        }
        for number, (stratum, count) in enumerate(acquired.items()):
            tables["holdout", stratum] = table(count, seed=10 + number)
        return cls(tables, [])

    @property
    def schema(self) -> Schema:
        return SCHEMA

    @property
    def strata(self) -> tuple[str, ...]:
        return tuple(stratum for (_, stratum), samples in self.tables.items() for _ in range(len(samples)))

    def counts(self, split: SplitConfig, stratum: str | None = "design") -> dict[Split, SplitCount]:
        return {
            which: SplitCount(len(self.tables[which, "design"]), len(self.tables[which, "design"])) for which in SPLITS
        }

    def load(self, split: SplitConfig, which: Split, stratum: str | None = "design") -> SampleTable:
        assert stratum is not None
        self.loaded.append((which, stratum))
        return self.tables.get((which, stratum), self.tables["train", "design"].take(np.zeros(0, np.int64)))


def write_manifest(folder: Path) -> None:
    """Hash every file of an artifact into its manifest."""
    files = {path.name: sha256_file(path) for path in sorted(folder.iterdir()) if path.name != "artifact.json"}
    write_checked(folder / "artifact.json", {"format": 1, "files": files})
