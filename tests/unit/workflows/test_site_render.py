"""What is rendered is what would be submitted, by the same functions; nothing is asked and nothing is started."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from site_configs.load import load_site
from site_configs.parsl_config import manager_command, parsl_config
from site_configs.shape import shape_of
from surrogate.core.errors import ConfigError, ResourceError
from workflows.checked_plan import plan_campaign
from workflows.config import load_campaign
from workflows.jobs import block_prefix, comment_of
from workflows.session import SESSION_VARIABLE, scratch_prefix
from workflows.site_render import render_site

SURROGATE = str(Path(sys.executable).with_name("surrogate"))
WORKDIR = Path("/scratch/campaign")


@pytest.fixture(scope="module")
def plan():
    return plan_campaign(load_campaign("buckley-leverett"))


@pytest.mark.parsl
def test_the_script_is_the_one_that_parsl_submits(plan, tmp_path):
    site, request = load_site("slurm-local"), plan.campaign.resources.request()
    variables = {"SURROGATE_CAMPAIGN": "CAMPAIGN", SESSION_VARIABLE: "SESSION"}
    (executor,) = parsl_config(
        site, WORKDIR / "logs" / "parsl", [request], variables=variables, comment=comment_of("CAMPAIGN"),
        prefix=block_prefix("CAMPAIGN", "SESSION"), scratch=scratch_prefix("CAMPAIGN"),
    ).executors  # fmt: skip
    # What Parsl finds out when it starts.
    executor.run_dir, executor.worker_port, executor.cert_dir = (
        str(WORKDIR / "logs/parsl/SESSION"),
        "PORT",
        "CERTIFICATES",
    )
    executor.logconf_path = None
    executor.initialize_scaling()
    command = " ".join(executor.launch_cmd.format(block_id="BLOCK").split())
    shown = manager_command(site, "simulate", shape_of(site, "simulate", [request]).workers, f"{WORKDIR}/logs/parsl")
    assert shown == command
    name = f"{block_prefix('CAMPAIGN', 'SESSION')}-BLOCK"
    output = f"{WORKDIR}/logs/parsl/SESSION/submit_scripts/{name}.out"
    script = executor.provider._script(name, tuple(shlex.split(command)), output)
    assert script.rstrip() in render_site(site, plan, WORKDIR)


def test_a_script_is_one_that_a_shell_takes(plan, tmp_path):
    text = render_site(load_site("slurm-local"), plan, WORKDIR)
    scripts = text.split("#!/bin/bash\n")[1:]
    assert len(scripts) == 3
    for script in scripts:
        body = script.partition("\n## ")[0]
        subprocess.run(["bash", "-n"], input=body, text=True, check=True)
        assert body.startswith("#SBATCH ")


def test_what_can_never_run_is_refused(plan):
    site = load_site("slurm-local").model_copy(update={"cores": 1})
    with pytest.raises(ResourceError, match="needs 2 cores on each node"):
        render_site(site, plan, WORKDIR)
    with pytest.raises(ConfigError, match="Give --account NAME"):
        render_site(load_site("lumi"), plan, WORKDIR)


def test_a_person_sees_it_on_any_machine(tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'extends = "frontier"\naccount = "abc123"\nend_hook = "echo done"\n[storage]\nscratch = "/lustre"\n'
    )
    done = subprocess.run(
        [SURROGATE, "site", "render", str(mine), "buckley-leverett"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "#SBATCH --account=abc123" in done.stdout
    assert "/lustre/buckley-leverett/logs" in done.stdout
    assert "# when a campaign has ended: echo done" in done.stdout
    asked = subprocess.run(
        [SURROGATE, "site", "render", "frontier", "buckley-leverett"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2
    assert "Give --account NAME, set SURROGATE_ACCOUNT" in asked.stderr
    assert "Traceback" not in asked.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_sites_are_listed_and_shown(tmp_path):
    listed = subprocess.run([SURROGATE, "site", "list", "--json"], capture_output=True, text=True, check=True)
    names = {entry["name"] for entry in json.loads(listed.stdout)["sites"]}
    assert {
        "perlmutter",
        "frontier",
        "delta",
        "snellius",
        "lumi",
        "juwels-booster",
        "polaris",
        "slurm",
        "laptop",
    } <= names
    shown = subprocess.run([SURROGATE, "site", "show", "lumi"], capture_output=True, text=True, check=True)
    assert "LUMI User Guide" in shown.stdout
