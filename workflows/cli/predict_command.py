"""`surrogate predict`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workflows.cli import console
from workflows.cli.piped_points import as_file

if TYPE_CHECKING:
    from surrogate.inference.predictor import Predictor
    from surrogate.models.protocols import Prediction

_SHOWN = 12


def add_predict_command(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("predict")(_predict)


def _predict(
    workdir: Annotated[Path, typer.Argument(metavar="WORKDIR", help="Working directory of a campaign.")],
    values: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUE]...", help="One point, instead of --input.")
    ] = None,
    points: Annotated[
        Path | None,
        typer.Option(
            "--input", help="Points: .csv or .h5, one column an input; - for CSV by a pipe; structures: .xyz."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Where the predictions go: .csv or .h5; .xyz for structures.")
    ] = None,
    version: Annotated[str | None, typer.Option("--version-id", help="A version; else the current one.")] = None,
    registry: Annotated[
        Path | None, typer.Option("--registry", metavar="DIR", help="The registry; else as `surrogate run`.")
    ] = None,
    runtime: Annotated[str, typer.Option("--runtime", help="onnx or tensorflow.")] = "onnx",
    site: Annotated[
        str | None, typer.Option("--site", help="Share a file of points among the workers of this machine.")
    ] = None,
    rows_per_chunk: Annotated[
        int | None, typer.Option("--rows-per-chunk", min=1, help="Points at once; as many as fit when left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")] = False,
) -> None:
    """Predict points: mean, standard deviation, 90 % interval, and whether each lies in the domain.

    Files are streamed, whatever their size. With --site the points are shared among workers, and an interrupted
    prediction goes on when the same command is given again.
    """
    from surrogate.core.errors import DataError

    if (points is None) == (not values):
        raise DataError("Give the points either as a file with --input or as NAME=VALUE on the line.")
    if (site is not None or rows_per_chunk is not None) and (points is None or output is None):
        raise DataError("--site and --rows-per-chunk are for files: give --input and --output as well.")
    predictor = load_predictor(workdir, registry, version, runtime)
    if points is not None and points.suffix in (".xyz", ".extxyz"):
        if site is not None or rows_per_chunk is not None:
            raise DataError("Structures are predicted in one piece: leave out --site and --rows-per-chunk.")
        _predict_structures(predictor, points, output, as_json=as_json)
        return
    with as_file(points, shared=site is not None) as file:
        if file is not None and output is not None:
            _predict_file(predictor, file, output, site=site, rows=rows_per_chunk, runtime=runtime, as_json=as_json)
        else:
            _predict_few(predictor, file, values or [], output, as_json=as_json)


def _predict_few(
    predictor: Predictor, points: Path | None, values: list[str], output: Path | None, *, as_json: bool
) -> None:
    """Predict a point of the command line, or a file of points to be shown."""
    from surrogate.design.points_io import parse_pairs, read_columns
    from surrogate.inference.bounds import beyond_bounds
    from surrogate.inference.outputs import write_prediction

    columns = predictor.schema.inputs
    inputs: dict[str, Any] = dict(read_columns(points, columns) if points else parse_pairs(values, columns))
    prediction = predictor.predict(inputs)
    rows = len(prediction.in_domain)
    outside = int((~prediction.in_domain).sum())
    if output is not None:
        write_prediction(output, predictor.schema, inputs, prediction, _facts(predictor))
    _warn_of_nan(prediction)
    beyond = beyond_bounds(predictor.schema, prediction)
    if as_json:
        facts = {
            "rows": rows,
            "outside_domain": outside,
            "beyond_bounds": beyond,
            "output": str(output) if output is not None else None,
        }
        console.put_json(facts if output is not None else {**facts, **_numbers(prediction)})
        return
    if output is not None:
        console.put(f"{rows} points were predicted into {output}.")
    else:
        _show(predictor, prediction)
    _warn(rows, outside)
    _warn_of_bounds(predictor, rows, beyond)


def _predict_file(
    predictor: Predictor,
    points: Path,
    output: Path,
    *,
    site: str | None,
    rows: int | None,
    runtime: str,
    as_json: bool,
) -> None:
    """Predict a file of points into another file."""
    from site_configs.load import load_site
    from workflows.bulk.prediction import predict_file

    machine = load_site(site) if site is not None else None
    with console.progress(quiet=machine is None and rows is None) as progress:
        done = predict_file(
            predictor,
            points,
            output,
            facts=_facts(predictor),
            rows_per_chunk=rows,
            site=machine,
            runtime=runtime,
            progress=progress,
        )
    if as_json:
        counts = {"rows": done.rows, "outside_domain": done.outside, "beyond_bounds": done.beyond}
        facts = {**counts, "output": str(output)}
        console.put_json({**facts, "parts_adopted": done.adopted} if machine is not None else facts)
        return
    console.put(f"{done.rows} points were predicted into {output}.")
    _warn(done.rows, done.outside)
    _warn_of_bounds(predictor, done.rows, done.beyond)


def _predict_structures(predictor: Predictor, points: Path, output: Path | None, *, as_json: bool) -> None:
    """Answer a file of structures."""
    from surrogate.inference.structures import predict_structures

    prediction = predict_structures(predictor, points, output)
    rows, outside = len(prediction.in_domain), int((~prediction.in_domain).sum())
    if as_json:
        facts = {"rows": rows, "outside_domain": outside, "output": str(output) if output is not None else None}
        console.put_json(facts if output is not None else {**facts, **_numbers(prediction)})
        return
    if output is not None:
        console.put(f"{rows} structures were predicted into {output}.")
    else:
        _show(predictor, prediction)
    _warn(rows, outside)


def _facts(predictor: Predictor) -> dict[str, str]:
    """Return what is written into a file of predictions beside the numbers."""
    artifact = predictor.artifact
    return {"surrogate": artifact.content, "dataset_hash": artifact.dataset_hash, "runtime": predictor.runtime}


def _warn(rows: int, outside: int) -> None:
    """Tell how many points should not be relied on."""
    if rows == 1 and outside:
        console.put(
            "The point lies outside the domain in which the surrogate was trained; it is flagged (in_domain), and its "
            "numbers should not be relied on."
        )
    elif outside:
        console.put(
            f"{outside} of {rows} points lie outside the domain in which the surrogate was trained; "
            "they are flagged (in_domain), and their numbers should not be relied on."
        )


def _warn_of_bounds(predictor: Predictor, rows: int, beyond: Mapping[str, int]) -> None:
    """Tell which answers no simulation could have given."""
    for column in predictor.schema.outputs:
        if column.name in beyond:
            low, high = (words_of(bound) for bound in (column.low, column.high))
            unit = "" if column.unit == "1" else f" {column.unit}"
            console.put(
                f"{beyond[column.name]} of {rows} points: '{column.name}' is predicted beyond its declared bounds, "
                f"{low} to {high}{unit}. Nothing was cut off; the surrogate is wrong there."
            )


def words_of(bound: float | None) -> str:
    """Return a bound, or a stop where there is none."""
    return "…" if bound is None else f"{bound:g}"


def _warn_of_nan(prediction: Prediction) -> None:
    """Tell on stderr how many points have no number for an answer."""
    import numpy as np

    finite = np.ones(len(prediction.in_domain), dtype=np.bool_)
    for values in prediction.mean.values():
        finite &= [bool(np.isfinite(np.asarray(values[row])).all()) for row in range(len(finite))]
    if not finite.all():
        typer.echo(
            f"{int((~finite).sum())} of {len(finite)} points lie so far outside that the surrogate has no finite "
            "number for them: nan, and null in JSON.",
            err=True,
        )


def load_predictor(workdir: Path, registry: Path | None, version: str | None, runtime: str) -> Predictor:
    """Return the surrogate that is meant."""
    from surrogate.inference.predictor import Predictor
    from surrogate.registry.reader import RegistryReader
    from surrogate.registry.store import resolve_registry
    from workflows.current import current_version
    from workflows.driver import reopen

    campaign, workspace = reopen(workdir)
    store = RegistryReader(resolve_registry(registry, workspace.root))
    wanted = version or current_version(campaign, workspace, store)
    return Predictor.load(store.artifact(wanted, campaign.name), runtime=runtime)


def _numbers(prediction: Prediction) -> dict[str, Any]:
    """Return everything predicted, JSON-ready."""
    parts = {"mean": prediction.mean, "std": prediction.std, "lower": prediction.lower, "upper": prediction.upper}
    numbers: dict[str, Any] = {
        part: {name: [values[row].tolist() for row in range(len(values))] for name, values in columns.items()}
        for part, columns in parts.items()
    }
    return {**numbers, "in_domain": prediction.in_domain.tolist()}


def _show(predictor: Predictor, prediction: Prediction) -> None:
    """Print the first points for a person."""
    import numpy as np

    for row in range(min(len(prediction.in_domain), _SHOWN)):
        for column in predictor.schema.outputs:
            name, unit = column.name, "" if column.unit == "1" else f" {column.unit}"
            mean, std = np.asarray(prediction.mean[name][row]), np.asarray(prediction.std[name][row])
            if mean.ndim == 0:
                low, high = float(prediction.lower[name][row]), float(prediction.upper[name][row])
                console.put(f"{name} = {float(mean):.6g}{unit}, 90 % interval {low:.6g} … {high:.6g}")
            else:
                console.put(
                    f"{name} {list(mean.shape)}: mean {mean.mean():.6g}{unit}, from {mean.min():.6g} to "
                    f"{mean.max():.6g}, standard deviation {std.mean():.3g} on average; --output keeps all values"
                )
