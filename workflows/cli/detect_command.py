"""`surrogate detect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workflows.cli import console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from surrogate.inference.detection.search import Search
    from surrogate.inference.detection.triggers import Trigger

_SHOWN = 10


def add_detect_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("detect")(_detect)


def _detect(
    workdir: Annotated[Path, typer.Argument(metavar="WORKDIR", help="Working directory of a detector's campaign.")],
    strains: Annotated[
        list[Path], typer.Argument(metavar="STRAIN.hdf5 [STRAIN2.hdf5]", help="Strain of one or two detectors.")
    ],
    far: Annotated[
        str | None, typer.Option("--far", metavar="RATE", help="List what is rarer by chance, such as 1/day.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Where the files go; else WORKDIR/detections.")
    ] = None,
    version: Annotated[str | None, typer.Option("--version-id", help="A version; else the current one.")] = None,
    registry: Annotated[
        Path | None, typer.Option("--registry", metavar="DIR", help="The registry; else as `surrogate run`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Search strain for binaries: triggers, coincident in two detectors, with false-alarm rates by time slides.

    Writes triggers.csv, triggers.json and strain.png. No rate is claimed that the data cannot support.
    """
    from surrogate.core.errors import DataError
    from surrogate.inference.detection.output import write_search
    from surrogate.inference.detection.rates import parse_rate
    from surrogate.inference.detection.search import search, summary
    from surrogate.signal.gwosc import read_strain
    from workflows.cli.predict_command import load_predictor

    if len(strains) > 2:
        raise DataError(f"The strain of one or two detectors is searched, and {len(strains)} files were given.")
    rate = parse_rate(far) if far is not None else None
    recorded = [read_strain(path) for path in strains]
    predictor = load_predictor(workdir, registry, version, "onnx")
    with console.progress(quiet=as_json) as progress:
        found = search(predictor, recorded, progress=progress.say)
    paths = write_search(output or workdir / "detections", found, rate)
    if as_json:
        console.put_json({**summary(found, rate), "files": [str(path) for path in paths]})
        return
    _show(found, found.significant(rate), rate)
    console.put("Files       " + ", ".join(str(path) for path in paths))


def _show(found: Search, triggers: Sequence[Trigger], far: float | None) -> None:
    """Print what was found."""
    from surrogate.inference.detection.search import per_day

    names = " and ".join(entry.white.detector or "one detector" for entry in found.looked)
    console.put(f"Searched    {found.seconds:.4g} s of {names}")
    for sentence in found.sentences(far):
        console.put(f"Note        {sentence}")
    console.put(f"Triggers    {len(triggers)}" + (f", the {_SHOWN} loudest:" if len(triggers) > _SHOWN else ""))
    for entry in triggers[:_SHOWN]:
        rate = "" if entry.far is None else f"  FAR ≤ {per_day(entry.far)}"
        console.put(
            f"  GPS {entry.gps:.4f}  {entry.detectors}  statistic {entry.statistic:.1f}{rate}  masses "
            f"{entry.mass_1:.0f} and {entry.mass_2:.0f} solar masses"
        )
