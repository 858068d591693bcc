"""What the built-in campaign would submit on every shipped site, for the golden tests.

python -m tests.support.golden_sites      renew tests/golden/sites after a change that was meant; read the difference
"""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path

from site_configs.load import available_sites, read_site
from workflows.checked_plan import plan_campaign
from workflows.config import load_campaign
from workflows.plan import Plan
from workflows.site_render import render_site

FOLDER = Path(__file__).parents[1] / "golden" / "sites"
WORKDIR = Path("/scratch/campaign")
SHIPPED = Path(sys.modules[read_site.__module__].__file__ or "").parent / "sites"
COUNTED = {"cores": 8, "memory_mib": 16384}


def shipped_sites() -> list[str]:
    """Return the names of the sites that come with the program."""
    return sorted(name for name, path in available_sites().items() if path.parent == SHIPPED)


def rendered(name: str) -> str:
    """Return the rendering of a shipped site, the same on every machine."""
    site = read_site(SHIPPED / f"{name}.toml")
    changes: dict[str, object] = {"account": "project"} if site.scheduler != "local" else {}
    if site.cores is None and any(one.cores is None for one in site.partitions.values() or [site]):
        # These count the machine that they are used on.
        changes |= COUNTED
    text = render_site(site.model_copy(update=changes), _plan(), WORKDIR)
    return text.replace(sys.executable, "PYTHON").replace(sys.prefix, "ENVIRONMENT")


@lru_cache(maxsize=1)
def _plan() -> Plan:
    return plan_campaign(load_campaign("buckley-leverett"))


def main() -> int:
    """Write the files anew."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.txt"):
        path.unlink()
    for name in shipped_sites():
        (FOLDER / f"{name}.txt").write_text(rendered(name), encoding="utf-8")
    print(f"{FOLDER} is written anew; read what has changed: git diff {FOLDER}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
