"""Ingesting: what is taken, what is refused, and that nothing is taken twice, whatever is interrupted."""

import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from surrogate.core.errors import ConfigError, Interrupted, StorageError
from surrogate.data.dataset import Dataset
from surrogate.data.quarantine import Quarantine
from tests.support.ingests import data_of, take
from tests.support.old_files import CAMPAIGN, MAPPING, X, points, write_case, write_cases, write_texts
from workflows.checked_plan import plan_campaign
from workflows.ingest.ingest import dry_run, ingest
from workflows.progress import Silent
from workflows.status import status
from workflows.stopping import Stopping

TABLE = """
format = "csv"
sample_axis = 0
rows_per_run = {rows}
[inputs.a]
column = "a"
low = 0.0
high = 1.0
[outputs.y]
column = "y"
"""


def table_of(tmp_path: Path) -> Dataset:
    return Dataset.open(tmp_path / "w" / "dataset", verify="hash")


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_files_of_one_sample_each(tmp_path):
    cases = write_cases(tmp_path / "old", 12)
    write_case(cases[3], 0.5, 2.0, u=np.where(np.arange(9) == 4, np.nan, 1.0))
    write_case(cases[4], 0.5, 9.0)
    write_case(cases[5], 0.5, 2.0, x=X + 1.0)
    cases[6].write_bytes(cases[6].read_bytes()[:300])
    told = take(tmp_path, tmp_path / "old")
    assert (told.tally.files, told.tally.taken, told.tally.refused, told.samples) == (12, 8, 4, 8)
    assert told.tally.kinds == {"not_finite": 1, "out_of_bounds": 1, "wrong_shape": 1, "output_unreadable": 1}
    assert "case_0003.h5: Column 'u' of sample 0 is nan m at [4]" in _reason(told, "case_0003")
    assert "Column 'amp' of sample 0 is 9 m; at most 6 is expected" in _reason(told, "case_0004")
    assert "Coordinate 'x' is 0.026000000000000002 at [2]; 0.025 is expected" in _reason(told, "case_0005")
    dataset = table_of(tmp_path)
    table = dataset.load_all()
    known = {round(nu, 9): (nu, amp) for nu, amp in points(12)}
    for row in range(len(table)):
        nu, amp = known[round(float(table.columns["nu"][row]), 9)]
        assert table.columns["amp"][row] == pytest.approx(amp, rel=1e-11)
        assert table.columns["u"][row] == pytest.approx(amp * np.exp(-nu * X / 50.0), rel=1e-9)
    assert dataset.schema.column("u").unit == "m"
    assert dataset.schema.coordinate("x").values[-1] == pytest.approx(0.1)
    (record, *_) = dataset.provenance().values()
    assert record["source"]["file"].startswith(str(tmp_path / "old"))
    assert len(record["source"]["sha256"]) == len(record["mapping"]["sha256"]) == 64
    refused = Quarantine(tmp_path / "w" / "dataset").entries()
    assert {entry.kind.value for entry in refused} == set(told.tally.kinds)
    assert refused[1].inputs == {"nu": 0.5, "amp": 9.0}
    stands = status(tmp_path / "w")
    assert (stands.campaign, stands.samples, stands.runs["packed"]) == ("old", 8, 8)
    assert stands.runs["quarantined"] + stands.runs["failed"] == 4
    assert not (tmp_path / "w" / "runs").exists() or not list((tmp_path / "w" / "runs").rglob("*.h5"))


def _reason(told, name):
    return next(
        f"{entry['file']}: {entry['reason']}" if name not in entry["reason"] else entry["reason"]
        for entry in told.tally.reasons
        if name in entry["file"]
    )


def test_the_same_files_twice_add_nothing_and_more_files_add_more(tmp_path):
    write_cases(tmp_path / "old", 6)
    first = take(tmp_path, tmp_path / "old")
    again = take(tmp_path, tmp_path / "old")
    assert (again.tally.taken, again.tally.known, again.dataset_hash) == (0, 6, first.dataset_hash)
    write_case(tmp_path / "old" / "copy.h5", *points(6)[0])
    more = take(tmp_path, tmp_path / "old", *[write_case(tmp_path / "new" / "z.h5", *points(7)[6])])
    assert (more.tally.taken, more.tally.known, more.samples) == (1, 7, 7)
    elsewhere = tmp_path / "other"
    write_cases(elsewhere / "old", 6)
    assert take(elsewhere, elsewhere / "old").dataset_hash == first.dataset_hash, "the folder is no part of identity"


