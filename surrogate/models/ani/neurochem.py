"""Potentials in NeuroChem's files, read as data: parameters, self-energies, and the networks of an ensemble.

Formats (as NeuroChem writes them; https://github.com/atomistic-ml/neurochem describes the program):

    *.params            lines `NAME = VALUE`; lists in brackets; distances in Å, exponents in Å⁻²
    sae_linfit.dat      lines `ELEMENT,NUMBER=ENERGY`, Ha
    ANN-X.nnf           a header that ends with `=`, then bzip2: the layers as text, each `layer [ … ]` with
                        `nodes=`, `activation=` (9: CELU with α 0.1, 6: none), `weights=FILE:NAME[COUNT]`, `biases=…`
    *.wparam, *.bparam  float32, little-endian; weights `[out, in]`
"""

from __future__ import annotations

import bz2
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from surrogate.core.elements import atomic_number
from surrogate.core.errors import DataError
from surrogate.models.ani.committee import ElementNetworks
from surrogate.models.ani.symmetry import SymmetryFunctions

Read = Callable[[str], bytes]
"""Name of a file of the collection → its content."""

_CELU, _LINEAR = 9, 6


@dataclass(frozen=True, slots=True, eq=False)
class PublishedPotential:
    """A potential as it was published.

    Attributes:
        functions: The symmetry functions.
        self_energies: `[E]` Ha.
        networks: Atomic number → networks of all members; outputs in Ha.
        hidden: Symbol → units of each hidden layer.
    """

    functions: SymmetryFunctions
    self_energies: NDArray[np.float64]
    networks: Mapping[int, ElementNetworks]
    hidden: Mapping[str, list[int]]


def parse_parameters(text: str) -> tuple[SymmetryFunctions, tuple[str, ...]]:
    """Return the symmetry functions, and the symbols of their elements, of a `.params` file.

    Raises:
        DataError: If a parameter is missing or no number.
    """
    found = dict(re.findall(r"^\s*(\w+)\s*=\s*(.+?)\s*$", text, flags=re.MULTILINE))

    def numbers(name: str) -> tuple[float, ...]:
        if name not in found:
            raise DataError(
                f"The parameters of the symmetry functions lack '{name}'; the file is not one of NeuroChem's."
            )
        try:
            return tuple(float(part) for part in found[name].strip("[]").split(","))
        except ValueError as error:
            raise DataError(f"The parameter '{name}' of the symmetry functions is no number: {found[name]}.") from error

    if "Atyp" not in found:
        raise DataError("The parameters of the symmetry functions lack 'Atyp', the list of the elements.")
    symbols = tuple(part.strip() for part in found["Atyp"].strip("[]").split(","))
    functions = SymmetryFunctions(
        elements=tuple(atomic_number(symbol) for symbol in symbols),
        radial_cutoff=numbers("Rcr")[0],
        radial_eta=numbers("EtaR")[0],
        radial_shifts=numbers("ShfR"),
        angular_cutoff=numbers("Rca")[0],
        angular_eta=numbers("EtaA")[0],
        zeta=numbers("Zeta")[0],
        angular_shifts=numbers("ShfA"),
        angle_shifts=numbers("ShfZ"),
    )
    return functions, symbols


def parse_self_energies(text: str, symbols: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the self-energy of each element, `[E]` Ha.

    Raises:
        DataError: If one is missing.
    """
    found = {
        symbol: float(value) for symbol, value in re.findall(r"^\s*(\w+)\s*,\s*\d+\s*=\s*(\S+)", text, re.MULTILINE)
    }
    missing = [symbol for symbol in symbols if symbol not in found]
    if missing:
        raise DataError(f"The file of self-energies has none for {', '.join(missing)}.")
    return np.asarray([found[symbol] for symbol in symbols], dtype=np.float64)


def parse_network(content: bytes, folder: str, read: Read) -> list[NDArray[np.float32]]:
    """Return kernel `[in, out]` and bias `[out]` of each layer, in turn, of an `.nnf` file.

    Args:
        content: The file.
        folder: Where its weights lie.
        read: Reads a file by name.

    Raises:
        DataError: If it is no such file, a weight file has another length, or an activation is not CELU.
    """
    text = _network_text(content)
    match = re.search(r"inputsize\s*=\s*(\d+)", text)
    layers = re.findall(r"layer\s*\[(.*?)\n?\s*\]\s*(?=layer|\$|$)", text, flags=re.DOTALL)
    if match is None or not layers:
        raise DataError("The file of a network names no layers; it is not one of NeuroChem's.")
    width, arrays = int(match.group(1)), list[NDArray[np.float32]]()
    for place, layer in enumerate(layers):
        nodes = int(_entry(layer, r"nodes\s*=\s*(\d+)"))
        activation = int(_entry(layer, r"activation\s*=\s*(\d+)"))
        if activation != (_LINEAR if place == len(layers) - 1 else _CELU):
            raise DataError(f"Layer {place + 1} of a network has the activation {activation}; only CELU (9) is known.")
        kernel = _floats(_entry(layer, r"weights\s*=\s*FILE:([^\[\s;]+)"), folder, read, nodes * width)
        arrays.append(kernel.reshape(nodes, width).T)
        arrays.append(_floats(_entry(layer, r"biases\s*=\s*FILE:([^\[\s;]+)"), folder, read, nodes))
        width = nodes
    return arrays


def _network_text(content: bytes) -> str:
    """Return the layers as text."""
    try:
        return bz2.decompress(content[content.index(b"BZh") :]).rstrip(b"\0").decode("ascii")
    except (OSError, ValueError) as error:
        raise DataError(f"The file of a network cannot be unpacked: {error}. It is not one of NeuroChem's.") from error


def _entry(layer: str, pattern: str) -> str:
    match = re.search(pattern, layer)
    if match is None:
        raise DataError(f"A layer of a network lacks the entry '{re.split('[^a-z]', pattern)[0]}'.")
    return match.group(1)


def _floats(name: str, folder: str, read: Read, count: int) -> NDArray[np.float32]:
    """Return the numbers of a weight file."""
    content = read(str(PurePosixPath(folder) / name))
    if len(content) != 4 * count:
        raise DataError(f"The weight file {name} has {len(content)} bytes, and {4 * count} are needed.")
    return np.frombuffer(content, dtype="<f4").copy()


def read_ensemble(read: Read, parameters: str, self_energies: str, members: list[str]) -> PublishedPotential:
    """Read a potential.

    Args:
        read: Name of a file → its content.
        parameters: Name of the `.params` file.
        self_energies: Name of the file of self-energies.
        members: For each member the folder in which its `ANN-X.nnf` files lie.

    Raises:
        DataError: If a file is not what it should be.
    """
    functions, symbols = parse_parameters(read(parameters).decode("ascii", "replace"))
    energies = parse_self_energies(read(self_energies).decode("ascii", "replace"), symbols)
    networks, hidden = {}, {}
    for symbol, number in zip(symbols, functions.elements, strict=True):
        found = [parse_network(read(f"{folder}/ANN-{symbol}.nnf"), folder, read) for folder in members]
        if any(arrays[0].shape[0] != functions.length for arrays in found):
            raise DataError(
                f"The networks of {symbol} take {found[0][0].shape[0]} features, and the symmetry functions make "
                f"{functions.length}: the files do not belong together."
            )
        networks[number] = ElementNetworks.stack(found)
        hidden[symbol] = [int(bias.shape[-1]) for bias in networks[number].biases[:-1]]
    return PublishedPotential(functions, energies, networks, hidden)
