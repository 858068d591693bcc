"""Which program executes the networks: chosen by name, loaded when first needed."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from surrogate.core.errors import ConfigError, nearest
from surrogate.models.protocols import Forward

RUNTIMES = ("onnx", "tensorflow")
"""Names of the runtimes; the first is the default, and 20 times faster for single rows."""


class Runtime(Protocol):
    """Executes networks that lie in files."""

    @property
    def name(self) -> str:
        """Name by which it is asked for."""
        ...

    @property
    def kind(self) -> str:
        """Key of its network files in the artifact's record: `onnx` or `keras`."""
        ...

    @property
    def version(self) -> str:
        """Name and version of the library behind it."""
        ...

    def open(self, path: Path) -> Forward:
        """Load one network.

        Raises:
            IntegrityError: If the file cannot be loaded.
        """
        ...


def runtime(name: str, threads: int = 1) -> Runtime:
    """Return the runtime of that name.

    Args:
        name: `onnx` or `tensorflow`.
        threads: Threads that one call may use; 0 leaves the choice to the library.

    Raises:
        ConfigError: If the name is unknown or threads is negative.
        MissingExtraError: If its library is not installed.
    """
    if threads < 0:
        raise ConfigError(
            f"A prediction cannot use {threads} threads. Ask for 1 or more, or for 0 to let the library choose."
        )
    if name == "onnx":
        from surrogate.inference.onnx_runtime import OnnxRuntime

        return OnnxRuntime(threads)
    if name == "tensorflow":
        from surrogate.inference.keras_runtime import KerasRuntime

        return KerasRuntime(threads)
    raise ConfigError(f"There is no runtime '{name}'.{nearest(name, RUNTIMES)} Known are {' and '.join(RUNTIMES)}.")
