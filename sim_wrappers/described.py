"""What some simulators offer beside `Simulator`: those that a campaign describes, and those that take structures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sim_wrappers.protocol import KnownError, Simulator
from surrogate.data.admission import PhysicsCheck
from surrogate.design.space import InputSpace


@runtime_checkable
class Described(Protocol):
    """A simulator whose options name files, the failures of its program, and places where inputs go.

    `options` are always those that `check_options` completed.
    """

    def named_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the files and folders, as the options write them, of which a campaign keeps a copy of its own."""
        ...

    def locate(self, options: Mapping[str, Any], resolve: Callable[[str], Path]) -> dict[str, Any]:
        """Return the options with every path absolute, so that any worker finds what they name.

        Args:
            options: The options.
            resolve: Turns a path of the campaign file into the file that it means.

        Raises:
            ConfigError: If something is missing or cannot be read.
        """
        ...

    def check_space(self, options: Mapping[str, Any], space: InputSpace) -> None:
        """Refuse a space whose inputs are not those that the options use.

        Args:
            options: The options, located.
            space: Where the campaign chooses its points.

        Raises:
            ConfigError: If the program would never see an input, or a place for one stays empty.
        """
        ...

    def check_launcher(self, options: Mapping[str, Any], dialect: str, mpiexec: str) -> None:
        """Refuse a launcher of another MPI than the program's.

        Args:
            options: The options, located.
            dialect: The launcher's dialect.
            mpiexec: Its path.

        Raises:
            ConfigError: If each rank would believe to be alone.
        """
        ...

    def errors(self, options: Mapping[str, Any]) -> tuple[KnownError, ...]:
        """Return the failures that the options describe, most specific first."""
        ...

    def log_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the files of a run whose text is searched for failures beside the program's output."""
        ...

    def restart_files(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return names or patterns of the files by which a run goes on where a lost one stopped."""
        ...


@runtime_checkable
class TakesKind(Protocol):
    """A simulator whose inputs are of another kind than `parameters`."""

    @property
    def space_kind(self) -> str:
        """Kind of its input space, such as `structures`."""
        ...


@runtime_checkable
class TakesMany(Protocol):
    """A simulator of which one run can have several points; each input is the list of their values then."""

    @property
    def takes_many(self) -> bool:
        """Whether it does."""
        ...


def takes_many(simulator: Simulator) -> bool:
    """Return whether a run of a simulator can have several points."""
    return space_kind(simulator) == "structures" or (isinstance(simulator, TakesMany) and simulator.takes_many)


@runtime_checkable
class ChecksPhysics(Protocol):
    """A simulator with checks of its own, which admission makes of every run."""

    @property
    def physics_checks(self) -> tuple[PhysicsCheck, ...]:
        """The checks."""
        ...


def physics_checks(simulator: Simulator) -> tuple[PhysicsCheck, ...]:
    """Return a simulator's own checks."""
    return simulator.physics_checks if isinstance(simulator, ChecksPhysics) else ()


def space_kind(simulator: Simulator) -> str:
    """Return the kind of a simulator's input space."""
    return simulator.space_kind if isinstance(simulator, TakesKind) else "parameters"


def errors_of(simulator: Simulator, options: Mapping[str, Any]) -> tuple[KnownError, ...]:
    """Return the failures that are known of a simulator with these options, most specific first."""
    own = simulator.errors(options) if isinstance(simulator, Described) else ()
    return (*own, *simulator.known_errors)
