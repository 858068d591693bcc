"""Mapping files: which reader reads the data, and how it is told what is what."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from surrogate.core.errors import ConfigError
from surrogate.core.identity import digest
from surrogate.core.tables import validated_table
from surrogate.data.readers.catalog import find_reader, reader_names
from surrogate.data.readers.protocol import Reader


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How files of one layout are read.

    Attributes:
        reader: Reads them.
        options: What the mapping file says.
        where: Name of the mapping file, for sentences.
        digest: Identity of reader and options (hex, 64 characters); comments and order in the file do not matter.
    """

    reader: Reader
    options: BaseModel
    where: str
    digest: str


def load_layout(path: Path | None, format_name: str | None = None, pairs: Sequence[str] = ()) -> Layout:
    """Read a mapping file.

    Args:
        path: A TOML file, or None for a format that needs no mapping.
        format_name: The format, where the file does not say it.
        pairs: Further keys of the file as `name=value`; a value that is no TOML is text.

    Raises:
        ConfigError: If there is no such file, it is no TOML, or a key is missing, unknown or wrong.
    """
    table = {**(_read(path) if path is not None else {}), **dict(_parsed(pair) for pair in pairs)}
    where = str(path) if path is not None else "the mapping" if not pairs else "the options"
    said = table.pop("format", None)
    if said is not None and not isinstance(said, str):
        raise ConfigError(f"In {where}, 'format': text in quotation marks is needed, and {said!r} was found.")
    if said and format_name and said != format_name:
        raise ConfigError(f"{where} says format = '{said}', and '{format_name}' was asked for on the command line.")
    name = said or format_name
    if name is None:
        raise ConfigError(
            f"In {where}, 'format' is missing: it says what the files are. There are {', '.join(reader_names())}."
        )
    try:
        reader = find_reader(name)
    except ConfigError as error:
        raise ConfigError(f"In {where}, 'format': {error}" if said else str(error)) from error
    options = validated_table(reader.options_type, table, where)
    return Layout(reader, options, where, digest("layout", name, options.model_dump(mode="json")))


def _parsed(pair: str) -> tuple[str, Any]:
    """Return name and value of an option.

    Raises:
        ConfigError: If it is no pair.
    """
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name:
        raise ConfigError(f"An option is written name=value, and '{pair}' was found.")
    try:
        return name, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name, value


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigError(f"The mapping file {path} does not exist.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"The mapping file {path} is not TOML: {error}.") from error
    except OSError as error:
        raise ConfigError(f"The mapping file {path} cannot be read: {error.strerror}.") from error
