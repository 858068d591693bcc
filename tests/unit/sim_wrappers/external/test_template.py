"""Placeholders: found, held against the inputs in both directions, filled."""

from __future__ import annotations

from typing import Any

import pytest

from sim_wrappers.external.filling import check_space
from sim_wrappers.external.options import complete, read
from sim_wrappers.external.template import fill, is_namelist, placeholders, written
from surrogate.core.errors import ConfigError
from surrogate.design.parameters import Parameter, ParameterSpace
from tests.support.external import SPACE, decay


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (0.001, "", "0.001"),
        (1e-07, "", "1e-07"),
        (3, "", "3"),
        (3, ".2e", "3.00e+00"),
        (1.5, ".6e", "1.500000e+00"),
        (1.5, "double", "1.5d0"),
        (1.5e-30, "double", "1.5d-30"),
        (True, "", "true"),
        (True, "logical", ".true."),
        (False, "json", "false"),
        ('a"b', "json", '"a\\"b"'),
        ("upwind", "", "upwind"),
        ("up", ">4", "  up"),
    ],
)
def test_values_are_written_as_asked(value: Any, form: str, text: str) -> None:
    assert written(value, form) == text


def test_namelists_json_and_other_delimiters_keep_what_is_not_a_placeholder() -> None:
    values = {"D": 0.5, "on": True, "name": "rod"}
    namelist = "&case\n  D = {{D}}, on = {{ on }}, label = '{{name}}'\n/\n"
    assert is_namelist(namelist, "case.in")
    assert is_namelist("", "case.nml")
    assert not is_namelist("D = 1", "case.ini")
    assert fill(namelist, values, logical=True) == "&case\n  D = 0.5, on = .true., label = 'rod'\n/\n"
    assert fill('{"a": {"D": {{D}}}, "on": {{on}}}', values) == '{"a": {"D": 0.5}, "on": true}'
    assert fill("{{x}} <<D:.1f>>\r\n", values, ("<<", ">>")) == "{{x}} 0.5\r\n"


@pytest.mark.parametrize("text", ["a\n{{ D", "a\n{{D+1}}", "a\n{{}}", "a\n{{1}}", "a\n{{D:\n}}"])
def test_what_only_begins_like_a_placeholder_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ConfigError, match=r"The file, line 2: '\{\{.*is no placeholder"):
        placeholders(text, "The file")


def check(tmp_path: Any, template: str, space: ParameterSpace = SPACE, **changes: Any) -> None:
    source = tmp_path / "case.in"
    source.write_text(template)
    entry = {"source": str(source), "target": "case.txt"}
    check_space(read(complete(decay(template=[entry], **changes))), space)


def test_inputs_may_stand_in_templates_commands_and_variables(tmp_path: Any) -> None:
    check(tmp_path, "{{rate}} {{steps}} {{run.seed}}", command=["a", "--amount={{amount:.9g}}"])
    check(tmp_path, "{{rate}} {{steps:d}}", environment={"AMOUNT": "{{amount}}"})


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{rate}} {{steps}}", "Input 'amount' is used by no template, no word of 'command' and no environment"),
        ("{{rate}} {{amount}}", "Value 'steps' is used by no template"),
        ("{{rate}}\n{{amuont}} {{steps}}", "template of case.txt, line 2: '{{amuont}}' is filled.*mean 'amount'"),
        ("{{rate}} {{amount}} {{steps}} {{run.id:d}}", "'{{run.id:d}}' cannot be written: Unknown format code 'd'"),
        ("{{rate:.0f}} {{amount}} {{steps}}", "writes 0.1 as 0, which is another point of the space"),
        ("{{rate:99999}} {{amount}} {{steps}}", "a width of more than 999"),
        ("{{rate:logical}} {{amount}} {{steps}}", "'logical' is for true and false"),
        ("{{rate} {{amount}} {{steps}}", "line 1: '{{rate} {{amount}} {{steps}}' is no placeholder"),
    ],
)
def test_what_does_not_go_together_is_a_sentence(tmp_path: Any, template: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        check(tmp_path, template)


def test_a_name_is_an_input_or_a_value(tmp_path: Any) -> None:
    space = ParameterSpace((Parameter("steps", 1, 9, scale="integer"),))
    with pytest.raises(ConfigError, match="'steps' is an input and stands in 'values', too"):
        check(tmp_path, "{{steps}}", space)


def test_a_template_that_is_no_text_is_refused(tmp_path: Any) -> None:
    (tmp_path / "case.in").write_bytes(b"\xff\xfe{{rate}}")
    entry = {"source": str(tmp_path / "case.in"), "target": "case.txt"}
    with pytest.raises(ConfigError, match="is not text in UTF-8"):
        check_space(read(complete(decay(template=[entry]))), SPACE)
