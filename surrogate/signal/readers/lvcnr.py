"""The reader `lvcnr`: waveforms of numerical relativity in the exchange format of the LIGO-Virgo collaboration.

P. Schmidt, I. W. Harry, H. P. Pfeiffer, arXiv:1703.01076: amplitude and phase of each mode r·h_lm/M are splines, whose
knots `X` (t/M), values `Y` and degree `deg` stand in the groups amp_lL_mM and phase_lL_mM; masses, spins and more are
attributes of the file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column, Coordinate, Schema, Values
from surrogate.data.readers.protocol import Block, Piece, Sketch, SourceError
from surrogate.signal.gwosc import opened

Array = NDArray[np.float64]
_INPUTS: dict[str, dict[str, Any]] = {
    "mass_ratio": {"low": 1.0, "high": 100.0, "unit": "1", "description": "heavier over lighter mass"},
    "spin_1": {"low": -1.0, "high": 1.0, "unit": "1", "description": "aligned spin of the heavier hole over its mass²"},
    "spin_2": {"low": -1.0, "high": 1.0, "unit": "1", "description": "aligned spin of the lighter hole over its mass²"},
}  # fmt: skip
_IN_PLANE = 1e-3
"""Spin in the orbit's plane beyond which a binary is not taken for one with aligned spins."""


