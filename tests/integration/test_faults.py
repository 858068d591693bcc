"""Whatever dies, stops or fills up: resume finishes, no admitted run goes again, the data are the same.

Here each fault strikes once, at a moment that the printed seed decides; `make bench-faults` strikes ten times.
"""

from __future__ import annotations

import os
import random

import pytest

from tests.support.fault_trial import try_fault
from tests.support.faults import FAULTS
from tests.support.skips import MOUNT

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.parsl,
    pytest.mark.train,
    pytest.mark.mpi,
    pytest.mark.timeout(1200),
]


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_nothing(name, tmp_path):
    seed = int(os.environ.get("SURROGATE_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
    print(f"SURROGATE_TEST_SEED={seed}")
    try:
        trial = try_fault(name, seed, 1, tmp_path, whole=False)
    except PermissionError as error:
        pytest.skip(f"{error} {MOUNT}")
    print(*trial.moments, sep="\n")
    assert not trial.problems, "\n".join(trial.problems)
    assert trial.finished
    assert trial.ledger_exact
    assert trial.same_hash
    assert not trial.left_behind
