"""The image is made by the targets that make the environment elsewhere; its steps are followed without a runtime."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from site_configs.container import container_words
from site_configs.launch import Launcher
from site_configs.mpiexec import detect_dialect, find_mpiexec
from site_configs.resources import ResourceRequest
from site_configs.settings import Container

ROOT = Path(__file__).parents[2]
DEFINITION = ROOT / "containers" / "surrogate.def"
LOGGER = '#!/bin/sh\necho "$(basename "$0") $*" >> "$STEPS"\n'
# It takes options and an image, as the real one does, and executes the command where it is called.
APPTAINER = """#!/bin/bash
echo "$*" >> "$STEPS"
[ "$1" = exec ] || exit 64
shift
while [[ "$1" == --* ]]; do shift; done
test -f "$1" || exit 255
shift
exec "$@"
"""
HELLO = "from mpi4py import MPI; w = MPI.COMM_WORLD; print(f'rank {w.rank} of {w.size}\\n', end='', flush=True)"


def sections() -> dict[str, str]:
    """Return section → its lines."""
    parts = re.split(r"^%(\w+)$", DEFINITION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def stub(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_what_is_copied_is_there():
    lines = [line.split() for line in sections()["files"].splitlines() if line.strip()]
    assert all((ROOT / source).exists() for source, _ in lines)
    assert all(target == f"/opt/surrogate/{source}" for source, target in lines)
    needed = re.findall(r"bash (scripts/\S+\.sh)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert needed
    assert {"Makefile", "pyproject.toml", "requirements", "scripts", "surrogate", "workflows"} <= {
        line[0] for line in lines
    }


def test_every_target_exists():
    targets = re.findall(r"^\s*make ([\w-]+)$", sections()["post"], flags=re.MULTILINE)
    assert targets == ["build-deps", "setup"]
    for target in targets:
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)


@pytest.mark.parametrize("failing", [None, "make"])
def test_the_steps_are_followed_in_order_and_stop_at_a_failure(tmp_path, failing):
    programs, steps = tmp_path / "bin", tmp_path / "steps"
    programs.mkdir()
    for name in ("apt-get", "make", "rm", "chmod"):
        stub(programs / name, LOGGER + ("exit 1\n" if name == failing else ""))
    script = sections()["post"].replace("/opt/surrogate", str(tmp_path))
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "STEPS": str(steps), "HOME": "/root"}
    done = subprocess.run(["bash", "-c", script], env=environment, check=False)
    assert (done.returncode == 0) == (failing is None)
    verbs = [" ".join(line.split()[:2]) for line in steps.read_text().splitlines()]
    wanted = ["apt-get update", "apt-get install", "make build-deps", "make setup", "rm -rf", "chmod -R"]
    assert verbs == (wanted if failing is None else wanted[:3])


def test_the_environment_of_the_image_is_where_sites_look_for_it():
    python = Container(runtime="apptainer", image="s.sif").python
    assert python in sections()["test"]
    assert f"PATH={Path(python).parent}:" in sections()["environment"]


@pytest.mark.mpi
def test_ranks_that_are_inside_see_each_other(tmp_path, monkeypatch):
    runtime, image, steps = tmp_path / "apptainer", tmp_path / "surrogate.sif", tmp_path / "steps"
    stub(runtime, APPTAINER)
    image.touch()
    monkeypatch.setenv("STEPS", str(steps))
    container = Container(
        runtime="apptainer", program=str(runtime), image=str(image), binds=(str(tmp_path),), python=sys.executable
    )
    mpiexec = find_mpiexec("embedded", "here")
    launcher = Launcher(
        detect_dialect(mpiexec), mpiexec, inside=container_words(container, gpus=False), inside_python=container.python
    )
    line = launcher.line((sys.executable, "-m", "mpi4py", "-c", HELLO), ResourceRequest(1, 2, 2))
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    # Two ranks write into one pipe, and their words may come in any order.
    assert done.stdout.count(" of 2") == 2
    assert sorted(re.findall(r"\d+(?= of 2)", done.stdout)) == ["0", "1"]
    assert len(steps.read_text().splitlines()) == 2
