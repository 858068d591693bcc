"""Pages of documentation as tests see them: what is on them, and whether a command says what they show."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.docs.blocks import Block, blocks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_ANYTHING = "…"
_INLINE = re.compile(r"(?<!`)`(surrogate [^`\n]+)`(?!`)")
_STOPS = ("|", "&&", ";", ">", "<")


def pages() -> list[Path]:
    """Return the pages of the site, and what else a person reads."""
    others = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    return [*others, *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "workflows/templates").glob("*/README.md"))]


def name_of(page: Path) -> str:
    """Return a page's name for the list of tests."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    return list(blocks(page.read_text(encoding="utf-8")))


def unlike(expected: str, printed: str) -> str | None:
    """Return the first line of `expected` that does not come in `printed`, in that order, or None.

    `…` stands for anything within a line; spaces count as one.
    """
    lines = iter(" ".join(line.split()) for line in printed.splitlines())
    for wanted in filter(None, (" ".join(line.split()) for line in expected.splitlines())):
        pattern = ".*".join(re.escape(part) for part in wanted.split(_ANYTHING))
        if not any(re.fullmatch(pattern, line) for line in lines):
            return wanted
    return None


def command_lines(page: Path) -> Iterator[list[str]]:
    """Yield every command line of `surrogate` on a page, as words: from shell blocks and from `inline code`."""
    text = page.read_text(encoding="utf-8")
    shells = [line.strip() for block in blocks_of(page) if block.language == "sh" for line in block.text.splitlines()]
    indented = [line.strip() for line in text.splitlines() if line.startswith("    surrogate ")]
    inline = [found[1] for found in _INLINE.finditer(re.sub(r"```.*?```", "", text, flags=re.DOTALL))]
    for line in [*shells, *indented, *inline]:
        if line.startswith("surrogate "):
            yield _before_stops(shlex.split(line, comments=True))


def _before_stops(words: list[str]) -> list[str]:
    ends = [place for place, word in enumerate(words) if word in _STOPS]
    return words[: ends[0]] if ends else words


def mistake(words: list[str], options: Mapping[str, frozenset[str]]) -> str | None:
    """Return what the program does not know of a command line, or None.

    Args:
        words: The command line.
        options: Command, such as `surrogate site show` → its options.
    """
    command, rest = words[0], words[1:]
    while rest and f"{command} {rest[0]}" in options:
        command = f"{command} {rest.pop(0)}"
    groups = {name.rpartition(" ")[0] for name in options}
    if command in groups and rest and not rest[0].startswith("-") and rest[0].islower() and rest[0].isalpha():
        return f"{command} has no command {rest[0]}"
    given = [word.partition("=")[0] for word in rest if word.startswith("-")]
    unknown = [word for word in given if word not in options[command]]
    return f"{command} has no option {unknown[0]}" if unknown else None
