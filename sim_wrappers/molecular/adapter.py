"""The base of the adapters of codes that compute structures of atoms.

What `sim_wrappers.protocol.Simulator` and `sim_wrappers.described.Described` ask for and all of them answer alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Any

from sim_wrappers.molecular.asked import output_schema
from sim_wrappers.protocol import KnownError
from surrogate.core.errors import ConfigError
from surrogate.core.schema import Schema
from surrogate.data.admission import PhysicsCheck
from surrogate.data.force_check import forces_have_their_sign
from surrogate.design.space import InputSpace

SPACE_KIND = "structures"


class MolecularAdapter:
    """Base of an adapter; a subclass adds what its code needs.

    Attributes:
        space_kind: Kind of the input space.
        physics_checks: What admission checks of every run.
    """

    space_kind = SPACE_KIND
    physics_checks: tuple[PhysicsCheck, ...] = (forces_have_their_sign,)
    known_errors: tuple[KnownError, ...] = ()

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return None: only the campaign can say which molecules (see `Simulator.default_space`)."""
        del options
        return None

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return energy, forces and level of theory (see `Simulator.output_schema`)."""
        del options
        return output_schema()

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return all options (see `Simulator.identity_options`)."""
        return dict(options)

    def named_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return nothing: the options name no files (see `Described.named_files`)."""
        del options
        return ()

    def locate(self, options: Mapping[str, Any], resolve: Callable[[str], Any]) -> dict[str, Any]:
        """Return the options as they are (see `Described.locate`)."""
        del resolve
        return dict(options)

    def check_space(self, options: Mapping[str, Any], space: InputSpace) -> None:
        """Refuse inputs that are no structures (see `Described.check_space`).

        Raises:
            ConfigError: If so.
        """
        del options
        if space.kind != self.space_kind:
            raise ConfigError(f"structures of atoms are needed, and the inputs are of kind '{space.kind}'.")

    def check_launcher(self, options: Mapping[str, Any], dialect: str, mpiexec: str) -> None:
        """Accept any launcher (see `Described.check_launcher`)."""
        del options, dialect, mpiexec

    def errors(self, options: Mapping[str, Any]) -> tuple[KnownError, ...]:
        """Return nothing beyond `known_errors` (see `Described.errors`)."""
        del options
        return ()

    def log_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return nothing beyond the program's output (see `Described.log_files`)."""
        del options
        return ()

    def restart_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return nothing (see `Described.restart_files`)."""
        del options
        return ()


def package_version(name: str) -> str:
    """Return the version of an installed distribution, or `none`."""
    try:
        return installed_version(name)
    except PackageNotFoundError:
        return "none"


def missing_package(name: str, what: str) -> str | None:
    """Return None when a distribution is installed, else the sentence that says how to get it."""
    if package_version(name) != "none":
        return None
    return f"{what} is not installed here. Install it with: pip install 'surrogate-hpc[molecules]'"
