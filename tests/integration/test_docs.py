"""The documentation, done as it is written: files are written, commands are run, output is compared, page by page."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.docs import DOCS, ROOT, blocks_of, name_of, unlike

READER_S = 280
SLOW = (pytest.mark.slow, pytest.mark.e2e, pytest.mark.parsl, pytest.mark.train, pytest.mark.timeout(900))


def acted_pages():
    """Every page on which something is run; those that take long are marked so."""
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        found = blocks_of(page)
        if any(block.runs for block in found):
            long = any("slow" in block.flags for block in found)
            yield pytest.param(page, id=name_of(page), marks=SLOW if long else ())


def run(block, folder):
    """Execute a block and return its exit status and what it printed."""
    words = ["bash", "-euo", "pipefail", "-c"] if block.language == "sh" else [sys.executable, "-c"]
    ended = subprocess.run(
        [*words, block.text],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=READER_S if "slow" not in block.flags else 3 * READER_S,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
    )
    return ended.returncode, ended.stdout


@pytest.mark.parametrize("page", list(acted_pages()))
def test_a_page_does_what_it_says(page, tmp_path):
    printed = ""
    for block in blocks_of(page):
        place = f"{name_of(page)}, line {block.line}"
        needed = block.values.get("needs")
        if needed and shutil.which(needed) is None:
            pytest.skip(f"{place} needs {needed}, which is not installed: `make ci-deps`.")
        if "file" in block.values:
            path = tmp_path / block.values["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        if block.runs:
            assert block.language in ("sh", "python"), place
            status, printed = run(block, tmp_path)
            assert status == int(block.values.get("exit", 0)), f"{place}:\n{printed}"
        if "output" in block.flags:
            wanted = unlike(block.text, printed)
            assert wanted is None, f"{place}: the line {wanted!r} does not come in:\n{printed}"


def test_the_campaign_of_the_readme_can_be_planned(tmp_path):
    campaign = next(block for block in blocks_of(ROOT / "README.md") if block.language == "toml")
    (tmp_path / "displacement.toml").write_text(campaign.text)
    shells = [block.text for block in blocks_of(ROOT / "README.md") if block.language == "sh"]
    line = next(line for text in shells for line in text.splitlines() if "--dry-run" in line)
    ended = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Nothing was started." in ended.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["displacement.toml"]
