"""A skip in continuous integration is a failure; run on a small session of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.skips import in_ci, verdict_on_skip

CASES = """
import pytest

@pytest.mark.skip(reason="no scheduler here")
def test_marked(): pass

def test_called():
    pytest.skip("SURROGATE_TEST_DATA is absent")

@pytest.mark.xfail(reason="known", strict=True)
def test_known(): assert False
"""


def test_reasons():
    assert verdict_on_skip("SURROGATE_TEST_DATA names no folder.") is None
    assert verdict_on_skip("The peer's environment is absent.") is None
    verdict = verdict_on_skip("chromium is missing.")
    assert verdict is not None
    assert "chromium is missing." in verdict


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("1", True), ("", False), ("false", False)])
def test_in_ci(value, expected):
    assert in_ci({"CI": value}) is expected
    assert in_ci({}) is False


@pytest.mark.parametrize(
    ("ci", "module", "expected"),
    [
        ("true", CASES, "1 skipped, 1 xfailed, 1 error"),
        ("", CASES, "2 skipped, 1 xfailed"),
        ("true", "import pytest; pytest.skip('no solver', allow_module_level=True)", "1 error"),
    ],
)
def test_a_session(tmp_path, ci, module, expected):
    root = Path(__file__).parents[3]
    (tmp_path / "test_cases.py").write_text(module)
    (tmp_path / "conftest.py").write_text((root / "tests/conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    # Its folders lie in this test's own, and its leftovers are its own affair.
    environment = {**os.environ, "CI": ci, "PYTHONPATH": str(root)}
    out = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", tmp_path / "base", tmp_path],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert expected in out.stdout.splitlines()[-1], out.stdout
