"""The Buckley–Leverett solver against physics and against the exact solution by Welge's tangent."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from sim_wrappers.buckley_leverett.domain import Alone
from sim_wrappers.buckley_leverett.flux import inflection, largest_speed, wave_speed
from sim_wrappers.buckley_leverett.limiters import COURANT_LIMITS
from sim_wrappers.buckley_leverett.scheme import Muscl
from sim_wrappers.buckley_leverett.solver import solve
from tests.physics.buckley_leverett_cases import CASES, TIMES
from tests.support.ranks import run_ranks
from tests.support.welge import Welge

UPWIND = {"scheme": "upwind", "limiter": "none", "cfl": 1.0}
DEFAULT = {"scheme": "muscl", "limiter": "monotonized_central", "cfl": 0.5}


def l1_error(ratio: float, cells: int, options: dict, times: list[float]) -> float:
    """Mean over times and cells of |cell average − exact cell average|, normalised saturation."""
    exact = Welge(ratio)
    solution = solve(Alone(), ratio, times, cells=cells, options=options)
    truth = np.stack([exact.averages(cells, tau) for tau in times])
    return float(np.abs(solution.saturation - truth).mean())


def order(errors: list[float], cells: list[int]) -> float:
    """Exponent p of error ~ cells^−p, by least squares."""
    return -float(np.polyfit(np.log(cells), np.log(errors), 1)[0])


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, np.ndarray]]:
    """The same cases on 1, 2, 3 and 4 ranks."""
    folder, found = tmp_path_factory.mktemp("worlds"), {}
    for ranks in (1, 2, 3, 4):
        target = folder / f"{ranks}.npz"
        run_ranks(ranks, ["-m", "tests.physics.buckley_leverett_cases", str(target)], folder)
        with np.load(target, allow_pickle=False) as archive:
            found[ranks] = dict(archive)
    return found


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_the_field_has_the_same_bits_on_any_number_of_ranks(worlds, ranks: int) -> None:
    assert len(worlds[1]) == 3 * len(CASES)
    for name, field in worlds[1].items():
        assert np.array_equal(field, worlds[ranks][name]), name


@pytest.mark.mpi
def test_water_is_neither_made_nor_lost(worlds) -> None:
    for name in [name for name in worlds[1] if name.endswith("totals")]:
        injected, produced, error = worlds[1][name]
        assert np.abs(error).max() < 1e-10, name
        cells, *_ = name.split()
        stored = worlds[1][name.removesuffix(" totals")].sum(axis=1) / int(cells)
        np.testing.assert_allclose(stored, injected - produced, rtol=0, atol=1e-10, err_msg=name)
        np.testing.assert_array_equal(injected, TIMES)
        assert produced[0] == pytest.approx(0.0, abs=1e-12), name
        assert produced[-1] > 0.0, name


@pytest.mark.mpi
def test_saturation_stays_between_connate_and_one_less_residual(worlds) -> None:
    for name, field in worlds[1].items():
        if not name.endswith(("totals", "steps")):
            assert field.min() >= 0.0, name
            assert field.max() <= 1.0, name
            assert np.all(np.diff(field, axis=1) <= 1e-15), f"{name}: water's share must fall towards the outlet"
            assert np.all(np.diff(field, axis=0) >= -1e-15), f"{name}: water's share must rise with time"


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_the_program_writes_what_the_solver_computes(tmp_path: Path, ranks: int) -> None:
    pvi = [0.1 * step for step in range(1, 11)]
    case = {"M": 7.0, "Swc": 0.15, "Sor": 0.25, "pvi": pvi, "options": {"cells": 512, **DEFAULT}}
    (tmp_path / "in.json").write_text(json.dumps(case))
    said = run_ranks(ranks, ["-m", "sim_wrappers.buckley_leverett.solver", "in.json", "out.h5"], tmp_path)
    assert "END OF RUN" in said
    solution = solve(Alone(), 7.0, [pore / 0.6 for pore in pvi], cells=512, options=DEFAULT)
    with h5py.File(tmp_path / "out.h5") as file:
        field = file["saturation"][()]
        assert file.attrs["complete"]
        assert file.attrs["ranks"] == ranks
        assert file.attrs["mass_error"] < 1e-10
    expected = 0.15 + 0.6 * solution.saturation.reshape(10, 256, 2).mean(axis=2)
    np.testing.assert_allclose(field, expected, rtol=0, atol=1e-15)
    assert field.min() >= 0.15
    assert field.max() <= 0.75
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.json", "out.h5"]


@pytest.mark.parametrize("ratio", [0.5, 2.0, 20.0])
@pytest.mark.parametrize(
    ("options", "least", "largest"), [(UPWIND, 0.70, 6e-3), (DEFAULT, 0.85, 1.5e-3)], ids=["upwind", "muscl"]
)
def test_l1_error_falls_at_the_order_that_a_shock_permits(ratio, options, least, largest) -> None:
    # A shock smears over a fixed number of cells, so that no scheme beats first order in L1. Kuznetsov (1976)
    # guarantees a monotone scheme order 1/2; with a rarefaction that joins the shock, upwind is seen at about 0.8
    # (h log h) and MUSCL close to 1.
    speed = Welge(ratio).speed
    times = [fraction / speed for fraction in (0.31, 0.43, 0.57, 0.72, 0.88)]
    cells = [64, 128, 256, 512]
    errors = [l1_error(ratio, number, options, times) for number in cells]
    assert all(fine < 0.75 * coarse for coarse, fine in itertools.pairwise(errors)), errors
    assert least < order(errors, cells) < 1.2, errors
    assert errors[2] < largest


@pytest.mark.parametrize("ratio", [0.5, 3.0, 20.0])
def test_second_order_scheme_is_sharper_than_first_order(ratio: float) -> None:
    times = [0.6 / Welge(ratio).speed]
    assert l1_error(ratio, 256, DEFAULT, times) < 0.5 * l1_error(ratio, 256, UPWIND, times)


@pytest.mark.parametrize("limiter", sorted(COURANT_LIMITS))
def test_muscl_is_second_order_where_the_solution_is_smooth(limiter: str) -> None:
    # A smooth fall from s = 1 to s = 0, followed along characteristics while they do not cross: x = ξ + f′(s₀(ξ)) τ.
    exact, errors, cells = Welge(0.8), [], [100, 200, 400, 800]
    tau = 0.02

    def initial(x: np.ndarray) -> np.ndarray:
        return 0.5 * (1.0 - np.tanh((x - 0.4) / 0.08))

    for number in cells:
        x = (np.arange(number) + 0.5) / number
        scheme = Muscl(number + 3, 0.8, limiter, inlet=True, outlet=True)
        scheme.state[2:-1] = initial(x)
        scheme.state[-1] = scheme.state[-2]
        steps = 20 * number // 100
        for _ in range(steps):
            scheme.step(np.array(tau / steps * number))
        foot = x.copy()
        for _ in range(60):
            foot = x - tau * np.asarray(exact.df(np.clip(initial(foot), 1e-12, 1 - 1e-12)))
        errors.append(float(np.abs(scheme.state[2:-1] - initial(foot)).mean()))
    assert order(errors, cells) > 1.8, errors


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0, 20.0])
def test_water_breaks_through_within_one_cell(ratio: float) -> None:
    # The time at which the exact shock reaches the outlet's cell, and the one at which the solver's outlet cell passes
    # half of the shock's height; the distance that the shock runs between the two is less than a cell.
    exact, cells = Welge(ratio), 256
    centre = (cells - 0.5) / cells
    expected = centre / exact.speed
    times = np.linspace(0.96, 1.04, 321) * expected
    outlet = solve(Alone(), ratio, times, cells=cells, options=DEFAULT).saturation[:, -1]
    assert outlet[0] < 0.5 * exact.shock < outlet[-1]
    found = float(np.interp(0.5 * exact.shock, outlet, times))
    assert abs(found - expected) * exact.speed < 1.0 / cells


@pytest.mark.parametrize("ratio", [0.5, 3.0, 20.0])
def test_the_front_is_within_one_cell_of_the_shock_at_every_time(ratio: float) -> None:
    exact, cells = Welge(ratio), 256
    times = [fraction / exact.speed for fraction in (0.1, 0.3, 0.5, 0.7, 0.9)]
    x = (np.arange(cells) + 0.5) / cells
    for tau, field in zip(times, solve(Alone(), ratio, times, cells=cells, options=DEFAULT).saturation, strict=True):
        front = np.interp(-0.5 * exact.shock, -field, x)
        assert abs(front - exact.speed * tau) < 1.0 / cells


@pytest.mark.parametrize("ratio", [0.5, 1.0, 7.0, 20.0])
def test_no_wave_is_faster_than_the_bound_of_the_time_step(ratio: float) -> None:
    peak = inflection(ratio)
    s = np.linspace(1e-6, 1.0 - 1e-6, 20001)
    speeds = np.array([wave_speed(value, ratio) for value in s])
    np.testing.assert_allclose(speeds, np.asarray(Welge(ratio).df(s)), rtol=1e-9)
    assert wave_speed(peak, ratio) == pytest.approx(speeds.max(), rel=1e-6)
    for low, high in ((0.0, 1.0), (0.0, 0.1), (0.6, 1.0), (peak, peak), (0.9, 0.95)):
        inside = speeds[(s >= low) & (s <= high)]
        assert largest_speed(low, high, ratio, peak) >= inside.max(initial=0.0) * (1.0 - 1e-12)


def test_too_many_ranks_for_the_cells_are_refused() -> None:
    class Crowd(Alone):
        size = 100

    with pytest.raises(ValueError, match="fewer than 4 cells to a rank"):
        solve(Crowd(), 1.0, [0.1], cells=256, options=DEFAULT)
