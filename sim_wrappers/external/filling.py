"""What fills the placeholders of a run: its inputs, the values, what remedies made of them, and the run's own facts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sim_wrappers.external.options import ExternalOptions
from sim_wrappers.external.template import BRACES, Placeholder, check_placeholders, fill, is_namelist, placeholders
from sim_wrappers.protocol import RunRequest
from surrogate.core.errors import ConfigError
from surrogate.core.files import write_text
from surrogate.design.space import InputSpace

_FACTS: dict[str, Any] = {
    "run.id": "0" * 32, "run.seed": 1, "run.attempt": 1, "run.restart": False, "run.ranks": 1, "run.cores_per_rank": 1,
}  # fmt: skip
"""Placeholders that every run fills, with values like theirs."""


def run_values(options: ExternalOptions, request: RunRequest, *, resumed: bool) -> dict[str, Any]:
    """Return name → value of everything that fills placeholders.

    Args:
        options: The options.
        request: The run.
        resumed: Whether it goes on from restart files.
    """
    facts = {
        "run.id": request.run_id,
        "run.seed": request.seed,
        "run.attempt": request.attempt,
        "run.restart": resumed,
        "run.ranks": request.resources.ranks,
        "run.cores_per_rank": request.resources.cores_per_rank,
    }
    return {**request.inputs, **_remedied(options, request.remedies), **facts}


def _remedied(options: ExternalOptions, remedies: tuple[str, ...]) -> dict[str, Any]:
    """Return the values, changed by the remedies of earlier attempts, oldest first."""
    values: dict[str, Any] = dict(options.values)
    for name in remedies:
        rule = next((rule for rule in options.error if rule.remedy == name), None)
        for changed, factor in rule.multiply.items() if rule else ():
            product = values[changed] * factor
            # A number of cells or steps stays one.
            values[changed] = round(product) if isinstance(values[changed], int) else product
        values.update(rule.set if rule else {})
    return values


def filled_command(options: ExternalOptions, values: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command and the environment variables, placeholders filled."""
    argv = tuple(fill(word, values) for word in options.command)
    return argv, {name: fill(text, values) for name, text in options.environment.items()}


def write_templates(options: ExternalOptions, values: Mapping[str, Any], folder: Path) -> None:
    """Write the input files of a run; each keeps its template's permissions."""
    for entry in options.template:
        source = Path(entry.source)
        text = _template(source)
        target = folder / entry.target
        logical = is_namelist(text, entry.target)
        write_text(target, fill(text, values, entry.delimiters, logical=logical), durable=False)
        shutil.copymode(source, target)


def _template(path: Path) -> str:
    """Return the text of a template, line ends as they are.

    Raises:
        ConfigError: If it is no text.
    """
    status = path.stat()
    return _read(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=32)
def _read(path: Path, size: int, mtime_ns: int) -> str:
    del size, mtime_ns
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"The template {path} is not text in UTF-8: {error}.") from error


def _places(options: ExternalOptions) -> Iterator[tuple[str, list[Placeholder]]]:
    """Yield everything that has placeholders: what it is, and the placeholders."""
    for entry in options.template:
        where = f"The template of {entry.target}"
        yield where, placeholders(_template(Path(entry.source)), where, entry.delimiters)
    for number, word in enumerate(options.command, 1):
        yield f"'command[{number}]'", placeholders(word, f"'command[{number}]'", BRACES)
    for name, text in options.environment.items():
        yield f"'environment.{name}'", placeholders(text, f"'environment.{name}'", BRACES)


def check_space(options: ExternalOptions, space: InputSpace) -> None:
    """Hold placeholders against inputs and values, in both directions.

    Args:
        options: The options, located.
        space: Where points are chosen.

    Raises:
        ConfigError: If a placeholder is filled by nobody, its format does not suit, or the program would never see an
            input or a value.
    """
    inputs = [column.name for column in space.columns]
    if space.kind != "parameters":
        raise ConfigError(f"Placeholders take single numbers and words, and the space is of kind '{space.kind}'.")
    both = [name for name in inputs if name in options.values]
    if both:
        raise ConfigError(f"'{both[0]}' is an input and stands in 'values', too; keep one of them.")
    corners = space.from_unit(np.array([[0.0], [0.5], [1.0]]) * np.ones((1, space.dimensions)))
    samples = [{**point, **options.values, **_FACTS} for point in corners]
    used: set[str] = set()
    for where, found in _places(options):
        check_placeholders(found, where, samples, [*inputs, *options.values])
        used |= {hole.name for hole in found}
    for kind, names in (("Input", inputs), ("Value", list(options.values))):
        idle = [name for name in names if name not in used]
        if idle:
            raise ConfigError(
                f"{kind} '{idle[0]}' is used by no template, no word of 'command' and no environment variable: the "
                f"program would not notice it. Write {{{{{idle[0]}}}}} where it belongs, or take it out."
            )
