"""Finding sites by name and reading them: shipped ones, the user's own, and those beside a campaign."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from site_configs.site import ACCOUNT_VARIABLE, SCHEMA_VERSION, Site
from surrogate.core.errors import ConfigError, nearest

_SHIPPED = Path(__file__).parent / "sites"


def user_folder() -> Path:
    """Return where a user keeps sites of their own."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "surrogate" / "sites"


def available_sites(search: Sequence[Path] = ()) -> dict[str, Path]:
    """Return the sites that can be named, name → file.

    Where two have one name the nearer wins: beside the campaign, then the user's own, then the shipped one.

    Args:
        search: Further folders, the nearest first.
    """
    sites: dict[str, Path] = {}
    for folder in (_SHIPPED, user_folder(), *reversed(search)):
        if folder.is_dir():
            sites.update({path.stem: path for path in sorted(folder.glob("*.toml")) if _is_site(path, folder)})
    return dict(sorted(sites.items()))


def load_site(name_or_path: str | Path, search: Sequence[Path] = ()) -> Site:
    """Read a site.

    Args:
        name_or_path: A name, or the path of a TOML file.
        search: Folders to look for the name in beside the shipped and the user's own, the nearest first.

    Raises:
        ConfigError: If there is no such site, or its file is wrong; a sentence for each mistake.
    """
    return read_site(find_site(name_or_path, search))


def find_site(name_or_path: str | Path, search: Sequence[Path] = ()) -> Path:
    """Return the file of a site.

    Args:
        name_or_path: A name, or the path of a TOML file.
        search: Folders to look for the name in beside the shipped and the user's own, the nearest first.

    Raises:
        ConfigError: If there is no such site.
    """
    text = str(name_or_path)
    if text.endswith(".toml") or os.sep in text:
        path = Path(text)
        if not path.is_file():
            raise ConfigError(f"The site file {path} does not exist.")
        return path
    known = available_sites(search)
    if text not in known:
        raise ConfigError(
            f"There is no site '{text}'.{nearest(text, known)} Known are: {', '.join(known)}. "
            f"Sites of your own belong in {user_folder()}."
        )
    return known[text]


def is_found_everywhere(path: Path) -> bool:
    """Return whether a site file is found by its name from anywhere: a shipped one, or the user's own."""
    return path.absolute().parent in (_SHIPPED, user_folder())


def read_site(path: Path) -> Site:
    """Read the site file at `path`, and what it extends.

    The account that $SURROGATE_ACCOUNT names takes the place of the file's.

    Raises:
        ConfigError: If it cannot be read, or a key or value is wrong.
    """
    record = _record(path, ())
    try:
        site = Site.model_validate_json(json.dumps(record, default=str))
    except ValidationError as error:
        raise ConfigError(f"The site file {path} is wrong. " + " ".join(_sentences(error))) from error
    account = os.environ.get(ACCOUNT_VARIABLE)
    return site.model_copy(update={"account": account}) if account and site.scheduler != "local" else site


def _record(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    """Return the tables of a site file, laid over those of the site that it extends.

    Args:
        path: The file.
        below: Files that led to this one, so that none extends itself; a file may extend another of its own name.

    Raises:
        ConfigError: If it cannot be read, is of a newer version, or extends what is not there.
    """
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The site file {path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"The site file {path} is not TOML: {error}.") from error
    version = record.get("schema_version", SCHEMA_VERSION)
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise ConfigError(
            f"The site file {path} has schema_version {version}, and this version of surrogate reads {SCHEMA_VERSION}. "
            "Install a newer surrogate-hpc."
        )
    record.setdefault("name", path.stem)
    if "extends" not in record:
        return record
    base, seen = str(record.pop("extends")), (*below, path.absolute())
    for folder in (path.absolute().parent, user_folder(), _SHIPPED):
        found = folder / f"{base}.toml"
        if found.is_file() and found not in seen:
            return _laid_over(_record(found, seen), record)
    known = [name for name in available_sites([path.absolute().parent]) if name != path.stem]
    raise ConfigError(
        f"The site file {path} extends '{base}', and there is no other site of that name.{nearest(base, known)} "
        f"Known are: {', '.join(known)}."
    )


def _laid_over(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return `base` with `changes`; tables are merged key by key, all else is replaced."""
    both = dict(base)
    for key, value in changes.items():
        old = both.get(key)
        both[key] = _laid_over(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return both


def _is_site(path: Path, folder: Path) -> bool:
    """Tell whether a TOML file is a site; campaigns may lie in the same folder as the sites beside them."""
    if folder in (_SHIPPED, user_folder()):
        return True
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return False
    return any(key in record for key in ("scheduler", "launcher", "extends"))


def _sentences(error: ValidationError) -> Iterator[str]:
    """Yield one sentence for each mistake that pydantic found."""
    for mistake in error.errors():
        place = [str(part) for part in mistake["loc"]]
        key = ".".join(part for part in place if part != "[key]")
        if mistake["type"] == "extra_forbidden":
            yield f"Unknown key '{key}'.{nearest(place[-1], _known_keys(place[:-1]))}"
        elif mistake["type"] == "missing":
            yield f"The key '{key}' is missing."
        else:
            reason = mistake["msg"].replace("Input should be", "it should be")
            yield f"'{key}' is {mistake['input']!r}, and {reason[:1].lower()}{reason[1:]}."


def _known_keys(place: Iterable[str]) -> list[str]:
    """Return the keys that may stand at a place of the file, given as the keys that lead to it."""
    models: list[Any] = [Site]
    for key in place:
        found = [
            argument
            for model in models
            if key in model.model_fields
            for argument in _models_in(model.model_fields[key].annotation)
        ]
        # A table of tables: the key names an entry, and the model stays.
        models = found or models
    return [key for model in models for key in model.model_fields]


def _models_in(annotation: Any) -> list[Any]:
    """Return the models that an annotation mentions."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _models_in(argument)]
