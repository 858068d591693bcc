"""Parts of a finished campaign's working directory that are damaged or gone: repaired, or refused with the way out."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from surrogate.data.dataset import Dataset
from tests.support.campaigns import executions, json_of, one_sentence, surrogate, write_campaign
from workflows.cli import main
from workflows.journal import RunStatus, read_state

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.parsl, pytest.mark.train, pytest.mark.timeout(900)]
RUNS = 42


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A folder with a campaign file, its ledger and its working directory; some of its runs gave no numbers."""
    folder = tmp_path_factory.mktemp("finished")
    spoiled = 'where = [{ mode = "nan", input = "a", low = 0.0, high = 0.06 }]'
    path = write_campaign(folder, runs=RUNS, options=spoiled)
    path.write_text(path.read_text().replace("[resources]", "[failures]\nallowed_share = 0.5\n[resources]"))
    ended = surrogate("run", path, "--workdir", folder / "w", "--json")
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture
def copy(finished, tmp_path) -> Path:
    """A copy of its working directory, times included."""
    shutil.copytree(finished / "w", tmp_path / "w", symlinks=True)
    return tmp_path / "w"


def metrics(workdir: Path) -> dict[str, float]:
    found: dict[str, float] = json.loads((workdir / "verdict.json").read_text())["metrics"]
    return found


def admitted(finished: Path) -> int:
    loaded = read_state(finished / "w/journal")
    assert loaded is not None
    count = loaded.state.counts[RunStatus.PACKED]
    assert 0 < count < RUNS
    return count


def ends(folder: Path) -> int:
    return sum(what.count("end") for what in executions(folder).values())


def test_any_damaged_file_is_told_or_harmless(finished, tmp_path, capsys):
    chance = random.Random(5)
    truth, known = metrics(finished / "w"), Dataset.open(finished / "w/dataset").hash
    # A damaged list of a training's files means training again; that is tested where it costs nothing.
    skipped = re.compile(r"^(logs|lock)/|artifact\.json$|\.lock$|report\.html$")
    files = [path.relative_to(finished / "w") for path in sorted((finished / "w").rglob("*")) if path.is_file()]
    files = [path for path in files if not skipped.search(str(path))]
    assert len(files) > 15
    for number, name in enumerate(files):
        workdir = tmp_path / f"w{number}"
        shutil.copytree(finished / "w", workdir)
        content = bytearray((workdir / name).read_bytes())
        place = chance.randrange(len(content)) if content else 0
        damage = chance.choice(["bit", "cut", "zeros"])
        content = content[:place] if damage == "cut" else content
        if damage != "cut" and content:
            content[place : place + 64] = bytes([content[place] ^ 1]) if damage == "bit" else bytes(64)
        (workdir / name).chmod(0o644)
        (workdir / name).write_bytes(content)
        for words in (["status"], ["resume"]):
            code = main([*words, str(workdir)])
            said = capsys.readouterr()
            assert "Traceback" not in said.out + said.err, (name, damage, place)
            assert "did not foresee" not in said.err, (name, damage, place, said.err)
            assert code in (0, 1, 2), (name, damage, place, said.err)
            if code:
                assert re.search(r"^surrogate: .*(\.|`|&& .*)$", said.err, re.MULTILINE), (name, said.err)
        if code == 0:
            assert Dataset.open(workdir / "dataset", verify="hash").hash == known, (name, damage, place)
            assert metrics(workdir) == pytest.approx(truth), (name, damage, place)
        shutil.rmtree(workdir)


def test_a_lost_journal_costs_no_execution(finished, copy):
    before, looks = ends(finished), (copy / "holdout.json").read_text()
    versions = sorted(path.name for path in (copy / "registry/small/versions").iterdir())
    shutil.rmtree(copy / "journal")
    ended = surrogate("resume", copy, "--json")
    assert ended.returncode == 0, ended.stderr
    assert f"{admitted(finished)} runs of the dataset were not in the journal" in ended.stderr
    assert ends(finished) == before
    assert json_of(ended)["dataset_hash"] == Dataset.open(finished / "w/dataset").hash
    assert sorted(path.name for path in (copy / "registry/small/versions").iterdir()) == versions
    loaded = read_state(copy / "journal")
    assert loaded is not None
    counts = loaded.state.counts
    assert (counts[RunStatus.PACKED], counts[RunStatus.QUARANTINED]) == (admitted(finished), RUNS - admitted(finished))
    assert loaded.uid == read_state(finished / "w/journal").uid
    assert all(run.seconds > 0 for run in loaded.state.with_status(RunStatus.PACKED))
    # Judged again: whoever has no record of a verdict makes another, and says so.
    assert len(json.loads((copy / "holdout.json").read_text())["consultations"]) == 1 + len(
        json.loads(looks)["consultations"]
    )


def test_a_lost_dataset_is_refused_and_done_again_where_a_person_wants_that(finished, copy):
    before = ends(finished)
    shutil.rmtree(copy / "dataset")
    ended = surrogate("resume", copy)
    assert ended.returncode == 1
    said = one_sentence(ended)
    assert f"{admitted(finished)} runs were packed" in said
    assert ends(finished) == before
    first, _ = said[said.index("mkdir") :].rstrip(".").split(" && ")
    subprocess.run(shlex.split(first), check=True)
    again = surrogate("resume", copy, "--json")
    assert again.returncode == 0, again.stderr
    assert ends(finished) == before + admitted(finished)
    assert json_of(again)["dataset_hash"] == Dataset.open(finished / "w/dataset").hash


def test_a_lost_record_of_the_workspace_is_made_again_from_the_campaign(finished, copy):
    (copy / "workspace.json").write_text("{")
    said = one_sentence(surrogate("resume", copy))
    assert "workspace.json" in said
    assert "same --workdir" in said
    other = write_campaign(copy.parent / "other", runs=RUNS)
    other.write_text(other.read_text().replace("seed = 3", "seed = 4"))
    refused = surrogate("run", other, "--workdir", copy)
    assert refused.returncode == 2
    assert "belongs to another campaign" in one_sentence(refused)
    before = ends(finished)
    ended = surrogate("run", finished / "small.toml", "--workdir", copy, "--json")
    assert ended.returncode == 0, ended.stderr
    assert ends(finished) == before


def test_a_kept_campaign_file_that_was_changed_is_told(copy):
    path = copy / "campaign.toml"
    path.write_text(path.read_text().replace("max = 10.0", "max = 1e-9"))
    ended = surrogate("resume", copy)
    assert ended.returncode == 3, ended.stderr
    assert f"{path} was changed since it was last run" in ended.stderr
