"""Figures as inline SVG that follows the page: its colours in light and dark, its fonts, no outside reference."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from surrogate.core.errors import MissingExtraError
from surrogate.validation.report.words import tick

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours that the page replaces by its own, so that one file serves light and dark.
INK, MUTED, GRID, SURFACE = "#010203", "#010204", "#010205", "#010206"
_PAGE = {INK: "var(--ink)", MUTED: "var(--muted)", GRID: "var(--line)", SURFACE: "var(--surface)"}

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = "#3e86c9", "#d9822b", "#3f9c6b", "#cf4a4a", "#8a6fc4", "#8b95a3"
SERIES = (BLUE, ORANGE, GREEN, PURPLE, "#c15b9b", "#8c8a2e", "#2f9aa0", "#b0673a")
"""Colours of series; each stands out on white and on near-black."""

STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.facecolor": "none",
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "lines.linewidth": 1.4,
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": True,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished figure of the page.

    Attributes:
        title: Heading; may be empty.
        caption: What is shown, with units, and how it was computed.
        svg: The picture itself.
    """

    title: str
    caption: str
    svg: Markup


def render(
    name: str,
    draw: Callable[[Figure], None],
    *,
    size: tuple[float, float],
    alt: str,
    title: str = "",
    caption: str = "",
) -> Picture:
    """Draw a figure and return it as inline SVG.

    Args:
        name: Unique on the page; begins the identifiers inside.
        draw: Draws into an empty figure whose style is set.
        size: Width and height in inches; the page is 8.6 wide.
        alt: What is to be seen, for who cannot see it.
        title: Heading.
        caption: What is shown, with units, and how it was computed.

    Raises:
        MissingExtraError: If matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("The report", "report") from error
    buffer = io.StringIO()
    style: Any = {**STYLE, "svg.hashsalt": name}
    with mpl.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", metadata=nothing, dpi=160)
    return Picture(title, caption, Markup(_inline(buffer.getvalue(), name, alt, size[0])))  # noqa: S704 - our own SVG


_PIXELS = 119.5
"""Pixels of the page that an inch of a figure takes at most, so that text has one size in all figures."""


def _inline(text: str, name: str, alt: str, width: float) -> str:
    """Return an SVG document, `width` inches wide, as a fragment of the page."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'(xlink:href|href)="#([^"]+)"', rf'\1="#{name}-\2"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"font: ([^;\"]*?)'[^;\"]*", r"font: \1var(--font)", text)
    for placeholder, variable in _PAGE.items():
        text = text.replace(placeholder, variable)
    text = re.sub(r"\n\s*", "\n", text)
    opening = re.match(r"<svg[^>]*>", text)
    if opening is None:  # pragma: no cover - matplotlib always writes one
        return text
    box = re.search(r'viewBox="([^"]+)"', opening[0])
    view = box[1] if box is not None else "0 0 1 1"
    head = (
        f'<svg viewBox="{view}" role="img" aria-label="{escape(alt)}" style="max-width:{width * _PIXELS:.0f}px" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return head + text[opening.end() :]


def log_ticks(axis: Any) -> None:
    """Write the ticks of a logarithmic axis as plain numbers, none too close to another."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(axis.get_view_interval())
    wide = high / max(low, 1e-300) > 150
    axis.set_major_locator(LogLocator(10, subs=(1.0,) if wide else (1.0, 2.0, 5.0), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(float(value))))
    axis.set_minor_formatter(NullFormatter())


def few_ticks(axis: Any) -> None:
    """Give a linear axis of a small plot ticks whose labels do not meet."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick(float(f"{value:.9g}"))))


def colour_bar(figure: Figure, mappable: Any, axes: Any, label: str) -> None:
    """Add a colour bar in the page's style."""
    bar = figure.colorbar(mappable, ax=axes, pad=0.02, fraction=0.05)
    bar.set_label(label)
    bar.outline.set_visible(False)
    if bar.ax.get_yscale() == "log":
        log_ticks(bar.ax.yaxis)


def empty(axes: Axes, sentence: str) -> None:
    """Say in an empty plot why it is empty."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, sentence, ha="center", va="center", transform=axes.transAxes)
