"""The command line. Each command imports what it needs when it runs, so that `surrogate --help` is quick."""

from __future__ import annotations

import sys

from workflows.cli.application import application
from workflows.cli.empty_words import refuse_empty
from workflows.cli.endings import ending, printed


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 done (promoted, or passed and awaiting a person's approval), 3 done and the gate failed, 2 bad input, 1 another
    failure, 130 interrupted.

    Args:
        arguments: Words after the program's name; those of the process by default.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    as_json = "--json" in words
    try:
        refuse_empty(words)
        result = application()(args=words, prog_name="surrogate", standalone_mode=False)
    except BaseException as error:  # noqa: BLE001 - this is where every error becomes a sentence
        return printed(ending(error, debug=debug, as_json=as_json))
    return printed(result if isinstance(result, int) else 0)
