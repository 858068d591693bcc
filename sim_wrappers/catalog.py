"""The simulators that are installed, by the entry points `surrogate.simulators`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points

from sim_wrappers.protocol import Simulator
from surrogate.core.errors import ConfigError, nearest

GROUP = "surrogate.simulators"

_loaded: dict[EntryPoint, Simulator] = {}
_known: dict[str, Simulator] = {}


class Catalogue(Mapping[str, Simulator]):
    """Name → Simulator. Names are read at once, a simulator is loaded when it is asked for."""

    def __init__(self) -> None:
        """Find the entry points; two distributions may not use one name."""
        self._entries: dict[str, EntryPoint] = {}
        self._twice: dict[str, set[str]] = {}
        for entry in entry_points(group=GROUP):
            other = self._entries.setdefault(entry.name, entry)
            if other.value != entry.value:
                self._twice.setdefault(entry.name, {_owner(other)}).add(_owner(entry))

    def __getitem__(self, name: str) -> Simulator:
        """Return a simulator.

        Raises:
            KeyError: If there is none of that name.
            ConfigError: If its distribution is broken, or two have one of that name.
        """
        entry = self._entries[name]
        if name in self._twice:
            owners = " and ".join(sorted(self._twice[name]))
            raise ConfigError(f"The simulator '{name}' is offered by {owners}. Uninstall all of them but one.")
        if entry not in _loaded:
            _loaded[entry] = _load(entry)
        return _loaded[entry]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        return len(self._entries)


def _owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value


def _load(entry: EntryPoint) -> Simulator:
    """Return what an entry point names.

    Raises:
        ConfigError: If it cannot be imported, or is no Simulator of its name.
    """
    source = f"The simulator '{entry.name}' of the distribution {_owner(entry)}"
    try:
        found = entry.load()
    except Exception as error:  # another distribution's code may raise anything
        raise ConfigError(
            f"{source} cannot be loaded: {type(error).__name__}: {error}. "
            f"Repair or uninstall that distribution; the others are not touched by it."
        ) from error
    if not isinstance(found, Simulator):
        raise ConfigError(f"{source} is no simulator: '{entry.value}' lacks a part of sim_wrappers.protocol.Simulator.")
    if found.name != entry.name:
        raise ConfigError(f"{source} calls itself '{found.name}'; the two names must agree.")
    return found


def simulators() -> Mapping[str, Simulator]:
    """Return name → Simulator of all that are installed; each is loaded when it is first asked for."""
    return Catalogue()


def broken() -> dict[str, str]:
    """Return name → sentence of the simulators that cannot be loaded."""
    catalogue, faults = Catalogue(), {}
    for name in catalogue:
        try:
            catalogue[name]
        except ConfigError as error:
            faults[name] = str(error)
    return faults


def get(name: str) -> Simulator:
    """Return a simulator by its name.

    Raises:
        ConfigError: If there is none of that name, with the nearest one, or it is broken.
    """
    if name in _known:  # reading the metadata of all distributions takes longer than many a run
        return _known[name]
    catalogue = Catalogue()
    if name not in catalogue:
        known = ", ".join(catalogue) or "none"
        raise ConfigError(
            f"There is no simulator '{name}'; installed are: {known}.{nearest(name, catalogue)} "
            f"Another distribution can bring one by the entry point '{GROUP}'."
        )
    _known[name] = catalogue[name]
    return _known[name]
