"""A potential that was published elsewhere, as an artifact like those that training writes."""

from __future__ import annotations

import hashlib
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from surrogate.core.checked import write_checked
from surrogate.core.errors import DataError, nearest
from surrogate.core.files import fsync_directory, sha256_file, write_json
from surrogate.core.identity import digest
from surrogate.core.molecules import input_values, molecule_schema
from surrogate.core.structure import Structure
from surrogate.models.ani.family import FAMILY
from surrogate.models.ani.features import Features
from surrogate.models.ani.neighbours import find_pairs
from surrogate.models.ani.neurochem import PublishedPotential, read_ensemble
from surrogate.models.ani.options import AniOptions
from surrogate.models.ani.packing import Packing, feature_rows
from surrogate.models.ani.reach import Reach
from surrogate.models.ani.transforms import AniTransforms, atoms_of
from surrogate.models.calibration import Calibration
from surrogate.models.protocols import Rows
from surrogate.training.artifact import FORMAT, versions, write_arrays
from surrogate.training.export import keras_forward, onnx_difference, write_keras, write_onnx
from surrogate.training.finished import MANIFEST

_DEVIATION = 0.23 / 627.5094740631
"""Ha: 0.23 kcal/mol, the published bound of the members' standard deviation over √N (Smith et al. 2018)."""


@dataclass(frozen=True, slots=True)
class Collection:
    """The files of one potential within a wheel or another zip archive.

    Attributes:
        path: The archive.
        name: Folder of the potential within it.
        parameters: Its `.params` file.
        self_energies: Its file of self-energies.
        members: For each member the folder of its networks.
    """

    path: Path
    name: str
    parameters: str
    self_energies: str
    members: tuple[str, ...]


def find_collection(path: Path, name: str) -> Collection:
    """Return where the files of a potential are.

    Args:
        path: A wheel or another zip archive.
        name: Folder of the potential, for example `ani-1x_8x`.

    Raises:
        DataError: If it is no zip archive, or has no such potential.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            files = archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} is no wheel: {error}. Give the file torchani-2.2.4-py3-none-any.whl, as `pip download --no-deps "
            "torchani==2.2.4` fetches it."
        ) from error
    networks = [PurePosixPath(file).parent for file in files if re.fullmatch(r"ANN-\w+\.nnf", PurePosixPath(file).name)]
    names = sorted({parent.parts[-3] for parent in networks if len(parent.parts) >= 3})
    if name not in names:
        raise DataError(
            f"{path} holds no potential '{name}'.{nearest(name, names)} It holds {', '.join(names) or 'none'}."
        )
    own = sorted({str(parent) for parent in networks if name in parent.parts}, key=_by_number)
    inside = [file for file in files if name in PurePosixPath(file).parts]
    parameters = [file for file in inside if file.endswith(".params") and "train" not in file]
    energies = [file for file in inside if PurePosixPath(file).name.startswith("sae_linfit") and "train" not in file]
    if not parameters or not energies:
        raise DataError(f"The potential '{name}' in {path} lacks its .params file or its sae_linfit.dat.")
    return Collection(path, name, parameters[0], energies[0], tuple(own))


def _by_number(folder: str) -> list[Any]:
    """Return a key that sorts train2 before train10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", folder)]


def read_collection(collection: Collection) -> tuple[PublishedPotential, str]:
    """Return a potential, and the SHA-256 (hex) over the names and contents of the files that it was read from.

    Raises:
        DataError: If a file is missing or not what it should be.
    """
    with zipfile.ZipFile(collection.path) as archive:
        seen: dict[str, str] = {}

        def read(name: str) -> bytes:
            try:
                content = archive.read(name)
            except KeyError as error:
                raise DataError(f"{collection.path} lacks the file {name} of '{collection.name}'.") from error
            seen[name] = hashlib.sha256(content).hexdigest()
            return content

        potential = read_ensemble(read, collection.parameters, collection.self_energies, list(collection.members))
    return potential, digest("published potential", seen)


