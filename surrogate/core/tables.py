"""Tables of TOML files held against strict models: a mistake is one sentence with key, what was expected and found."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from surrogate.core.errors import ConfigError, nearest

ModelType = TypeVar("ModelType", bound=BaseModel)

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text in quotation marks",
    "bool_type": "true or false",
    "tuple_type": "a list in square brackets",
    "list_type": "a list in square brackets",
    "dict_type": "a table",
    "model_type": "a table",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "string_too_short": "text that is not empty",
    "string_too_long": "text of at most {max_length} characters",
    "literal_error": "{expected}",
}


def shown(value: Any, longest: int = 60) -> str:
    """Return a value of a TOML file as a sentence shows it, cut when it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, list | tuple):
        return "a list"
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def config_error(error: ValidationError, model: type[BaseModel], file: str, section: Sequence[str] = ()) -> ConfigError:
    """Return what pydantic found as one sentence on the first mistake and the number of further ones.

    The further ones are notes of the exception, which its traceback shows.

    Args:
        error: What pydantic raised.
        model: The model that was validated.
        file: Name of the file; empty when whoever catches the error names it.
        section: Keys that lead to the table which was validated.
    """
    mistakes = sorted(error.errors(), key=lambda mistake: mistake["type"] != "extra_forbidden")
    sentences = list(dict.fromkeys(_sentence(mistake, model, file, tuple(section)) for mistake in mistakes))
    more = len(sentences) - 1
    told = ConfigError(
        sentences[0] + (f" ({more} further mistake{'s' if more > 1 else ''}; --debug shows all.)" if more else "")
    )
    for sentence in sentences[1:]:
        told.add_note(sentence)
    return told


def validated_table(
    model: type[ModelType], table: Mapping[str, Any], file: str, section: Sequence[str] = ()
) -> ModelType:
    """Return a table of a file, for example `[model.options]`, as the strict model that it belongs to.

    Args:
        model: Strict pydantic model.
        table: Text, numbers, truth values, lists and tables, as TOML gives them.
        file: Name of the file, for the sentence; empty when whoever catches the error names it.
        section: Keys that lead to the table.

    Raises:
        ConfigError: One sentence that names file and key.
    """
    try:
        return model.model_validate_json(json.dumps(table))
    except ValidationError as error:
        raise config_error(error, model, file, section) from error


def _sentence(mistake: ErrorDetails, model: type[BaseModel], file: str, section: tuple[str, ...]) -> str:
    """Return one mistake as a sentence."""
    place = mistake["loc"]
    key = _key((*section, *place))
    kind, context = mistake["type"], mistake.get("ctx", {})
    start = (f"In {file}, " if file else "") + (f"'{key}'" if key else "the file" if file else "this table")
    if kind == "extra_forbidden":
        known = _known_keys(model, place[:-1])
        table = _key((*section, *place[:-1]))
        has = f"[{table}] has {', '.join(known)}" if table else f"there are {', '.join(known)}"
        own = f" Options of its own belong in [{table}.options]." if "options" in known else ""
        return f"{start} is not a known key; {has}.{nearest(str(place[-1]), known)}{own}"
    if kind == "missing":
        needed = _description(model, place)
        return f"{start} is missing{f': {needed[0].lower()}{needed[1:]}' if needed else ''}".removesuffix(".") + "."
    if kind == "value_error":
        reason = f"{context['error']}.".replace("..", ".").replace("?.", "?")
        if key:
            return f"{start}: {reason}"
        return f"In {file}: {reason}" if file else reason[:1].upper() + reason[1:]
    found = shown(mistake["input"])
    if kind in _EXPECTED:
        hint = (
            nearest(mistake["input"], _words(context))
            if kind == "literal_error" and isinstance(mistake["input"], str)
            else ""
        )
        return f"{start}: {_EXPECTED[kind].format(**context)} is needed, and {found} was found.{hint}"
    return f"{start}: {mistake['msg']}; {found} was found."


def _words(context: Mapping[str, Any]) -> list[str]:
    """Return the words that a literal error expected: `'a', 'b' or 'c'` → a, b, c."""
    return str(context.get("expected", "")).replace(" or ", ", ").replace("'", "").split(", ")


def _key(place: Sequence[str | int]) -> str:
    """Return a place as a dotted key; a position in a list is written in square brackets."""
    key = ""
    for part in place:
        if isinstance(part, int):
            key += f"[{part + 1}]"
        elif part != "[key]":
            key += f".{part}" if key else part
    return key


def _annotation(model: type[BaseModel], place: Sequence[str | int]) -> Any:
    """Return the type that stands at a place of a model, or None when it cannot be followed so far."""
    found: Any = model
    for part in place:
        found = _plain(found)
        if isinstance(found, type) and issubclass(found, BaseModel) and part in found.model_fields:
            found = found.model_fields[str(part)].annotation
        elif get_origin(found) in (dict, tuple, list):
            found = get_args(found)[1 if get_origin(found) is dict else 0]
        else:
            return None
    return _plain(found)


def _plain(annotation: Any) -> Any:
    """Return an annotation without `Annotated` and `| None`."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        others = [argument for argument in get_args(annotation) if argument is not type(None)]
        return _plain(others[0]) if others else annotation
    return annotation


def _known_keys(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    """Return the keys that the table at a place may have."""
    found = _annotation(model, place)
    return list(found.model_fields) if isinstance(found, type) and issubclass(found, BaseModel) else []


def _description(model: type[BaseModel], place: Sequence[str | int]) -> str:
    """Return the description of the field at a place, or an empty text."""
    table = _annotation(model, place[:-1])
    if isinstance(table, type) and issubclass(table, BaseModel) and place[-1] in table.model_fields:
        return table.model_fields[str(place[-1])].description or ""
    return ""
