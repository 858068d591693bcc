"""The configuration files of a cluster on one machine."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from pathlib import Path

NAME = "surrogate"
# Short enough for a SIGTERM to be followed by a SIGKILL while a test watches.
KILL_WAIT_S = 2
# A slurmd that has not been heard of for that long is down.
NODE_TIMEOUT_S = 10


def write(folder: Path, ports: Mapping[str, int], nodes: int, cores: int, accounting: bool) -> None:
    """Write slurm.conf, and slurmdbd.conf with `accounting`, below `folder`/etc.

    Args:
        folder: The cluster's folder.
        ports: Ports of slurmctld, slurmdbd and of each node.
        nodes: Number of nodes.
        cores: Cores of each node.
        accounting: Whether jobs are accounted and accounts enforced.
    """
    etc = folder / "etc"
    _replace(etc / "slurm.conf", _slurm(folder, ports, nodes, cores, accounting))
    # Without it, clients look for the system's own.
    _replace(etc / "plugstack.conf", "")
    if accounting:
        _replace(etc / "slurmdbd.conf", _slurmdbd(folder, ports["slurmdbd"]), 0o600)


def _slurm(folder: Path, ports: Mapping[str, int], nodes: int, cores: int, accounting: bool) -> str:
    host, user = socket.gethostname().split(".")[0], getpass.getuser()
    settings = {
        "ClusterName": NAME,
        "SlurmctldHost": f"{host}(127.0.0.1)",
        "SlurmctldPort": ports["slurmctld"],
        "SlurmUser": user,
        "SlurmdUser": user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge/socket",
        "CredType": "cred/munge",
        "SlurmctldPidFile": f"{folder}/run/slurmctld.pid",
        "SlurmdPidFile": f"{folder}/run/slurmd.%n.pid",
        "SlurmctldLogFile": f"{folder}/log/slurmctld.log",
        "SlurmdLogFile": f"{folder}/log/slurmd.%n.log",
        "StateSaveLocation": f"{folder}/state",
        "SlurmdSpoolDir": f"{folder}/spool/%n",
        "PlugStackConfig": f"{folder}/etc/plugstack.conf",
        # No control groups: several nodes share one kernel, and one user.
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "JobAcctGatherType": "jobacct_gather/none",
        "SwitchType": "switch/none",
        "MpiDefault": "none",
        "EnforcePartLimits": "ALL",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        # The nodes claim more cores together than the machine has.
        "SlurmdParameters": "config_overrides",
        "ReturnToService": 2,
        "JobRequeue": 1,
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": "batch_sched_delay=0,bf_interval=1",
        "CompleteWait": 0,
        "KillWait": KILL_WAIT_S,
        "SlurmdTimeout": NODE_TIMEOUT_S,
        "SlurmctldTimeout": NODE_TIMEOUT_S,
        "MessageTimeout": 10,
        "BatchStartTimeout": 10,
        "TCPTimeout": 2,
        "MinJobAge": 300,
        "SlurmctldDebug": "info",
        "SlurmdDebug": "info",
    }
    if accounting:
        settings |= {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": "127.0.0.1",
            "AccountingStoragePort": ports["slurmdbd"],
            # No password: where munge's socket is.
            "AccountingStoragePass": f"{folder}/munge/socket",
            "AccountingStorageEnforce": "associations,limits",
        }
    lines = [f"{key}={value}" for key, value in settings.items()]
    shape = f"CPUs={cores} Boards=1 SocketsPerBoard=1 CoresPerSocket={cores} ThreadsPerCore=1 RealMemory=4096"
    lines += [
        f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[f'n{number}']} {shape} State=UNKNOWN"
        for number in range(1, nodes + 1)
    ]
    every = f"Nodes=n[1-{nodes}] OverSubscribe=NO State=UP"
    lines += [
        f"PartitionName=debug {every} Default=YES MaxTime=INFINITE DefaultTime=10 PriorityTier=1",
        f"PartitionName=train {every} MaxTime=INFINITE DefaultTime=10 PriorityTier=1",
        f"PartitionName=urgent {every} MaxTime=INFINITE DefaultTime=10 PriorityTier=10",
        "PartitionName=small Nodes=n1 MaxNodes=1 MaxTime=2 DefaultTime=1 State=UP PriorityTier=1",
    ]
    return "\n".join(lines) + "\n"


def _slurmdbd(folder: Path, port: int) -> str:
    settings = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={folder}/munge/socket",
        "DbdHost": socket.gethostname().split(".")[0],
        "DbdAddr": "127.0.0.1",
        "DbdPort": port,
        "SlurmUser": getpass.getuser(),
        "PidFile": f"{folder}/run/slurmdbd.pid",
        "LogFile": f"{folder}/log/slurmdbd.log",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": getpass.getuser(),
        "StorageLoc": "slurm_acct_db",
        "DebugLevel": "info",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())


def _replace(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as sink:
        sink.write(text)
    part.replace(path)
