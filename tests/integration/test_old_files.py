"""Three hundred old files of another layout become a promoted surrogate, by the command line alone."""

from __future__ import annotations

import json

import pytest

from tests.support.campaigns import json_of, surrogate
from tests.support.old_files import CAMPAIGN, MAPPING, points, write_case, write_cases

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.train, pytest.mark.parsl]


def test_300_old_files_are_ingested_trained_and_promoted(tmp_path):
    folder = tmp_path / "old"
    write_cases(folder, 300)
    write_case(folder / "case_0010.h5", 0.5, 9.0)
    (folder / "case_0011.h5").write_bytes(b"broken")
    (tmp_path / "mapping.toml").write_text(MAPPING)
    (tmp_path / "old.toml").write_text(CAMPAIGN + "[approval]\nrequired = true\n")
    options = ("--mapping", tmp_path / "mapping.toml", "--json")

    early = surrogate("run", tmp_path / "old.toml", "--workdir", tmp_path / "w")
    assert early.returncode == 2
    assert "nothing was ingested into" in early.stderr

    tried = surrogate("ingest", tmp_path / "w", folder, *options, "--campaign", tmp_path / "old.toml", "--dry-run")
    assert json_of(tried)["samples_taken"] == 298
    assert not (tmp_path / "w").exists()
    taken = json_of(surrogate("ingest", tmp_path / "w", folder, *options, "--campaign", tmp_path / "old.toml"))
    assert (taken["samples_taken"], taken["samples_refused"]) == (298, 2)
    assert taken["refused_by_kind"] == {"out_of_bounds": 1, "output_unreadable": 1}

    told = json_of(surrogate("run", tmp_path / "old.toml", "--workdir", tmp_path / "w", "--dry-run", "--json"))
    assert (told["samples"], told["launch_lines"]["simulate"]) == (298, "surrogate ingest")
    ended = surrogate("run", tmp_path / "old.toml", "--workdir", tmp_path / "w", "--json")
    assert ended.returncode == 0, ended.stderr
    result = json_of(ended)
    assert (result["passed"], result["promoted"], result["awaiting_approval"]) == (True, False, True)
    assert result["dataset_hash"] == taken["dataset_hash"]
    assert "speed_up" not in result["verdict"], "nothing was simulated, so that nothing can be compared"
    assert "waits for a person" in (tmp_path / "w" / "report.html").read_text()
    none = surrogate("predict", tmp_path / "w", "nu=0.5", "amp=2")
    assert none.returncode == 2
    assert "has been promoted" in none.stderr

    word = surrogate("promote", tmp_path / "w", "--approve", "Ada", "--note", "fine")
    assert word.returncode == 0, word.stderr
    report = (tmp_path / "w" / "report.html").read_text()
    assert f"Version {result['version']} is the current one in the registry." in report
    assert "waits for a person" not in report
    nu, amp = points(300)[0]
    answer = json_of(surrogate("predict", tmp_path / "w", f"nu={nu}", f"amp={amp}", "--json"))
    assert len(answer["mean"]["u"][0]) == 9
    assert answer["in_domain"] == [True]

    again = surrogate("resume", tmp_path / "w")
    assert again.returncode == 0, again.stderr
    assert "Everything was done before" in again.stderr
    assert "promoted, in" in again.stdout
    (step,) = json_of(surrogate("lineage", tmp_path / "w", "--json"))["lineage"]
    assert step["events"][-1]["approved_by"] == "Ada"
    assert step["record"]["runs"]["count"] == 298
    assert "ingest" in json.dumps(step["record"]["launch_lines"])
    card = json.loads((tmp_path / "w" / "dataset" / "card.json").read_text())
    assert (card["samples"], card["refused"]["runs"]) == (298, 2)
    assert card["refused"]["share"] == pytest.approx(2 / 300)
    status = json_of(surrogate("status", tmp_path / "w", "--json"))
    assert [stage["name"] for stage in status["stages"]][:2] == ["ingest", "assemble"]
