"""An empty word on the line is mostly a shell variable that is not set; taken as a path it would mean this folder."""

from __future__ import annotations

from collections.abc import Sequence

from surrogate.core.errors import InputError

_MAY_BE_EMPTY = ("--note", "--approve")


def refuse_empty(words: Sequence[str]) -> None:
    """Refuse a word that is empty, and an option that is given as `--name=` with nothing behind.

    Args:
        words: Words after the program's name.

    Raises:
        InputError: If there is one, with the word before it; a person's word may be empty.
    """
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        name, equals, value = word.partition("=")
        if word == "" and before not in _MAY_BE_EMPTY:
            place = f"after '{before}'" if before else "at the beginning of the line"
        elif word.startswith("--") and equals and value == "" and name not in _MAY_BE_EMPTY:
            place = f"to {name}"
        else:
            continue
        raise InputError(
            f"An empty word was given {place}. Is it a shell variable that is not set? Write the word, or leave the "
            "option out; '.' is this folder."
        )
