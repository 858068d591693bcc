"""Samplers: they fill the space, go on where they stopped, and refuse what they cannot do."""

import warnings

import numpy as np
import pytest

from surrogate.core.errors import DataError, SpaceError
from surrogate.core.identity import point_hash
from surrogate.design.parameters import Parameter, ParameterSpace
from surrogate.design.samplers import SAMPLERS, choose, sampler

SPACE = ParameterSpace((Parameter("M", 0.5, 20.0, scale="log10"), Parameter("Swc", 0.0, 0.3), Parameter("Sor", 0, 0.3)))
SMALL = ParameterSpace(
    (Parameter("n", 1, 3, scale="integer"), Parameter("how", scale="categorical", choices=("a", "b")))
)


class NoBox:
    """A space that is no box."""

    kind = "structures"
    columns = ()
    dimensions = 0


def test_the_catalogue_knows_its_samplers():
    of_structures = {"normal_modes", "rattle", "dynamics", "frames"}
    assert set(SAMPLERS) == {"sobol", "latin_hypercube", "grid", "table"} | of_structures


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("sobel", {}, "'sobel' is not known.*Did you mean 'sobol'"),
        ("sobol", {"levels": 3}, "'sobol' has no option 'levels'; it has none"),
        ("grid", {"level": 3}, "no option 'level'; it has levels. Did you mean 'levels'"),
        ("grid", {}, "needs the option 'levels'"),
        ("table", {}, "needs the option 'path'"),
        ("latin_hypercube", {"block": 0}, "at least 1, and 0 was given"),
        ("latin_hypercube", {"block": True}, "at least 1, and True was given"),
    ],
)
def test_unknown_names_and_options_are_told(name, options, told):
    with pytest.raises(SpaceError, match=told):
        sampler(name, **options)


@pytest.mark.parametrize("name", ["sobol", "latin_hypercube", "grid"])
def test_a_space_that_is_no_box_is_refused(name):
    chooser = sampler(name, **({"levels": 2} if name == "grid" else {}))
    for call in (lambda: chooser.length(NoBox()), lambda: chooser.points(NoBox(), 0, 2, 1)):
        with pytest.raises(SpaceError, match="'structures'"):
            call()


@pytest.mark.parametrize(("name", "options"), [("sobol", {}), ("latin_hypercube", {"block": 13})])
def test_a_later_call_continues_the_sequence(name, options):
    chooser = sampler(name, **options)
    assert chooser.length(SPACE) is None
    whole = chooser.points(SPACE, 0, 50, 7)
    assert len({point_hash(point) for point in whole}) == 50
    assert all(SPACE.contains(point) for point in whole)
    for start, count in ((0, 1), (0, 7), (7, 1), (7, 20), (12, 2), (27, 23), (26, 13), (50, 0)):
        assert chooser.points(SPACE, start, count, 7) == whole[start : start + count]
    assert chooser.points(SPACE, 0, 50, 8) != whole


def test_sobol_covers_evenly_and_complains_of_no_length():
    chooser = sampler("sobol")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for count in (1, 3, 100, 128):
            assert len(chooser.points(SPACE, 0, count, 1)) == count
    unit = SPACE.to_unit(chooser.points(SPACE, 0, 64, 1))
    for axis in range(3):
        assert np.all(np.bincount((unit[:, axis] * 64).astype(int), minlength=64) == 1)


def test_sobol_points_do_not_change_from_version_to_version():
    # Regression values: a dataset's identity rests on them.
    assert sampler("sobol").points(SPACE, 0, 3, 1) == [
        {"M": 1.43691199294, "Swc": 0.0487905912101, "Sor": 0.17650787551},
        {"M": 16.3693671469, "Swc": 0.181468093302, "Sor": 0.0529213115573},
        {"M": 6.96264409058, "Swc": 0.111954704951, "Sor": 0.296110665612},
    ]


def test_latin_hypercube_points_do_not_change_from_version_to_version():
    assert sampler("latin_hypercube", block=8).points(SPACE, 7, 2, 1) == [
        {"M": 0.779979308184, "Swc": 0.113811579594, "Sor": 0.103272224372},
        {"M": 1.870602318, "Swc": 0.237801875146, "Sor": 0.061507613156},
    ]


def test_sobol_ends_after_its_last_point():
    with pytest.raises(SpaceError, match="points 0 to 1073741823"):
        sampler("sobol").points(SPACE, 2**30 - 1, 2, 1)
    with pytest.raises(SpaceError):
        sampler("sobol").points(SPACE, -1, 2, 1)


def test_each_block_of_a_latin_hypercube_is_one():
    points = sampler("latin_hypercube", block=20).points(SPACE, 0, 60, 3)
    for block in range(3):
        unit = SPACE.to_unit(points[20 * block : 20 * (block + 1)])
        for axis in range(3):
            assert sorted((unit[:, axis] * 20).astype(int)) == list(range(20))


