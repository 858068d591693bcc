"""Molecules, a potential with random weights, symmetry functions as loops, and files as NeuroChem writes them."""

from __future__ import annotations

import bz2
import itertools
import math
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surrogate.core.elements import symbol_of
from surrogate.core.molecules import molecule_table
from surrogate.core.schema import SampleTable
from surrogate.core.structure import Structure
from surrogate.models.ani.committee import ElementNetworks
from surrogate.models.ani.potential import Answer, Potential
from surrogate.models.ani.symmetry import SymmetryFunctions

# Å; built from standard bond lengths and angles.
WATER = Structure.of([8, 1, 1], [[0, 0, 0.117], [0, 0.757, -0.469], [0, -0.757, -0.469]])
METHANE = Structure.of([6, 1, 1, 1, 1], 0.629 * np.array([[0, 0, 0], [1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]]))
AMMONIA = Structure.of(
    [7, 1, 1, 1], [[0, 0, 0.116], [0, 0.94, -0.272], [0.814, -0.47, -0.272], [-0.814, -0.47, -0.272]]
)
HYDROGEN = Structure.of([1, 1], [[0, 0, 0], [0, 0, 0.74]])
ALL = (WATER, METHANE, AMMONIA, HYDROGEN)

FUNCTIONS = SymmetryFunctions(
    elements=(1, 6, 7, 8),
    radial_cutoff=4.0,
    radial_eta=6.0,
    radial_shifts=(0.8, 1.6, 2.4),
    angular_cutoff=3.0,
    angular_eta=4.0,
    zeta=8.0,
    angular_shifts=(0.9, 1.9),
    angle_shifts=(0.4, 1.6, 2.7),
)
"""Few of them, so that tests are fast; C and O see other places than the published ones."""


def rattled(structure: Structure, seed: int, width: float = 0.08) -> Structure:
    """Return a structure whose atoms were moved by normal steps of `width` Å."""
    random = np.random.default_rng(seed)
    return structure.moved(structure.coordinates + random.normal(0, width, structure.coordinates.shape))


