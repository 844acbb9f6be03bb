"""`--name value` behind a slash command, read by the JSON schema of the command's arguments."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from refold.values.errors import Refused

_WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def parse_arguments(schema: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The arguments, each of its schema's type. Raises Refused that names all mistakes at once.

    A boolean needs no value; an array collects what is given again. `_` and `-` in a name are alike.

    >>> schema = {"properties": {"max_depth": {"type": "integer"}, "all": {"type": "boolean"}}}
    >>> parse_arguments(schema, "--max-depth 2 --all")
    {'max_depth': 2, 'all': True}
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise Refused(f"nothing was done: {error}; quotes stand in pairs") from None
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    named = {key.replace("_", "-"): key for key in properties}
    found: dict[str, Any] = {}
    mistakes: list[str] = []
    while words:
        word, equals, value = words.pop(0).partition("=")
        key = named.get(word.removeprefix("--").replace("_", "-")) if word.startswith("--") else None
        if key is None:
            mistakes.append(f"unknown option {word}" if word.startswith("--") else f"{word!r} stands behind no option")
            continue
        about = properties[key]
        if about.get("type") == "boolean" and not equals:
            found[key] = True
            continue
        if not equals:
            if not words or words[0].startswith("--"):
                mistakes.append(f"{word} needs a value")
                continue
            value = words.pop(0)
        many = about.get("type") == "array"
        try:
            read = _read(about.get("items", {}) if many else about, value)
        except ValueError:
            mistakes.append(f"{value!r} is no {about.get('type', 'string')} for {word}")
            continue
        found[key] = [*found.get(key, ()), read] if many else read
    missing = [key for key in schema.get("required", ()) if key not in found and key != "session"]
    mistakes += [f"--{key.replace('_', '-')} is missing" for key in missing]
    if mistakes:
        options = ", ".join(f"--{name}" for name in sorted(named) if name != "session") or "none"
        raise Refused(f"nothing was done: {'; '.join(mistakes)}; options: {options}")
    return found


def _read(schema: Mapping[str, Any], value: str) -> Any:
    if "enum" in schema:
        matches = [each for each in schema["enum"] if str(each) == value]
        if not matches:
            raise ValueError
        return matches[0]
    match schema.get("type", "string"):
        case "string":
            return value
        case "integer":
            return int(value)
        case "number":
            return float(value)
        case "boolean":
            if value.casefold() not in _WORDS:
                raise ValueError
            return _WORDS[value.casefold()]
        case _:
            return json.loads(value)
