"""`surrogate ingest` as a person sees it."""

import json

import h5py
import pytest

from tests.support.old_files import write_case, write_cases, write_texts
from workflows.cli import main


@pytest.fixture
def words(tmp_path):
    write_cases(tmp_path / "old", 6)
    write_case(tmp_path / "old" / "case_0002.h5", 0.5, 9.0)
    write_texts(tmp_path)
    return [
        "ingest", str(tmp_path / "w"), str(tmp_path / "old"), "--mapping", str(tmp_path / "mapping.toml"),
        "--campaign", str(tmp_path / "old.toml"),
    ]  # fmt: skip


def test_what_would_be_taken_and_what_is_taken(words, tmp_path, capsys):
    assert main([*words, "--dry-run"]) == 0
    said = capsys.readouterr()
    assert "Taken      5 samples would be taken" in said.out
    assert "Refused    1 samples would be refused: 1 out_of_bounds" in said.out
    assert "case_0002.h5: Column 'amp' of sample 0 is 9 m; at most 6 is expected." in said.out
    assert said.out.rstrip().endswith("Nothing was written.")
    assert "Looking for the range of nu in 6 files" in said.err
    assert main([*words, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["samples_taken"], told["samples"], told["refused"]) == (5, 5, 1)
    assert main(words) == 0
    said = capsys.readouterr()
    assert "Known      5 samples are there already" in said.out
    assert "Refused    1 samples were refused before, and are not read again" in said.out
    assert "Dataset    5 samples, hash " in said.out
    assert f"Go on with: surrogate resume {tmp_path / 'w'}" in said.out


def test_equal_sentences_are_told_once(words, tmp_path, capsys):
    """A cause that many files share does not hide the other ones."""
    cases = write_cases(tmp_path / "old", 60)
    for path in cases[:40]:
        with h5py.File(path, "a") as file:
            file["res/u"].attrs["units"] = "blinks"
    write_case(cases[50], 0.5, 9.0)
    assert main([*words, "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (unit,) = [line for line in lines if "no unit that is known" in line]
    assert "case_0000.h5" in unit
    assert unit.endswith("(and 39 more files)")
    assert any("case_0050.h5: Column 'amp'" in line for line in lines)
    assert "Refused    41 samples would be refused: 40 output_unreadable, 1 out_of_bounds" in lines


def test_what_is_not_read_and_what_is_assumed_is_told(words, tmp_path, capsys):
    old = tmp_path / "old"
    cases = sorted(old.glob("*.h5"))
    cases[0].rename(old / "case_without")
    for name in ("log.out", "err.OUT"):
        (old / name).write_text("")
    for path in cases[1:]:
        with h5py.File(path, "a") as file:
            del file["res/u"].attrs["units"]
    assert main([*words, "--dry-run"]) == 0
    told = " ".join(capsys.readouterr().err.split())
    assert "3 files of " in told
    assert "2 .out, 1 without an ending. A file that is named itself is read whatever its ending." in told
    assert "taken to be in the mapping's: 'u' in 'm'. Where that is not so, say 'unit_in_file'." in told
    assert "'x' in" not in told, "the file says it"


def test_exit_codes(words, tmp_path, capsys):
    only = write_case(tmp_path / "bad.h5", 0.5, 9.0)
    words[2] = str(only)
    text = (tmp_path / "old.toml").read_text()
    (tmp_path / "old.toml").write_text(text + "[inputs.nu]\nlow = 0.0\nhigh = 3.0\n")
    assert main(words) == 1, "nothing could be taken"
    assert "Taken      0 samples taken" in capsys.readouterr().out
    assert main(["ingest", str(tmp_path / "w"), str(only)]) == 2
    assert "--mapping FILE" in capsys.readouterr().err
    assert main(["ingest", str(tmp_path / "w"), str(only), "--format", "hdf"]) == 2
    assert "Did you mean 'hdf5'" in capsys.readouterr().err
    assert main(["ingest", str(tmp_path / "w"), str(only), "--format", "hdf5"]) == 2
    assert "'sample_axis' is missing" in capsys.readouterr().err