def flat(structures: Sequence[Structure]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return species `[M]`, places `[M, 3]` and offsets `[N + 1]`."""
    offsets = np.cumsum([0, *(len(entry.species) for entry in structures)])
    return (
        np.concatenate([entry.species for entry in structures]),
        np.concatenate([entry.coordinates for entry in structures]),
        offsets,
    )


def random_networks(
    functions: SymmetryFunctions, members: int, seed: int, hidden: Sequence[int] = (7, 5)
) -> dict[int, ElementNetworks]:
    """Return networks with random weights for every element."""
    random = np.random.default_rng(seed)
    sizes = [functions.length, *hidden, 1]
    networks = {}
    for number in functions.elements:
        layers = [
            [array for a, b in itertools.pairwise(sizes)
             for array in (random.normal(0, 1 / math.sqrt(a), (a, b)), random.normal(0, 0.3, b))]
            for _ in range(members)
        ]  # fmt: skip
        networks[number] = ElementNetworks.stack(layers)
    return networks


def random_potential(members: int = 2, seed: int = 0, dtype=np.float64, activation="celu", hidden=(7, 5)) -> Potential:
    """Return a potential with random weights."""
    networks = random_networks(FUNCTIONS, members, seed, hidden)
    return Potential(
        FUNCTIONS, networks, np.array([-0.5, -37.8, -54.6, -75.1]), activation=activation, dtype=dtype
    )  # fmt: skip


def ask(potential: Potential, structures: Sequence[Structure], **wanted: bool) -> Answer:
    """Return a potential's answer about structures, with their cells."""
    cells = [entry.cell for entry in structures]
    return potential.answer(*flat(structures), cells if any(len(cell) for cell in cells) else None, **wanted)


def table(count: int, seed: int = 0, *, forces: bool = True, kinds: Sequence[Structure] = ALL[:3]) -> SampleTable:
    """Return rattled molecules labelled by a smooth potential: harmonic in all distances, with its true forces."""
    structures = [rattled(kinds[number % len(kinds)], seed * 1000 + number) for number in range(count)]
    energies, pulls = [], []
    for number, entry in enumerate(structures):
        rest = kinds[number % len(kinds)].coordinates
        energy, force = _springs(entry.coordinates, rest)
        energies.append(energy + float(np.sum(np.array([-0.5, -37.8, -54.6, -75.1])[_place(entry.species)])))
        pulls.append(force)
    return molecule_table(structures, energies, pulls if forces else None, "springs")


def _place(species: np.ndarray) -> np.ndarray:
    return np.searchsorted([1, 6, 7, 8], species)


def _springs(places: np.ndarray, rest: np.ndarray, stiffness: float = 0.3) -> tuple[float, np.ndarray]:
    """Return energy in Ha and forces in Ha/Å of springs between all atoms."""
    energy, forces = 0.0, np.zeros_like(places)
    for i in range(len(places)):
        for j in range(i):
            apart = places[i] - places[j]
            length = float(np.linalg.norm(apart))
            stretch = length - float(np.linalg.norm(rest[i] - rest[j]))
            energy += 0.5 * stiffness * stretch**2
            pull = stiffness * stretch * apart / length
            forces[i] -= pull
            forces[j] += pull
    return energy, forces


def solution(transforms):
    """Return a solved kernel as a network, in NumPy and double precision."""
    base = transforms.base

    def answer(rows):
        energy, outputs = 0.0, {}
        for symbol, centres, weights in zip(base.symbols, transforms.centres, transforms.coefficients, strict=True):
            x, mask = rows[f"features_{symbol}"].astype(np.float64), rows[f"mask_{symbol}"]
            apart = x[..., None, :] - centres
            kernel = np.exp(-0.5 * (apart**2).sum(axis=-1))
            along = (apart * weights).sum(axis=-1)
            energy = energy + ((kernel * along).sum(axis=-1) * mask).sum(axis=1)
            gradient = np.einsum("bnc,ck->bnk", kernel, weights) - np.einsum("bnc,bnck->bnk", kernel * along, apart)
            outputs[f"gradient_{symbol}"] = gradient * mask[..., None]
        return {"energy": energy[:, None], **outputs}

    return answer


def looped_features(functions: SymmetryFunctions, structure: Structure) -> np.ndarray:
    """Return the features `[n, F]` of a molecule in free space, each term by the published formula."""
    places, kinds = structure.coordinates, functions.kinds(structure.species)
    result = np.zeros((len(places), functions.length))

    def cut(distance: float, cutoff: float) -> float:
        return 0.5 * math.cos(math.pi * distance / cutoff) + 0.5 if distance < cutoff else 0.0

    for i in range(len(places)):
        others = [j for j in range(len(places)) if j != i]
        for j in others:
            distance = float(np.linalg.norm(places[j] - places[i]))
            for s, shift in enumerate(functions.radial_shifts):
                place = kinds[j] * len(functions.radial_shifts) + s
                term = 0.25 * math.exp(-functions.radial_eta * (distance - shift) ** 2)
                result[i, place] += term * cut(distance, functions.radial_cutoff)
        for j in others:
            for k in others:
                if k <= j:
                    continue
                a, b = places[j] - places[i], places[k] - places[i]
                ra, rb = float(np.linalg.norm(a)), float(np.linalg.norm(b))
                theta = math.acos(0.95 * float(a @ b) / (ra * rb))
                weight = 2 * cut(ra, functions.angular_cutoff) * cut(rb, functions.angular_cutoff)
                block = functions.pair_index[kinds[j], kinds[k]]
                start = functions.radial_length + block * functions.angular_block
                for s, shift in enumerate(functions.angular_shifts):
                    for z, angle in enumerate(functions.angle_shifts):
                        term = ((1 + math.cos(theta - angle)) / 2) ** functions.zeta
                        term *= math.exp(-functions.angular_eta * ((ra + rb) / 2 - shift) ** 2)
                        result[i, start + s * len(functions.angle_shifts) + z] += weight * term
    return result


def write_neurochem(path: Path, functions: SymmetryFunctions, members: int, name: str = "tiny_2x") -> dict:
    """Write a zip archive with a potential in NeuroChem's files, random weights; return its networks."""
    networks = random_networks(functions, members, 5, (6, 4))
    symbols = [symbol_of(number) for number in functions.elements]
    parameters = {
        "TM": "1", "Rcr": functions.radial_cutoff, "Rca": functions.angular_cutoff, "EtaR": [functions.radial_eta],
        "ShfR": list(functions.radial_shifts), "Zeta": [functions.zeta], "ShfZ": list(functions.angle_shifts),
        "EtaA": [functions.angular_eta], "ShfA": list(functions.angular_shifts),
        "Atyp": f"[{','.join(symbols)}]",
    }  # fmt: skip
    root = f"package/resources/{name}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{root}/r.params", "".join(f"{key} = {value}\n" for key, value in parameters.items()))
        energies = "".join(f"{symbol},{place}=-{place + 0.5}\n" for place, symbol in enumerate(symbols))
        archive.writestr(f"{root}/sae_linfit.dat", energies)
        for member in range(members):
            folder = f"{root}/train{member}/networks"
            for number, symbol in zip(functions.elements, symbols, strict=True):
                text = f"inputsize={functions.length};\natom_net {symbol} $\n"
                layers = list(zip(networks[number].kernels, networks[number].biases, strict=True))
                for place, (kernel, bias) in enumerate(layers):
                    file = f"ANN-{symbol}.nnf-l{place + 1}"
                    activation = 6 if place == len(layers) - 1 else 9
                    text += f"layer [\nnodes={bias.shape[1]};\nactivation={activation};\ntype=0;\n"
                    text += f"weights=FILE:{file}.wparam[{kernel[0].size}];\n"
                    text += f"biases=FILE:{file}.bparam[{bias[0].size}];\n]\n"
                    archive.writestr(f"{folder}/{file}.wparam", kernel[member].T.astype("<f4").tobytes())
                    archive.writestr(f"{folder}/{file}.bparam", bias[member].astype("<f4").tobytes())
                packed = bz2.compress((text + "\n $\n\0").encode())
                archive.writestr(f"{folder}/ANN-{symbol}.nnf", f"{len(packed)}=\n".encode() + packed)
    return networks
