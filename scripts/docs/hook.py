"""A hook of MkDocs: directives of code blocks are for the tests and are not shown."""

from __future__ import annotations

from typing import Any

from scripts.docs.blocks import plain_fences


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page as it is rendered."""
    return plain_fences(markdown)
