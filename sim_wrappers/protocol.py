"""What an adapter of a simulation code must offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from site_configs.resources import ResourceRequest
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Schema, Values
from surrogate.design.space import InputSpace


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run that is to be executed. It is plain data: it travels to a worker as JSON.

    Attributes:
        run_id: Identity (see `surrogate.core.identity.run_id`).
        simulator: Name in the catalogue.
        options: What else decides the result.
        inputs: The canonical point; where a run has several points, each input is the list of their values.
        resources: What the run needs.
        seed: Derived from the run id; for codes that draw random numbers.
        attempt: 1 for the first execution.
        remedies: Names of the wrapper's remedies to apply, oldest first. They may change how a result is reached
            (more iterations, smaller steps), never which result is asked for.
        groups: Group key of each sample, where that is known beforehand; else empty.
    """

    run_id: str
    simulator: str
    options: dict[str, Any]
    inputs: dict[str, Any]
    resources: ResourceRequest = ResourceRequest()
    seed: int = 0
    attempt: int = 1
    remedies: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be started, without any launcher.

    Attributes:
        argv: Program and arguments. A Python program over MPI is `(sys.executable, "-m", "mpi4py", …)`.
        mpi: Whether it must be started by the site's MPI launcher even on one rank.
        environment: Variables to set for it.
    """

    argv: tuple[str, ...]
    mpi: bool = True
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RunData:
    """What a run yielded: one or more samples, column by column.

    Attributes:
        outputs: Output name → `[S, *shape]`, or Ragged of S samples.
        samples: S.
        inputs: Inputs that differ from sample to sample, name → `[S, …]`; the others are the request's, repeated.
        groups: Group key of each sample, or empty for none.
        notes: JSON-ready facts for the provenance (code version, iterations, …).
    """

    outputs: dict[str, Values]
    samples: int = 1
    inputs: dict[str, Values] = field(default_factory=dict)
    groups: tuple[str, ...] = ()
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownError:
    """A failure that the adapter knows by its text.

    Attributes:
        pattern: Regular expression, searched in the run's output.
        kind: What it means.
        message: A sentence for a scientist.
        remedy: Name of a remedy that `prepare` understands, or None.
        remedy_text: What a person can do.
        retryable: Whether running it again (with the remedy) can help.
    """

    pattern: str
    kind: FailureKind
    message: str
    remedy: str | None = None
    remedy_text: str = ""
    retryable: bool = True


@runtime_checkable
class Simulator(Protocol):
    """The adapter of one simulation code: found, version, prepare, command, parse."""

    @property
    def name(self) -> str:
        """Name in the catalogue and in campaign files."""
        ...

    @property
    def known_errors(self) -> tuple[KnownError, ...]:
        """Failures known by their text, most specific first."""
        ...

    def found(self) -> str | None:
        """Return None when the code can run here, else a sentence that says what is missing and how to get it."""
        ...

    def version(self, options: Mapping[str, Any]) -> str:
        """Return the version of the code; a change that alters results must alter it."""
        ...

    def check_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options, complete with defaults.

        Raises:
            ConfigError: If one is unknown or wrong.
        """
        ...

    def identity_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the complete options that decide the result: these enter the run id, the others do not.

        Args:
            options: As `check_options` returned them.
        """
        ...

    def default_space(self, options: Mapping[str, Any]) -> InputSpace | None:
        """Return the space that the code is meant for, or None when only the campaign can say."""
        ...

    def output_schema(self, options: Mapping[str, Any]) -> Schema:
        """Return the output columns (with physical bounds) and coordinates of a run."""
        ...

    def prepare(self, request: RunRequest, folder: Path) -> None:
        """Write the input files of a run into its folder, empty but for restart files that a `Described` asked for."""
        ...

    def program(self, request: RunRequest, folder: Path) -> Program:
        """Return what is to be started in the folder."""
        ...

    def parse(self, request: RunRequest, folder: Path, stdout: Path) -> RunData:
        """Read what the finished run left.

        Raises:
            SimulationError: If the output says that the run failed, with its kind.
        """
        ...