def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path):
    cases = write_cases(tmp_path / "old", 8)
    cases[2].write_bytes(b"nothing")
    campaign, layout = write_texts(tmp_path)
    before = tree(tmp_path)
    told = dry_run(tmp_path / "w", [tmp_path / "old"], layout, campaign=campaign, progress=Silent())
    assert (told.tally.taken, told.tally.refused, told.samples) == (7, 1, None)
    assert tree(tmp_path) == before
    done = take(tmp_path, tmp_path / "old")
    assert done.tally.to_json() == told.tally.to_json()
    before = tree(tmp_path)
    again = dry_run(tmp_path / "w", [tmp_path / "old"], layout, progress=Silent())
    assert (again.tally.taken, again.tally.known) == (0, 7)
    assert tree(tmp_path) == before


def test_bounds_that_nobody_gave_are_those_of_the_first_data(tmp_path):
    write_cases(tmp_path / "old", 6)
    take(tmp_path, tmp_path / "old")
    campaign, _ = write_texts(tmp_path)
    (nu, amp) = plan_campaign(campaign, tmp_path / "w").space.parameters
    values = [value for value, _ in points(6)]
    assert (nu.low, nu.high) == (pytest.approx(min(values), rel=1e-11), pytest.approx(max(values), rel=1e-11))
    assert (amp.low, amp.high, amp.unit) == (0.5, 6.0, "m")
    outside = take(tmp_path, write_case(tmp_path / "new" / "z.h5", 2.5, 2.0))
    assert outside.tally.kinds == {"out_of_bounds": 1}
    wider = CAMPAIGN + "[inputs.nu]\nlow = 0.0\nhigh = 9.0\n"
    with pytest.raises(ConfigError, match=r"belongs to another campaign: there 'inputs.nu.high' is .*it is 9.0"):
        take(tmp_path, tmp_path / "new", campaign=wider)
    (tmp_path / "b").mkdir()
    declared = take(tmp_path / "b", tmp_path / "new", campaign=wider)
    assert (declared.tally.taken, declared.tally.refused) == (1, 0)


def test_the_first_file_may_be_the_odd_one(tmp_path):
    cases = write_cases(tmp_path / "old", 12)
    write_case(cases[0], 0.5, 2.0, u=np.ones(7), x=X[:7])
    told = take(tmp_path, tmp_path / "old")
    assert (told.tally.taken, told.tally.kinds) == (11, {"wrong_shape": 1})


def test_a_better_mapping_replaces_what_was_refused(tmp_path):
    """All is refused by a wrong unit; the right one takes all, and the share of refused samples is none."""
    write_cases(tmp_path / "old", 30)
    wrong = MAPPING.replace('unit_in_file = "mm"', 'unit_in_file = "m"')
    first = take(tmp_path, tmp_path / "old", mapping=wrong)
    assert (first.tally.taken, first.tally.refused, first.refused) == (0, 30, 30)
    second = take(tmp_path, tmp_path / "old")
    assert (second.tally.taken, second.refused) == (30, 0)
    broken = write_case(tmp_path / "old" / "z.h5", 0.5, 9.0)
    assert take(tmp_path, broken).refused == 1
    assert take(tmp_path, write_case(broken, 0.5, 3.0)).refused == 0, "the file was mended"


def test_what_is_there_is_not_taken_by_another_mapping(tmp_path):
    write_cases(tmp_path / "old", 5)
    before = take(tmp_path, tmp_path / "old")
    other = take(tmp_path, tmp_path / "old", mapping=MAPPING.replace("index = [0]", "index = [1]"))
    assert (other.tally.taken, other.tally.left_out, other.samples) == (0, 5, 5)
    assert other.dataset_hash == before.dataset_hash
    assert "by another mapping before" in other.tally.reasons[0]["reason"]
    comment = take(tmp_path, tmp_path / "old", mapping="# only a comment\n" + MAPPING)
    assert comment.tally.known == 5


def write_table(path: Path, count: int, bad: dict[int, str] | None = None) -> Path:
    bad = bad or {}
    path.write_text("a,y\n" + "".join(f"{i / count},{bad.get(i, i)}\n" for i in range(count)))
    return path


def test_a_large_file_becomes_several_runs_and_single_rows_are_refused(tmp_path):
    table = write_table(tmp_path / "t.csv", 1000, {17: "nan", 450: "oops", 451: "inf"})
    told = take(tmp_path, table, mapping=TABLE.format(rows=300))
    assert (told.tally.taken, told.tally.refused, told.tally.files) == (997, 3, 1)
    dataset = table_of(tmp_path)
    assert len(set(dataset.index.runs.tolist())) == 4
    assert len(list((tmp_path / "w" / "dataset" / "shards").glob("*.h5"))) >= 3
    assert [(entry["sample"], entry["samples"]) for entry in told.tally.reasons] == [(17, 2), (451, 1)]
    assert "sample 17 is nan" in told.tally.reasons[0]["reason"]
    assert Quarantine(tmp_path / "w" / "dataset").entries()[0].inputs == {"a": 0.017}
    table = dataset.load_all()
    assert sorted(table.columns["y"].tolist()) == [i for i in range(1000) if i not in (17, 450, 451)]
    again = take(tmp_path, tmp_path / "t.csv", mapping=TABLE.format(rows=300))
    assert (again.tally.taken, again.tally.known, again.tally.refused_before) == (0, 997, 3)


