"""Finding campaigns by name or path and reading them; every mistake ends in one sentence."""

from __future__ import annotations

import datetime as dt
import math
import os
import tomllib
from pathlib import Path
from typing import Any

from surrogate.core.errors import ConfigError, nearest
from surrogate.core.tables import validated_table
from workflows.config.campaign import SCHEMA_VERSION, CampaignConfig, Origin
from workflows.config.keep import KEPT_FILES, kept_home

DEEPEST = 40
"""Tables and lists inside one another that a campaign file may have."""


def builtin_campaigns() -> dict[str, Path]:
    """Return the campaigns that come with the program, name → file."""
    folder = Path(__file__).parents[1] / "campaigns"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load_campaign(name_or_path: str | Path) -> CampaignConfig:
    """Read a campaign.

    Args:
        name_or_path: Path of a TOML file (it ends in `.toml` or has a folder in it), or the name of a built-in one.

    Returns:
        The campaign. Files that it names are taken from the copies that `save_campaign` kept beside it, else from the
        file's folder.

    Raises:
        ConfigError: If there is no such campaign, or its file is wrong: one sentence that names file, key, what was
            expected and what was found.
    """
    text = str(name_or_path)
    if text.endswith(".toml") or os.sep in text:
        return _read(Path(text))
    known = builtin_campaigns()
    if text not in known:
        raise ConfigError(
            f"There is no built-in campaign '{text}'; there are {', '.join(known)}.{nearest(text, known)} "
            "A campaign of your own is given by its file, whose name ends in '.toml'."
        )
    return _read(known[text])


def _read(path: Path) -> CampaignConfig:
    """Read a campaign file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        others = [entry.name for entry in path.parent.glob("*.toml")]
        built_in = path.stem in builtin_campaigns()
        also = f" The built-in campaign '{path.stem}' is named without '.toml'." if built_in else ""
        raise ConfigError(f"The campaign file {path} does not exist.{nearest(path.name, others)}{also}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"The campaign file {path} is not text in UTF-8: {error}.") from error
    except OSError as error:
        raise ConfigError(f"The campaign file {path} cannot be read: {error.strerror}.") from error
    kept = path.parent / KEPT_FILES
    origin = Origin(str(path), path.absolute(), text, kept.absolute() if kept.is_dir() else None, home=kept_home(kept))
    return parse_campaign(text, str(path)).read_from(origin)


def parse_campaign(text: str, file: str) -> CampaignConfig:
    """Return a campaign from the text of its file.

    Args:
        text: TOML.
        file: Name of the file, for sentences.

    Raises:
        ConfigError: If it is no TOML, of a newer layout, or a key or value is wrong.
    """
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The campaign file {file} is not TOML: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The campaign file {file} cannot be read as TOML: {error}.") from error
    _check_version(record, file)
    _check_values(record, file, ())
    return validated_table(CampaignConfig, record, file).read_from(Origin(file, None, text))


def _check_version(record: dict[str, Any], file: str) -> None:
    version = record.get("schema_version")
    if isinstance(version, int) and not isinstance(version, bool) and version > SCHEMA_VERSION:
        raise ConfigError(
            f"In {file}, 'schema_version' is {version}, and this program reads {SCHEMA_VERSION} at most. "
            "Install a newer surrogate-hpc."
        )
    if version is None:
        raise ConfigError(
            f"In {file}, 'schema_version' is missing; begin the file with schema_version = {SCHEMA_VERSION}."
        )


def _check_values(value: Any, file: str, place: tuple[str, ...]) -> None:
    """Refuse what TOML knows and no campaign means, anywhere in the file."""
    key = ".".join(place)
    if len(place) > DEEPEST:
        raise ConfigError(f"In {file}, '{'.'.join(place[:3])} …' is nested more than {DEEPEST} deep.")
    if isinstance(value, dict):
        for name, entry in value.items():
            _check_values(entry, file, (*place, str(name)))
    elif isinstance(value, list):
        for number, entry in enumerate(value, 1):
            _check_values(entry, file, (*place, str(number)))
    elif isinstance(value, dt.date | dt.time):
        raise ConfigError(f"In {file}, '{key}' is a date or time of day ({value}); put text in quotation marks.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"In {file}, '{key}': a finite number is needed, and {value} was found.")


def campaign_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of campaign files (draft 2020-12)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **CampaignConfig.model_json_schema()}
