"""Whole ensembles of the scripted simulator, with a ledger of what was really executed.

`python -m tests.support.ensembles CASE.json` is a driver that a test can kill.
"""

from __future__ import annotations

import json
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim_wrappers import catalog
from sim_wrappers.protocol import RunRequest
from site_configs.resources import ResourceRequest
from site_configs.site import Role, Site
from surrogate.core.lock import Lease
from surrogate.data.writer import DatasetWriter
from tests.support.executions import request_for, schema_for
from workflows.budgets import Budgets
from workflows.ensemble import Counts, EnsembleResult, run_ensemble
from workflows.journal import Journal
from workflows.orphans import Settlement, settle
from workflows.session import Session

SITE = Site(name="two", cores=2, roles={"simulate": Role(workers=2)})
SCHEMA = schema_for(catalog.get("scripted"))


def point(number: int) -> dict[str, float]:
    """Return the point of run `number`: a = number / 1000."""
    return {"a": round(number / 1000, 3), "b": 1.0}


@dataclass
class Ensemble:
    """One campaign's ensemble in a folder of its own, with its ledger beside.

    Attributes:
        workdir: Working directory.
        count: Number of runs.
        modes: Run number → mode of the scripted simulator.
        walltime_s: After which a run is ended.
        seconds: How long each run sleeps.
        campaign: Identity of the campaign; each has its own, as other sessions may be on this machine.
    """

    workdir: Path
    count: int
    modes: Mapping[int, str] = field(default_factory=dict)
    walltime_s: int = 60
    seconds: float = 0.0
    campaign: str = field(default_factory=lambda: uuid.uuid4().hex)
    per_shard: int = 8

    @property
    def ledger(self) -> Path:
        """File that every execution appends to."""
        return self.workdir.parent / f"{self.workdir.name}-ledger.txt"

    @property
    def requests(self) -> list[RunRequest]:
        """All runs."""
        where = [
            {"mode": mode, "input": "a", "low": point(number)["a"] - 1e-6, "high": point(number)["a"] + 1e-6}
            for number, mode in self.modes.items()
        ]
        options: dict[str, Any] = {"ledger": str(self.ledger), "where": where, "seconds": self.seconds}
        size = ResourceRequest(walltime_s=self.walltime_s)
        simulator = catalog.get("scripted")
        return [request_for(simulator, point(number), options, resources=size) for number in range(self.count)]

    def id_of(self, number: int) -> str:
        """Return the identity of run `number`."""
        return self.requests[number].run_id

    @contextmanager
    def opened(self) -> Iterator[Journal]:
        """Hold the campaign and its journal, with the runs planned."""
        self.workdir.mkdir(parents=True, exist_ok=True)
        with (
            Lease.acquire(self.workdir / "lock", "test") as lease,
            Journal.open(self.workdir / "journal", lease) as journal,
        ):
            runs = [{"run_id": one.run_id, "inputs": one.inputs, "stratum": "design"} for one in self.requests]
            journal.append({"event": "runs.planned", "runs": runs})
            yield journal

    def run(
        self,
        *,
        site: Site = SITE,
        budgets: Budgets | None = None,
        stop: threading.Event | None = None,
        progress: Callable[[Counts], None] | None = None,
        session: Session | None = None,
        requests: Sequence[RunRequest] | None = None,
    ) -> EnsembleResult:
        """Run it, or go on with it."""
        with self.opened() as journal:
            return run_ensemble(
                requests or self.requests,
                workdir=self.workdir,
                site=site,
                campaign=self.campaign,
                schema=SCHEMA,
                journal=journal,
                dataset_writer=DatasetWriter(self.workdir / "dataset", SCHEMA, samples_per_shard=self.per_shard),
                budgets=budgets,
                known=dict(journal.state.runs),
                stop=stop,
                progress=progress,
                session=session,
            )

    def settle(self, wait_s: float = 30.0) -> Settlement:
        """End what a killed driver left."""
        return settle(self.campaign, self.workdir, wait_s=wait_s)

    def executions(self, word: str = "start") -> Counter[str]:
        """Return run id → how often it started or ended, by the ledger."""
        if not self.ledger.exists():
            return Counter()
        lines = [line.split() for line in self.ledger.read_text().splitlines()]
        return Counter(run for run, _, said in lines if said == word)

    def to_json(self) -> str:
        """Return what the driver program needs."""
        return json.dumps(
            {
                "workdir": str(self.workdir),
                "count": self.count,
                "modes": {str(number): mode for number, mode in self.modes.items()},
                "walltime_s": self.walltime_s,
                "seconds": self.seconds,
                "campaign": self.campaign,
                "per_shard": self.per_shard,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Ensemble:
        """Rebuild an ensemble."""
        record = json.loads(text)
        modes = {int(number): mode for number, mode in record.pop("modes").items()}
        return cls(**{**record, "workdir": Path(record["workdir"]), "modes": modes})


if __name__ == "__main__":
    result = Ensemble.from_json(Path(sys.argv[1]).read_text()).run()
    print(result.counts)
