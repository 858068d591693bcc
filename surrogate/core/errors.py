"""The one tree of exceptions that this project raises on purpose.

Every message is made of sentences: what was asked, what was found, what to do next.

    SurrogateError                 root; exit code 1
    ├── InputError                 the request itself cannot be honoured; exit code 2
    │   ├── ConfigError            a campaign, site or mapping file
    │   ├── SpaceError             an input space, or a point that does not belong to it
    │   ├── UnitError              a unit that is unknown or of another dimension
    │   ├── ResourceError          a resource request that is inconsistent or does not fit
    │   ├── DataError              data that was handed in and cannot be used
    │   └── SplitError             a split below its declared minimum
    ├── MissingExtraError          an optional part is not installed; exit code 2
    ├── IntegrityError             a file is damaged, or is not what its record says
    ├── AdmissionError             a run's output may not be learned from
    ├── SimulationError            a run failed; carries the Failure's kind
    ├── TrainingError              training could not go on
    ├── LockError                  somebody else holds the campaign
    ├── StorageError               a disk is full, or refuses to be written
    ├── SiteError                  scheduler, launcher or environment of a site misbehaved
    └── Interrupted                stopped on request; exit code 130
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SurrogateError(Exception):
    """Root of all errors raised on purpose.

    Attributes:
        exit_code: What the command line returns when this error ends it.
    """

    exit_code = 1


class InputError(SurrogateError):
    """What was asked cannot be done as asked."""

    exit_code = 2


class ConfigError(InputError):
    """A campaign, site or mapping file is wrong."""


class SpaceError(InputError):
    """An input space is ill defined, or a point does not belong to it."""


class UnitError(InputError):
    """A unit is unknown, or has another dimension than is needed."""


class ResourceError(InputError):
    """A resource request is inconsistent, or can never fit the site."""


class DataError(InputError):
    """Data that was handed in cannot be used."""


class SplitError(InputError):
    """A split has fewer points or groups than was declared."""


class MissingExtraError(SurrogateError):
    """An optional part is needed and not installed."""

    exit_code = 2

    def __init__(self, what: str, extra: str) -> None:
        """Say what needs which extra.

        Args:
            what: The thing that was asked for, as the subject of a sentence.
            extra: Name of the extra that brings it.
        """
        super().__init__(
            f"{what} needs packages that are not installed. Install them with: pip install 'surrogate-hpc[{extra}]'"
        )


class IntegrityError(SurrogateError):
    """A file is damaged, or is not what its record says it is."""


class AdmissionError(SurrogateError):
    """A run's output may not be learned from."""


class SimulationError(SurrogateError):
    """A run failed; `kind` is the value of the FailureKind."""

    def __init__(self, message: str, kind: str = "solver") -> None:
        """Keep the kind beside the sentence.

        Args:
            message: One or more sentences.
            kind: Value of a `surrogate.core.outcome.FailureKind`.
        """
        super().__init__(message)
        self.kind = kind


class TrainingError(SurrogateError):
    """Training could not go on."""


class LockError(SurrogateError):
    """The campaign is held by somebody else, or the hold was lost."""


class StorageError(SurrogateError):
    """A disk is full, or refuses to be written."""


class SiteError(SurrogateError):
    """A scheduler, launcher or environment of a site misbehaved."""


class Interrupted(SurrogateError):  # noqa: N818 - an interruption is not an error of anybody's
    """Stopped on request."""

    exit_code = 130


def after_work(error: InputError) -> InputError:
    """Return an error that ends the command as a failure: it comes of what was executed, not of what was asked.

    Args:
        error: What is about to be raised.
    """
    error.exit_code = SurrogateError.exit_code
    return error


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a hint such as ` Did you mean 'runs'?`, or an empty string.

    Args:
        word: What was written.
        known: What could have been written.
    """
    match = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{match[0]}'?" if match else ""
