from __future__ import annotations

import json
from pathlib import Path

import pytest

from surrogate.core.checked import checked, read_checked, write_checked
from surrogate.core.errors import IntegrityError

WAY_OUT = "Write it again."
RECORD = {"number": 0.1, "text": "µ \ud800", "list": [1, None, True], "inner": {"a": 1e-300}}


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    write_checked(tmp_path / "record.json", RECORD)
    assert read_checked(tmp_path / "record.json", WAY_OUT) == RECORD


def test_a_record_written_by_hand_is_taken(tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text('{"a": 1}')
    assert read_checked(tmp_path / "record.json", WAY_OUT) == {"a": 1}


def test_a_file_cut_or_altered_at_any_byte_is_refused_or_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_checked(path, RECORD)
    whole = path.read_bytes()
    for offset in range(len(whole)):
        for damaged in (whole[:offset], whole[:offset] + bytes([whole[offset] ^ 1]) + whole[offset + 1 :]):
            path.write_bytes(damaged)
            told = ""
            try:
                found = read_checked(path, WAY_OUT)
            except IntegrityError as error:
                told = str(error)
            if told:
                assert str(path) in told
                assert told.endswith(WAY_OUT)
            else:
                assert {key: value for key, value in found.items() if key in RECORD} == RECORD


@pytest.mark.parametrize("content", ["[]", "5", '"text"', "null"])
def test_what_is_no_record_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "record.json").write_text(content)
    with pytest.raises(IntegrityError, match=r"holds no record. Write it again\."):
        read_checked(tmp_path / "record.json", WAY_OUT)


def test_a_missing_file_says_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(IntegrityError, match=r"is missing. Write it again\."):
        read_checked(tmp_path / "record.json", WAY_OUT)


def test_the_check_is_of_the_content_and_not_of_its_form() -> None:
    record = checked(RECORD)
    assert checked(json.loads(json.dumps(RECORD, indent=7))) == record
