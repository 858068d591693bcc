"""The options of a described program: what is refused, and how the sentence reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sim_wrappers import catalog
from sim_wrappers.external.options import complete, read
from surrogate.core.errors import ConfigError
from surrogate.core.outcome import FailureKind
from tests.support.external import decay

CODE = catalog.get("external")
T = {"file": "a.txt", "column": 2}


def with_output(**changes: Any) -> dict[str, Any]:
    return {"command": ["a"], "outputs": {"T": {key: v for key, v in {**T, **changes}.items() if v is not None}}}


def test_the_shortest_options_are_complete_json() -> None:
    options = complete({"command": ["./heat"], "outputs": {"T": T}})
    assert complete(json.loads(json.dumps(options))) == options
    assert options["mpi"] is False
    assert options["hash_program"] is True
    (column,) = CODE.output_schema(options).columns
    assert (column.name, column.shape, column.unit) == ("T", (), "1")
    assert column.description == "column 2 of a.txt"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "'command' is missing: program and arguments"),
        ({"command": ["a"]}, "'outputs' is missing: what is learned"),
        ({"comand": ["a"], "outputs": {"T": T}}, "'comand' is not a known key.*Did you mean 'command'"),
        ({"command": "heat", "outputs": {"T": T}}, "'command': a list in square brackets is needed, and 'heat'"),
        ({"command": [""], "outputs": {"T": T}}, "The first word of 'command' is empty"),
        ({"command": ["a\0"], "outputs": {"T": T}}, "zero byte"),
        ({"command": ["a"], "outputs": {}}, "'outputs'"),
        ({"command": ["a"], "outputs": {"T": 3}}, "'outputs.T': a table is needed, and 3 was found"),
        (with_output(skip_row=1), "'outputs.T.skip_row' is not a known key.*Did you mean 'skip_rows'"),
        (with_output(column=None), "'outputs.T': it is not said how the output is read: give one of dataset"),
        (with_output(dataset="T"), "'dataset' and 'column' are two ways"),
        (with_output(column=0), "from 1 on or by its name, and 0 was found"),
        (with_output(column=True), "and true was found"),
        (with_output(column=None, file=None, dataset="T"), "'file' is missing"),
        (with_output(column=None, dataset="T", skip_rows=3), "'skip_rows' has no meaning here"),
        (with_output(column=None, pattern="("), "'outputs.T.pattern': '\\(' is no regular expression"),
        (with_output(column=None, pattern="(a)(b)"), "more than one group"),
        (with_output(column=None, parser="read.py"), "'file.py:function' or 'module:function'"),
        (with_output(index=["a"]), "a place on an axis is needed, such as -1 or '0:100:2', and 'a'"),
        (with_output(file="../a.txt"), "inside the run's own folder"),
        (with_output(file="/a.txt"), "inside the run's own folder"),
        (with_output(file="run.h5"), "is taken by Surrogate's own file"),
        (with_output(file="a**.txt"), "stands for whole folders"),
        (with_output(unit="furlog"), "The unit 'furlog' is not known"),
        (with_output(low=2.0, high=1.0), "'low' must be below 'high'"),
        (with_output(dims=["x"]), "The length of output 'T' along 'x' is not known"),
        (with_output(dims=["x"], shape=[2, 3]), "'shape' has 2 axes and 'dims' has 1"),
        (with_output(shape=[0]), "from 1 to"),
        ({**decay(), "coordinates": {"t": {"count": 5}}}, "'count' needs 'start' and 'stop'"),
        ({**decay(), "coordinates": {"t": {"start": 0.0}}}, "an axis is given by 'values'.*none of them was found"),
        ({**decay(), "coordinates": {"t": {"values": [1.0], "count": 1}}}, "'values' and 'count' was found"),
        ({**decay(), "coordinates": {"t": {"values": [1.0], "stop": 1.0}}}, "'stop' has no meaning beside 'values'"),
        ({**decay(), "coordinates": {"T": {"values": [1.0]}}}, "No output lies on the coordinate 'T'"),
        (decay(end_marker={"file": "log"}), "either 'text' or 'pattern'"),
        (decay(end_marker=3), "'end_marker': a table is needed, and 3"),
        (decay(files=["decay.awk", "other/decay.awk"]), "make the same file 'decay.awk'"),
        (decay(files=[{"sorce": "a"}]), r"'files\[1\].sorce' is not a known key.*Did you mean 'source'"),
        (decay(values={"steps": [4]}), "'values.steps': a number, text, true or false is needed, and a list"),
        (decay(environment={"A B": "1"}), "'A B' cannot be the name of an environment variable"),
        (decay(hash_program=False), "or no edit would be noticed"),
        (decay(outputs={"x": {"file": "case.txt", "column": 3}}, coordinates={}), "taken for a good one"),
        (decay(error=[{"pattern": "x", "message": "m", "kind": "unconvergd"}]), "Did you mean 'unconverged'"),
        (decay(error=[{"pattern": "(?P<n>x)", "message": "m {m}"}]), "the message cannot be filled.*groups n"),
        (
            decay(error=[{"pattern": "x", "message": "m", "multiply": {"rate": 2.0}}]),
            "changes 'rate', which is none of",
        ),
        (decay(error=[{"pattern": "x", "message": "m", "set": {"step": 2}}]), "Did you mean 'steps'"),
        (
            decay(values={"steps": 4, "way": "a"}, error=[{"pattern": "x", "message": "m", "multiply": {"way": 2.0}}]),
            "multiplies 'way', which is no number",
        ),
        (decay(error=[{"pattern": "x", "message": "m", "retry": False, "set": {"steps": 2}}]), "'retry' is false"),
    ],
)
def test_wrong_options_are_sentences(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        CODE.check_options(options)
    assert str(caught.value).endswith((".", "?", ")"))
    assert "pydantic" not in str(caught.value)


def test_axes_are_points_or_cells_or_a_file(tmp_path: Any) -> None:
    def values(**rule: Any) -> tuple[float, ...]:
        options = complete(
            {"command": ["a"], "outputs": {"T": {**T, "dims": ["x"]}}, "coordinates": {"x": {"unit": "m", **rule}}}
        )
        schema = CODE.output_schema(options)
        assert schema.columns[0].shape == (len(schema.coordinates[0].values),)
        return schema.coordinates[0].values

    assert values(start=0.0, stop=1.0, count=3) == (0.0, 0.5, 1.0)
    assert values(start=0.0, stop=1.0, cells=2) == (0.25, 0.75)
    assert values(values=[3, 1.5]) == (3.0, 1.5)
    (tmp_path / "x.txt").write_text("# i x\n1 0.5\n2 1.5D0\n")
    assert values(file=str(tmp_path / "x.txt"), column=2) == (0.5, 1.5)
    (tmp_path / "x.txt").write_text("1 nan\n")
    with pytest.raises(ConfigError, match=r"'coordinates.x': x.txt has no values, or some that are not finite"):
        values(file=str(tmp_path / "x.txt"), column=2)
    with pytest.raises(ConfigError, match=r"'coordinates.x': x.txt, line 1: column 3 was asked for"):
        values(file=str(tmp_path / "x.txt"), column=3)


def test_an_error_becomes_a_known_error_with_a_remedy_that_says_what_it_does() -> None:
    rule = {"pattern": "^NOT CONVERGED", "message": "It did not converge", "kind": "unconverged"}
    options = complete(decay(error=[{**rule, "multiply": {"steps": 2.0}}, {**rule, "retry": False}]))
    first, second = CODE.errors(options)
    assert (first.kind, first.remedy, first.retryable) == (FailureKind.UNCONVERGED, "steps × 2", True)
    assert first.message == "It did not converge."
    assert first.remedy_text == "The next attempt takes steps × 2."
    assert (second.remedy, second.retryable) == (None, False)
    assert read(options).error[0].remedy == "steps × 2"
