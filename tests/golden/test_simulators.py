"""Results that were written down: whoever changes one on purpose raises the VERSION, which renames all runs."""

from __future__ import annotations

import numpy as np
import pytest

from sim_wrappers import buckley_leverett, compact_binary, scripted
from sim_wrappers.buckley_leverett.domain import Alone
from sim_wrappers.buckley_leverett.solver import solve
from sim_wrappers.compact_binary.inputs import complete_options
from sim_wrappers.compact_binary.program import integrate
from sim_wrappers.compact_binary.waveforms import missing
from sim_wrappers.scripted.formulas import level, wave

# M = 3, 256 cells: normalised saturation at cells 10, 70, 130, 190 and times 0.2, 0.5, 1.0; then the water produced.
FIELDS = {
    ("muscl", "monotonized_central", 0.5): (
        [0.8234588193525689, 0.5187673630891327, 0.0, 0.0],
        [0.906994454056038, 0.6906445229009537, 0.5840726615638951, 0.47645754725570977],
        [0.9469622603700607, 0.788093212918656, 0.7024853393380655, 0.6412776739049375],
        0.2713419529431474,
    ),
    ("muscl", "van_leer", 0.5): (
        [0.8232168714756213, 0.5151355958129172, 0.0, 0.0],
        [0.9068793782108031, 0.6905524938464818, 0.5836142720195792, 0.46953495088953157],
        [0.9469230410638951, 0.7880548070774818, 0.7024456704616044, 0.6411782593002511],
        0.27141767657178956,
    ),
    ("muscl", "minmod", 2.0 / 3.0): (
        [0.8216343483366104, 0.5085712694523463, 0.0, 0.0],
        [0.9056528830448594, 0.69045127592873, 0.5832067010032627, 0.45616623383046395],
        [0.946288882730368, 0.7878465800869534, 0.7023880107180804, 0.6411211546371696],
        0.27160019812176545,
    ),
    ("upwind", "none", 1.0): (
        [0.813181076312318, 0.5144351259923188, 0.0, 0.0],
        [0.8981059063410868, 0.689373034172583, 0.5835736490707787, 0.48050722943570545],
        [0.9404087746844925, 0.7862631438615004, 0.7018027585478299, 0.6410087594199697],
        0.2728791284806501,
    ),
}


@pytest.mark.parametrize("settings", FIELDS, ids=lambda settings: settings[1])
def test_buckley_leverett(settings: tuple[str, str, float]) -> None:
    assert buckley_leverett.VERSION == "1.0"
    options = dict(zip(("scheme", "limiter", "cfl"), settings, strict=True))
    solution = solve(Alone(), 3.0, [0.2, 0.5, 1.0], cells=256, options=options)
    *rows, produced = FIELDS[settings]
    np.testing.assert_allclose(solution.saturation[:, [10, 70, 130, 190]], rows, rtol=0, atol=1e-12)
    assert solution.produced[-1] == pytest.approx(produced, abs=1e-12)


def test_scripted() -> None:
    assert scripted.VERSION == "1.0"
    # φ = 0.5 + 2 · 1 = 2.5 and A = 1 / (1 + (0.25 + 1) / 2) = 8 / 13.
    inputs = {"a": 0.5, "b": 1.0}
    expected = [-0.49301145572119, -0.3682905502178194, 0.49301145572119, 0.3682905502178195]
    assert wave(inputs, range(4), 4) == pytest.approx(expected, abs=1e-15)
    assert level(inputs) == pytest.approx(0.3389671484520247, abs=1e-15)


@pytest.mark.skipif(missing() is not None, reason=missing() or "")
def test_compact_binary() -> None:
    assert compact_binary.VERSION == "1.0"
    case = {"options": complete_options({}), "fade_s": 0.125}
    found, peak_time, duration = integrate({"mass_1": 36.0, "mass_2": 29.0}, case)
    # SEOBNRv4_opt at 100 Mpc; the version of lalsuite is part of the run id, and its rounding differs between versions.
    places = [3000, 3400, 3560, 3584, 3600]
    plus = [2.3755866e-21, -1.0500193e-21, -5.6202092e-21, 5.2884726e-21, -4.8790754e-22]
    cross = [-1.1653555e-21, 3.2709468e-21, 6.0629515e-22, -5.5092814e-21, -2.2481501e-21]
    np.testing.assert_allclose(found.plus[places], plus, rtol=0, atol=1e-25)
    np.testing.assert_allclose(found.cross[places], cross, rtol=0, atol=1e-25)
    assert (peak_time, duration) == pytest.approx((0.73584, 0.86084), abs=1e-3)
