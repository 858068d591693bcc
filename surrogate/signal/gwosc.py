"""Strain files in the HDF5 layout of the Gravitational Wave Open Science Center, read and written.

    strain/Strain            [N] float64; attributes Xstart (GPS), Xspacing (s), Npoints, Xunits, Yunits, Ylabel
    quality/simple/DQmask    [S] one number a second; bit 0 says that there are data
    meta/GPSstart, Duration, Detector, Observatory, Type, UTCstart, Description

Read as well is what PyCBC saves: one row `data` with the attributes start_time and delta_t.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from surrogate.core.errors import DataError
from surrogate.core.files import atomic_path
from surrogate.core.outcome import FailureKind
from surrogate.data.readers.protocol import SourceError
from surrogate.signal.strain import Strain, stretches, whole_rate

STRAIN, MASK = "strain/Strain", "quality/simple/DQmask"
_LAYOUTS = ((STRAIN, "Xstart", "Xspacing"), ("data", "start_time", "delta_t"))
"""Dataset, and its attributes with the first time (GPS) and the period (s)."""

_GPS_EPOCH = datetime(1980, 1, 6, tzinfo=UTC)
_LEAP_S = 18
"""GPS is so many seconds ahead of UTC since 2017; it is written for people to read only."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """Open a file for reading; what HDF5 raises becomes a sentence.

    Raises:
        SourceError: If it cannot be read.
    """
    try:
        with h5py.File(path, "r") as file:
            yield file
    except FileNotFoundError as error:
        raise SourceError(f"The strain file {path} does not exist.", FailureKind.OUTPUT_MISSING) from error
    except (OSError, RuntimeError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read as HDF5: {error}.") from error


def read_strain(path: Path, *, rate: int | None = None, least_s: float = 0.0) -> Strain:
    """Read a strain file; seconds that are marked as without data become NaN.

    Args:
        path: The file.
        rate: Refuse any other number of samples a second; None takes the file's.
        least_s: Refuse a file without a stretch so long and free of gaps.

    Raises:
        SourceError: If it is no such file, is damaged, has another rate, or is too short.
    """
    with opened(path) as file:
        layout = next((names for names in _LAYOUTS if names[0] in file), None)
        if layout is None:
            raise SourceError(
                f"{path} has no '{STRAIN}' and is no strain file of GWOSC's layout; it has "
                f"{', '.join(list(file)[:12]) or 'nothing'}.",
                FailureKind.OUTPUT_MISSING,
            )
        name, *keys = layout
        series = file[name]
        if not isinstance(series, h5py.Dataset) or series.ndim != 1 or series.dtype.kind != "f" or not series.shape[0]:
            raise SourceError(f"'{name}' in {path} is not one row of numbers.", FailureKind.WRONG_SHAPE)
        missing = [key for key in keys if key not in series.attrs]
        if missing:
            raise SourceError(
                f"'{name}' in {path} does not say its '{missing[0]}', so that its times are unknown.",
                FailureKind.OUTPUT_MISSING,
            )
        start, period = (float(series.attrs[key]) for key in keys)
        found = _rate(path, period)
        mask = np.asarray(file[MASK][()]) if MASK in file else None
        data = _gaps(path, np.asarray(series[()], dtype=np.float64), found, mask)
        strain = Strain(data, found, start, _detector(file))
    return _fit(path, strain, rate, least_s)


def _rate(path: Path, period: float) -> int:
    try:
        return whole_rate(period, str(path))
    except DataError as error:
        raise SourceError(str(error), FailureKind.WRONG_SHAPE) from error


def _detector(file: h5py.File) -> str:
    if "meta/Detector" not in file:
        return ""
    value = file["meta/Detector"][()]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)


def _gaps(path: Path, data: NDArray[np.float64], rate: int, mask: NDArray[Any] | None) -> NDArray[np.float64]:
    """Return the data with NaN wherever nothing was recorded, as the mask of seconds says."""
    data = np.where(np.isfinite(data), data, np.nan)
    if mask is None:
        return data
    if len(mask) * rate != len(data):
        raise SourceError(
            f"{path} has {len(data)} samples at {rate} Hz and a quality mask of {len(mask)} seconds; they do not "
            "belong together. The file was cut or is damaged.",
            FailureKind.WRONG_SHAPE,
        )
    absent = np.repeat((mask.astype(np.int64) & 1) == 0, rate)
    data[absent] = np.nan
    return data


def _fit(path: Path, strain: Strain, rate: int | None, least_s: float) -> Strain:
    if rate is not None and strain.rate != rate:
        raise SourceError(
            f"{path} has {strain.rate} samples a second, and {rate} are needed. Fetch the file of that rate, or "
            "resample it.",
            FailureKind.WRONG_SHAPE,
        )
    longest = max((stop - first for first, stop in stretches(strain.data)), default=0) / strain.rate
    if longest < max(least_s, 1.0 / strain.rate):
        gaps = "no sample that is finite" if not longest else f"at most {longest} s without a gap"
        raise SourceError(
            f"{path} holds {strain.seconds} s with {gaps}, and {least_s} s are needed.", FailureKind.OUTPUT_MISSING
        )
    return strain


def file_name(strain: Strain, label: str = "SURROGATE") -> str:
    """Return the customary name of a strain file: observatory, detector, first second, seconds."""
    detector = strain.detector or "X1"
    return f"{detector[0]}-{detector}_{label}-{math.floor(strain.start)}-{math.ceil(strain.seconds)}.hdf5"


def write_strain(path: Path, strain: Strain, description: str = "") -> None:
    """Write a strain file atomically; seconds with a sample that is not finite are marked as without data.

    Args:
        path: The file.
        strain: Starting at a whole second and lasting whole seconds.
        description: What is in it.

    Raises:
        DataError: If it does not start or end at a whole second.
    """
    if strain.start != math.floor(strain.start) or len(strain.data) % strain.rate:
        raise DataError(
            f"Strain files begin at a whole GPS second and last whole seconds; {strain.start} and {strain.seconds} s "
            "were found."
        )
    seconds = len(strain.data) // strain.rate
    good = np.isfinite(strain.data.reshape(seconds, strain.rate)).all(axis=1)
    with atomic_path(path) as temporary, h5py.File(temporary, "w") as file:
        series = file.create_dataset(STRAIN, data=strain.data, compression="gzip", shuffle=True)
        series.attrs.update(
            {
                "Npoints": len(strain.data), "Xlabel": "GPS time", "Xspacing": 1.0 / strain.rate,
                "Xstart": int(strain.start), "Xunits": "second", "Ylabel": "Strain", "Yunits": "",
            }
        )  # fmt: skip
        mask = file.create_dataset(MASK, data=good.astype(np.uint32))
        mask.attrs.update({"Bits": 1, "Npoints": seconds, "Xspacing": 1.0, "Xstart": int(strain.start)})
        text = h5py.string_dtype()
        file.create_dataset("quality/simple/DQShortnames", data=["DATA"], dtype=text)
        file.create_dataset("quality/simple/DQDescriptions", data=["data present"], dtype=text)
        began = _GPS_EPOCH + timedelta(seconds=math.floor(strain.start) - _LEAP_S)
        for name, value in (
            ("Description", description or "Strain data time series"), ("Detector", strain.detector),
            ("Observatory", strain.detector[:1]), ("Type", "StrainTimeSeries"),
            ("UTCstart", began.strftime("%Y-%m-%dT%H:%M:%S")),
        ):  # fmt: skip
            file.create_dataset(f"meta/{name}", data=value, dtype=text)
        file["meta/GPSstart"], file["meta/Duration"] = int(strain.start), seconds
