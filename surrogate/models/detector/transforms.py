"""What the family `detector` keeps of its training waveforms: filters, templates, and how windows are cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surrogate.models.detector.options import DetectorOptions
from surrogate.models.protocols import Transforms, own_transforms

Array = NDArray[np.float64]
Single = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class DetectorTransforms:
    """Fitted on training waveforms.

    Attributes:
        options: The family's options.
        rate: Samples a second of waveforms and windows.
        plus: Name of the column with h₊.
        cross: Name of the column with h×.
        densities: `[P, F]` float64, the spectra that waveforms were whitened by, 1/Hz; `psd` of the options first.
        df: Spacing of their frequencies, Hz.
        filters: `[R, L]` float32, orthonormal, at `rate / decimate`.
        templates: `[K, 2, R]` float32, both phases of each template as sums of filters.
        masses: `[K, 2]` float64, masses of the templates, heavier first, solar masses.
        noise: `[S]` float32, whitened real noise of the training, or empty.
        noise_starts: `[W]` int64, first samples of windows of it without gaps.
    """

    options: DetectorOptions
    rate: int
    plus: str
    cross: str
    densities: Array
    df: float
    filters: Single
    templates: Single
    masses: Array
    noise: Single
    noise_starts: NDArray[np.int64]

    @property
    def samples(self) -> int:
        """Samples of a window."""
        return round(self.options.window_s * self.rate)

    @property
    def reach(self) -> tuple[int, int]:
        """Samples that a row holds before its peak, and from its peak on."""
        return self.edge(self.options.peak_to), self.samples - self.edge(self.options.peak_from)

    def edge(self, seconds: float) -> int:
        """Return the sample of a time in the window."""
        return round(seconds * self.rate)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays."""
        names = ("densities", "filters", "templates", "masses", "noise", "noise_starts")
        return {name: getattr(self, name) for name in names}

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready mapping of the rest."""
        options = self.options.model_dump(mode="json")
        return {"options": options, "rate": self.rate, "plus": self.plus, "cross": self.cross, "df": self.df}

    @classmethod
    def restore(cls, arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> DetectorTransforms:
        """Rebuild from `arrays` and `to_json`."""
        return cls(
            DetectorOptions.model_validate(record["options"], strict=False),
            int(record["rate"]), str(record["plus"]), str(record["cross"]),
            np.asarray(arrays["densities"], dtype=np.float64), float(record["df"]),
            np.asarray(arrays["filters"], dtype=np.float32), np.asarray(arrays["templates"], dtype=np.float32),
            np.asarray(arrays["masses"], dtype=np.float64), np.asarray(arrays["noise"], dtype=np.float32),
            np.asarray(arrays["noise_starts"], dtype=np.int64),
        )  # fmt: skip


def own(transforms: Transforms) -> DetectorTransforms:
    """Return the transforms as this family's own; see `own_transforms`."""
    return own_transforms("detector", DetectorTransforms, transforms)
