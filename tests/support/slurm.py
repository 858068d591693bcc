"""A real SLURM on this machine: munged, slurmctld and several slurmd, without systemd, in a folder of its own.

Several clusters can live side by side: each has its own ports, key and sockets. What was started is written down with
pid and start time, and nothing else is ever signalled.

    python -m tests.support.slurm up FOLDER [--nodes 4] [--cores 2] [--accounting]
    python -m tests.support.slurm down FOLDER
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from surrogate.core.proctable import process_table, with_descendants
from tests.support import slurm_files
from tests.support.daemons import Daemons
from tests.support.seen import bound_socket, command_of, environment_of, with_ancestors

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol")
NEEDED_FOR_ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db", "sacct")
INSTALL = "The SLURM daemons are not installed; `make ci-deps` brings them."
_UP_S = 60.0
_SBIN = "/usr/sbin:/sbin"


def missing(accounting: bool = False) -> str | None:
    """Return a sentence when a program is missing, else None."""
    path = f"{os.environ['PATH']}:{_SBIN}"
    needed = (*NEEDED, *NEEDED_FOR_ACCOUNTING) if accounting else NEEDED
    absent = [name for name in needed if shutil.which(name, path=path) is None]
    return f"{INSTALL} Missing: {', '.join(absent)}." if absent else None


class Cluster:
    """One cluster in one folder.

    Attributes:
        folder: Everything of the cluster: configuration, key, logs, state, spool.
        nodes: Number of nodes, named n1, n2, ….
        cores: Cores of each node.
        accounting: Whether slurmdbd runs, so that sacct answers and accounts are enforced.
        daemons: What runs.
    """

    def __init__(self, folder: Path, *, nodes: int = 4, cores: int = 2, accounting: bool = False) -> None:
        self.folder, self.nodes, self.cores, self.accounting = folder.resolve(), nodes, cores, accounting
        self.daemons = Daemons(self.folder)

    @property
    def conf(self) -> Path:
        """The configuration that clients need as SLURM_CONF."""
        return self.folder / "etc" / "slurm.conf"

    @property
    def names(self) -> list[str]:
        """Names of the nodes."""
        return [f"n{number}" for number in range(1, self.nodes + 1)]

    @property
    def user(self) -> str:
        """Who runs everything."""
        return getpass.getuser()

    def environment(self) -> dict[str, str]:
        """Return this process's environment, made to speak to this cluster."""
        return {**os.environ, "SLURM_CONF": str(self.conf), "PATH": f"{os.environ['PATH']}:{_SBIN}"}

    def start(self) -> None:
        """Start every daemon that does not run, and wait until all nodes are up.

        Raises:
            RuntimeError: If it does not come up; with the last lines of the logs.
        """
        for name in ("etc", "log", "run", "state", "spool", "munge", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        key = self.folder / "munge" / "key"
        if not key.exists():
            handle = os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
            with os.fdopen(handle, "wb") as sink:
                sink.write(secrets.token_bytes(256))
        ports = self._ports()
        slurm_files.write(self.folder, ports, self.nodes, self.cores, self.accounting)
        self._start_munged()
        if self.accounting:
            self._start_accounting()
        self.start_controller()
        for name in self.names:
            self.start_node(name)
        self._wait(self._all_up, "The nodes did not come up")

    def start_controller(self) -> None:
        """Start slurmctld."""
        self._start("slurmctld", ["slurmctld", "-D", "-f", str(self.conf)])

    def start_node(self, name: str) -> None:
        """Start the slurmd of a node."""
        (self.folder / "spool" / name).mkdir(exist_ok=True)
        self._start(name, ["slurmd", "-D", "-N", name, "-f", str(self.conf)])

    def stop(self) -> None:
        """End all jobs and daemons, whatever state they are in."""
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            self.cancel_all()
        known = self.daemons.known()
        jobs = self._job_processes()
        self.daemons.end([name for name in known if name not in ("munged", "mariadbd", "slurmdbd")])
        self.daemons.end([name for name in ("slurmdbd", "mariadbd", "munged") if name in known])
        for pid in jobs | self._job_processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.daemons.forget()

    def cancel_all(self) -> None:
        """End all jobs and wait until none is left; put every node back to work."""
        if not self.daemons.alive("slurmctld"):
            return
        ids = [job for job, _ in self.jobs()]
        if ids:
            self.run("scancel", *ids, check=False)
        self._wait(lambda: not self.jobs(), "Jobs did not end", seconds=30.0)

    def run(self, *words: str, check: bool = True, timeout_s: float = 30.0) -> str:
        """Run one of SLURM's commands and return what it printed."""
        done = subprocess.run(
            words, env=self.environment(), capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def jobs(self) -> list[tuple[str, str]]:
        """Return (id, state) of all jobs that are waiting, running or ending."""
        lines = self.run("squeue", "--noheader", "--all", "--format=%i %T").splitlines()
        return [(job, state) for job, state in map(str.split, lines)]

    def jobs_after(self, seconds: float) -> list[tuple[str, str]]:
        """Return the jobs that are still there when what is ending has had `seconds` to end."""
        deadline = time.monotonic() + seconds
        while (left := self.jobs()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left

    def states(self) -> dict[str, str]:
        """Return node → state."""
        text = self.run("sinfo", "--noheader", "--Node", "--format=%N %T", timeout_s=10.0)
        return dict(line.split() for line in text.splitlines())

    def crash(self, node: str) -> None:
        """Kill a node as a power cut does: its slurmd and everything that it runs, at once."""
        pid = self.daemons.pid(node)
        victims = self.tasks_on(node)
        table = process_table()
        victims |= {table[one].parent for one in victims if command_of(table[one].parent).startswith("slurmstepd")}
        victims |= {pid} if pid is not None else set()
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for victim in victims:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, number)
        assert self.daemons.wait_for_end([node])

    def tasks_on(self, node: str) -> set[int]:
        """Return the pids of everything that jobs run on a node."""
        wanted = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={self.conf}".encode()}
        return {pid for pid in process_table() if wanted <= set(environment_of(pid))}

    def resume(self, nodes: Iterable[str] | None = None) -> None:
        """Bring nodes back: start their slurmd, clear their state, wait until all are up."""
        for name in self.names if nodes is None else nodes:
            self.start_node(name)
        for name, state in self.states().items():
            if state.startswith(("down", "drain", "draining", "drng")):
                self.run("scontrol", "update", f"nodename={name}", "state=resume", check=False)
        self._wait(self._all_up, "The nodes did not come back")

    def _start_munged(self) -> None:
        place = self.folder / "munge"
        options = [f"--key-file={place / 'key'}", f"--socket={place / 'socket'}", f"--pid-file={place / 'pid'}"]
        options += [f"--log-file={place / 'log'}", f"--seed-file={place / 'seed'}", "--num-threads=2"]
        # Without --force it wants a socket that all users of the machine can reach; here there is one user only.
        self._start("munged", ["munged", "--foreground", "--force", *options])
        self._wait((place / "socket").exists, "munged did not come up")

    def _start_accounting(self) -> None:
        data, run = self.folder / "db", self.folder / "run"
        data.mkdir(exist_ok=True)
        if not (data / "mysql").is_dir():
            with (self.folder / "log" / "install.log").open("wb") as log:
                subprocess.run(
                    ["mariadb-install-db", "--no-defaults", f"--user={self.user}", f"--datadir={data}",
                     "--skip-test-db", "--auth-root-authentication-method=socket"],
                    env=self.environment(), stdout=log, stderr=log, check=True,
                )  # fmt: skip
        database = ["mariadbd", "--no-defaults", f"--datadir={data}", f"--socket={run / 'db'}", "--skip-networking"]
        database += [f"--pid-file={run / 'db.pid'}", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"]
        if os.geteuid() == 0:
            database.append("--user=root")
        self._start("mariadbd", [*database, "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900"])
        self._wait((run / "db").exists, "The database did not come up")
        self._start("slurmdbd", ["slurmdbd", "-D"], MYSQL_UNIX_PORT=str(run / "db"))
        self._wait(self._accounts, "slurmdbd did not come up")

    def _accounts(self) -> bool:
        """Register this cluster and its one account, once slurmdbd answers."""
        try:
            self.run("sacctmgr", "-i", "add", "cluster", slurm_files.NAME, check=False, timeout_s=5.0)
            self.run("sacctmgr", "-i", "add", "account", "science", "Cluster=" + slurm_files.NAME, check=False)
            self.run("sacctmgr", "-i", "add", "user", self.user, "Account=science", check=False)
            return self.user in self.run("sacctmgr", "-n", "list", "associations", "format=user,account")
        except (RuntimeError, subprocess.TimeoutExpired):
            return False

    def _start(self, name: str, command: list[str], **variables: str) -> None:
        self.daemons.start(name, command, {**self.environment(), **variables})

    def _ports(self) -> dict[str, int]:
        """Return the ports of this cluster, chosen once."""
        path = self.folder / "ports.json"
        if not path.exists():
            names = ["slurmctld", "slurmdbd", *self.names]
            sockets = [bound_socket() for _ in names]
            path.write_text(json.dumps(dict(zip(names, (one.getsockname()[1] for one in sockets), strict=True))))
            for one in sockets:
                one.close()
        ports: dict[str, int] = json.loads(path.read_text())
        return ports

    def _job_processes(self) -> set[int]:
        """Return what jobs of this cluster run, the daemons of their steps included."""
        wanted, table = f"SLURM_CONF={self.conf}".encode(), process_table()
        spared = {pid for pid, _ in self.daemons.known().values()} | with_ancestors(os.getpid())
        found = set()
        for pid in set(table) - spared:
            variables = environment_of(pid)
            if wanted in variables and any(one.startswith(b"SLURM_JOB_ID=") for one in variables):
                found.add(pid)
            elif wanted in variables and command_of(pid).startswith("slurmstepd"):
                found |= with_descendants([pid], table)
        return found - spared

    def _all_up(self) -> bool:
        if not self.daemons.alive("slurmctld"):
            raise RuntimeError(f"slurmctld ended. {self._last_words('slurmctld')}")
        try:
            states = self.states()
        except (RuntimeError, subprocess.TimeoutExpired):
            return False
        # A slurmd may end at its start without a word, for example when its port was taken a moment before.
        for name in self.names:
            if not self.daemons.alive(name):
                self.start_node(name)
        up = [name for name, state in states.items() if state in ("idle", "mixed", "allocated")]
        return sorted(up) == sorted(self.names)

    def _wait(self, condition: Callable[[], object], failure: str, seconds: float = _UP_S) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{failure} within {seconds:.0f} s. {self._last_words('slurmctld')}")
            time.sleep(0.1)

    def _last_words(self, name: str) -> str:
        texts = [self.folder / "log" / f"{name}.{end}" for end in ("log", "out")]
        lines = [line for path in texts if path.exists() for line in path.read_text(errors="replace").splitlines()[-3:]]
        return " | ".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Start or stop a cluster from the command line."""
    parser = argparse.ArgumentParser(prog="tests.support.slurm", description=__doc__)
    parser.add_argument("what", choices=("up", "down"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--accounting", action="store_true")
    chosen = parser.parse_args(arguments)
    cluster = Cluster(chosen.folder, nodes=chosen.nodes, cores=chosen.cores, accounting=chosen.accounting)
    if chosen.what == "down":
        cluster.stop()
        shutil.rmtree(cluster.folder, ignore_errors=True)
        return 0
    absent = missing(chosen.accounting)
    if absent is not None:
        print(absent, file=sys.stderr)
        return 1
    cluster.start()
    print(f"SLURM is up with {chosen.nodes} nodes of {chosen.cores} cores. Use it with:", file=sys.stderr)
    print(f"export SLURM_CONF={cluster.conf}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