class LvcnrOptions(BaseModel):
    """Which mode is taken, and on what times."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    mode: tuple[int, int] = Field(default=(2, 2), description="The mode (l, m).", strict=False)
    before: float = Field(default=500.0, gt=0, le=1e6, description="Time before the peak, in total masses.")
    after: float = Field(default=75.0, gt=0, le=1e4, description="Time after the peak, in total masses.")
    step: float = Field(default=0.5, gt=0, le=10, description="Step of time, in total masses.")
    inputs: tuple[str, ...] = Field(
        default=("mass_ratio", "spin_1", "spin_2"), min_length=1, strict=False,
        description="Which of mass_ratio, spin_1 and spin_2 are inputs; leave out what is the same in all files.",
    )  # fmt: skip


class LvcnrSource:
    """One open waveform: one sample."""

    def __init__(self, path: Path, file: h5py.File, options: LvcnrOptions) -> None:
        """Wrap an open file.

        Raises:
            SourceError: If it lacks the mode, or asks for an input that there is not.
        """
        self.path, self._file, self._options = path, file, options
        unknown = [name for name in options.inputs if name not in _INPUTS]
        if unknown:
            raise SourceError(f"'{unknown[0]}' is no input of a waveform; there are {', '.join(_INPUTS)}.")

    @property
    def pieces(self) -> Sequence[Piece]:
        """The one waveform (see `Source.pieces`)."""
        return (Piece(0, 1),)

    def _axis(self) -> Coordinate:
        options = self._options
        before, after = round(options.before / options.step), round(options.after / options.step)
        return Coordinate("time", "1", tuple(options.step * number for number in range(-before, after + 1)))

    def sketch(self) -> Sketch:
        """Return inputs and both parts of the mode (see `Source.sketch`)."""
        axis = self._axis()
        order, m = self._options.mode
        outputs = tuple(
            Column(
                name, "output", "1", shape=(len(axis.values),), dims=("time",), low=-1.0, high=1.0,
                description=f"{part} part of r·h/M, mode ({order}, {m}), phase 0 at the peak, time in total masses",
            )
            for name, part in (("h_re", "real"), ("h_im", "imaginary"))
        )  # fmt: skip
        return Sketch({name: dict(_INPUTS[name]) for name in self._options.inputs}, outputs, (axis,))

    def read(self, piece: Piece, schema: Schema, names: Collection[str] | None = None) -> Block:
        """Read the waveform (see `Source.read`)."""
        del piece
        wanted = {column.name for column in schema.columns} if names is None else set(names)
        columns: dict[str, Values] = {
            name: np.asarray([value]) for name, value in self._inputs().items() if name in wanted
        }
        if wanted & {"h_re", "h_im"}:
            mode = self._mode()
            columns |= {
                name: part[np.newaxis] for name, part in (("h_re", mode.real), ("h_im", mode.imag)) if name in wanted
            }
        unknown = wanted - columns.keys()
        if unknown:
            raise SourceError(
                f"{self.path} has no '{min(unknown)}'; a waveform has {', '.join(self._options.inputs)}, h_re, h_im.",
                FailureKind.OUTPUT_MISSING,
            )
        return Block(columns, (), (self._axis(),))

    def _attribute(self, name: str, default: float | None = None) -> float:
        value = self._file.attrs.get(name, default)
        if value is None:
            raise SourceError(f"{self.path} has no attribute '{name}'.", FailureKind.OUTPUT_MISSING)
        try:
            return float(np.asarray(value).reshape(-1)[0])
        except (TypeError, ValueError, IndexError) as error:
            raise SourceError(f"The attribute '{name}' of {self.path} is no number: {value!r}.") from error

    def _inputs(self) -> dict[str, float]:
        """Return mass ratio and aligned spins, the heavier hole first.

        Raises:
            SourceError: If a spin lies in the plane, which these inputs cannot say.
        """
        masses = (self._attribute("mass1"), self._attribute("mass2"))
        spins = (self._attribute("spin1z", 0.0), self._attribute("spin2z", 0.0))
        tilt = max(abs(self._attribute(f"spin{i}{axis}", 0.0)) for i in (1, 2) for axis in "xy")
        if tilt > _IN_PLANE:
            raise SourceError(
                f"{self.path} has a spin of {tilt:.3g} in the orbit's plane, and only aligned spins are inputs here.",
                FailureKind.WRONG_INPUTS,
            )
        if min(masses) <= 0:
            raise SourceError(f"{self.path} has masses of {masses[0]} and {masses[1]}.", FailureKind.WRONG_INPUTS)
        if masses[0] < masses[1]:
            masses, spins = masses[::-1], spins[::-1]
        values = {"mass_ratio": masses[0] / masses[1], "spin_1": spins[0], "spin_2": spins[1]}
        return {name: values[name] for name in self._options.inputs}

    def _spline(self, name: str, grid: Array | None) -> tuple[Array, Array]:
        """Return the knots of a spline and its values on a grid, or on the knots.

        Raises:
            SourceError: If there is none of that name, or its knots do not rise.
        """
        from scipy.interpolate import InterpolatedUnivariateSpline

        group = self._file.get(name)
        if not isinstance(group, h5py.Group) or not {"X", "Y", "deg"} <= set(group):
            known = sorted(key for key in self._file if key.startswith("amp_"))
            raise SourceError(
                f"{self.path} has no spline '{name}'; its modes are {', '.join(known) or 'none'}.",
                FailureKind.OUTPUT_MISSING,
            )
        knots, values = (np.asarray(group[key][()], dtype=np.float64) for key in ("X", "Y"))
        degree = int(group["deg"][()])
        sound = knots.shape == values.shape and len(knots) > degree and np.all(np.diff(knots) > 0)
        if not sound or not 1 <= degree <= 5 or not np.isfinite(values).all():
            raise SourceError(f"The spline '{name}' of {self.path} is none: knots must rise, values be finite.")
        where = knots if grid is None else grid
        spline: Any = InterpolatedUnivariateSpline
        return knots, np.asarray(spline(knots, values, k=degree)(where))

    def _mode(self) -> NDArray[np.complex128]:
        """Return r·h/M of the mode on the grid around its peak, `[K]` complex128; phase 0 at the peak.

        Raises:
            SourceError: If the waveform is shorter than the grid.
        """
        order, m = self._options.mode
        suffix = f"l{order}_m{m}"
        knots, _ = self._spline(f"amp_{suffix}", None)
        peak = float(knots[0])
        span, step = (knots[0], knots[-1]), 0.25
        for _ in range(3):
            fine = np.arange(max(span[0], knots[0]), min(span[1], knots[-1]), step)
            peak = float(fine[np.argmax(self._spline(f"amp_{suffix}", fine)[1])])
            span, step = (peak - 2 * step, peak + 2 * step), step / 16
        grid = peak + self._axis().array
        if grid[0] < knots[0] or grid[-1] > knots[-1]:
            raise SourceError(
                f"{self.path} reaches from {knots[0] - peak:.1f} to {knots[-1] - peak:.1f} total masses around its "
                f"peak, and {grid[0] - peak:.1f} to {grid[-1] - peak:.1f} are asked for. Ask for less.",
                FailureKind.WRONG_SHAPE,
            )
        amplitude, phase = (self._spline(f"{kind}_{suffix}", grid)[1] for kind in ("amp", "phase"))
        at_peak = self._spline(f"phase_{suffix}", np.asarray([peak]))[1][0]
        return np.asarray(amplitude * np.exp(1j * (phase - at_peak)))


class LvcnrReader:
    """Reads waveforms of numerical relativity (see `Reader`)."""

    name = "lvcnr"
    suffixes = (".h5", ".hdf5")
    options_type: type[BaseModel] = LvcnrOptions

    def tags(self, path: Path, options: BaseModel) -> dict[str, str]:
        """Return nothing: all is in the file (see `Reader.tags`)."""
        del path, options
        return {}

    @contextlib.contextmanager
    def open(self, path: Path, options: BaseModel) -> Iterator[LvcnrSource]:
        """Open a file (see `Reader.open`)."""
        if not isinstance(options, LvcnrOptions):
            raise TypeError("The options of this reader are LvcnrOptions.")
        with opened(path) as file:
            yield LvcnrSource(path, file, options)


LVCNR = LvcnrReader()
