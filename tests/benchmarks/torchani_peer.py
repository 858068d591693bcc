"""The peer's side of the benchmarks of potentials: runs in the environment of torchani and imports nothing of ours.

It reads one JSON object a line, does what is asked, and answers with one JSON object a line.

    {"do": "load", "members": 8, "double": true}
    {"do": "answer", "file": IN.npz, "out": OUT.npz}     species [M], positions [M, 3] Å, offsets [N + 1]
    {"do": "batch", "file": IN.npz}                       species [n], positions [N, n, 3]: what `time` is about
    {"do": "time"}                                        one call: energies and forces of the batch; seconds
    {"do": "train", "file": IN.npz, "seconds": S, "out": OUT.npz}
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import time
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torchani  # noqa: E402

KCAL = 627.5094740631
PLACES = {1: 0, 6: 1, 7: 2, 8: 3}
FOLDER = Path(torchani.__file__).parent / "resources" / "ani-1x_8x"


def parts() -> tuple[Any, Any, Any]:
    """Return symmetry functions, self-energies and constants of ANI-1x."""
    constants = torchani.neurochem.Constants(str(FOLDER / "rHCNO-5.2R_16-3.5A_a4-8.params"))
    return (
        torchani.AEVComputer(**constants),
        torchani.neurochem.load_sae(str(FOLDER / "sae_linfit.dat")),
        constants,
    )


class Peer:
    """Holds the model between requests."""

    def load(self, members: int, double: bool) -> dict[str, Any]:
        """Load ANI-1x."""
        aev, shifter, constants = parts()
        ensemble = torchani.neurochem.load_model_ensemble(constants.species, str(FOLDER / "train"), 8)
        networks = ensemble if members == 8 else ensemble[0]
        model = torchani.nn.Sequential(aev, networks, shifter)
        self.dtype = torch.float64 if double else torch.float32
        self.model = model.double() if double else model.float()
        return {"torch": torch.__version__, "torchani": "2.2.4", "threads": torch.get_num_threads()}

    def _both(self, species: Any, places: Any) -> tuple[Any, Any]:
        places = places.clone().requires_grad_(True)
        energies = self.model((species, places)).energies
        return energies, -torch.autograd.grad(energies.sum(), places)[0]

    def answer(self, file: str, out: str) -> dict[str, Any]:
        """Write energies and forces of molecules of any sizes."""
        given = np.load(file)
        species, places, offsets = given["species"], given["positions"], given["offsets"]
        energies, forces = [], []
        for begin, end in itertools.pairwise(offsets):
            kinds = torch.tensor([[PLACES[int(number)] for number in species[begin:end]]])
            energy, force = self._both(kinds, torch.tensor(places[begin:end][None], dtype=self.dtype))
            energies.append(float(energy[0]))
            forces.append(force[0].numpy())
        np.savez(out, energies=np.array(energies), forces=np.concatenate(forces))
        return {"structures": len(energies)}

    def batch(self, file: str) -> dict[str, Any]:
        """Remember a batch of conformers of one molecule."""
        given = np.load(file)
        kinds = [PLACES[int(number)] for number in given["species"]]
        self.places = torch.tensor(given["positions"], dtype=self.dtype)
        self.species = torch.tensor([kinds] * len(self.places))
        return {}

    def time(self) -> dict[str, Any]:
        """Measure one call, from positions to energies and forces as NumPy arrays."""
        begun = time.perf_counter()
        energies, forces = self._both(self.species, self.places)
        energies.detach().numpy(), forces.numpy()
        return {"seconds": time.perf_counter() - begun}

    def train(self, file: str, seconds: float, out: str) -> dict[str, Any]:
        """Train from scratch as torchani's own example does, for so many seconds; predict the test frames.

        The loss is its example's: mean(ΔE² / √N) + 0.1 · mean(Σ |ΔF|² / N). AdamW with its weight decay for the
        weights; the rate is halved when the tune loss stalls. Energies are in Ha, centred, and the outputs of the
        networks are scaled to 10 kcal/mol, as small data need.
        """
        torch.manual_seed(0)
        begun = time.perf_counter()
        given = np.load(file)
        aev, _, constants = parts()
        kinds = torch.tensor([PLACES[int(number)] for number in given["species"]])
        unit = 10 / KCAL
        tables = {}
        mean = float(given["train_energies"].mean())
        for name in ("train", "tune", "test"):
            places = torch.tensor(given[f"{name}_positions"], dtype=torch.float32)
            energies = torch.tensor((given[f"{name}_energies"] - mean) / unit, dtype=torch.float32)
            tables[name] = places, energies, torch.tensor(given[f"{name}_forces"] / unit, dtype=torch.float32)
        sizes = {"H": [160, 128, 96], "C": [144, 112, 96], "N": [128, 112, 96], "O": [128, 112, 96]}
        networks = torchani.ANIModel([_network(aev.aev_length, sizes[symbol]) for symbol in constants.species])
        model = torchani.nn.Sequential(aev, networks)
        decays = {2: 1e-5, 4: 1e-6}
        groups = []
        for name, parameter in networks.named_parameters():
            layer, kind = name.split(".")[-2:]
            decay = decays.get(int(layer), 0.0) if kind == "weight" else 0.0
            groups.append({"params": [parameter], "weight_decay": decay})
        optimizer = torch.optim.AdamW(groups, lr=1e-3)
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=10, threshold=0)
        best, epochs, kept = math.inf, 0, None
        count = len(tables["train"][0])
        spent = 0.0
        while time.perf_counter() - begun + spent < seconds:
            tick = time.perf_counter()
            for index in torch.randperm(count).split(32):
                optimizer.zero_grad()
                _loss(model, kinds, *(table[index] for table in tables["train"])).mean().backward()
                optimizer.step()
            tune = float(_loss(model, kinds, *tables["tune"]).mean().detach())
            schedule.step(tune)
            epochs += 1
            if tune < best:
                best, kept = tune, {name: value.clone() for name, value in model.state_dict().items()}
            spent = time.perf_counter() - tick
        trained = time.perf_counter() - begun
        model.load_state_dict(kept)
        energies, forces = [], []
        for index in torch.arange(len(tables["test"][0])).split(100):
            energy, force = _answers(model, kinds, tables["test"][0][index])
            energies.append(energy.detach().numpy() * unit + mean)
            forces.append(force.detach().numpy() * unit)
        np.savez(out, energies=np.concatenate(energies), forces=np.concatenate(forces))
        return {"seconds": trained, "epochs": epochs, "torch": torch.__version__}


def _network(features: int, hidden: list[int]) -> Any:
    """Return a network with He's start, as torchani's example makes it."""
    layers: list[Any] = []
    for given, made in zip([features, *hidden], [*hidden, 1], strict=True):
        linear = torch.nn.Linear(given, made)
        torch.nn.init.kaiming_normal_(linear.weight, a=1.0)
        torch.nn.init.zeros_(linear.bias)
        layers += [linear, torch.nn.CELU(0.1)]
    return torch.nn.Sequential(*layers[:-1])


def _answers(model: Any, kinds: Any, places: Any) -> tuple[Any, Any]:
    places = places.clone().requires_grad_(True)
    energies = model((kinds.expand(len(places), -1), places)).energies
    return energies, -torch.autograd.grad(energies.sum(), places, create_graph=True)[0]


def _loss(model: Any, kinds: Any, places: Any, energies: Any, forces: Any) -> Any:
    said, pulls = _answers(model, kinds, places)
    atoms = places.shape[1]
    return (said - energies) ** 2 / math.sqrt(atoms) + 0.1 * ((pulls - forces) ** 2).sum(dim=(1, 2)) / atoms


def main() -> None:
    """Serve requests until the input ends."""
    torch.set_num_threads(1)
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(peer, request.pop("do"))(**request)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
