"""`surrogate run FILE --dry-run` with whatever file: a plan, or exit code 2 and one sentence; never a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.workflows.test_config_mutations import SCRIPTED, SEEDS, mutated, toml
from workflows.cli import main

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
PLANNED = {"simulator", "runs", "splits", "launch_lines", "gate", "site", "workdir"}


def written(record) -> bytes:
    return "\n".join(f"{toml(str(key))} = {toml(value)}" for key, value in record.items()).encode("utf-8", "replace")


def dry_run(content: bytes, *words: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr, after a check that nothing was written."""
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "c.toml"
        file.write_bytes(content)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(["run", str(file), "--dry-run", "--workdir", str(Path(place) / "w"), *words])
        assert [path.name for path in Path(place).iterdir()] == ["c.toml"]
    return code, out.getvalue(), err.getvalue()


def check(content: bytes) -> None:
    code, out, err = dry_run(content, "--json")
    assert code in (0, 2), err
    assert "Traceback" not in out + err
    assert "did not foresee" not in err
    told = json.loads(out)
    if code == 0:
        assert set(told) >= PLANNED
        assert err == ""
        return
    assert set(told) == {"error", "exit_code"}
    assert err.strip() == f"surrogate: {told['error']}".strip()
    # A sentence, or one that ends with the command to be given next.
    assert re.search(r"[.)`'?]\s*$|: surrogate .*$", told["error"]), told["error"]


def test_the_files_that_are_mutated_are_planned_or_want_their_data():
    for record in SEEDS:
        code, _, err = dry_run(written(record))
        assert code == (2 if "data" in record else 0), err


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(mutated())
def test_a_mutated_campaign(record):
    check(written(record))


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(st.binary(max_size=6), st.integers(0, len(SCRIPTED) - 1), st.integers(0, 12))
@example(b"\xff\xfe", 0, 0)
@example(b"\x00", 20, 1)
@example(b"", 0, len(SCRIPTED))
def test_damaged_bytes(inserted, start, length):
    whole = SCRIPTED.encode()
    check(whole[:start] + inserted + whole[start + length :])


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=60))
@example(b"\xef\xbb\xbf" + SCRIPTED.encode())
@example(SCRIPTED.replace("\n", "\r\n").encode())
@example(b"[" * 5000)
@example(b"a = " + b"[" * 5000)
@example(b"a." * 3000 + b"b = 1")
@example(b'schema_version = 1\nname = "' + b"x" * 100_000 + b'"')
def test_any_bytes(content):
    check(content)


def test_a_file_that_cannot_be_read(tmp_path, capsys):
    for path in (tmp_path, tmp_path / "absent.toml", Path("/proc/self/mem"), tmp_path / ("x" * 300)):
        assert main(["run", str(path), "--dry-run"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("surrogate: ")
        assert "Traceback" not in said
        assert "did not foresee" not in said


def test_a_site_that_is_no_site(tmp_path, capsys):
    file, site = tmp_path / "c.toml", tmp_path / "site.toml"
    file.write_text(SCRIPTED)
    for content in (b"\xff", b"name = 3", b'name = "x"\ncores = -1', b'name = "x"\nscheduler = "cron"', b"[[["):
        site.write_bytes(content)
        assert main(["run", str(file), "--dry-run", "--site", str(site)]) == 2
        said = capsys.readouterr().err
        assert said.startswith("surrogate: ")
        assert "did not foresee" not in said
