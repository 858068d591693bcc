"""The generated parts of the documentation: `python -m scripts.docs.reference` renews them in place.

A page marks such a part by two comments, `<!-- generated: NAME -->` and `<!-- end -->`. Everything else is written by
hand and stays.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from scripts.docs.commands import command_pages
from scripts.docs.failures import budget_table, failure_table
from scripts.docs.models import model_tables
from sim_wrappers.einstein_toolkit.options import EinsteinToolkitOptions
from sim_wrappers.external.options import ExternalOptions
from site_configs.site import Site
from surrogate.core.outcome import FailureKind
from surrogate.data.readers.mapping import Mapping, TableMapping
from surrogate.models.catalog import family
from surrogate.signal.readers.gwosc import GwoscOptions
from surrogate.signal.readers.lvcnr import LvcnrOptions
from workflows.config import campaign_json_schema

FOLDER = Path(__file__).parents[2] / "docs"
_PART = re.compile(r"(<!-- generated: (?P<name>[\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _tables(model: type[BaseModel], place: str = "", level: int = 2) -> str:
    return model_tables(model.model_json_schema(), place, level)


def _only(model: type[BaseModel], base: type[BaseModel]) -> str:
    """Return the table of the keys that a model has beyond its base."""
    schema = model.model_json_schema()
    own = {name: field for name, field in schema["properties"].items() if name not in base.model_fields}
    return model_tables({**schema, "properties": own}).partition("\n\n")[2]


PARTS: dict[str, Callable[[], str]] = {
    "ani": lambda: _tables(family("ani").options_type, "model.options", 4),
    "atomic-kernel": lambda: _tables(family("atomic_kernel").options_type, "model.options", 4),
    "campaign-file": lambda: model_tables(campaign_json_schema()),
    "command-line": command_pages,
    "detector": lambda: _tables(family("detector").options_type, "model.options", 3),
    "einstein-toolkit": partial(_tables, EinsteinToolkitOptions, "simulator.options", 3),
    "external": partial(_tables, ExternalOptions, "simulator.options", 3),
    "gwosc": partial(_tables, GwoscOptions),
    "lvcnr": partial(_tables, LvcnrOptions),
    "mapping-file": partial(_tables, Mapping),
    "mapping-table": partial(_only, TableMapping, Mapping),
    "mlp": lambda: _tables(family("mlp").options_type, "model.options", 3),
    "site-file": partial(_tables, Site),
    "failure-budgets": budget_table,
    **{f"failure.{kind.value}": partial(failure_table, kind) for kind in FailureKind},
}
"""Name of a generated part → what makes it."""


def renewed(page: str) -> str:
    """Return a page with its generated parts as they should be.

    Args:
        page: Markdown.

    Raises:
        KeyError: If a part is unknown.
    """
    return _PART.sub(lambda found: f"{found[1]}\n{PARTS[found['name']]().strip()}\n\n{found[3]}", page)


def parts_of(page: str) -> list[str]:
    """Return the names of the generated parts of a page."""
    return [found["name"] for found in _PART.finditer(page)]


def main() -> None:
    """Renew all pages and name those that changed."""
    for path in sorted(FOLDER.rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = renewed(before)
        if after != before:
            path.write_text(after, encoding="utf-8")
            sys.stdout.write(f"{path.relative_to(FOLDER.parent)} is renewed\n")


if __name__ == "__main__":
    main()