def test_a_latin_hypercube_without_block_is_one_and_cannot_be_continued():
    chooser = sampler("latin_hypercube")
    assert chooser.points(SPACE, 0, 20, 3) == sampler("latin_hypercube", block=20).points(SPACE, 0, 20, 3)
    with pytest.raises(SpaceError, match=r"cannot be made longer.*'block'.*'sobol'"):
        chooser.points(SPACE, 20, 5, 3)
    with pytest.raises(SpaceError):
        chooser.points(SPACE, 0, -1, 3)
    assert chooser.points(SPACE, 20, 0, 3) == []


def test_a_grid_has_every_combination_and_the_last_input_runs_fastest():
    chooser = sampler("grid", levels={"M": 3, "Swc": 4, "Sor": 1})
    assert chooser.length(SPACE) == 12
    points = chooser.points(SPACE, 0, 12, 0)
    assert [point["Swc"] for point in points[:4]] == [0.0, 0.1, 0.2, 0.3]
    assert [point["M"] for point in points[::4]] == [0.5, 3.16227766017, 20.0]
    assert {point["Sor"] for point in points} == {0.15}
    assert list(points[0]) == ["M", "Swc", "Sor"]
    assert chooser.points(SPACE, 5, 4, 99) == points[5:9]
    with pytest.raises(SpaceError, match="has 12 points; 5 from number 8"):
        chooser.points(SPACE, 8, 5, 0)


def test_a_grid_takes_all_choices():
    assert sampler("grid", levels={"n": 2}).points(SMALL, 0, 4, 0) == [
        {"n": 1, "how": "a"},
        {"n": 1, "how": "b"},
        {"n": 3, "how": "a"},
        {"n": 3, "how": "b"},
    ]
    assert sampler("grid", levels=3).length(SMALL) == 6


@pytest.mark.parametrize(
    ("levels", "space", "told"),
    [
        ({"M": 3}, SPACE, "no entry for the input 'Swc'"),
        ({"M": 3, "Swk": 1}, SPACE, "names the input 'Swk'.*Did you mean 'Swc'"),
        (0, SPACE, "at least 1, and 0"),
        (2.0, SPACE, "at least 1, and 2.0"),
        (4, SMALL, "has 3 whole values, and 4 levels"),
        ({"n": 2, "how": 1}, SMALL, "has 2 choices"),
    ],
)
def test_levels_that_do_not_fit_are_told(levels, space, told):
    with pytest.raises(SpaceError, match=told):
        sampler("grid", levels=levels).length(space)


def test_a_table_keeps_its_order_and_can_grow(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("Sor,note,M,Swc\n0.1,x,2,0.2\n0.05,y,1,0\n")
    chooser = sampler("table", path=path)
    assert chooser.length(SPACE) == 2
    first = chooser.points(SPACE, 0, 2, 1)
    assert first == [{"M": 2.0, "Swc": 0.2, "Sor": 0.1}, {"M": 1.0, "Swc": 0.0, "Sor": 0.05}]
    with path.open("a") as file:
        file.write("0.3,z,20,0.3\n")
    assert chooser.points(SPACE, 0, 3, 2)[:2] == first
    assert chooser.points(SPACE, 2, 1, 1) == [{"M": 20.0, "Swc": 0.3, "Sor": 0.3}]
    with pytest.raises(SpaceError, match="has 3 rows; 2 from number 2"):
        chooser.points(SPACE, 2, 2, 1)


def test_a_table_with_a_point_outside_names_row_and_column(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("M,Swc,Sor\n2,0.1,0.1\n2,0.4,0.1\n")
    with pytest.raises(SpaceError, match=r"row 2 is outside the input space: 'Swc' is 0.4, outside \[0.0, 0.3\]"):
        sampler("table", path=path).length(SPACE)
    path.write_text("n,how\n2,a\n2,c\n")
    with pytest.raises(DataError, match="row 2: Input 'how' must be one of 'a', 'b', and 'c' was found"):
        sampler("table", path=path).length(SMALL)


def test_duplicates_are_left_out_and_counted():
    design = choose(sampler("sobol"), SMALL, start=0, count=64, seed=1)
    assert len(design.points) == 6
    assert design.duplicates == 58
    assert (design.start, design.stop) == (0, 64)
    assert len({point_hash(point) for point in design.points}) == 6
    assert design == choose(sampler("sobol"), SMALL, start=0, count=64, seed=1)
    known = [point_hash(point) for point in design.points]
    again = choose(sampler("sobol"), SMALL, start=64, count=8, seed=1, known=known)
    assert again.points == ()
    assert again.duplicates == 8
