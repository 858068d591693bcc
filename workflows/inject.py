"""Strain with injected binaries, to test a search with: noise made or recorded, waveforms added, truth written."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.compact_binary.waveforms import Binary, waveform
from surrogate.core.errors import ConfigError, DataError, nearest
from surrogate.core.files import atomic_path, same_file
from surrogate.signal.detectors import detector
from surrogate.signal.gwosc import file_name, write_strain
from surrogate.signal.injection import inject
from surrogate.signal.noise import NoiseSource
from surrogate.signal.psd import Psd
from surrogate.signal.snr import Band, optimal_snr
from surrogate.signal.strain import Strain
from surrogate.signal.waveform import Waveform

TRUTH = "injections.csv"


@dataclass(frozen=True, slots=True)
class Injection:
    """One binary.

    Attributes:
        gps: When its peak passes the Earth's centre, or the detector where there is only one and no direction is given.
        mass_1: Solar masses, at the detector.
        mass_2: Solar masses.
        spin_1: Along the orbit's axis, dimensionless.
        spin_2: Likewise.
        snr: Optimal ratio in all detectors together; None when the distance is given.
        distance_mpc: Mpc; None when the ratio is given.
        longitude: Of the source in the Earth's frame, rad; None for straight above, without delay.
        latitude: rad.
        polarisation: rad.
        inclination: rad.
    """

    gps: float
    mass_1: float
    mass_2: float
    spin_1: float = 0.0
    spin_2: float = 0.0
    snr: float | None = None
    distance_mpc: float | None = None
    longitude: float | None = None
    latitude: float | None = None
    polarisation: float = 0.0
    inclination: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what is no injection.

        Raises:
            ConfigError: If loudness or direction is given twice, by half or not at all, or a number is unfit.
        """
        if (self.snr is None) == (self.distance_mpc is None):
            raise ConfigError("An injection has either a signal-to-noise ratio or a distance; give one of them.")
        if (self.longitude is None) != (self.latitude is None):
            raise ConfigError("A direction has a longitude and a latitude; give both or neither.")
        loudness = self.snr if self.distance_mpc is None else self.distance_mpc
        numbers = [value for value in asdict(self).values() if value is not None]
        if not all(map(math.isfinite, numbers)) or min(self.mass_1, self.mass_2, loudness or 0.0) <= 0.0:
            raise ConfigError(f"Masses, ratio and distance of an injection must be above 0 and all be finite: {self}.")


@dataclass(frozen=True, slots=True)
class Making:
    """How waveforms are made.

    Attributes:
        approximant: Of lalsimulation.
        low_hz: Frequency at which they begin and from which on the ratio counts, Hz.
        edge_s: Seconds at each end of the strain that no peak may lie in.
    """

    approximant: str = "SEOBNRv4_opt"
    low_hz: float = 20.0
    edge_s: float = 1.0


def read_injections(path: Path) -> list[Injection]:
    """Read a list of injections from a CSV file whose header names attributes of `Injection`.

    Raises:
        ConfigError: If a column is unknown or a value is no number; the sentence names the line.
    """
    known = [entry.name for entry in fields(Injection)]
    try:
        with path.open(encoding="utf-8", newline="") as source:
            rows = list(csv.DictReader(source))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"The list of injections {path} cannot be read: {error}.") from error
    if not rows:
        raise ConfigError(f"{path} lists no injection; its header may name {', '.join(known)}.")
    found: list[Injection] = []
    for line, row in enumerate(rows, 2):
        unknown = [name for name in row if name not in known]
        if unknown:
            raise ConfigError(
                f"{path} has a column '{unknown[0]}'; there are {', '.join(known)}.{nearest(str(unknown[0]), known)}"
            )
        try:
            found.append(Injection(**{name: float(value) for name, value in row.items() if value not in ("", None)}))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{path}, line {line}: {error}.") from error
        except ConfigError as error:
            raise ConfigError(f"{path}, line {line}: {error}") from error
    return found


def simulated(detectors: Sequence[str], psd: Psd, *, seconds: int, rate: int, start: int, seed: int) -> list[Strain]:
    """Return noise of each detector; the same seed gives each its own.

    Args:
        detectors: Their prefixes.
        psd: The noise.
        seconds: Length.
        rate: Samples a second.
        start: GPS time of the first sample.
        seed: Of all of it.

    Raises:
        ConfigError: If a detector is named twice.
    """
    if len(set(detectors)) != len(detectors):
        raise ConfigError(f"Each detector can be named once; {', '.join(detectors)} was given.")
    return [
        Strain(NoiseSource(psd, rate, name, "test", seed).window(0, seconds * rate), rate, float(start), name)
        for name in detectors
    ]


