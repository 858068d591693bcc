"""The labels of small plots do not meet."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from surrogate.validation.report.axes import InputAxis
from surrogate.validation.report.figures import STYLE


@pytest.mark.parametrize(
    ("low", "high", "logarithmic"),
    [
        (-0.0005, 0.002, False),
        (10000.0, 100000.0, False),
        (-1e-6, 3e-6, False),
        (0.0005, 0.002, True),
        (1e4, 1e5, True),
    ],
)
def test_labels_of_an_input_do_not_overlap(low: float, high: float, logarithmic: bool):
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.6, 3.1), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(1, 3, sharey=True)
        values = np.linspace(low, high, 20)
        for panel in panels:
            panel.plot(values, np.arange(20), "o")
            InputAxis("slope", "slope [m]", values, (), logarithmic).dress(panel)
        figure.canvas.draw()
        for panel in panels:
            shown = [label for label in panel.get_xticklabels() if label.get_text()]
            boxes = [label.get_window_extent() for label in shown]
            inside = [box for box in boxes if panel.bbox.x0 - 1 <= (box.x0 + box.x1) / 2 <= panel.bbox.x1 + 1]
            assert len(inside) >= 2
            assert all(one.x1 + 2 < other.x0 for one, other in pairwise(inside)), shown
