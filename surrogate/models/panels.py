"""A picture that a model family adds to the report, beside those that every surrogate gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from surrogate.core.schema import SampleTable
from surrogate.models.protocols import Prediction

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        title: Heading.
        caption: What is shown, with units, and how it was computed; one or two sentences.
        alt: The same for who cannot see it.
        draw: Draws into an empty figure whose style is set.
        size: Width and height in inches; a page is 8.6 wide.
    """

    title: str
    caption: str
    alt: str
    draw: Callable[[Figure], None]
    size: tuple[float, float] = (8.6, 3.4)


@runtime_checkable
class HasPanels(Protocol):
    """What a family offers that has pictures of its own."""

    def panels(self, truth: SampleTable, prediction: Prediction) -> Sequence[Panel]:
        """Return pictures of N holdout samples and what the surrogate says about them."""
        ...
