"""One file, whole, readable, honest about what is not known."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from surrogate.core.errors import MissingExtraError
from surrogate.validation.report import ReportData, write_report
from surrogate.validation.report.figures import render
from surrogate.validation.report.page import render_report

ROOT = Path(__file__).parents[4]
VOID = {"meta", "br", "img", "use", "path", "rect", "image", "line", "circle"}


class Checker(HTMLParser):
    """Collects what a page refers to, and whether its tags close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_startendtag(self, tag: str, attrs: list) -> None:
        self.look(tag, dict(attrs))

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.look(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def look(self, tag: str, attributes: dict) -> None:
        self.tags.add(tag)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        self.references += [attributes[name] for name in ("href", "src", "xlink:href") if name in attributes]
        if tag == "svg":
            self.pictures.append(attributes)


@pytest.fixture(scope="module")
def page(data: ReportData) -> str:
    return render_report(data)


def test_the_page_is_one_file_that_needs_nothing_else(page: str):
    checker = Checker(page)
    assert checker.open == []
    assert not checker.tags & {"script", "link", "iframe", "object", "embed"}
    for reference in checker.references:
        assert reference.startswith(("#", "data:image/png;base64,")), reference
    assert {ref[1:] for ref in checker.references if ref.startswith("#")} <= set(checker.ids)
    assert len(checker.ids) == len(set(checker.ids))
    addresses = set(re.findall(r"https?://[^\s\"'<)]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert len(page.encode()) < 3e6


def test_every_picture_speaks_to_who_cannot_see_it(page: str):
    pictures = Checker(page).pictures
    assert len(pictures) >= 9
    for picture in pictures:
        assert picture["role"] == "img"
        assert len(str(picture["aria-label"])) > 5


def test_pictures_follow_the_page_in_light_and_dark(page: str):
    assert "var(--ink)" in page
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page
    assert not re.search(r"#01020[3-6]", page)


def test_the_verdict_comes_first_with_its_evidence(page: str, data: ReportData):
    assert page.index("✓ PASSED") < page.index("relative L2 median") < page.index("<nav")
    assert data.verdict is not None
    assert data.verdict.sentence in page
    assert "The version is current." in page
    assert "first time that this holdout was consulted" in page
    for words in ("at most 0.05", "at most 5 newton", "beats POD + Gaussian process", "newton", "Nearest neighbour"):
        assert words in page


def test_every_section_is_there(page: str):
    for words in (
        "How errors are distributed",
        "Parity",
        "Error over the input space",
        "Best, median and worst samples",
        "Scalar outputs",
        "Worst samples",
        "Do the intervals hold what they promise?",
        "Loss curves",
        "Data card",
        "Failures cluster where &#39;speed&#39; is high.",
        "No friction.",
        "40 in 4 groups",
        "Node-seconds by stage",
        "launch included",
        "Lineage",
        "mpiexec -n 2 waves",
        "A picture of the family",
        "How numbers were computed",
        "Percentile bootstrap",
        "acquired",
        "surrogate predict WORKDIR speed=1 width=1",
    ):
        assert words in page, words


def test_no_mark_is_doubled(page: str):
    assert not re.search(
        r"× ×|% %|\.\.(?!\.)(?![^<]*</code>)", re.sub(r"<svg.*?</svg>|<style.*?</style>", "", page, flags=re.DOTALL)
    )


def test_a_failed_verdict_is_unmistakable(data: ReportData):
    from surrogate.validation.gate import Gate

    verdict = data.validation.judge(Gate.of({"relative_l2_median": {"max": 1e-9}}))
    page = render_report(replace(data, verdict=verdict, outcome="The version is not promoted."))
    assert "✗ FAILED" in page
    assert "✓ PASSED" not in page
    assert "and at most 1e-09 was demanded" in page


def test_what_is_not_known_is_left_out_or_said(data: ReportData):
    bare = ReportData("waves", data.validation, None, {"family": "toy"})
    page = render_report(bare)
    assert "NOT JUDGED" in page
    assert "declares no gate" in page
    assert "No losses were recorded" in page
    assert 'id="data"' not in page
    assert 'id="cost"' not in page
    Checker(page)


def test_an_empty_card_is_no_error(data: ReportData):
    page = render_report(replace(data, card={}, stages=(), speed_up=None))
    assert "None: every run was admitted." in page
    assert "None are known." in page


def test_names_cannot_break_the_page(data: ReportData):
    page = render_report(
        replace(data, campaign="<script>alert(1)</script>", lineage={"<b>": "<img src=x>"}, outcome='"><i>')
    )
    assert "<script" not in page
    assert "<img" not in page
    assert "It took &lt;too&gt; long." in page
    Checker(page)


def test_a_sample_that_is_no_number_does_not_stop_the_report(data: ReportData):
    design = data.validation.design
    errors = design.per_sample["relative_l2"].copy()
    errors[3] = np.nan
    broken = replace(design, per_sample={**design.per_sample, "relative_l2": errors})
    page = render_report(
        replace(data, validation=replace(data.validation, strata=(broken, *data.validation.strata[1:])))
    )
    assert "worst: not a number" in page


def test_the_same_data_give_the_same_file(data: ReportData, page: str):
    assert render_report(data) == page


def test_the_file_is_whole_or_absent(data: ReportData, tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch):
    write_report(tmp_path / "report.html", data)
    assert (tmp_path / "report.html").read_text() == page
    from surrogate.validation.report import page as module

    monkeypatch.setattr(module, "_context", lambda data: {})
    with pytest.raises(Exception, match="undefined"):
        write_report(tmp_path / "report.html", data)
    assert (tmp_path / "report.html").read_text() == page
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_library_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"The report needs packages.*surrogate-hpc\[report\]"):
        render("name", lambda figure: None, size=(1, 1), alt="nothing")


def test_importing_it_loads_no_plotting():
    program = (
        "import sys, surrogate.validation.report, surrogate.validation.validate, surrogate.registry.store\n"
        "print([m for m in ('matplotlib', 'jinja2', 'sklearn', 'pandas', 'tensorflow', 'keras') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
