"""The reader `gwosc`: recorded strain becomes windows of noise.

A sample is a window of whitened or raw strain, its input the GPS time of the window's first sample (to 12 digits, 10
ms). Windows of one block of time share a group key and lie wholly inside of the block: no sample of strain is ever on
both sides of the border between training and holdout.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from surrogate.core.errors import DataError
from surrogate.core.outcome import FailureKind
from surrogate.core.schema import Column, Coordinate, Schema, Values
from surrogate.data.readers.protocol import Block, Piece, Sketch, SourceError
from surrogate.signal.gwosc import read_strain
from surrogate.signal.strain import Strain, resample, stretches
from surrogate.signal.welch import welch
from surrogate.signal.whiten import whiten_strain, whitener

_GPS_RANGE = (0.0, 4.0e9)
_ROWS = 256


class GwoscOptions(BaseModel):
    """How strain files are cut into windows."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    window_s: float = Field(default=1.0, gt=0, le=4096, description="Length of a window, s.")
    stride_s: float | None = Field(default=None, gt=0, description="Between two windows, s; the window's length.")
    block_s: float = Field(
        default=16.0, gt=0, description="Windows of one such block of time stay together in every split, s."
    )
    sample_rate: int | None = Field(
        default=None, ge=1, description="Samples a second; strain of a multiple is resampled. The file's when left out."
    )
    whiten: bool = Field(default=True, description="Whether windows are whitened by the file's own median spectrum.")
    filter_s: float = Field(default=1.0, gt=0, le=64, description="Length of the whitening filter, s.")
    segment_s: float = Field(default=4.0, gt=0, le=64, description="Length of the spectrum's segments, s.")
    low_hz: float = Field(default=20.0, gt=0, description="Lowest frequency that is kept, Hz.")

    @model_validator(mode="after")
    def _check(self) -> GwoscOptions:
        if self.block_s < self.window_s:
            raise ValueError("'block_s' must be at least 'window_s', since a window lies inside of its block")
        return self


class GwoscSource:
    """One open strain file."""

    def __init__(self, path: Path, options: GwoscOptions) -> None:
        """Read, resample and whiten the strain, and find its windows.

        Raises:
            SourceError: If it cannot be used.
        """
        self.path, self._options = path, options
        strain = read_strain(path)
        try:
            if options.sample_rate is not None:
                strain = resample(strain, options.sample_rate)
            if options.whiten:
                psd = welch(strain.data, strain.rate, options.segment_s)
                strain = whiten_strain(strain, whitener(psd, strain.rate, options.filter_s, options.low_hz))
        except DataError as error:
            raise SourceError(f"{path}: {error}", FailureKind.WRONG_SHAPE) from error
        self._strain = strain
        self._length = round(options.window_s * strain.rate)
        self._starts = list(self._windows(strain))
        if not self._starts:
            longest = max((stop - first for first, stop in stretches(strain.data)), default=0) / strain.rate
            cropped = (
                f" after {options.filter_s / 2} s at each end went to the whitening filter" if options.whiten else ""
            )
            raise SourceError(
                f"{path} has no window of {options.window_s} s without a gap; the longest stretch has {longest:.3g} s"
                f"{cropped}.",
                FailureKind.OUTPUT_MISSING,
            )

    def _windows(self, strain: Strain) -> Iterator[int]:
        """Yield the first sample of every window that touches no gap and no border of a block."""
        options = self._options
        stride = max(1, round((options.stride_s or options.window_s) * strain.rate))
        block = max(self._length, round(options.block_s * strain.rate))
        origin = round(strain.start * strain.rate)  # blocks are fixed in time, whichever file they are read from
        for first, stop in stretches(strain.data, self._length):
            number = (origin + first) // block
            while number * block - origin < stop:
                begin = max(first, number * block - origin)
                end = min(stop, (number + 1) * block - origin)
                yield from range(begin, end - self._length + 1, stride)
                number += 1

    @property
    def pieces(self) -> Sequence[Piece]:
        """All windows, cut (see `Source.pieces`)."""
        count = len(self._starts)
        return tuple(Piece(start, min(start + _ROWS, count)) for start in range(0, count, _ROWS))

    def _axis(self) -> Coordinate:
        rate = self._strain.rate
        return Coordinate("time", "s", tuple(number / rate for number in range(self._length)))

    def sketch(self) -> Sketch:
        """Return the one input and the one output (see `Source.sketch`)."""
        low, high = _GPS_RANGE
        gps = {"low": low, "high": high, "unit": "s", "description": "GPS time of the window's first sample"}
        what = "whitened strain, unit variance" if self._options.whiten else "strain"
        strain = Column("strain", "output", "1", shape=(self._length,), dims=("time",), description=what)
        return Sketch({"gps": gps}, (strain,), (self._axis(),))

    def read(self, piece: Piece, schema: Schema, names: Collection[str] | None = None) -> Block:
        """Read one piece (see `Source.read`)."""
        starts = np.asarray(self._starts[piece.start : piece.stop], dtype=np.int64)
        strain = self._strain
        axis = schema.coordinate("time")
        if axis is not None and len(axis.values) > 1 and round(1.0 / axis.values[1]) != strain.rate:
            raise SourceError(
                f"{self.path} has {strain.rate} samples a second, and the windows of this dataset have "
                f"{round(1.0 / axis.values[1])}. Set 'sample_rate' in the mapping to a rate that all files can be "
                "brought to, before the first ingest.",
                FailureKind.WRONG_SHAPE,
            )
        gps = strain.start + starts / strain.rate
        wanted = {column.name for column in schema.columns} if names is None else set(names)
        columns: dict[str, Values] = {}
        if "gps" in wanted:
            columns["gps"] = gps
        if "strain" in wanted:
            columns["strain"] = strain.data[starts[:, np.newaxis] + np.arange(self._length)]
        unknown = wanted - columns.keys()
        if unknown:
            raise SourceError(
                f"{self.path} has 'gps' and 'strain' only; '{min(unknown)}' was asked for.", FailureKind.OUTPUT_MISSING
            )
        block = self._options.block_s
        # Both detectors share the key: what happened at one time is on one side of the border.
        groups = tuple(f"gps-{math.floor(time / block)}" for time in gps.tolist())
        return Block(columns, groups, (self._axis(),))


class GwoscReader:
    """Reads strain files (see `Reader`)."""

    name = "gwosc"
    suffixes = (".hdf5", ".h5")
    options_type: type[BaseModel] = GwoscOptions

    def tags(self, path: Path, options: BaseModel) -> dict[str, str]:
        """Return nothing: all is in the file (see `Reader.tags`)."""
        del path, options
        return {}

    @contextlib.contextmanager
    def open(self, path: Path, options: BaseModel) -> Iterator[GwoscSource]:
        """Open a file (see `Reader.open`)."""
        if not isinstance(options, GwoscOptions):
            raise TypeError("The options of this reader are GwoscOptions.")
        yield GwoscSource(path, options)


GWOSC = GwoscReader()
