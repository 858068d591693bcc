"""Mutated campaign files: a sentence with exit code 2, or a valid plan; never anything else."""

import copy
import json
import tomllib

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from surrogate.core.errors import InputError
from surrogate.core.molecules import output_columns
from surrogate.core.schema import Column, Coordinate
from surrogate.data.readers.protocol import Sketch
from surrogate.design.structures import StructureSet
from tests.support import external
from workflows.config import builtin_campaigns, campaign_json_schema, parse_campaign
from workflows.described import described
from workflows.existing_data import data_plan, is_ingested
from workflows.learning_checks import check_learning, find_family
from workflows.plan import Plan, find_simulator, make_plan

SCRIPTED = """
schema_version = 1
name = "whole"
title = "t"
seed = 3
simulator = { name = "scripted", options = { length = 4, mode = "ok", mpi = true, modes = { fail = 0.5 } } }
inputs.a = { low = 0.1, high = 0.9, unit = "1", scale = "log10", description = "d" }
design = { sampler = "grid", levels = { a = 8, b = 8 } }
resources = { nodes = 1, ranks_per_node = 2, ranks = 2, memory_per_rank = "1 GiB", walltime = "00:01:00" }
split = { tune = 0.2, holdout = 0.3, minimum = { train = 4, tune = 2, holdout = 2 }, salt = "s" }
failures = { infrastructure = 3, solver = 1, storm = 4, allowed_share = 0.5, keep = "all" }
model = { family = "mlp", members = 2, options = { width = 8, depth = 2 } }
train = { ranks = 2, epochs = 10, batch_size = 8, learning_rate = 0.01 }
gate = { metrics = { relative_l2_median = { max = 0.5 } }, beats = ["nearest_neighbour"] }
card.known_gaps = ["none"]
"""
EXTERNAL = {
    "schema_version": 1,
    "name": "decay",
    "simulator": {
        "name": "external",
        "options": {
            **external.decay(),
            "environment": {"A": "{{amount}}"},
            "logs": ["a.log"],
            "error": [{"pattern": "E(?P<n>.)", "message": "m {n}", "kind": "unconverged", "multiply": {"steps": 2.0}}],
            "restart": ["*.rst"],
        },
    },
    "inputs": {"rate": {"low": 0.1, "high": 1.0}, "amount": {"low": 1.0, "high": 5.0}},
    "design": {"runs": 64},
    "gate": {"beats": ["nearest_neighbour"]},
}
DATA = """
schema_version = 1
name = "old"
data.outputs.u = { unit = "m", shape = [3], dims = ["x"], low = 0.0, high = 9.0, description = "d" }
data.coordinates.x = { unit = "m", values = [0.0, 1.0, 2.0] }
inputs.nu = { low = 0.1, high = 0.9, unit = "1", scale = "log10" }
gate = { beats = ["nearest_neighbour"] }
approval.required = true
"""
SKETCH = Sketch(
    {"nu": {"unit": "1"}, "kind": {"scale": "categorical", "choices": ("a", "b")}},
    (Column("u", "output", "m", shape=(3,), dims=("x",)),),
    (Coordinate("x", "m", (0.0, 1.0, 2.0)),),
)
MOLECULES = Sketch({}, output_columns(), space=StructureSet())
SEEDS = [
    *(tomllib.loads(path.read_text()) for path in builtin_campaigns().values()),
    tomllib.loads(SCRIPTED),
    tomllib.loads(DATA),
    EXTERNAL,
    EXTERNAL,  # it has the most keys
]

# Counts in between would only make the test slow.
numbers = st.sampled_from([-1, 0, 1, 2, 64, 10**6 + 1, 2**63, 10**30]) | st.floats(width=64)
words = [
    "1",
    "sobol",
    "table",
    "latin_hypercube",
    "log10",
    "categorical",
    "scripted",
    "/",
    "00:10:00",
    "2 GiB",
    "x.csv",
]
leaves = st.none() | st.booleans() | numbers | st.text(max_size=8) | st.sampled_from(words)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def places(table, place=()):
    """Yield the place of every entry of nested tables and lists."""
    entries = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, entry in entries:
        yield (*place, key)
        yield from places(entry, (*place, key))


