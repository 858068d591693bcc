"""What does not go together is told in a sentence, before anything is taken."""

import json

import pytest

from surrogate.core.errors import ConfigError, DataError
from tests.support.ingests import data_of, take
from tests.support.old_files import CAMPAIGN, MAPPING, points, write_case, write_cases, write_texts
from workflows.checked_plan import plan_campaign
from workflows.dry_run import dry_run as dry_run_campaign
from workflows.ingest.ingest import ingest
from workflows.ingest.layout import load_layout
from workflows.progress import Silent

OUTPUTS = MAPPING[MAPPING.index("[outputs.u]") :]


def test_what_does_not_go_together_is_a_sentence(tmp_path):
    write_cases(tmp_path / "old", 3)
    simulated = '[simulator]\nname = "scripted"\n[design]\nruns = 64'
    cases = [
        ({"campaign": CAMPAIGN.replace("[data]", simulated)}, "has a simulator"),
        ({"campaign": CAMPAIGN.replace("[data]", "[data.outputs.v]")}, "'data.outputs.v' is not in the mapping"),
        ({"campaign": CAMPAIGN + "[inputs.mu]\nlow = 0.0"}, "'inputs.mu' is not in the mapping; it has nu, amp"),
        ({"campaign": CAMPAIGN + '[inputs.amp]\nunit = "mm"'}, "the mapping gives 'low' in 'm'"),
        ({"campaign": CAMPAIGN.replace("[data]", "[data.coordinates.t]")}, "'data.coordinates.t.values' is missing"),
        ({"mapping": MAPPING.replace("res/u", "res/v")}, "None of the 3 files can be read.*Did you mean 'res/u'"),
        ({"mapping": MAPPING.replace("[inputs.amp]", "[inputs.2nd]")}, "An input's name is a letter"),
        ({"mapping": MAPPING.replace('["x"]', '["xi"]')}, "no output lies on the coordinate 'x': 'dims' names xi"),
        ({"mapping": MAPPING.replace('dims = ["x"]', "")}, "on the coordinate 'x': no output has 'dims'"),
    ]  # fmt: skip
    for number, (options, told) in enumerate(cases):
        (tmp_path / str(number)).mkdir()
        with pytest.raises((ConfigError, DataError), match=told):
            take(tmp_path / str(number), tmp_path / "old", **options)
        assert not (tmp_path / str(number) / "w").exists()
    _, layout = write_texts(tmp_path)
    with pytest.raises(ConfigError, match="Say which one it is to be with --campaign FILE"):
        ingest(tmp_path / "w", [tmp_path / "old"], layout, progress=Silent())
    take(tmp_path, tmp_path / "old")
    with pytest.raises(ConfigError, match=r"'inputs.visc' is none of the campaign's inputs"):
        take(tmp_path, tmp_path / "old", mapping=MAPPING.replace("inputs.nu", "inputs.visc"))
    with pytest.raises(ConfigError, match=r"'inputs.amp' is missing: the campaign's samples have it"):
        take(tmp_path, tmp_path / "old", mapping=MAPPING[: MAPPING.index("[inputs.amp]")] + OUTPUTS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("index = [0]", ""), r"'amp' has the shape \[2\] .*Pick an element with 'index'"),
        (("index = [0]", "index = [0, 5]"), r"'amp' has index = \[0, 5\], and its array in .* has the shape \[2\]"),
        (('unit = "m"\nlow', 'unit = "s"\nlow'), "'amp' in .*: 'mm' cannot be converted to 's'"),
    ],
)
def test_the_search_for_a_range_quotes_what_stands_in_its_way(change, told, tmp_path):
    write_cases(tmp_path / "old", 3)
    mapping = MAPPING.replace(*change).replace("low = 0.5\nhigh = 6\n", "")
    with pytest.raises(DataError, match=told):
        take(tmp_path, tmp_path / "old", mapping=mapping)
    assert not (tmp_path / "w").exists()


def test_mapping_files_and_paths_that_are_wrong(tmp_path):
    cases = [
        ("", "'format' is missing: it says what the files are. There are .*hdf5"),
        ("format = 3", "'format': text in quotation marks"),
        ('format = "hdf"', "'format': There is no reader.*Did you mean 'hdf5'"),
        ("format = ", "is not TOML"),
    ]
    path = tmp_path / "m.toml"
    for text, told in cases:
        path.write_text(text)
        with pytest.raises(ConfigError, match=told):
            load_layout(path)
    with pytest.raises(ConfigError, match="does not exist"):
        load_layout(tmp_path / "none.toml")
    path.write_text(MAPPING)
    with pytest.raises(ConfigError, match="says format = 'hdf5', and 'csv' was asked for"):
        load_layout(path, "csv")
    campaign, layout = write_texts(tmp_path)
    (tmp_path / "empty").mkdir()
    for paths, told in (([tmp_path / "none"], "does not exist"), ([tmp_path / "empty"], "has no file whose name ends")):
        with pytest.raises(DataError, match=told):
            ingest(tmp_path / "w", paths, layout, campaign=campaign, progress=Silent())


def test_a_campaign_of_data_is_planned_and_tried_without_running(tmp_path):
    campaign, _ = write_texts(tmp_path)
    with pytest.raises(ConfigError, match=r"nothing was ingested into .* yet. Begin with: surrogate ingest"):
        plan_campaign(campaign, tmp_path / "w")
    write_cases(tmp_path / "old", 30)
    take(tmp_path, tmp_path / "old")
    plan = plan_campaign(campaign, tmp_path / "w")
    assert plan.runs == ()
    assert [column.name for column in plan.schema.columns] == ["nu", "amp", "u"]
    told = dry_run_campaign(campaign, "laptop", tmp_path / "w")
    assert (told["samples"], told["runs"], told["estimate"]) == (30, 30, "nothing is simulated")
    assert sum(told["splits"].values()) == 30
    json.dumps(told)


def test_too_many_refused_samples_stop_the_campaign(tmp_path):
    campaign, _ = write_texts(tmp_path)
    for number, point in enumerate(points(10)):
        write_case(tmp_path / "old" / f"{number}.h5", point[0], 9.0 if number < 3 else point[1])
    take(tmp_path, tmp_path / "old")
    with pytest.raises(DataError, match=r"3 of 10 samples were refused .*'failures.allowed_share' is 0.2"):
        data_of(tmp_path, campaign)
    allowed, _ = write_texts(tmp_path, campaign=CAMPAIGN + "[failures]\nallowed_share = 0.3\n")
    assert len(data_of(tmp_path, allowed)) == 7
