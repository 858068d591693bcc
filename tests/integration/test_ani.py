"""The family `ani` the whole way: trained on one rank and on two, validated, asked by both runtimes; imported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from surrogate.core.errors import DataError
from surrogate.core.identity import run_id
from surrogate.core.molecules import input_values
from surrogate.core.schema import Ragged
from surrogate.data.admission import admit
from surrogate.data.dataset import Dataset, DatasetWriter
from surrogate.data.run_file import write_run_file
from surrogate.design.xyz import read_frames, write_frames
from surrogate.inference.compare import runtime_difference
from surrogate.inference.predictor import Predictor
from surrogate.inference.structures import predict_structures
from surrogate.models.ani.potential import Potential
from surrogate.models.ani.stored import layer_weights, stored_potential
from surrogate.registry.reader import RegistryReader
from surrogate.validation.validate import validate
from tests.support.atoms import ALL, FUNCTIONS, ask, flat, rattled, solution, table, write_neurochem
from tests.support.trainings import SPLIT, record, run_training, write_training
from workflows.cli.application import application

pytestmark = [pytest.mark.train, pytest.mark.slow]

OPTIONS = {
    "radial_shifts": [0.8, 1.2, 1.6, 2.0], "angular_shifts": [0.9, 1.9], "angle_shifts": [0.6, 1.6, 2.5], "zeta": 8.0,
    "hidden": {"*": [16, 12]}, "force_weight": 0.3,
}  # fmt: skip
TRAIN = {"epochs": 150, "batch_size": 16, "learning_rate": 0.01, "steps_per_call": 60}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("molecules")
    samples = table(90)
    writer = DatasetWriter(folder / "dataset", samples.schema)
    for row in range(len(samples)):
        one = samples.take(np.array([row]))
        identity = run_id("springs", "1", {}, {"row": row})
        path = folder / f"{identity}.h5"
        write_run_file(path, samples.schema, one.columns, (), {}, durable=False)
        judged = admit(path, samples.schema)
        assert judged.ok, judged.reason
        writer.add_run(identity, path, content=judged.content)
    writer.flush()
    return folder / "dataset"


def training(tmp_path_factory, dataset: Path, ranks: int, **train: float) -> Path:
    out = tmp_path_factory.mktemp(f"ranks{ranks}")
    job = write_training(out, dataset, ranks, {**TRAIN, **train}, family="ani", options=OPTIONS)
    done = run_training(job, ranks)
    assert done.returncode == 0, done.output
    return out


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory, dataset) -> Path:
    return training(tmp_path_factory, dataset, 1)


@pytest.mark.mpi
def test_two_ranks_give_the_result_of_one(tmp_path_factory, dataset):
    # Steps as large as in the other trainings would make much of the last bit, in which sums of two ranks differ.
    small = {"epochs": 60, "learning_rate": 0.003, "steps_per_call": 30}
    one, two = (record(training(tmp_path_factory, dataset, ranks, **small)) for ranks in (1, 2))
    one, two = (found["training"]["losses"][0] for found in (one, two))
    assert one["train"][-1] < 0.1 * one["train"][0]
    for name in ("train", "tune"):
        np.testing.assert_allclose(two[name], one[name], rtol=1e-3)


def test_it_learns_energies_and_forces(tmp_path, dataset, one_rank):
    predictor = Predictor.load(one_rank / "artifact")
    judged = validate(
        predictor, Dataset.open(dataset), SPLIT, version="v", holdout_record=tmp_path / "looks.json", resamples=20
    )
    metrics = {metric.name: metric.value for metric in judged.strata[0].metrics}
    truth = judged.strata[0].truth
    assert metrics["energy_mae"] < 0.25 * 627.5 * float(np.std(truth.columns["energy"] - _means(truth)))
    assert metrics["force_mae"] < 0.25 * 627.5 * float(np.abs(truth.columns["forces"].data).mean())


def _means(truth):
    """Return for each sample the mean energy of those with as many atoms."""
    sizes = np.diff(truth.columns["species"].offsets)
    return np.array([truth.columns["energy"][sizes == size].mean() for size in sizes])


def test_all_that_evaluate_it_agree(one_rank):
    structures = [rattled(entry, 50 + number) for number, entry in enumerate(ALL[:3])]
    inputs = input_values(structures)
    onnx = Predictor.load(one_rank / "artifact").predict(inputs)
    keras = Predictor.load(one_rank / "artifact", "tensorflow").predict(inputs)
    np.testing.assert_allclose(onnx.mean["forces"].data, keras.mean["forces"].data, atol=1e-5)
    assert runtime_difference(one_rank / "artifact", inputs) < 1e-5
    potential = potential_of(one_rank / "artifact")
    answer = potential.answer(*flat(structures))
    np.testing.assert_allclose(answer.energies, onnx.mean["energy"], atol=2e-6)
    np.testing.assert_allclose(answer.forces, onnx.mean["forces"].data, atol=1e-5)


def test_structures_go_in_and_out_as_extended_xyz(tmp_path, one_rank):
    structures = [rattled(entry, 70 + number) for number, entry in enumerate(ALL[:3])]
    write_frames(tmp_path / "in.xyz", structures)
    predictor = Predictor.load(one_rank / "artifact")
    predict_structures(predictor, tmp_path / "in.xyz", tmp_path / "out.xyz")
    frames, said = read_frames(tmp_path / "out.xyz"), predictor.predict(input_values(structures))
    for row, frame in enumerate(frames):
        assert frame.numbers["energy"] == pytest.approx(said.mean["energy"][row], abs=1e-9)
        np.testing.assert_allclose(frame.arrays["forces"], said.mean["forces"][row], atol=1e-9)
        facts = frame.numbers | frame.facts
        assert facts["energy_low"] < frame.numbers["energy"] < facts["energy_high"]
        assert bool(facts["in_domain"]) == said.in_domain[row]
    with pytest.raises(DataError, match="ends in"):
        predict_structures(predictor, tmp_path / "in.xyz", tmp_path / "out.csv")


def potential_of(artifact: Path) -> Potential:
    predictor = Predictor.load(artifact)
    return stored_potential(predictor.transforms, predictor.artifact.members("keras"), "celu", np.float64)


def test_training_goes_on_from_an_earlier_potential(tmp_path, dataset, one_rank):
    """Another level of theory: the same molecules, every energy shifted by composition, self-energies fitted again."""
    begin = str(one_rank / "artifact")
    train = TRAIN | {
        "epochs": 20,
        "learning_rate": 0.001,
        "from": begin,
        "freeze": ["network_*/*_0"],
        "scalers": "refitted",
    }
    job = {"family": "ani", "options": OPTIONS, "start": begin, "start_content": "0" * 64}
    done = run_training(write_training(tmp_path, shifted(tmp_path, dataset), 1, train, **job), 1)
    assert done.returncode == 0, done.output
    old, new = (layer_weights(folder / "artifact" / "member-000.keras")["network_C"] for folder in (one_rank, tmp_path))
    np.testing.assert_array_equal(old[0], new[0])
    np.testing.assert_array_equal(old[1], new[1])
    assert not np.array_equal(old[2], new[2])
    truth = Dataset.open(tmp_path / "dataset").load(SPLIT, "holdout")
    error = Predictor.load(tmp_path / "artifact").predict(truth.inputs).mean["energy"] - truth.columns["energy"]
    assert np.abs(error).mean() < 0.25 * np.std(truth.columns["energy"] - _means(truth))

    wrong = run_training(write_training(tmp_path, dataset, 1, train | {"freeze": ["network_Xe"]}, **job), 1)
    assert wrong.returncode == 2
    assert "No layer is named 'network_Xe'" in wrong.output


def shifted(folder: Path, dataset: Path) -> Path:
    """Write the dataset again with half a hartree more for every atom."""
    samples = Dataset.open(dataset).load_all()
    writer = DatasetWriter(folder / "dataset", samples.schema)
    sizes = np.diff(samples.columns["species"].offsets)
    for row in range(len(samples)):
        columns = dict(samples.take(np.array([row])).columns)
        columns["energy"] = columns["energy"] + 0.5 * sizes[row]
        path = folder / f"{row}.h5"
        write_run_file(path, samples.schema, columns, (), {}, durable=False)
        writer.add_run(run_id("shifted", "1", {}, {"row": row}), path, content=admit(path, samples.schema).content)
        path.unlink()
    writer.flush()
    return folder / "dataset"


def test_a_family_that_is_solved_goes_the_same_way(tmp_path, dataset):
    few = {name: OPTIONS[name] for name in ("radial_shifts", "angular_shifts", "angle_shifts", "zeta")}
    done = run_training(write_training(tmp_path, dataset, 1, {}, family="atomic_kernel", options=few), 1)
    assert done.returncode == 0, done.output
    found = record(tmp_path)["training"]
    assert found["notes"] == [
        "No step was taken: the coefficients of the kernel are the solution of one linear system."
    ]
    predictor = Predictor.load(tmp_path / "artifact")
    truth = Dataset.open(dataset).load(SPLIT, "holdout")
    said = predictor.predict(truth.inputs)
    assert np.abs(said.mean["energy"] - truth.columns["energy"]).mean() < 0.25 * np.std(
        truth.columns["energy"] - _means(truth)
    )
    # The network has the numbers of the solution: large terms cancel in double precision.
    exact = predictor.family.predict(predictor.transforms, [solution(predictor.transforms)], truth.inputs)[0]
    np.testing.assert_allclose(said.mean["forces"].data, exact["forces"].data, atol=1e-5)


def test_a_published_potential_becomes_a_version(tmp_path):
    networks = write_neurochem(tmp_path / "tiny-1.0-py3-none-any.whl", FUNCTIONS, 2)
    words = [
        "registry", "import-ani", str(tmp_path / "tiny-1.0-py3-none-any.whl"), "--potential", "tiny_2x", "--name",
        "tiny", "--registry", str(tmp_path / "registry"), "--json",
    ]  # fmt: skip
    done = CliRunner().invoke(application(), words)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["members"] == 2
    shown = RegistryReader(tmp_path / "registry").show(found["version"])
    assert shown["record"]["origin"] == "imported: tiny_2x of tiny-1.0-py3-none-any.whl"
    assert shown["record"]["facts"]["source"]["potential"] == "tiny_2x"

    structures = [rattled(entry, number) for number, entry in enumerate(ALL)]
    said = Predictor.load(found["artifact"]).predict(input_values(structures))
    exact = Potential(FUNCTIONS, networks, -np.arange(4) - 0.5, dtype=np.float64)
    answer = ask(exact, structures)
    np.testing.assert_allclose(said.mean["energy"], answer.energies, atol=2e-6)
    assert isinstance(said.mean["forces"], Ragged)
    np.testing.assert_allclose(said.mean["forces"].data, answer.forces, atol=1e-5)
    np.testing.assert_allclose(said.std["energy"], answer.member_energies.std(axis=0, ddof=1), atol=2e-6)
    assert np.isnan(said.lower["energy"]).all()