def _seen(strain: Strain, wave: Waveform, injection: Injection) -> tuple[np.ndarray[Any, Any], float]:
    """Return what a detector sees of a wave, and when its peak arrives there."""
    if injection.longitude is None or injection.latitude is None:
        return wave.seen(math.cos(2.0 * injection.polarisation), math.sin(2.0 * injection.polarisation)), injection.gps
    place = detector(strain.detector)
    patterns = place.patterns(injection.longitude, injection.latitude, injection.polarisation)
    return wave.seen(*patterns), injection.gps + place.delay(injection.longitude, injection.latitude)


def inject_all(
    strains: Sequence[Strain], psds: Sequence[Psd], injections: Iterable[Injection], making: Making
) -> tuple[list[Strain], list[dict[str, Any]]]:
    """Add binaries to the strain of one or more detectors.

    Args:
        strains: One of each detector.
        psds: The noise of each, by which ratios are measured.
        injections: What is added.
        making: How waveforms are made.

    Returns:
        The strains, and of each injection its parameters, distance, ratio in each detector and of all together.

    Raises:
        DataError: If one would be cut off or falls into a gap.
        MissingExtraError: If lalsimulation is not installed.
        SimulationError: If lalsimulation refuses a binary.
    """
    found, truth = list(strains), []
    for injection in injections:
        record: dict[str, Any] = asdict(injection)
        distance = injection.distance_mpc or 100.0
        binary = Binary(injection.mass_1, injection.mass_2, injection.spin_1, injection.spin_2, injection.inclination)
        waves = {
            rate: waveform(
                binary, approximant=making.approximant, rate=rate, low_hz=making.low_hz, distance_mpc=distance
            )
            for rate in sorted({strain.rate for strain in strains})
        }
        seen = [_seen(strain, waves[strain.rate], injection) for strain in strains]
        ratios = [
            optimal_snr(signal, strain.rate, psd, Band(making.low_hz))
            for (signal, _), strain, psd in zip(seen, strains, psds, strict=True)
        ]
        together = math.hypot(*ratios)
        if not together > 0.0:
            raise DataError(f"A binary at GPS {injection.gps} is seen by none of the detectors: turn its polarisation.")
        factor = 1.0 if injection.snr is None else injection.snr / together
        for number, (strain, (signal, gps)) in enumerate(zip(found, seen, strict=True)):
            peak = waves[strain.rate].peak
            found[number] = inject(strain, signal * factor, peak, gps, edge_s=making.edge_s)
            record[f"snr_{strain.detector or number}"] = ratios[number] * factor
            record[f"gps_{strain.detector or number}"] = gps
        truth.append({**record, "snr": together * factor, "distance_mpc": distance / factor})
    return found, truth


def write_all(
    folder: Path, strains: Sequence[Strain], truth: Sequence[Mapping[str, Any]], given: Sequence[Path] = ()
) -> list[Path]:
    """Write one strain file a detector and the list of what is in them; return the files.

    Args:
        folder: Made when missing.
        strains: One of each detector.
        truth: As `inject_all` returned it.
        given: Files that strains and binaries were read from; none of them is written over.

    Raises:
        DataError: If two files would have one name, or one would take the place of a file that was given.
    """
    paths = [folder / file_name(strain) for strain in strains]
    if len(set(paths)) != len(paths):
        raise DataError("Two strains of one detector and time would become one file; give one of each detector.")
    for path in (*paths, folder / TRUTH):
        if any(same_file(path, source) for source in given):
            raise DataError(f"{path} is one of the files that were given, which would be lost. Name another folder.")
    for path, strain in zip(paths, strains, strict=True):
        write_strain(path, strain, f"Strain with {len(truth)} injected binaries")
    with atomic_path(folder / TRUTH) as temporary, temporary.open("w", encoding="utf-8", newline="") as target:
        writer = csv.DictWriter(
            target, fieldnames=list(truth[0]) if truth else [entry.name for entry in fields(Injection)]
        )
        writer.writeheader()
        writer.writerows(truth)
    return [*paths, folder / TRUTH]
