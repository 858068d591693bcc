"""How a command ends when something went wrong: a sentence and an exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

import typer
from typer.exceptions import TyperException

from surrogate.core.errors import SurrogateError

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
_ASKED = (errno.ENAMETOOLONG, errno.ELOOP)
"""What the system can only say of a name that was given."""


def ending(error: BaseException, *, debug: bool, as_json: bool) -> int:
    """Tell a person what went wrong and return the exit code.

    Args:
        error: What ended the command.
        debug: Print the traceback.
        as_json: Put one JSON object on stdout as well.
    """
    if isinstance(error, typer.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, BrokenPipeError):
        let_go_of_stdout()
        return FAILED
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    sentence, code = _sentence(error)
    typer.echo(f"surrogate: {sentence}", err=True)
    if as_json:
        with contextlib.suppress(OSError):  # the sentence was told already
            typer.echo(json.dumps({"error": sentence, "exit_code": code}))
    return code


def printed(code: int) -> int:
    """Return how a command ends whose last words may not have reached their place yet.

    Args:
        code: Its exit code when they do.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        let_go_of_stdout()
    except OSError as error:
        let_go_of_stdout()
        with contextlib.suppress(OSError):
            typer.echo(f"surrogate: What was to be printed could not be written: {error.strerror or error}.", err=True)
        return code or FAILED
    return code


def let_go_of_stdout() -> None:
    """Let what is still to be printed go nowhere, so that Python does not complain of it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _sentence(error: BaseException) -> tuple[str, int]:
    if isinstance(error, SurrogateError):
        log = getattr(error, "log", None)
        return f"{error}" + (f" The log is {log}." if log else ""), error.exit_code
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "Interrupted.", INTERRUPTED
    if isinstance(error, TyperException):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "surrogate"
        return f"{error.format_message()} `{command} --help` shows what it takes.", BAD_INPUT
    if isinstance(error, OSError) and error.errno is not None:
        what, said = error.filename or "A file", error.strerror or str(error)
        refused = f"{what} could not be used: the system says '{said}'. Mend that, then give the same command again."
        if error.errno in _ASKED:
            return refused, BAD_INPUT
        return f"{refused} Where the program was then: {_keep_traceback(error)}.", FAILED
    log = _keep_traceback(error)
    sentence = (
        f"Something went wrong that this program did not foresee: {type(error).__name__}: {error}. "
        f"The traceback is in {log}; `--debug` prints it."
    )
    return sentence, FAILED


def _keep_traceback(error: BaseException) -> str:
    """Write the traceback where a person can find it and return the file's name, or why there is none."""
    folder = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state")) / "surrogate"
    text = "".join(traceback.format_exception(error))
    for place in (folder, Path(tempfile.gettempdir())):
        try:
            place.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix="surrogate-traceback-", suffix=".log", dir=place)
            with os.fdopen(handle, "w", encoding="utf-8") as sink:
                sink.write(text)
        except OSError:
            continue
        return name
    return "nowhere, as no file can be written"
