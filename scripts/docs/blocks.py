"""The fenced code blocks of a page, and what the words on a fence ask for.

A fence such as ```` ```toml file=campaign.toml ```` has a language and directives:

    file=NAME   write the block into the file NAME
    run         execute it (sh or python), after the blocks before it and in the same folder
    exit=N      with `run`: the exit status that it must have, 0 when left out
    output      it is part of what the block before it printed: every line of it, in this order; `…` stands for anything
    slow        with `run`: it takes more than ten seconds
    needs=NAME  with `run`: the page is skipped where the program NAME is not installed
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<info>[^`]*)$")
_FLAGS = ("run", "output", "slow")
_VALUES = ("file", "exit", "needs")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block.

    Attributes:
        line: Number of its fence's line, from 1 on.
        language: First word of the fence; may be empty.
        flags: Directives without a value.
        values: Directives with a value, name → value.
        text: What stands in it, without the fence's indentation.
    """

    line: int
    language: str
    flags: frozenset[str]
    values: dict[str, str]
    text: str

    @property
    def runs(self) -> bool:
        """Whether it is to be executed."""
        return "run" in self.flags


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page.

    Args:
        page: Markdown.

    Raises:
        ValueError: If a directive is unknown, or a fence is never closed.
    """
    fence, info, begun, body = "", "", 0, [""]
    for number, line in enumerate(page.splitlines(), 1):
        found = _FENCE.match(line)
        if not fence and found:
            fence, info, begun, body = found["indent"] + found["ticks"], found["info"], number, []
        elif fence and found and line.strip() == fence.strip():
            yield _block(begun, info, "\n".join(body) + "\n")
            fence = ""
        elif fence:
            body.append(line.removeprefix(fence[: fence.index("`")]))
    if fence:
        raise ValueError(f"The block that begins in line {begun} is never closed.")


def _block(line: int, info: str, text: str) -> Block:
    language, *directives = info.split() or [""]
    flags = frozenset(word for word in directives if "=" not in word)
    values = dict(word.split("=", 1) for word in directives if "=" in word)
    unknown = [*(flags - set(_FLAGS)), *(set(values) - set(_VALUES))]
    if unknown:
        raise ValueError(f"Line {line}: {unknown[0]!r} is no directive; there are {', '.join((*_FLAGS, *_VALUES))}.")
    return Block(line, language, flags, values, text)


def plain_fences(page: str) -> str:
    """Return a page whose fences have no directives; the name of a file becomes the block's title."""
    lines, fence = [], ""
    for line in page.splitlines():
        found = _FENCE.match(line)
        if fence:
            fence = "" if found and line.strip() == fence else fence
        elif found:
            fence = found["ticks"]
            language, *directives = found["info"].split() or [""]
            names = [word.partition("=")[2] for word in directives if word.startswith("file=")]
            title = f' title="{names[0]}"' if names else ""
            lines.append(f"{found['indent']}{fence}{language}{title}")
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"
