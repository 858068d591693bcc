"""`surrogate inject`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workflows.cli import console

if TYPE_CHECKING:
    from surrogate.signal.psd import Psd


def add_inject_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("inject")(_inject)


def _inject(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files go; made when missing.")],
    strain: Annotated[
        list[Path] | None, typer.Argument(metavar="[STRAIN.hdf5]...", help="Recorded strain, one file a detector.")
    ] = None,
    noise: Annotated[
        int | None, typer.Option("--noise", metavar="SECONDS", min=8, help="Simulate noise instead of reading strain.")
    ] = None,
    detectors: Annotated[
        str, typer.Option("--detectors", metavar="H1,L1", help="With --noise: whose; each gets noise of its own.")
    ] = "H1",
    rate: Annotated[int, typer.Option("--rate", metavar="HZ", min=256, help="With --noise: samples a second.")] = 4096,
    start: Annotated[
        int, typer.Option("--start", metavar="GPS", help="With --noise: the first second.")
    ] = 1_000_000_000,
    psd: Annotated[
        str, typer.Option("--psd", help="Spectrum of the noise: 'aligo', or a file (HDF5, or text of amplitudes).")
    ] = "aligo",
    seed: Annotated[int, typer.Option("--seed", min=0, help="With --noise: of the noise.")] = 0,
    listed: Annotated[
        Path | None, typer.Option("--list", metavar="CSV", help="Many binaries, one a line; the header names columns.")
    ] = None,
    at: Annotated[
        float | None, typer.Option("--at", metavar="GPS", help="When the peak of one binary arrives.")
    ] = None,
    mass_1: Annotated[float, typer.Option("--mass-1", help="Solar masses, at the detector.")] = 36.0,
    mass_2: Annotated[float, typer.Option("--mass-2", help="Solar masses, at the detector.")] = 29.0,
    snr: Annotated[float | None, typer.Option("--snr", help="Optimal ratio in all detectors together.")] = None,
    distance: Annotated[float | None, typer.Option("--distance", metavar="MPC", help="Distance instead of it.")] = None,
    approximant: Annotated[str, typer.Option("--approximant", help="Model of the waveform.")] = "SEOBNRv4_opt",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Write strain with injected binaries in GWOSC's layout, and a list of what is in it.

    Columns of the list: gps, mass_1, mass_2, snr or distance_mpc, and where wanted spin_1, spin_2, longitude, latitude,
    polarisation, inclination (rad, in the Earth's frame).
    """
    from surrogate.core.errors import ConfigError
    from surrogate.signal.gwosc import read_strain
    from surrogate.signal.welch import welch
    from workflows import inject as work

    if bool(strain) == (noise is not None):
        raise ConfigError("Say what binaries are added to: files of recorded strain, or --noise SECONDS.")
    if (listed is None) == (at is None):
        raise ConfigError("Say which binaries are added: --list CSV, or --at GPS with --snr or --distance.")
    if listed is not None:
        injections = work.read_injections(listed)
    else:
        injections = [work.Injection(at or 0.0, mass_1, mass_2, snr=snr, distance_mpc=distance)]
    if noise is not None:
        spectrum = _spectrum(psd)
        strains = work.simulated(detectors.split(","), spectrum, seconds=noise, rate=rate, start=start, seed=seed)
        psds = [spectrum] * len(strains)
    else:
        strains = [read_strain(path) for path in strain or ()]
        psds = [welch(entry.data, entry.rate) for entry in strains]
    found, truth = work.inject_all(strains, psds, injections, work.Making(approximant))
    given = [*(strain or ()), *([listed] if listed else [])]
    paths = work.write_all(folder, found, truth, given)
    if as_json:
        console.put_json({"files": [str(path) for path in paths], "injections": truth})
        return
    for path in paths:
        console.put(str(path))
    loudest = max(truth, key=lambda entry: float(entry["snr"]))
    console.put(
        f"{len(truth)} binaries were injected; the loudest, at GPS {loudest['gps']}, has a ratio of "
        f"{loudest['snr']:.2f}."
    )


def _spectrum(name: str) -> Psd:
    """Return the spectrum that a command line names."""
    from surrogate.signal.aligo import aligo
    from surrogate.signal.psd import read_psd

    return aligo() if name == "aligo" else read_psd(Path(name))