def test_many_bad_rows_do_not_flood_the_quarantine(tmp_path):
    table = write_table(tmp_path / "t.csv", 400, dict.fromkeys(range(0, 400, 2), "nan"))
    told = take(tmp_path, table, mapping=TABLE.format(rows=400))
    assert (told.tally.taken, told.tally.refused, told.refused) == (200, 200, 200)
    entries = Quarantine(tmp_path / "w" / "dataset").entries()
    assert len(entries) == 50
    assert "151 further samples between 98 and 398 were refused" in entries[-1].reason
    none = write_table(tmp_path / "u.csv", 10, dict.fromkeys(range(10), "nan"))
    told = take(tmp_path, none, mapping=TABLE.format(rows=400))
    assert (told.tally.taken, told.tally.refused) == (0, 10)
    assert "None of its 10 samples can be used. The first: Column 'y' of sample 0" in told.tally.reasons[0]["reason"]


@pytest.mark.parametrize("moment", [1, 5])
def test_a_killed_ingest_goes_on(moment, tmp_path):
    """Killed after so many run files; the same command finishes, and the dataset is that of an undisturbed ingest."""
    write_table(tmp_path / "t.csv", 900, {5: "nan"})
    mapping = TABLE.format(rows=100)
    code = (
        "import os, sys, pathlib\n"
        "from workflows.ingest import books\n"
        "from workflows.progress import Silent\n"
        "from tests.support.old_files import write_texts\n"
        "from workflows.ingest.ingest import ingest\n"
        "base, mapping, moment = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])\n"
        "write, count = books.admit, [0]\n"
        "def admit(*words):\n"
        "    count[0] += 1\n"
        "    if count[0] > moment: os._exit(9)\n"
        "    return write(*words)\n"
        "books.admit = admit\n"
        "campaign, layout = write_texts(base, mapping=mapping)\n"
        "ingest(base / 'w', [base / 't.csv'], layout, campaign=campaign, progress=Silent())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), mapping, str(moment)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[4])},
        check=False,
    )
    assert ended.returncode == 9
    campaign, _ = write_texts(tmp_path, mapping=mapping)
    with pytest.raises(ConfigError, match=r"ingest into .* did not come to its end"):
        data_of(tmp_path, campaign)
    told = take(tmp_path, tmp_path / "t.csv", mapping=mapping)
    assert told.samples == 899
    assert told.tally.known + told.tally.taken == 899
    other = tmp_path / "other"
    other.mkdir()
    whole = write_texts(other, mapping=mapping)
    undisturbed = ingest(other / "w", [tmp_path / "t.csv"], whole[1], campaign=whole[0], progress=Silent())
    assert told.dataset_hash == undisturbed.dataset_hash


def test_an_interrupted_ingest_says_how_to_go_on(tmp_path):
    write_cases(tmp_path / "old", 5)
    campaign, layout = write_texts(tmp_path)
    stopping = Stopping()
    stopping.event.set()
    with pytest.raises(Interrupted, match="Give the same command again"):
        ingest(
            tmp_path / "w", [tmp_path / "old"], layout, campaign=campaign, progress=Silent(), stopping=stopping
        )  # fmt: skip
    assert take(tmp_path, tmp_path / "old").samples == 5


def test_a_full_disk_is_a_sentence_and_nothing_is_lost(tmp_path, monkeypatch):
    write_cases(tmp_path / "old", 5)
    campaign, layout = write_texts(tmp_path)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("workflows.ingest.books.write_run_file", full)
        with pytest.raises(StorageError, match="the disk is full"):
            ingest(tmp_path / "w", [tmp_path / "old"], layout, campaign=campaign, progress=Silent())
    assert take(tmp_path, tmp_path / "old").samples == 5


def test_groups_and_names_of_files(tmp_path):
    """The group key and an input come from the file's name; the same content under another name is another sample."""
    mapping = """
format = "hdf5"
sample_axis = "file"
group = { file_name = '^(\\w)_' }
[inputs.T]
file_name = 'T(\\d+)'
low = 0
high = 999
[outputs.u]
path = "u"
"""
    for name in ("a_T100", "a_T200", "b_T100"):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["u"] = np.arange(3.0)
    told = take(tmp_path, *[tmp_path / f"{name}.h5" for name in ("a_T100", "a_T200", "b_T100")], mapping=mapping)
    assert told.samples == 3
    table = table_of(tmp_path).load_all()
    assert sorted(zip(table.groups, table.columns["T"].tolist(), strict=True)) == [("a", 100), ("a", 200), ("b", 100)]
    wrong = take(tmp_path, *[(tmp_path / "a_T100.h5").rename(tmp_path / "nothing.h5")], mapping=mapping)
    assert "does not have the form" in wrong.tally.reasons[0]["reason"]