def write_published(folder: Path, collection: Collection) -> dict[str, Any]:
    """Write the artifact of a published potential; the folder must not exist.

    Args:
        folder: Where it goes.
        collection: Where the potential is.

    Returns:
        Its record.

    Raises:
        DataError: If a file of it is not what it should be.
        TrainingError: If a network cannot be exported faithfully.
    """
    potential, source = read_collection(collection)
    options = _options(potential)
    transforms = _transforms(potential)
    folder.mkdir(parents=True)
    model = FAMILY.build(transforms, options, 0)
    sample = _sample(transforms)
    forward = keras_forward(model)
    names, differences = [], []
    members = next(iter(potential.networks.values())).members
    for member in range(members):
        _assign(model, potential, transforms, member)
        entry = {"keras": f"member-{member:03d}.keras", "onnx": f"member-{member:03d}.onnx"}
        write_keras(model, folder / entry["keras"])
        write_onnx(model, folder / entry["onnx"], {name: array[:2] for name, array in sample.items()})
        differences.append(onnx_difference(folder / entry["onnx"], forward, sample))
        names.append(entry)
    write_arrays(folder / "transforms.npz", transforms.arrays())
    write_json(folder / "transforms.json", transforms.to_json())
    record = {
        "job": None, "family": FAMILY.name, "options": options.model_dump(mode="json"),
        "schema": transforms.schema.to_json(), "space": None, "members": names, "seed": 0,
        "calibration": Calibration({}, 0).to_json(), "domain": None,
        "training": {
            "notes": ["The networks were trained elsewhere and imported."], "losses": [], "seconds": None, "ranks": 0,
            "horovod": False, "parameters": int(model.count_params()),
            "source": {"file": collection.path.name, "potential": collection.name, "sha256": source},
        },
        "onnx_difference": max(differences), "dataset_hash": source, "split": None, "stratum": None,
        "versions": versions(),
    }  # fmt: skip
    write_json(folder / "surrogate.json", record)
    files = {path.name: sha256_file(path) for path in sorted(folder.iterdir())}
    fsync_directory(folder)
    write_checked(folder / MANIFEST, {"format": FORMAT, "files": files})
    return record


def _options(potential: PublishedPotential) -> AniOptions:
    """Return the options that build such networks."""
    functions = potential.functions
    return AniOptions(
        radial_cutoff=functions.radial_cutoff,
        radial_eta=functions.radial_eta,
        radial_shifts=list(functions.radial_shifts),
        angular_cutoff=functions.angular_cutoff,
        angular_eta=functions.angular_eta,
        zeta=functions.zeta,
        angular_shifts=list(functions.angular_shifts),
        angle_shifts=list(functions.angle_shifts),
        hidden=dict(potential.hidden),
    )


def _transforms(potential: PublishedPotential) -> AniTransforms:
    """Return transforms that change nothing: all features, outputs in Ha, neutral singlets."""
    count = len(potential.functions.elements)
    return AniTransforms(
        schema=molecule_schema(),
        functions=potential.functions,
        columns=tuple(np.arange(potential.functions.length) for _ in range(count)),
        scales=tuple(np.ones(potential.functions.length) for _ in range(count)),
        self_energies=potential.self_energies,
        unit=1.0,
        states=((0, 1),),
        forces=True,
        energy_weight=1.0,
        force_weight=0.1,
        level_of_theory="",
        reach=Reach((), (), _DEVIATION),
    )


def _assign(model: Any, potential: PublishedPotential, transforms: AniTransforms, member: int) -> None:
    """Put the weights of a member into the network."""
    for number, symbol in zip(transforms.functions.elements, transforms.symbols, strict=True):
        layer, networks = model.get_layer(f"network_{symbol}"), potential.networks[number]
        for place, (kernel, bias) in enumerate(zip(networks.kernels, networks.biases, strict=True)):
            layer.kernels[place].assign(kernel[member])
            layer.biases[place].assign(bias[member])


def _sample(transforms: AniTransforms) -> Rows:
    """Return rows to compare exports on: clusters of one atom of each element, at bond lengths."""
    random = np.random.default_rng(0)
    numbers = np.asarray(transforms.functions.elements)
    grid = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[: len(numbers)]
    clusters = [Structure.of(numbers, 1.3 * grid + random.uniform(-0.2, 0.2, grid.shape)) for _ in range(64)]
    species, positions, offsets = atoms_of(input_values(clusters))
    kinds = transforms.functions.kinds(species)
    pairs = find_pairs(positions, offsets, transforms.functions.radial_cutoff)
    features = Features(transforms.functions, kinds, pairs)
    return feature_rows(Packing(kinds, offsets, len(numbers)), transforms, features.values)
