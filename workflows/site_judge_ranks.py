"""What it means that ranks of a site's check see each other, or do not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from site_configs.launch import Launcher
from workflows.doctor_check import Check
from workflows.site_job import Probe

# How the libraries that a dialect's launcher belongs to name themselves.
_VENDORS = {"mpich": ("MPICH", "MVAPICH", "Intel"), "openmpi": ("Open MPI",)}
# What --mpi must be for a library, the first that its name begins with.
_KINDS = (
    ("Open MPI", "pmix"),
    ("MPI VERSION : CRAY MPICH", "cray_shasta"),
    ("CRAY MPICH", "cray_shasta"),
    ("", "pmi2"),
)


def _complaint(text: str) -> str:
    """Return the line of a program's output that says most of why it failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for pattern in (r"^\w*(Error|Exception)\b", r"(?i)^(?!.*Exited with exit code).*\berror\b", r"(?i)^(?!srun: )."):
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return found[-1][:300].rstrip(".")
    return lines[-1][:300] if lines else "nothing"


def _named(library: str) -> str:
    """Return the name and version of an MPI library, without what else it says of itself."""
    found = re.search(r"(CRAY MPICH|MPICH|Open MPI|MVAPICH\d*|Intel\(R\) MPI)[^\d]{0,20}(\d[\w.]*)", library)
    return f"{found[1]} {found[2]}" if found else library[:40].strip()


def judge_ranks(
    probe: Probe, step: Mapping[str, Any], launcher: Launcher, *, library: str, kinds: Sequence[str]
) -> list[Check]:
    """Judge whether ranks see each other, and whether each has cores of its own.

    Args:
        probe: What was to be found out.
        step: What the launch gave (`workflows.site_probe.run_step`).
        launcher: The role's launcher.
        library: What the MPI library that mpi4py loads on the node says of itself.
        kinds: What `srun --mpi` takes here.
    """
    name, wanted = f"ranks ({probe.role})", probe.resources.ranks
    said, line = step["said"], " ".join(step["line"])
    if step["code"] is None:
        return [Check(name, "fail", f"{wanted} ranks did not answer in {step['seconds']:.0f} s. Started as: {line}")]
    if len(said) != wanted or {rank["size"] for rank in said} != {wanted}:
        return [Check(name, "fail", _apart(wanted, step, launcher, library, kinds))]
    hosts = {rank["host"] for rank in said}
    if len(hosts) != probe.nodes:
        return [
            Check(
                name,
                "fail",
                f"{wanted} ranks were to share {probe.nodes} nodes and all are on {', '.join(sorted(hosts))}. The "
                f"launcher does not know the job's nodes: use srun, or an mpiexec built for SLURM. Started as: {line}",
            )
        ]
    seen = f"{wanted} ranks on {len(hosts)} node(s) see each other, with {_named(said[0]['library'])}."
    return [Check(name, "ok", seen), _binding(probe, said, launcher)]


def _apart(wanted: int, step: Mapping[str, Any], launcher: Launcher, library: str, kinds: Sequence[str]) -> str:
    """Say why ranks do not see each other."""
    said = step["said"]
    if said:
        sizes = ", ".join(str(size) for size in sorted({rank["size"] for rank in said}))
        seen = f"{wanted} ranks were started, {len(said)} answered, and they saw worlds of {sizes}"
    else:
        seen = f"{wanted} ranks were started, and none came up ({_complaint(step['text'])})"
    words = _VENDORS.get(launcher.dialect)
    if library and words is not None and not any(word.lower() in library.lower() for word in words):
        return (
            f"{seen}: two MPIs are mixed. The launcher {launcher.mpiexec} is of {launcher.dialect}, and mpi4py loads "
            f"{_named(library)}. Name the launcher of that MPI in the site, or install mpi4py against the other."
        )
    if launcher.dialect == "srun":
        known = f"srun knows {', '.join(kinds) or 'nothing'} here"
        fitting = next(kind for start, kind in _KINDS if library.startswith(start))
        if not _given(launcher).startswith(f"--mpi={fitting}"):
            return (
                f"{seen}: srun was given {_given(launcher)}, which is not what {_named(library) or 'mpi4py'} speaks. "
                f"Set --mpi={fitting} in 'launcher.options' of the site ({known})."
            )
    if not library:
        return f"{seen}: mpi4py finds no MPI library on the node. Load the MPI's module in the site's environment."
    return f"{seen}. Started as: {' '.join(step['line'])}"


def _given(launcher: Launcher) -> str:
    """Return the kind of MPI that srun was given."""
    return next((option for option in launcher.options if option.startswith("--mpi")), "no --mpi")


def _binding(probe: Probe, said: Sequence[Mapping[str, Any]], launcher: Launcher) -> Check:
    """Judge the cores of the ranks: none may have to share its only one with a neighbour."""
    name = f"binding ({probe.role})"
    for host in sorted({rank["host"] for rank in said}):
        there = [set(rank["cores"]) for rank in said if rank["host"] == host]
        together = set().union(*there)
        if len(together) < len(there):
            return Check(
                name,
                "fail",
                f"{len(there)} ranks on node {host} share {len(together)} core(s). Set 'launcher.bind_cores = false' "
                "in the site, or ask for the cores that the ranks need.",
            )
        if launcher.bind_cores and sum(map(len, there)) > len(together):
            return Check(
                name,
                "fail",
                f"The site binds ranks to cores, and on node {host} they overlap. Bind by the launcher's own options, "
                "or set 'launcher.bind_cores = false'.",
            )
    how = "Each rank has cores of its own" if launcher.bind_cores else "Ranks are not bound, and have cores enough"
    return Check(name, "ok", f"{how}.")


def judge_horovod(probe: Probe, step: Mapping[str, Any], node: Mapping[str, Any]) -> Check:
    """Judge whether ranks met by Horovod, and over what.

    Args:
        probe: What was to be found out.
        step: What the launch gave.
        node: Facts of the job's first node.
    """
    name, wanted, said = "Horovod", probe.resources.ranks, step["said"]
    if "horovod" not in node["packages"]:
        return Check(
            name, "warn", "It is not installed, so training uses one process. To get it: surrogate build-horovod"
        )
    if step["code"] is None:
        return Check(name, "fail", f"{wanted} ranks did not meet in {step['seconds']:.0f} s: {' '.join(step['line'])}")
    right = [rank for rank in said if rank["size"] == wanted and rank["sum"] == wanted * (wanted + 1) / 2]
    if len(right) != wanted:
        return Check(
            name,
            "fail",
            f"{wanted} ranks were to add their numbers, and {len(right)} did it right (exit code {step['code']}); it "
            f"said: {_complaint(step['text'])}. Build it again on a node: surrogate build-horovod",
        )
    hosts = len({rank["host"] for rank in said})
    return Check(
        name,
        "ok",
        f"{wanted} ranks on {hosts} node(s) met over {said[0]['control']} and added their numbers over "
        f"{said[0]['data']}.",
    )
