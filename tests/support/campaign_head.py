"""A driver that brings a campaign only as far as a test needs it: `… dataset|training run FILE WORKDIR|resume WORKDIR`.

It goes through the same functions as `surrogate run` and `surrogate resume`, and ends like them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from site_configs.load import load_site
from workflows.checked_plan import check_site, plan_campaign
from workflows.cli.endings import ending
from workflows.config import load_campaign
from workflows.driver import driving, prepare, reopen
from workflows.learn import learn
from workflows.progress import Lines
from workflows.simulate import assemble, simulate
from workflows.stopping import Stopping


def head(workdir: Path, file: Path | None, *, train: bool = False) -> None:
    """Simulate and assemble.

    Args:
        workdir: The working directory.
        file: The campaign, or None to go on.
        train: Whether to train, too.
    """
    campaign = load_campaign(str(file)) if file is not None else reopen(workdir)[0]
    site = load_site("laptop")
    plan = plan_campaign(campaign, workdir)
    check_site(plan, site)
    workspace = prepare(plan, workdir, "laptop")
    stopping = Stopping()
    with stopping.listening(), driving(campaign, workspace, Lines(), stopping) as driver:
        dataset = simulate(driver, plan, site)
        with stopping.at_once():
            assemble(driver, plan, dataset)
        if train:
            learn(driver, plan, site, dataset)


def main(words: list[str]) -> int:
    """Run it; return the exit code."""
    try:
        head(Path(words[-1]), Path(words[2]) if words[1] == "run" else None, train=words[0] == "training")
    except BaseException as error:  # noqa: BLE001 - as the command line does
        return ending(error, debug=False, as_json=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
