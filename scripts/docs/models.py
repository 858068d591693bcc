"""Strict models of TOML files as tables of Markdown: every key with its type, its default and what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_HUGE = 2**31 - 1
_WORDS = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}


def model_tables(schema: Mapping[str, Any], place: str = "", level: int = 2) -> str:
    """Return the tables of a model and of all models inside it, one heading each.

    Args:
        schema: JSON Schema of the model, as pydantic makes it.
        place: Key of the table that the model describes; empty for the file itself.
        level: Level of the headings.
    """
    return "\n".join(_Tables(schema.get("$defs", {})).section(schema, place, level)) + "\n"


class _Tables:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def section(self, schema: Mapping[str, Any], place: str, level: int, listed: bool = False) -> Iterator[str]:
        """Yield the lines of a table of the file, then those of the tables inside it."""
        inner: list[tuple[str, Mapping[str, Any], bool]] = []
        if place:
            yield f"{'#' * level} {_heading(place, listed)}"
            yield ""
        yield _text(schema.get("description", "").partition("\n\n")[0])
        yield ""
        yield "| key | value | default | what it is |"
        yield "|---|---|---|---|"
        for name, field in schema["properties"].items():
            child = self._child(field, f"{place}.{name}" if place else name)
            if child is not None:
                inner.append(child)
            words = f"[{_kind(child)}](#{_anchor(child)})" if child is not None else self._type(field)
            needed = name in schema.get("required", ())
            default = "" if child is not None and not needed else "needed" if needed else _default(field)
            yield f"| `{name}` | {words} | {default} | {self._description(field)} |"
        for where, model, many in inner:
            yield ""
            yield from self.section(model, where, level + (1 if place else 0), many)

    def _child(self, field: Mapping[str, Any], place: str) -> tuple[str, Mapping[str, Any], bool] | None:
        """Return place and model of the table that a key holds, and whether there is a list of them; or None."""
        reference = self._reference(field)
        if reference is not None:
            return place, reference, False
        if isinstance(field.get("additionalProperties"), Mapping):
            reference = self._reference(field["additionalProperties"])
            return None if reference is None else (f"{place}.NAME", reference, False)
        reference = self._reference(field.get("items", {}))
        return None if reference is None else (place, reference, True)

    def _reference(self, field: Mapping[str, Any]) -> Mapping[str, Any] | None:
        for option in (field, *field.get("anyOf", ())):
            if "$ref" in option:
                found: Mapping[str, Any] = self._definitions[option["$ref"].rpartition("/")[2]]
                return found
        return None

    def _description(self, field: Mapping[str, Any]) -> str:
        reference = self._reference(field) or {}
        return _text(field.get("description") or reference.get("description", "").partition("\n\n")[0])

    def _type(self, field: Mapping[str, Any]) -> str:
        """Return a type in words."""
        if "anyOf" in field:
            options = [self._type(option) for option in field["anyOf"] if option.get("type") != "null"]
            return " or ".join(dict.fromkeys(options))
        if "enum" in field or "const" in field:
            return " or ".join(f"`{_toml(value)}`" for value in field.get("enum", [field.get("const")]))
        if field.get("type") == "array":
            return self._list(field)
        if field.get("type") == "object":
            values = field.get("additionalProperties")
            return f"table of: {self._type(values)}" if isinstance(values, Mapping) and values else "table"
        return _WORDS.get(field.get("type", ""), "any value") + _bounds(field)

    def _list(self, field: Mapping[str, Any]) -> str:
        if "prefixItems" in field:
            return f"list of {', '.join(self._type(item) for item in field['prefixItems'])}"
        return f"list of {self._type(field.get('items', {}))}"


def _heading(place: str, listed: bool) -> str:
    return f"`[[{place}]]`" if listed else f"`[{place}]`"


def _kind(child: tuple[str, Mapping[str, Any], bool]) -> str:
    return "tables" if child[2] or child[0].endswith(".NAME") else "table"


def _anchor(child: tuple[str, Mapping[str, Any], bool]) -> str:
    return re.sub(r"[^\w-]", "", child[0]).lower()


def _bounds(field: Mapping[str, Any]) -> str:
    if "minimum" in field and field["minimum"] == field.get("maximum"):
        return f" {field['minimum']}"
    parts = [
        f"{sign} {field[key]}"
        for key, sign in (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
        if key in field and abs(field[key]) < _HUGE
    ]
    return f" {' and '.join(parts)}" if parts else ""


def _default(field: Mapping[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None or value in ({}, []) else f"`{_toml(value)}`"


def _toml(value: Any) -> str:
    """Return a value as a TOML file writes it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(entry)}" for key, entry in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _text(words: str) -> str:
    return " ".join(words.split()).replace("|", "\\|").replace("<", "&lt;")
