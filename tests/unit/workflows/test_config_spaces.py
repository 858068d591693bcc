"""The input space of a campaign: the simulator's own, changed entry by entry, or named whole."""

import pytest

from surrogate.core.errors import ConfigError
from surrogate.design.parameters import Parameter, ParameterSpace
from workflows.config import parse_campaign

TEXT = """
schema_version = 1
name = "displacement"
simulator.name = "buckley_leverett"
design.runs = 64
gate.beats = ["nearest_neighbour"]
"""

OWN = ParameterSpace(
    (
        Parameter("p", 1.0, 2.0, unit="pascal", scale="log10", description="pressure"),
        Parameter("n", 1, 9, scale="integer"),
        Parameter("how", scale="categorical", choices=("a", "b")),
    )
)


def space_of(inputs, default=OWN):
    return parse_campaign(f"{TEXT}\n{inputs}", "x.toml").input_space(default)


def test_the_simulators_space_is_taken_and_single_entries_are_changed():
    assert space_of("") == OWN
    changed = space_of('inputs.p.high = 5\ninputs.n = { low = 2, high = 4 }\ninputs.how.choices = ["b"]')
    assert changed.names == ("p", "n", "how")
    p, n, how = changed.parameters
    assert (p.low, p.high, p.unit, p.scale, p.description) == (1.0, 5.0, "pascal", "log10", "pressure")
    assert (n.low, n.high, n.scale) == (2, 4, "integer")
    assert how.choices == ("b",)
    assert space_of('inputs.p.scale = "linear"').parameters[0].scale == "linear"


def test_without_a_space_of_the_simulator_the_campaign_names_all():
    space = space_of('inputs.a = { low = 0, high = 1, unit = "m/s" }\ninputs.b.choices = ["x", "y"]', None)
    assert [(p.name, p.unit, p.scale) for p in space.parameters] == [("a", "m/s", "linear"), ("b", "1", "categorical")]


class Structures:
    kind = "structures"


@pytest.mark.parametrize(
    ("inputs", "default", "told"),
    [
        ("", None, r"\[inputs\] is missing: the simulator 'buckley_leverett' has no input space"),
        ("inputs.a.low = 1", None, "Input 'a': 'high' is missing"),
        ("inputs.a = {}", None, "Input 'a': 'low' is missing"),
        ("inputs.a.low = 1", Structures(), r"\[inputs\] has no meaning.*kind 'structures'"),
        ("inputs.q.low = 1", OWN, "'inputs.q' is no input of the simulator.*it has p, n, how"),
        ("inputs.hwo.choices = []", OWN, "'inputs.hwo' is no input.*Did you mean 'how'"),
        ("inputs.p.low = 3", OWN, "'low' must be below 'high', and low = 3.0, high = 2.0"),
        ("inputs.p.low = 0", OWN, "above 0 on a log10 scale"),
        ('inputs.p.unit = "bar"', OWN, "the simulator takes it in 'pascal', and the unit 'bar' was found"),
        ('inputs.p.scale = "integer"', OWN, "its scale in the simulator is 'log10', which cannot become 'integer'"),
        ('inputs.how.choices = ["c"]', OWN, "the simulator knows 'a', 'b', and 'c' was found"),
        ("inputs.how.choices = []", OWN, "at least one word"),
        ("inputs.n.low = 1.5", OWN, "must be a whole number"),
        ('inputs."a b" = { low = 0, high = 1 }', None, "name is a letter"),
    ],
)  # fmt: skip
def test_inputs_that_do_not_fit_are_told(inputs, default, told):
    with pytest.raises(ConfigError, match=told) as caught:
        space_of(inputs, default)
    assert "In x.toml, " in str(caught.value)
