"""Model families by name: ours, and those that other distributions add by entry points `surrogate.families`."""

from __future__ import annotations

from importlib import import_module, metadata

from surrogate.core.errors import ConfigError, nearest
from surrogate.models.protocols import Family

GROUP = "surrogate.families"


_OWN = {
    "ani": "surrogate.models.ani.family:FAMILY",
    "atomic_kernel": "surrogate.models.kernel.family:FAMILY",
    "detector": "surrogate.models.detector.family:FAMILY",
    "mlp": "surrogate.models.mlp:FAMILY",
}


def _known() -> dict[str, str]:
    """Return name → `module:object` of every family; ours come first."""
    others = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP)}
    return {**others, **_OWN}


def families() -> tuple[str, ...]:
    """Return the names of all families, sorted."""
    return tuple(sorted(_known()))


def family(name: str) -> Family:
    """Return the family of that name.

    Args:
        name: A name of `families`.

    Raises:
        ConfigError: If there is none of that name, or it cannot be loaded.
    """
    known = _known()
    if name not in known:
        raise ConfigError(
            f"There is no model family '{name}'.{nearest(name, known)} Known are: {', '.join(sorted(known))}."
        )
    module, _, attribute = known[name].partition(":")
    try:
        found: Family = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"The model family '{name}' ({known[name]}) cannot be loaded: {error}. Install what it needs, or "
            "remove the "
            "distribution that brings it."
        ) from error
    return found
