"""How a command ends when something went wrong: a sentence and an exit code."""

from __future__ import annotations

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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    sentence, code = _sentence(error)
    typer.echo(f"surrogate: {sentence}", err=True)
    if as_json:
        typer.echo(json.dumps({"error": sentence, "exit_code": code}))
    return code


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
    log = _keep_traceback(error)
    sentence = (
        f"Something went wrong that this program did not foresee: {type(error).__name__}: {error}. "
        f"The traceback is in {log}; `--debug` prints it."
    )
    return sentence, FAILED


def _keep_traceback(error: BaseException) -> Path:
    """Write the traceback where a person can find it and return the file."""
    folder = Path(os.environ.get("XDG_STATE_HOME", Path.home() / ".local" / "state")) / "surrogate"
    text = "".join(traceback.format_exception(error))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix="traceback-", suffix=".log", dir=folder)
    except OSError:
        handle, name = tempfile.mkstemp(prefix="surrogate-traceback-", suffix=".log")
    with os.fdopen(handle, "w", encoding="utf-8") as sink:
        sink.write(text)
    return Path(name)
