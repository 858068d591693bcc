"""The adapter of the Einstein Toolkit: parameter files, restarts, the launch with a stand-in, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim_wrappers import catalog
from sim_wrappers.described import Described
from sim_wrappers.einstein_toolkit import parfile
from sim_wrappers.einstein_toolkit.restarts import read_columns, stitched
from site_configs.resources import ResourceRequest
from surrogate.core.errors import ConfigError, SimulationError
from surrogate.core.outcome import Budget, Failure, FailureKind, Success
from surrogate.data.run_file import read_run_file
from surrogate.design.parameters import Parameter, ParameterSpace
from tests.support import cactus
from tests.support.cactus.waves import PEAK, strain
from tests.support.executions import folder_of, request_for, run
from tests.support.shared_data import shared_data

CODE = catalog.get("einstein_toolkit")
POINT = {"mass_ratio": 1.3}


def test_placeholders_are_filled_as_simfactory_does() -> None:
    text = 'n = int("@N@") if "@N@"[0] != "@" else 28\nq = @mass_ratio@\nx = @flag@\n'
    assert parfile.placeholders(text) == {"N", "mass_ratio", "flag"}
    filled = parfile.filled(text, {"mass_ratio": 1.1, "flag": True})
    assert filled == 'n = int("@N@") if "@N@"[0] != "@" else 28\nq = 1.1\nx = yes\n'


def test_a_parameter_file_learns_to_restart() -> None:
    text = 'ActiveThorns = "Carpet"\n  IO::recover   = no   # never\nIO::recover_dir = "x"\n'
    text += "TerminationTrigger::max_walltime = 9\n"
    made = parfile.with_restarts(text, "run", 7200.0, 1800.0)
    values = {
        "IO::recover": "autoprobe", "IO::out_dir": "run", "IO::checkpoint_dir": "../checkpoints",
        "IO::recover_dir": "../checkpoints", "IO::checkpoint_on_terminate": "yes",
        "TerminationTrigger::max_walltime": "2.000000", "TerminationTrigger::on_remaining_walltime": "30.000000",
    }  # fmt: skip
    assert {name: parfile.parameter(made, name) for name in values} == values
    assert 'ActiveThorns = "TerminationTrigger"' in made
    assert parfile.with_restarts(made, "run", 7200.0, 1800.0) == made
    assert (
        parfile.parameter(
            parfile.with_restarts(text, "run", 400.0, 1800.0), "TerminationTrigger::on_remaining_walltime"
        )
        == "1.666667"
    )
    assert parfile.final_time("Cactus::terminate = time\nCactus::cctk_final_time = 1.7e3\n") == 1700.0
    assert parfile.final_time("Cactus::terminate = iteration\nCactus::cctk_final_time = 3\n") is None


def test_restarts_are_stitched_by_time() -> None:
    first = np.column_stack([np.arange(0.0, 10.0), np.zeros(10)])
    second = np.column_stack([np.arange(7.0, 15.0), np.ones(8)])
    whole = stitched([first, np.zeros((0, 2)), second])
    np.testing.assert_array_equal(whole[:, 0], np.arange(15.0))
    np.testing.assert_array_equal(whole[:, 1], [0] * 7 + [1] * 8)
    # A later restart that went back further takes all of an earlier one away.
    third = np.column_stack([np.arange(5.0, 20.0), np.full(15, 2.0)])
    np.testing.assert_array_equal(stitched([first, second, third])[:, 1], [0] * 5 + [2] * 15)
    twice = np.vstack([first, first[8:] + np.asarray([0, 5])])
    np.testing.assert_array_equal(stitched([twice])[:, 1], [0] * 8 + [5, 5])
    with pytest.raises(SimulationError, match="no rows"):
        stitched([np.zeros((0, 2))])


def test_text_of_columns_forgives_a_cut_end_only(tmp_path: Path) -> None:
    path = tmp_path / "x.asc"
    path.write_text("# a header\n1 2 3\n\n2 3 4 # end\n3 4")
    np.testing.assert_array_equal(read_columns(path), [[1, 2, 3], [2, 3, 4]])
    path.write_text("1 2 3\n2 3\n3 4 5\n")
    with pytest.raises(SimulationError, match="line 2 has 2 columns"):
        read_columns(path)
    path.write_text("1 2 x\n")
    with pytest.raises(SimulationError, match="line 1"):
        read_columns(path)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"parfile": "x.txt"}, r"must end in \.par"),
        ({"mode": (2, 3)}, "m between"),
        ({"radius": -1.0}, "radius"),
        ({"jnk": 3.0}, "Did you mean 'junk'"),
        ({"values": {"a b": 1}}, "cannot be the name"),
    ],
)
def test_wrong_options_are_sentences(options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        CODE.check_options(cactus.standin(**options))


def test_options_are_located_and_inputs_held_against_placeholders(tmp_path: Path) -> None:
    assert isinstance(CODE, Described)
    options = CODE.check_options({**cactus.standin(), "command": ["standin", "-L", "3"], "parfile": "standin.par"})
    found = CODE.locate(options, lambda name: cactus.FOLDER / name)
    assert found["command"] == [str(cactus.FOLDER / "standin"), "-L", "3"]
    assert found["parfile"] == str(cactus.FOLDER / "standin.par")
    CODE.check_space(found, cactus.SPACE)
    with pytest.raises(ConfigError, match="Input 'spin' is used nowhere"):
        CODE.check_space(found, ParameterSpace((Parameter("spin", 0.0, 1.0),)))
    with pytest.raises(ConfigError, match=r"'parfile' names .* does not exist"):
        CODE.locate(options, lambda name: tmp_path / name)
    missing = CODE.check_options({**cactus.standin(), "command": ["cactus_nowhere"]})
    with pytest.raises(ConfigError, match="Build Cactus"):
        CODE.locate(missing, lambda name: cactus.FOLDER / name)
    assert CODE.identity_options(found)["command"] == ["standin", "-L", "3"]


@pytest.mark.mpi
def test_a_run_in_one_go(tmp_path: Path) -> None:
    request = request_for(
        CODE, POINT, cactus.standin(), resources=ResourceRequest(ranks=2, ranks_per_node=2, walltime_s=120)
    )
    outcome = run(tmp_path, request, space=cactus.SPACE)
    assert isinstance(outcome, Success), outcome
    _compare(tmp_path, outcome)
    folder = folder_of(tmp_path, request)
    assert "Standin::mass_ratio = 1.3" in (folder / "output-0000" / "standin.par").read_text()


def _compare(tmp_path: Path, outcome: Success) -> dict[str, Any]:
    found = read_run_file(tmp_path / outcome.path)
    wave = found.columns["h_re"][0] + 1j * found.columns["h_im"][0]
    times = found.schema.coordinate("time").array  # type: ignore[union-attr]
    assert abs(times[np.argmax(np.abs(wave))]) <= 0.5
    # The amplitude is flat around its peak, so that the time of it is known less well than the phase.
    errors = []
    for shift in np.arange(-2.0, 2.0, 0.05):
        known = strain(PEAK + times + shift, 1.3)
        errors.append(np.abs(wave - known * np.exp(-1j * np.angle(known[600]))).max())
    assert min(errors) < 0.02 * np.abs(wave).max()
    assert found.columns["irreducible_mass_1"][0] == 0.5
    assert found.columns["irreducible_mass_2"][0] == 0.45
    assert found.columns["irreducible_mass_3"][0] == 0.0
    return dict(found.provenance["notes"])


@pytest.mark.mpi
def test_a_run_goes_on_from_its_checkpoints_until_it_is_done(tmp_path: Path) -> None:
    options = cactus.standin(per_restart=400.0)
    for attempt in (1, 2, 3):
        resources = ResourceRequest(ranks=2, ranks_per_node=2, walltime_s=120)
        request = request_for(CODE, POINT, options, resources=resources, attempt=attempt)
        outcome = run(tmp_path, request, space=cactus.SPACE)
        if attempt < 3:
            assert isinstance(outcome, Failure)
            assert (outcome.kind, outcome.budget) == (FailureKind.WALLTIME, Budget.INFRASTRUCTURE)
            assert "goes on from there" in outcome.message
    assert isinstance(outcome, Success), outcome
    assert _compare(tmp_path, outcome)["restarts"] == 3
    folder = folder_of(tmp_path, request)
    assert sorted(path.name for path in folder.glob("output-*")) == ["output-0000", "output-0001", "output-0002"]
    # What was written twice counts once, and a run in one go gives the same.
    other = run(tmp_path / "one", request_for(CODE, POINT, cactus.standin()), space=cactus.SPACE)
    assert isinstance(other, Success)
    pieces, whole = (
        read_run_file(base / found.path).columns["h_re"]
        for base, found in ((tmp_path, outcome), (tmp_path / "one", other))
    )
    np.testing.assert_allclose(pieces, whole, atol=1e-12)


@pytest.mark.mpi
def test_a_run_that_goes_nowhere_ends(tmp_path: Path) -> None:
    options = cactus.standin(per_restart=20.0)
    outcomes = []
    for attempt in (1, 2):
        request = request_for(CODE, POINT, options, attempt=attempt, resources=ResourceRequest(walltime_s=60))
        outcomes.append(run(tmp_path, request, space=cactus.SPACE))
    assert [outcome.kind for outcome in outcomes if isinstance(outcome, Failure)] == [
        FailureKind.WALLTIME, FailureKind.NO_END_MARKER,
    ]  # fmt: skip
    assert isinstance(outcomes[1], Failure)
    assert "made no progress" in outcomes[1].message


@pytest.mark.mpi
def test_failures_of_the_code_are_known_by_their_text(tmp_path: Path) -> None:
    source = tmp_path / "nan.par"
    source.write_text((cactus.FOLDER / "standin.par").read_text() + "Standin::fail = nan\n")
    request = request_for(CODE, POINT, cactus.standin(parfile=str(source)), resources=ResourceRequest(walltime_s=60))
    outcome = run(tmp_path, request, space=cactus.SPACE)
    assert isinstance(outcome, Failure)
    assert outcome.kind is FailureKind.UNCONVERGED
    assert "not finite" in outcome.message


def test_a_script_of_parameters_is_run(tmp_path: Path) -> None:
    source = tmp_path / "case.rpar"
    source.write_text(
        'import re, sys\nq = @mass_ratio@\nlines = "Standin::mass_ratio = %r\\nTerminationTrigger::max_walltime = '
        '@WALLTIME_HOURS@\\n" % (q * 1.0)\nopen(re.sub(r"rpar$", "par", sys.argv[0]), "w").write(lines)\n'
    )
    request = request_for(CODE, POINT, cactus.standin(parfile=str(source)))
    CODE.prepare(request, tmp_path)
    text = (tmp_path / "output-0000" / "case.par").read_text()
    assert parfile.parameter(text, "Standin::mass_ratio") == "1.3"
    assert parfile.parameter(text, "IO::out_dir") == "case"
    assert CODE.program(request, tmp_path).argv[-2:] == (str(cactus.FOLDER / "standin"), "case.par")
    source.write_text("raise ValueError('q must not be that')\n")
    with pytest.raises(SimulationError, match=r"case\.rpar failed: ValueError: q must not be that"):
        CODE.prepare(request, tmp_path)


def test_the_public_script_becomes_the_public_parameter_file(tmp_path: Path) -> None:
    folder = shared_data("waveforms/einstein_toolkit_GW150914") / "output-0000"
    options = cactus.standin(parfile=str(folder / "GW150914.rpar"), values={"N": 28})
    CODE.prepare(request_for(CODE, {}, options, resources=ResourceRequest(walltime_s=86400)), tmp_path)
    made, public = (
        (base / "GW150914.par").read_text().splitlines() for base in (tmp_path / "output-0000", folder)
    )  # fmt: skip
    differing = [(ours, theirs) for ours, theirs in zip(made, public, strict=True) if ours.split() != theirs.split()]
    assert [ours.partition(" ")[0] for ours, _ in differing if not ours.startswith("# __file__")] == [
        "IO::out_dir", "TerminationTrigger::max_walltime", "TerminationTrigger::on_remaining_walltime",
    ]  # fmt: skip
    assert parfile.final_time("\n".join(made)) == 1700.0
    assert parfile.parameter("\n".join(made), "TerminationTrigger::max_walltime") == "24.000000"