def holder(record, place):
    for key in place[:-1]:
        record = record[key]
    return record


@st.composite
def mutated(draw):
    record = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(sorted(places(record), key=str)))
        table, key = holder(record, place), place[-1]
        kind = draw(st.sampled_from(["replace", "delete", "rename", "insert", "copy"]))
        if kind == "replace":
            table[key] = draw(values)
        elif kind == "delete":
            del table[key]
        elif kind == "rename" and isinstance(table, dict):
            name = draw(st.sampled_from([str(key)[:-1], f"{key}s", str(key).upper()]) | st.text(max_size=6))
            table[name] = table.pop(key)
        elif kind == "copy":
            other = draw(st.sampled_from(sorted(places(record), key=str)))
            table[key] = copy.deepcopy(holder(record, other)[other[-1]])
        elif isinstance(table, dict):
            table[draw(st.text(max_size=6))] = draw(values)
        else:
            table.append(draw(values))
        if not record:
            break
    return record


def toml(value):
    """Write a value as TOML, inline."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    if value is None:
        return '"none"'
    return json.dumps(value).replace("\x7f", "\\u007f")


def attempt(text):
    """Return the plan, or the one kind of error that is allowed."""
    try:
        campaign = parse_campaign(text, "x.toml")
        if is_ingested(campaign):
            sketch = MOLECULES if campaign.space is not None else SKETCH
            plan = data_plan(campaign, described(campaign, sketch))
        else:
            plan = make_plan(campaign, find_simulator(campaign))
        check_learning(campaign, find_family(campaign), plan.schema)
    except InputError as error:
        return error
    return plan


def check(text):
    """Demand a plan, or one readable sentence with exit code 2."""
    found = attempt(text)
    if isinstance(found, InputError):
        assert found.exit_code == 2
        assert str(found).strip()
        assert "Traceback" not in str(found)


def test_the_files_that_are_mutated_are_valid():
    for record in SEEDS:
        assert isinstance(attempt("\n".join(f"{key} = {toml(value)}" for key, value in record.items())), Plan)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(mutated())
def test_a_mutated_campaign_ends_in_a_sentence_or_a_plan(record):
    check("\n".join(f"{toml(str(key))} = {toml(value)}" for key, value in record.items()))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([SCRIPTED, *(path.read_text() for path in builtin_campaigns().values())]), st.data())
def test_a_damaged_text_ends_in_a_sentence_or_a_plan(text, data):
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 12))
    check(text[:start] + data.draw(st.text("0123456789.=-[]{}\"' \n#azM_e", max_size=4)) + text[start + length :])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
@example("\x00")
@example("[[")
@example("a.b = 1\na = 2")
def test_any_text_ends_in_a_sentence(text):
    assert isinstance(attempt(text), InputError)


def test_every_key_of_the_schema_refuses_every_kind_of_nonsense():
    definitions = campaign_json_schema()["$defs"]
    sections = {
        "simulator": "SimulatorSection",
        "design": "DesignSection",
        "resources": "ResourcesSection",
        "split": "SplitSection",
        "failures": "FailuresSection",
        "model": "ModelSection",
        "train": "TrainConfig",
        "gate": "GateSection",
        "card": "CardSection",
    }
    for section, definition in sections.items():
        for key in definitions[definition]["properties"]:
            for nonsense in ([[1]], {"?": {"?": 1}}, float("nan"), -1e300, ""):
                record = copy.deepcopy(SEEDS[-1])
                record.setdefault(section, {})[key] = nonsense
                found = attempt("\n".join(f"{name} = {toml(value)}" for name, value in record.items()))
                assert isinstance(found, InputError), (section, key, nonsense)
