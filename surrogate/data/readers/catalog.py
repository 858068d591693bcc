"""The readers that are installed, by the entry points `surrogate.readers`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from surrogate.core.errors import ConfigError, nearest
from surrogate.data.readers.protocol import Reader

GROUP = "surrogate.readers"


def reader_names() -> tuple[str, ...]:
    """Return the names of all readers, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(group=GROUP)}))


def find_reader(name: str) -> Reader:
    """Return the reader of a format.

    Raises:
        ConfigError: If there is none of that name, with the nearest one, or it is broken.
    """
    entries = {entry.value: entry for entry in entry_points(group=GROUP, name=name)}
    if not entries:
        known = reader_names()
        raise ConfigError(
            f"There is no reader for the format '{name}'; installed are: {', '.join(known) or 'none'}."
            f"{nearest(name, known)} Another distribution can bring one by the entry point '{GROUP}'."
        )
    if len(entries) > 1:
        owners = " and ".join(sorted(_owner(entry) for entry in entries.values()))
        raise ConfigError(f"The format '{name}' is offered by {owners}. Uninstall all of them but one.")
    return _load(next(iter(entries.values())))


def _owner(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value


def _load(entry: EntryPoint) -> Reader:
    source = f"The reader '{entry.name}' of the distribution {_owner(entry)}"
    try:
        found = entry.load()
    except Exception as error:  # another distribution's code may raise anything
        raise ConfigError(f"{source} cannot be loaded: {type(error).__name__}: {error}.") from error
    if not isinstance(found, Reader) or found.name != entry.name:
        raise ConfigError(f"{source} is no reader of that name: '{entry.value}' is something else.")
    return found
