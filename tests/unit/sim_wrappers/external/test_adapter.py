"""A described program that is executed: what it yields, every way to fail, remedies, restarts, edited programs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.described import Described
from sim_wrappers.external.locate import located
from sim_wrappers.external.options import complete, read
from sim_wrappers.folders import RECEIPT, put_back
from site_configs.resources import ResourceRequest
from surrogate.core.files import read_json, write_json
from surrogate.core.outcome import Failure, FailureKind, Outcome, Success
from surrogate.data.run_file import read_run_file
from tests.support.executions import folder_of, request_for, run
from tests.support.external import FOLDER, SPACE, decay

CODE = catalog.get("external")
POINT = {"rate": 0.5, "amount": 2.0}
QUICKLY = ResourceRequest(walltime_s=20)


def script(folder: Path, text: str, **changes: Any) -> dict[str, Any]:
    """Return options of a shell script that may use $1 (rate), $2 (amount) and $3 (steps)."""
    (folder / "program.sh").write_text(text)
    return decay(
        command=["sh", "program.sh", "{{rate}}", "{{amount}}", "{{steps}}"],
        files=[{"source": str(folder / "program.sh")}],
        stdin=None,
        template=[],
        coordinates={},
        outputs={"x": {"pattern": r"x = (\S+)"}},
        end_marker=None,
        **changes,
    )


def execute(workdir: Path, options: dict[str, Any], **rest: Any) -> Outcome:
    request = request_for(CODE, POINT, options, resources=QUICKLY, **rest)
    return run(workdir, request, space=SPACE)


def test_it_is_described() -> None:
    assert isinstance(CODE, Described)
    assert CODE.found() is None
    assert CODE.default_space({}) is None


def test_a_run_yields_its_outputs(tmp_path: Path) -> None:
    outcome = execute(tmp_path, decay())
    assert isinstance(outcome, Success), outcome
    columns = read_run_file(tmp_path / outcome.path).columns
    np.testing.assert_allclose(columns["left"], [2.0 * np.exp(-0.5 * np.arange(5))], rtol=1e-12)
    np.testing.assert_allclose(columns["half"], [np.log(2.0) / 0.5], rtol=1e-12)
    assert (folder_of(tmp_path, request_for(CODE, POINT, decay())) / "case.txt").read_text() == (
        "rate = 0.5\namount = 2\nsteps = 4\n"
    )


@pytest.mark.parametrize(
    ("text", "changes", "kind", "says"),
    [
        ("exit 3", {}, FailureKind.EXIT_STATUS, "exit status 3"),
        ("echo y", {}, FailureKind.OUTPUT_UNREADABLE, "Output 'x': The pattern .* matches nothing"),
        ("echo x = 1", {"must_exist": ["a.log"]}, FailureKind.OUTPUT_MISSING, "left no a.log"),
        ("echo x = 1", {"outputs": {"x": {"file": "a.txt", "column": 1}}}, FailureKind.OUTPUT_MISSING, "left no a.txt"),
        ("echo x = nan", {}, FailureKind.NOT_FINITE, "finite"),
        ("echo x = 7", {"outputs": {"x": {"pattern": "x = (.*)", "high": 5.0}}},
         FailureKind.OUT_OF_BOUNDS, "at most 5"),
        ("echo x = 7", {"outputs": {"x": {"pattern": "x = (.*)", "match": "all", "shape": [2]}}},
         FailureKind.WRONG_SHAPE, r"has the shape \[1\]"),
    ],
)  # fmt: skip
def test_failures_are_values_with_their_kind(tmp_path: Path, text: str, changes: dict, kind: str, says: str) -> None:
    options = {**script(tmp_path, text), **changes}
    outcome = execute(tmp_path, options)
    assert isinstance(outcome, Failure)
    assert outcome.kind is kind, outcome
    assert re.search(says, outcome.message), outcome.message


@pytest.mark.parametrize(
    ("marker", "found"),
    [
        ("THE END", True),
        ({"text": "THE END"}, True),
        ({"pattern": "^THE E.D$"}, True),
        ({"text": "done", "file": "program.log"}, True),
        ("The end", False),
        ({"pattern": "^HE END"}, False),
        ({"text": "THE END", "file": "program.log"}, False),
    ],
)
def test_a_run_without_its_end_marker_is_unfinished(tmp_path: Path, marker: Any, found: bool) -> None:
    options = script(tmp_path, "echo x = 1; echo THE END; echo done > program.log")
    outcome = execute(tmp_path, {**options, "end_marker": marker})
    if found:
        assert isinstance(outcome, Success), outcome
    else:
        assert isinstance(outcome, Failure)
        assert outcome.kind is FailureKind.NO_END_MARKER


RULES = [
    {
        "pattern": r"diverged in step (?P<step>\d+)",
        "kind": "unconverged",
        "message": "It diverged in step {step}",
        "multiply": {"steps": 2.0},
    },
    {"pattern": "negative density", "kind": "not_physical", "message": "The density is negative.", "retry": False},
]


@pytest.mark.parametrize("status", [0, 1])
@pytest.mark.parametrize("where", ["", " > solver.log"])
def test_an_error_counts_whatever_the_exit_status_and_in_logs_too(tmp_path: Path, status: int, where: str) -> None:
    text = f"echo x = 1; if test $3 -lt 8; then echo diverged in step 3{where}; exit {status}; fi"
    options = script(tmp_path, text, error=RULES, logs=["solver.log"])
    first = execute(tmp_path, options)
    assert isinstance(first, Failure)
    assert (first.kind, first.message) == (FailureKind.UNCONVERGED, "It diverged in step 3.")
    assert first.remedy == "steps × 2"
    second = execute(tmp_path, options, attempt=2, remedies=(first.remedy,))
    assert isinstance(second, Success), second


def test_an_error_without_another_try_is_not_tried_again(tmp_path: Path) -> None:
    outcome = execute(tmp_path, script(tmp_path, "echo negative density", error=RULES))
    assert isinstance(outcome, Failure)
    assert (outcome.kind, outcome.retryable) == (FailureKind.NOT_PHYSICAL, False)


GOES_ON = """
if test -f state.rst; then echo x = $(cat state.rst); exit 0; fi
echo 42 > state.rst
{end}
"""


@pytest.mark.parametrize(
    ("end", "goes_on"),
    [("echo CANCELLED DUE TO NODE FAILURE; exit 1", True), ("sleep 60", True), ("echo diverged in step 1", False)],
)
def test_a_lost_run_goes_on_from_its_restart_file_and_a_failed_one_begins_anew(
    tmp_path: Path, end: str, goes_on: bool
) -> None:
    options = script(tmp_path, GOES_ON.format(end=end), error=RULES, restart=["*.rst"])
    brief = ResourceRequest(walltime_s=2)
    request = request_for(CODE, POINT, options, resources=brief)
    first = run(tmp_path, request, space=SPACE)
    assert isinstance(first, Failure)
    again = request_for(CODE, POINT, options, resources=brief, attempt=2)
    second = run(tmp_path, again, space=SPACE)
    assert isinstance(second, Success) == goes_on, second


def test_a_run_whose_worker_died_goes_on_and_the_template_is_told(tmp_path: Path) -> None:
    (tmp_path / "case.in").write_text("&case restart = {{run.restart}} {{rate}} {{amount}} {{steps}} /\n")
    options = script(tmp_path, "grep -q 'restart = .true.' case.nml && echo x = $(cat state.rst)", restart=["*.rst"])
    options |= {"template": [{"source": str(tmp_path / "case.in"), "target": "case.nml"}]}
    request = request_for(CODE, POINT, options, resources=QUICKLY)
    folder = folder_of(tmp_path, request)
    folder.mkdir(parents=True)
    (folder / "state.rst").write_text("7")
    outcome = run(tmp_path, request, space=SPACE)
    assert isinstance(outcome, Success), outcome


def test_an_edited_program_is_another_version_and_a_run_of_the_old_one_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "solver"
    program.write_text("#!/bin/sh\necho x = 1\n")
    program.chmod(0o755)
    options = {**script(tmp_path, ""), "command": [str(program), "{{rate}} {{amount}} {{steps}}"]}
    request = request_for(CODE, POINT, options, resources=QUICKLY)
    program.write_text("#!/bin/sh\necho x = 22\n")
    outcome = run(tmp_path, request, space=SPACE)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.LAUNCHER
    assert outcome.retryable
    assert "was changed after the campaign was planned" in outcome.message
    renewed = request_for(CODE, POINT, options)
    assert renewed.run_id != request.run_id
    program.unlink()
    lost = run(tmp_path, renewed, space=SPACE)
    assert isinstance(lost, Failure)
    assert lost.kind is FailureKind.LAUNCHER


def test_files_are_copied_with_their_names_and_folders_too_or_linked(tmp_path: Path) -> None:
    (tmp_path / "mesh").mkdir()
    (tmp_path / "mesh" / "a.msh").write_text("1")
    (tmp_path / "big.bin").write_text("2")
    files = [
        {"source": str(tmp_path / "mesh")},
        {"source": str(tmp_path / "big.bin"), "target": "data/big.bin", "link": True},
        {"source": str(tmp_path / "program.sh")},
    ]
    options = {**script(tmp_path, "echo x = $(cat mesh/a.msh)$(cat data/big.bin); echo 9 > mesh/a.msh"), "files": files}
    outcome = execute(tmp_path, options)
    assert isinstance(outcome, Success), outcome
    assert read_run_file(tmp_path / outcome.path).columns["x"] == [12.0]
    assert (tmp_path / "mesh" / "a.msh").read_text() == "1", "a run writes into its own copy"
    assert (folder_of(tmp_path, request_for(CODE, POINT, options)) / "data" / "big.bin").is_symlink()


def test_content_decides_the_identity_and_the_place_does_not(tmp_path: Path) -> None:
    here, there = tmp_path / "a", tmp_path / "b"
    for folder in (here, there):
        shutil.copytree(FOLDER, folder)

    def named(folder: Path, **changes: Any) -> str:
        options = decay(
            files=[{"source": str(folder / "decay.awk")}],
            template=[{"source": str(folder / "case.txt.in"), "target": "case.txt"}],
        )
        return request_for(CODE, POINT, {**options, **changes}).run_id

    assert named(here) == named(there)
    assert named(here, end_marker="another", must_exist=["x"], error=RULES) == named(here)
    changed = [
        named(here, values={"steps": 5}),
        named(here, environment={"A": "1"}),
        named(here, outputs={"half": decay()["outputs"]["half"]}, coordinates={}),
        named(here, version="2"),
        named(here, version_command=["sh", "-c", "echo 3.1; echo more"]),
        named(here, version_files=[str(there / "decay.awk")]),
    ]
    (there / "case.txt.in").write_text((there / "case.txt.in").read_text() + "# \n")
    changed.append(named(there))
    assert len({named(here), *changed}) == 8


def test_the_version_is_what_the_program_says(tmp_path: Path) -> None:
    (tmp_path / "solver").write_text("#!/bin/sh\necho x\n")
    (tmp_path / "solver").chmod(0o755)
    options = complete(decay(command=[str(tmp_path / "solver")], version="2.1", hash_program=False))
    assert CODE.version(options) == "2.1"
    assert CODE.version({**options, "hash_program": True}).startswith("2.1 ")
    assert CODE.version(complete(decay())) == "awk"
    python = located(read(complete(decay(command=["python"], version=""))), lambda name: tmp_path / name)
    assert CODE.version(python) == "python"


def test_a_receipt_of_a_success_puts_nothing_back(tmp_path: Path) -> None:
    previous, folder = tmp_path / "old", tmp_path / "new"
    folder.mkdir()
    outcome = execute(tmp_path, decay())
    shutil.copytree((tmp_path / outcome.path).parent, previous)
    (previous / "a.rst").write_text("1")
    put_back(previous, folder, ("*.rst",))
    assert not list(folder.iterdir())
    record = read_json(previous / RECEIPT)
    write_json(previous / RECEIPT, {**record, "outcome": "nonsense"})
    put_back(previous, folder, ("*.rst",))
    assert [path.name for path in folder.iterdir()] == ["a.rst"]
