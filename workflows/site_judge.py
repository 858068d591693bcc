"""What the findings of a site's check mean: one line each, and a sentence that says what to change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from site_configs.launch import Launcher
from site_configs.site import Site
from workflows.doctor_check import Check
from workflows.site_job import JobResult, Probe
from workflows.site_judge_ranks import judge_horovod, judge_ranks
from workflows.site_probe import MARK

SKEW_S = 2.0
# What both sides must have in the same version: tasks and results pass between them.
SHARED = ("surrogate-hpc", "parsl", "dill", "numpy", "h5py", "mpi4py")


def judge(
    site: Site,
    probe: Probe,
    result: JobResult,
    login: Mapping[str, Any],
    *,
    launcher: Launcher,
    kinds: Sequence[str] = (),
) -> list[Check]:
    """Return the checks of one job.

    Args:
        site: The machine.
        probe: What the job was to find out.
        result: What became of it.
        login: Facts of this machine (`workflows.site_job.login_facts`).
        launcher: The role's launcher.
        kinds: What `srun --mpi` takes here.
    """
    where = f"partition ({probe.role})"
    name = site.partition(probe.role).name
    partition = f"partition '{name}'" if name else "the default partition"
    if result.refused:
        return [Check(where, "fail", _refusal(site, probe, partition, result.refused))]
    if result.waits:
        return [
            Check(
                where,
                "fail",
                f"A job of {probe.nodes} node(s) in {partition} was accepted and did not begin in time; SLURM says: "
                f"{result.waits}. It was cancelled. Wait longer with --patience, or name another partition.",
            )
        ]
    found = result.found
    if found is None:
        return [
            Check(where, "ok", f"A job of {probe.nodes} node(s) ran in {partition}."),
            _nothing(site, probe, result),
        ]
    node = found["node"]
    on = f"A job of {probe.nodes} node(s) ran in {partition}, on {', '.join(found['hosts'])}."
    checks = [Check(where, "ok", on)]
    if probe.role == "simulate":
        checks += [_versions(node, login), _architecture(node, login), _clock(node, result)]
        checks += [_folder(label, folder, node["host"]) for label, folder in found["folders"].items()]
    checks += list(_gpus(site, probe, node))
    steps = found["steps"]
    checks += judge_ranks(probe, steps["ranks"], launcher, library=node["mpi"], kinds=kinds)
    if probe.horovod and checks[-1].state != "fail" and "horovod" in steps:
        checks.append(judge_horovod(probe, steps["horovod"], node))
    return checks


def _refusal(site: Site, probe: Probe, partition: str, words: str) -> str:
    gpus = site.capacity(probe.role).gpus
    if gpus and re.search(r"gres|generic resource|node configuration", words, re.IGNORECASE):
        return (
            f"The site says that nodes of {partition} have {gpus} GPU{'' if gpus == 1 else 's'}, and SLURM refused the "
            f"job: {words}. Set 'gpus' to what they have, or name a partition with GPUs for the role '{probe.role}'."
        )
    return (
        f"SLURM refused a job of {probe.nodes} node(s) in {partition}: {words}. Correct name, account, qos, "
        "constraint, nodes or walltime_s of the partition in the site; `sinfo` tells what there is."
    )


def _nothing(site: Site, probe: Probe, result: JobResult) -> Check:
    """Say why a job wrote no result."""
    python = site.python(probe.role)
    lost = re.search(rf"^{MARK} no-python (\S*)", result.output, re.MULTILINE)
    if lost is not None:
        return Check(
            "environment",
            "fail",
            f"There is no Python at {python} on node {lost.group(1)}. Make the environment in a folder that the nodes "
            "see, and name it as 'environment.venv' in the site.",
        )
    if not result.output:
        return Check(
            "folders",
            "fail",
            f"The job ended ({result.state}) and left neither output nor result. Its node does not see the folder from "
            "which you check, or cannot write there: check from a folder on a shared file system.",
        )
    last = result.output.strip().splitlines()[-1]
    return Check(
        "environment",
        "fail",
        f"The job ended ({result.state}) before it could look around; it last said: {last}. Correct 'setup', 'modules' "
        "or 'venv' of the environment in the site.",
    )


def _versions(node: Mapping[str, Any], login: Mapping[str, Any]) -> Check:
    pairs = [("python", str(login["python"]), str(node["python"]))]
    pairs += [(name, str(login["packages"].get(name)), str(node["packages"].get(name))) for name in SHARED]
    differ = [f"{name} {there} there and {here} here" for name, here, there in pairs if here != there]
    if differ:
        return Check(
            "versions",
            "fail",
            f"The environment on node {node['host']} is not the one of this machine: {'; '.join(differ)} (None: not "
            "installed). Install the same there, or name this one as 'environment.venv' in the site.",
        )
    return Check("versions", "ok", f"Python {node['python']} and {len(SHARED)} packages are the same on both sides.")


def _architecture(node: Mapping[str, Any], login: Mapping[str, Any]) -> Check:
    here, there = login["machine"], node["machine"]
    if here != there:
        return Check(
            "processor",
            "fail",
            f"This machine is {here}, and node {node['host']} is {there}: what is installed here does not run there. "
            "Make the environment on a node, and name it as 'environment.venv' in the site.",
        )
    fewer = sorted(set(login["flags"]) - set(node["flags"]))
    if fewer:
        return Check(
            "processor",
            "warn",
            f"Both sides are {here}, and nodes lack {', '.join(fewer)}: what was compiled here for this very processor "
            "ends there with 'Illegal instruction'. Build Horovod and simulators on a node.",
        )
    return Check("processor", "ok", f"{here} on both sides.")


def _clock(node: Mapping[str, Any], result: JobResult) -> Check:
    early, late = result.submitted - node["time"], node["time"] - result.seen
    skew = max(early, late)
    if skew > SKEW_S:
        return Check(
            "clock",
            "fail",
            f"The clock of node {node['host']} is {skew:.1f} s {'behind' if early > late else 'ahead of'} this "
            "machine's: locks and walltimes would be misjudged. Tell the machine's administrators.",
        )
    return Check("clock", "ok", f"The clock of node {node['host']} agrees within {SKEW_S:g} s.")


def _folder(label: str, folder: Mapping[str, Any], host: str) -> Check:
    key = "" if label == "workdir" else f" Correct 'storage.{label}' in the site."
    if folder["error"]:
        return Check(
            f"folder ({label})",
            "fail",
            f"{folder['path']} cannot be written to on node {host}: {folder['error']}.{key or ' Work elsewhere.'}",
        )
    if folder["locks"] == "refused":
        return Check(
            f"folder ({label})",
            "fail",
            f"HDF5 cannot lock files in {folder['path']} on node {host}. Set 'storage.file_locks = false' in the site.",
        )
    if folder["locks"] == "no effect":
        return Check(
            f"folder ({label})",
            "warn",
            f"HDF5's locks have no effect in {folder['path']} on node {host}; campaigns do not rely on them.",
        )
    told = "HDF5's locks work" if folder["locks"] == "work" else "h5py was not there to try locks"
    return Check(f"folder ({label})", "ok", f"{folder['path']} can be written to on node {host}; {told}.")


def _gpus(site: Site, probe: Probe, node: Mapping[str, Any]) -> Iterator[Check]:
    asked = site.capacity(probe.role).gpus
    if asked and node["gpus"] < asked:
        yield Check(
            f"GPUs ({probe.role})",
            "fail",
            f"The job asked for {asked} GPU(s) on node {node['host']}, and programs see {node['gpus']} there. Set "
            f"'gpus' to what the partition has, or name a partition with GPUs for the role '{probe.role}'.",
        )
    elif asked:
        yield Check(f"GPUs ({probe.role})", "ok", f"{node['gpus']} on node {node['host']}.")
