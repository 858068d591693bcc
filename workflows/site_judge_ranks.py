"""What it means that ranks of a site's check see each other, or do not."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from site_configs.launch import Launcher
from workflows.doctor_check import Check
from workflows.site_job import Probe

_VENDORS = {"mpich": ("MPICH", "MVAPICH", "Intel"), "openmpi": ("Open MPI",)}
_MPI_PLUGIN = re.compile(r"mpi/\S+|--mpi|invalid MPI type", re.IGNORECASE)


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


def judge_ranks(probe: Probe, step: Mapping[str, Any], launcher: Launcher, kinds: Sequence[str]) -> list[Check]:
    """Judge whether ranks see each other, and whether each has cores of its own.

    Args:
        probe: What was to be found out.
        step: What the launch gave (`workflows.site_probe.run_step`).
        launcher: The role's launcher.
        kinds: What `srun --mpi` takes here.
    """
    name, wanted = f"ranks ({probe.role})", probe.resources.ranks
    said, line = step["said"], " ".join(step["line"])
    if step["code"] is None:
        return [Check(name, "fail", f"{wanted} ranks did not answer in {step['seconds']:.0f} s. Started as: {line}")]
    if not said:
        return [Check(name, "fail", _silent(wanted, step, launcher, kinds))]
    library, sizes = said[0]["library"], sorted({rank["size"] for rank in said})
    if sizes != [wanted] or len(said) != wanted:
        return [Check(name, "fail", _alone(wanted, said, launcher, kinds))]
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
    first = Check(name, "ok", f"{wanted} ranks on {len(hosts)} node(s) see each other, with {_named(library)}.")
    return [first, _binding(probe, said, launcher)]


def _silent(wanted: int, step: Mapping[str, Any], launcher: Launcher, kinds: Sequence[str]) -> str:
    """Say why no rank came up."""
    last = _complaint(step["text"])
    if launcher.dialect == "srun" and _MPI_PLUGIN.search(step["text"]):
        return (
            f"srun could not start {wanted} ranks: {last}. It knows --mpi={', '.join(kinds) or 'nothing'}; set the one "
            "that your MPI speaks (MPICH: pmi2, Open MPI: pmix) in 'launcher.options' of the site."
        )
    return (
        f"{wanted} ranks ended with exit code {step['code']} and said nothing of their world. The complaint: "
        f"{last}. Started as: {' '.join(step['line'])}"
    )


def _alone(wanted: int, said: Sequence[Mapping[str, Any]], launcher: Launcher, kinds: Sequence[str]) -> str:
    """Say why ranks do not see each other."""
    library = str(said[0]["library"])
    seen = f"{wanted} ranks were started, {len(said)} answered, and they saw worlds of {_sizes(said)}"
    words = _VENDORS.get(launcher.dialect)
    if words is not None and not any(word.lower() in library.lower() for word in words):
        return (
            f"{seen}: two MPIs are mixed. The launcher {launcher.mpiexec} is of {launcher.dialect}, and mpi4py loads "
            f"{_named(library)}. Name the launcher of that MPI in the site, or install mpi4py against the other."
        )
    if launcher.dialect == "srun":
        given = next((option for option in launcher.options if option.startswith("--mpi")), "no --mpi")
        fitting = {"open mpi": "pmix"}.get(library.lower()[:8], "pmi2")
        return (
            f"{seen}: srun was given {given}, which is not what {_named(library)} speaks. Set --mpi={fitting} in "
            f"'launcher.options' of the site; srun knows {', '.join(kinds) or 'nothing'} here."
        )
    return (
        f"{seen}: the launcher {launcher.mpiexec} and {_named(library)} do not belong together. Name the launcher "
        "of that library in the site."
    )


def _sizes(said: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(str(size) for size in sorted({rank["size"] for rank in said}))


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
