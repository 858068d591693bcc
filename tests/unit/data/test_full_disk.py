"""A file that does not fit on the disk is an error, never a crash, and leaves what was there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from surrogate.data.dataset import Dataset
from tests.support.runs import SCHEMA, fill, write_run

# The largest size of a file stands for a full disk: write() fails in the middle of a file in both cases.
PROGRAM = """
import resource, sys
from pathlib import Path
from surrogate.data.dataset import DatasetWriter
from tests.support.runs import SCHEMA, identity, write_run
folder = Path(sys.argv[1])
path = write_run(folder, 5, samples=40)
writer = DatasetWriter(folder / "d", SCHEMA)
writer.add_run(identity(5), path)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
for what in (lambda: write_run(folder, 1, samples=40), writer.flush):
    try:
        what()
    except OSError as error:
        print(error.errno)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.flush()
"""


def test_no_room_for_a_run_file_or_a_shard(tmp_path: Path) -> None:
    before = write_run(tmp_path, 1).read_bytes()
    fill(tmp_path / "d", [2, 3], tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["27", "27"]
    assert (tmp_path / "run-1.h5").read_bytes() == before
    assert len(Dataset.open(tmp_path / "d", "hash")) == 42
    assert not [path for path in tmp_path.rglob("*") if ".part" in path.name]


@pytest.mark.parametrize("samples", [1, 300])
def test_the_folder_holds_whole_files_only(tmp_path: Path, samples: int) -> None:
    fill(tmp_path / "d", [1, 2, 3], tmp_path, samples_per_shard=256, samples=samples)
    names = sorted(path.relative_to(tmp_path / "d").parts[0] for path in (tmp_path / "d").rglob("*") if path.is_file())
    assert names == ["manifest.json", *["shards"] * (1 if samples == 1 else 3)]
    assert Dataset.open(tmp_path / "d").schema == SCHEMA
