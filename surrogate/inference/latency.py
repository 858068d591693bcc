"""How long an answer takes, measured, and what that is worth against the simulation."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from surrogate.core.errors import DataError
from surrogate.core.schema import Ragged, Values
from surrogate.inference.predictor import Predictor

BATCHES = (1, 64, 1024)
"""Rows a call at which latency is measured."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Wall-clock time of one call, from physical inputs to interval and domain flag.

    Attributes:
        batch: Rows a call.
        p50_s: Median, seconds a call.
        p95_s: 95th percentile, seconds a call.
        calls: Calls that were timed, after warming up.
        runtime: Name and version of what executed the networks.
        cores: Cores that the process might use.
    """

    batch: int
    p50_s: float
    p95_s: float
    calls: int
    runtime: str
    cores: int

    @property
    def row_s(self) -> float:
        """Median seconds a row."""
        return self.p50_s / self.batch

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {**asdict(self), "row_s": self.row_s}


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How many times faster an answer is than a simulation.

    Attributes:
        single: Simulation seconds over seconds of a one-row call.
        batched: Simulation seconds over seconds a row of the largest batch.
        simulation_s: Median wall-clock seconds of a simulation, a sample.
        how: How both sides were measured, as a sentence.
        latencies: What was measured.
    """

    single: float
    batched: float
    simulation_s: float
    how: str
    latencies: tuple[Latency, ...]

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping."""
        return {
            "single": self.single,
            "batched": self.batched,
            "simulation_s": self.simulation_s,
            "how": self.how,
            "latencies": [latency.to_json() for latency in self.latencies],
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> SpeedUp:
        """Rebuild a comparison from `to_json`; keys that it does not know are left alone.

        Raises:
            KeyError: If the mapping is not one of `to_json`'s.
        """
        names = [field.name for field in fields(Latency)]
        latencies = tuple(Latency(**{name: entry[name] for name in names}) for entry in record["latencies"])
        return cls(record["single"], record["batched"], record["simulation_s"], record["how"], latencies)


def measure_latency(
    predictor: Predictor,
    inputs: Mapping[str, Values],
    batches: Sequence[int] = BATCHES,
    *,
    calls: int = 30,
    seconds: float = 1.0,
) -> tuple[Latency, ...]:
    """Time whole calls of `predict`.

    Args:
        predictor: The surrogate.
        inputs: Rows to draw from, repeated as often as a batch needs; name → `[N, ...]` or Ragged, N ≥ 1.
        batches: Rows a call.
        calls: Calls to time for each batch; at least three are timed.
        seconds: Time after which a batch size gets no further call.

    Raises:
        DataError: If there is no row to draw from.
    """
    measured = []
    for batch in batches:
        rows = _rows(inputs, batch)
        predictor.predict(rows, batch_rows=batch)
        times: list[float] = []
        began = time.perf_counter()
        while len(times) < 3 or (len(times) < calls and time.perf_counter() - began < seconds):
            start = time.perf_counter()
            predictor.predict(rows, batch_rows=batch)
            times.append(time.perf_counter() - start)
        p50, p95 = (float(value) for value in np.quantile(times, [0.5, 0.95]))
        measured.append(Latency(batch, p50, p95, len(times), predictor.runtime, len(os.sched_getaffinity(0))))
    return tuple(measured)


def speed_up(latencies: Sequence[Latency], simulation_seconds: Sequence[float], *, ranks: int = 1) -> SpeedUp | None:
    """Compare measured answers with the recorded times of simulations.

    Args:
        latencies: From `measure_latency`, at least one.
        simulation_seconds: Wall-clock seconds of each simulation that was run, a sample.
        ranks: MPI ranks of a simulation, for the sentence.

    Returns:
        The comparison, or None when no simulation's time is known.
    """
    known = [value for value in simulation_seconds if value > 0]
    if not known or not latencies:
        return None
    typical = float(np.median(known))
    one = min(latencies, key=lambda latency: latency.batch)
    many = max(latencies, key=lambda latency: latency.batch)
    how = (
        f"Median wall-clock time of {len(known)} simulations ({typical:.3g} s each on {ranks} MPI "
        f"rank{'s' if ranks > 1 else ''}, launch included) over the median of {one.calls} calls of the surrogate with "
        f"{one.batch} row ({one.p50_s * 1e3:.3g} ms), and of {many.calls} calls with {many.batch} rows "
        f"({many.row_s * 1e6:.3g} µs a row), physical inputs to intervals, by {one.runtime} on a machine with "
        f"{one.cores} cores."
    )
    return SpeedUp(typical / one.row_s, typical / many.row_s, typical, how, tuple(latencies))


def _rows(inputs: Mapping[str, Values], batch: int) -> dict[str, Values]:
    """Return `batch` rows, repeating the given ones."""
    counts = {len(values) for values in inputs.values()}
    if counts in ({0}, set()):
        raise DataError("Latency cannot be measured without a row to predict.")
    index = np.arange(batch) % counts.pop()
    return {
        name: values.take(index) if isinstance(values, Ragged) else values[index] for name, values in inputs.items()
    }
