"""What the documentation promises as a whole: generated parts are current, examples are valid, nothing is fetched."""

import ast
import re
import signal
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from scripts.docs import failures, reference
from scripts.docs.blocks import blocks, plain_fences
from scripts.docs.commands import known_options
from sim_wrappers.diagnose import GENERAL, diagnose
from sim_wrappers.scripted.adapter import MODES
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column
from surrogate.models.measures import field_measures
from surrogate.validation.baselines import BASELINES
from surrogate.validation.metrics import known_metrics
from tests.benchmarks import form
from tests.support.docs import DOCS, ROOT, blocks_of, command_lines, mistake, name_of, pages, unlike
from workflows.config import parse_campaign

PAGES = [pytest.param(page, id=name_of(page)) for page in pages()]
FAILURES = (DOCS / "failures.md").read_text()


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next heading of the same level."""
    level = heading.partition(" ")[0]
    return page.partition(f"\n{heading}\n")[2].partition(f"\n{level} ")[0]


@pytest.mark.parametrize("page", PAGES)
def test_generated_parts_are_current(page):
    text = page.read_text()
    assert reference.renewed(text) == text, "run: make reference"


def test_every_generated_part_stands_on_one_page():
    found = [part for page in pages() for part in reference.parts_of(page.read_text())]
    assert sorted(found) == sorted(reference.PARTS)


@pytest.mark.parametrize("kind", list(FailureKind))
def test_every_kind_of_failure_is_explained(kind):
    text = section(FAILURES, f"### `{kind.value}`")
    prose, _, table = text.partition("<!-- generated:")
    assert len(prose.split()) >= 8
    assert re.search(r"^\| (?!what is printed)\S", table, re.MULTILINE), "no sentence of this kind is listed"


def test_every_diagnosis_has_its_entry():
    found = [diagnose(status, False, "") for status in (127, 126, *(-number for number in signal.Signals))]
    found += [diagnose(0, True, "")]
    known = [(error.kind, re.sub(r"\{\w+\}", "…", error.message), error.remedy_text) for error in GENERAL]
    known += [(entry.kind, entry.message, entry.remedy_text) for entry in found if "exit status -" not in entry.message]
    assert len(known) > 20
    for kind, message, remedy in known:
        rows = [
            row for row in section(FAILURES, f"### `{kind.value}`").splitlines() if row.startswith(f"| {message} |")
        ]
        assert rows, message
        assert any(f"| {remedy} |" in row for row in rows) or not remedy, message


def test_failures_come_from_the_source():
    told = failures.told()
    for sentence in (
        "Column '…' of sample … is …; only finite numbers are expected.",
        "The adapter '…' could not read the output: …: ….",
        "The end marker … is missing in ….",
        "The SLURM job … that executed the run reached its walltime.",
    ):
        assert sentence in {entry.sentence for entry in told}


def strings_of_the_program() -> list[str]:
    """Every text in the source, with `…` for what is filled in."""
    found = []
    for package in ("surrogate", "workflows", "sim_wrappers", "site_configs"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.JoinedStr):
                    parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
                    found.append("".join(map(str, parts)))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    found.append(node.value)
    return found


def test_sentences_that_end_a_command_are_in_the_source():
    rows = section(FAILURES, "## A command ends").splitlines()
    sentences = [found[1] for row in rows if (found := re.match(r"\| `([^`]+)` \|", row))]
    quoted = re.findall(r"^> .*(?:\n> .*)*", FAILURES, re.MULTILINE)
    sentences += [" ".join(line.removeprefix("> ") for line in quote.splitlines()) for quote in quoted]
    assert len(sentences) > 10
    source = strings_of_the_program()
    for sentence in sentences:
        parts = [part.strip() for part in sentence.split("…") if len(part.strip()) > 3]
        assert any(all(part in text for part in parts) for text in source), sentence


@pytest.mark.parametrize("page", PAGES)
def test_examples_are_valid(page):
    for block in blocks_of(page):
        if block.language == "toml":
            record = tomllib.loads(block.text)
            if "schema_version" in record and "gate" in record:
                parse_campaign(block.text, f"{page.name}, line {block.line}")
        elif block.language == "python":
            compile(block.text, f"{page.name}, line {block.line}", "exec")


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist(page):
    options = known_options()
    for words in command_lines(page):
        assert mistake(words, options) is None, " ".join(words)


def test_metrics_and_baselines_are_named():
    text = (DOCS / "verdict.md").read_text()
    for name in known_metrics(field_measures([Column("y", "output")])):
        assert f"`{name}`" in text
    named = set(re.findall(r"^\| `(\w+)` \|", section(text, "## Baselines"), re.MULTILINE))
    assert named == set(BASELINES)


@pytest.mark.parametrize("simulator", ["buckley_leverett", "compact_binary", "scripted"])
def test_options_of_simulators_are_named(simulator):
    from sim_wrappers.catalog import get

    text = section((DOCS / "simulators.md").read_text(), f"## `{simulator}`")
    defaults = get(simulator).check_options({})
    rows = dict(re.findall(r"^\| `(\w+)`[^|]* \|(.*)$", text, re.MULTILINE))
    for name, default in defaults.items():
        shown = (
            str(default).lower()
            if isinstance(default, bool)
            else f'"{default}"'
            if isinstance(default, str)
            else default
        )
        assert f"`{shown}`" in rows[name]
    if simulator == "scripted":
        assert all(f"`{mode}`" in text for mode in MODES)
    else:
        assert all(f"`{parameter.name}`" in text for parameter in get(simulator).default_space(defaults).parameters)


class Resources(HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "link" and values.get("rel") in ("canonical", "prev", "next"):
            return
        names = {"link": ("href",), "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",)}.get(tag, ("src",))
        self.found += [values[name] for name in names if values.get(name)]


def test_the_site_builds_and_fetches_nothing(tmp_path):
    words = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "-f",
        ROOT / "mkdocs.yml",
        "-d",
        tmp_path / "site",
    ]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    built = sorted((tmp_path / "site").rglob("*.html"))
    assert len(built) >= len(list(DOCS.rglob("*.md")))
    for page in built:
        parser = Resources()
        parser.feed(page.read_text())
        assert parser.found
        assert not [source for source in parser.found if re.match(r"(?:[a-z]+:)?//", source)], page
    for style in (tmp_path / "site").rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", style.read_text()), style


def test_fences():
    page = "```toml file=a.toml\nx = 1\n```\ntext\n  ```sh run exit=2\n  ls\n  ```\n````text output\n```\n````\n"
    first, second, third = blocks(page)
    assert (first.values, first.text) == ({"file": "a.toml"}, "x = 1\n")
    assert (second.runs, second.values, second.text) == (True, {"exit": "2"}, "ls\n")
    assert (third.flags, third.text) == ({"output"}, "```\n")
    plain = plain_fences(page).splitlines()
    assert plain[0] == '```toml title="a.toml"'
    assert "  ```sh" in plain
    for wrong, said in (("```sh rnu\n```\n", "rnu"), ("```sh\n", "never closed")):
        with pytest.raises(ValueError, match=said):
            list(blocks(wrong))


def test_output_is_compared():
    assert unlike("a … c\nd\n", "x\na b c\ny\nd\n") is None
    assert unlike("a\nb\n", "b\na\n") == "b"
    assert unlike("a", "ab") == "a"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("surrogate run x.toml --site laptop", None),
        ("surrogate site show laptop", None),
        ("surrogate run x.toml --sit laptop", "--sit"),
        ("surrogate launch x", "launch"),
        ("surrogate registry lists", "lists"),
    ],
)
def test_command_lines_are_checked(line, said):
    found = mistake(line.split(), known_options())
    assert found is None if said is None else said in found


def test_the_page_of_benchmarks_is_rendered_from_their_files():
    assert (DOCS / "benchmarks/README.md").read_text() == form.render(), "run: python -m tests.benchmarks.form"


def test_every_link_of_the_readme_leads_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / Path(target)).exists(), f"{page.name}: {target}"
