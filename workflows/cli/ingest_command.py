"""`surrogate ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workflows.cli import console

if TYPE_CHECKING:
    from workflows.ingest.ingest import Ingested

NOTHING_TAKEN = 1


def add_ingest_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("ingest")(_ingest)


def _ingest(
    workdir: Annotated[Path, typer.Argument(metavar="WORKDIR", help="Working directory; made when missing.")],
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, and folders of files.")],
    mapping: Annotated[
        Path | None,
        typer.Option("--mapping", metavar="FILE", help="TOML file: what in the files is which input, output."),
    ] = None,
    format_name: Annotated[
        str | None, typer.Option("--format", help="Format, where the mapping does not say it or none is needed.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="What the mapping would say; may be given several times."),
    ] = None,
    campaign: Annotated[
        str | None, typer.Option("--campaign", metavar="FILE", help="Campaign with [data]; needed the first time.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be taken and what not; write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Take data that exist already into a campaign without a simulator. The same file twice adds nothing.

    Exit codes: 0 also when some files were refused (they are listed); 1 when not a single sample could be taken.
    """
    from surrogate.core.errors import ConfigError
    from workflows.config import load_campaign
    from workflows.ingest import ingest as work
    from workflows.ingest.layout import load_layout

    if mapping is None and format_name is None:
        raise ConfigError(
            "Say how the files are to be read: --mapping FILE, or --format NAME for a format that needs none."
        )
    layout = load_layout(mapping, format_name, option or ())
    described = load_campaign(campaign) if campaign is not None else None
    act = work.dry_run if dry_run else work.ingest
    with console.progress() as progress:
        result = act(workdir, paths, layout, campaign=described, progress=progress)
    if as_json:
        console.put_json(result.to_json())
    else:
        _show(result)
    if not result.tally.taken and not result.tally.known:
        raise typer.Exit(NOTHING_TAKEN)


def _show(result: Ingested) -> None:
    """Print what became of the files."""
    tally = result.tally
    would = "would be " if result.dry_run else ""
    console.put(f"Files      {tally.files:,}")
    console.put(f"Taken      {tally.taken:,} samples {would}taken")
    if tally.known:
        console.put(f"Known      {tally.known:,} samples are there already")
    if tally.refused_before:
        console.put(f"Refused    {tally.refused_before:,} samples were refused before, and are not read again")
    if tally.left_out:
        console.put(f"Left out   {tally.left_out:,} files that are there by another mapping")
    if tally.refused:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(tally.kinds.items(), key=lambda item: -item[1]))
        console.put(f"Refused    {tally.refused:,} samples {would}refused: {kinds}")
    for entry in tally.reasons:
        console.put(f"  {_sentence(entry)}")
    if tally.refusals.other:
        console.put(f"  … and {tally.refusals.other:,} for other reasons")
    if (tally.refused or tally.refused_before) and not result.dry_run:
        console.put(f"  All that is refused is in {result.workdir / 'dataset' / 'quarantine.jsonl'}")
    if result.dry_run:
        console.put("Nothing was written.")
        return
    console.put(f"Dataset    {result.samples:,} samples, hash {result.dataset_hash}")
    console.put(f"Go on with: surrogate resume {result.workdir}")


def _sentence(entry: dict[str, Any]) -> str:
    """Return a reason with its first example, and how many share it."""
    where = entry["file"] if entry["sample"] in (None, -1) else f"{entry['file']}, sample {entry['sample']}"
    reason = entry["reason"] if str(entry["file"]) in entry["reason"] else f"{where}: {entry['reason']}"
    for what in ("files", "samples"):
        if entry[what] > 1:
            return f"{reason} (and {entry[what] - 1:,} more {what})"
    return str(reason)
