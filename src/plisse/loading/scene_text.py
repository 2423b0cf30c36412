"""Scenes as the text of a TOML file, from the tables that a program holds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
WIDTH = 100  # characters from which an array takes several lines


def write_table(table: Mapping[str, Any]) -> str:
    """The text of a TOML file with these tables; reading it gives equal ones."""
    return "\n".join(_lines(table, ())).strip() + "\n"


def _lines(table: Mapping[str, Any], place: tuple[str, ...]) -> Iterator[str]:
    """A table's plain values, then the tables in it, each under its heading."""
    nested = {key: value for key, value in table.items() if _is_section(value, place)}
    for key, value in table.items():
        if key not in nested:
            yield f"{_key(key)} = {_value(value)}"
    for key, value in nested.items():
        inner = (*place, key)
        heading = ".".join(map(_key, inner))
        for each in value if isinstance(value, list) else [value]:
            yield ""
            yield f"[[{heading}]]" if isinstance(value, list) else f"[{heading}]"
            yield from _lines(each, inner)


def _is_section(value: Any, place: tuple[str, ...]) -> bool:
    """Whether a value has a heading of its own: lists of tables that are no keyframes, and tables of the top level."""
    if isinstance(value, list):
        tables = bool(value) and all(isinstance(each, Mapping) for each in value)
        return tables and not all(set(each) == {"time", "value"} for each in value)
    return isinstance(value, Mapping) and not place


def _key(key: str) -> str:
    return key if _BARE.match(key) else _quote(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        parts = [_value(part) for part in value]
        if sum(map(len, parts)) + 2 * len(parts) <= WIDTH:
            return f"[{', '.join(parts)}]"
        return "[\n" + "".join(f"  {line},\n" for line in _filled(parts)) + "]"
    return repr(value)


def _filled(parts: list[str]) -> Iterator[str]:
    """The parts in lines of about the same width."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) > WIDTH:
            yield line
            line = ""
        line = f"{line}, {part}" if line else part
    yield line


def _quote(text: str) -> str:
    escaped = (_ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08x}") for c in text)
    return f'"{"".join(escaped)}"'
