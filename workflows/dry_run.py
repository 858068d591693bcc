"""What a campaign would do, for whoever asks before it starts."""

from __future__ import annotations

from pathlib import Path

from site_configs.load import load_site
from site_configs.shape import shape_of
from workflows.checked_plan import check_site, launch_line, plan_campaign
from workflows.config import CampaignConfig
from workflows.estimate import duration
from workflows.existing_data import counted
from workflows.learn import training_resources
from workflows.training_run import train_command
from workflows.workspace import Workspace


def dry_run(campaign: CampaignConfig, site_name: str, workdir: Path) -> dict[str, object]:
    """Return what a campaign would do; nothing is written and nothing is started.

    Returns:
        JSON-ready: the plan's summary, the launch lines, how many runs go on at once, an estimate.

    Raises:
        InputError: As `run_campaign`.
    """
    site = load_site(site_name, [campaign.file.parent] if campaign.file else [])
    plan = plan_campaign(campaign, workdir)
    check_site(plan, site)
    slots = shape_of(site, "simulate", [campaign.resources.request()]).at_once
    launcher = site.find_launcher("train")
    argv, mpi = train_command(campaign.train, workdir / "training" / "JOB" / "job.json")
    return {
        **plan.to_json(),
        **(counted(Workspace(workdir.resolve()), plan) if plan.data is not None else {}),
        "site": site.name,
        "workdir": str(workdir),
        "at_once": slots,
        "estimate": plan.estimate(slots).sentence if plan.data is None else "nothing is simulated",
        "launch_lines": {
            "simulate": launch_line(plan, site, Workspace(workdir)),
            "train": " ".join(launcher.line(argv, training_resources(campaign.train), mpi=mpi)),
        },
        "members": campaign.model.members,
        "epochs": campaign.train.epochs,
        "training_ends_after": duration(campaign.train.walltime_s),
        "gate": campaign.gate.gate().to_json(),
        "beats": list(campaign.gate.gate().beats),
    }
