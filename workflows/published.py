"""A potential that was published elsewhere becomes a version of the registry, its origin in the lineage."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from surrogate.core.files import sha256_file
from surrogate.registry.record import Lineage, environment
from surrogate.registry.store import Registry, resolve_registry


def import_published(
    wheel: Path, potential: str, name: str, registry: Path | None = None, workdir: Path | None = None
) -> dict[str, Any]:
    """Add a published potential to a registry. Importing it again changes nothing.

    Args:
        wheel: A wheel or another zip archive with NeuroChem's files; read as data, nothing of it is executed.
        potential: Folder of the potential in it.
        name: Campaign under which the version is kept.
        registry: The registry; see `resolve_registry`.
        workdir: Working directory whose registry is meant.

    Returns:
        `version`, `campaign`, `members`, `artifact` (its folder), `origin`, `sha256` over the files that were read.

    Raises:
        DataError: If the archive is none, or has no such potential.
        ConfigError: If no registry was named, or the name is not fit for one.
        MissingExtraError: If TensorFlow is not installed, by which the networks are written.
        TrainingError: If a network cannot be exported faithfully.
    """
    from surrogate.training.published import find_collection, write_published

    store = Registry(resolve_registry(registry, workdir))
    collection = find_collection(wheel, potential)
    with tempfile.TemporaryDirectory() as folder:
        artifact = Path(folder) / "artifact"
        record = write_published(artifact, collection)
        source = record["training"]["source"]
        lineage = Lineage(
            name,
            record["dataset_hash"],
            environment=environment(),
            origin=f"imported: {potential} of {wheel.name}",
            facts={"source": {**source, "archive_sha256": sha256_file(wheel)}},
        )
        version = store.add(artifact, lineage)
    return {
        "version": version,
        "campaign": name,
        "members": len(record["members"]),
        "artifact": str(store.artifact(version, name)),
        "origin": lineage.origin,
        "sha256": source["sha256"],
    }
