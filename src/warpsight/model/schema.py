"""What a GPU file may say: a declared table of keys, and the checks that a value passes before anything reads it.

Sections are declared in `keys_*.py` beside this file, as `SECTIONS`; several files may add keys to one section. `model.files` reads TOML
against the result. Nothing has a default: a model's every number stands in its file, with its source.
"""

from __future__ import annotations

import difflib
import importlib
import math
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..errors import ConfigError

Value = int | float | bool | str | list[int] | list[float] | list[str]

# Types of a key, as they read in an error message.
_TYPE_WORDS = {
    "int": "a whole number", "float": "a number", "bool": "true or false", "str": "a string",
    "ints": "a list of whole numbers", "floats": "a list of numbers", "strs": "a list of strings",
}  # fmt: skip
_ELEMENT = {"ints": "int", "floats": "float", "strs": "str"}
NUMBERS = frozenset({"int", "float", "ints", "floats"})  # the types of which every value needs a source


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section.

    `type`: int, float, bool, str, ints, floats or strs. `unit`: as shown to people ("cycles", "bytes", "1" for counts). `low` and `high`
    bound a number or every element of a list, both inclusive. `choices` are the strings allowed; `names_of` allows the entry names of a
    section with `many`. `length` of a list: a number, or the dotted key that holds it.
    """

    name: str
    type: str
    unit: str
    doc: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    names_of: str = ""
    length: int | str | None = None

    def __post_init__(self) -> None:
        assert self.type in _TYPE_WORDS, f"key {self.name}: unknown type {self.type}"

    def problem(self, value: object) -> str:
        """What is wrong with a value of this key by itself; "" if nothing."""
        element = _ELEMENT.get(self.type)
        if element is None:
            return self._problem_of(value, self.type)
        if not isinstance(value, list):
            return f"must be {_TYPE_WORDS[self.type]}, got {value!r}"
        if isinstance(self.length, int) and len(value) != self.length:
            return f"needs {self.length} values, got {len(value)}"
        problems = (f"value {i}: {text}" for i, item in enumerate(value) if (text := self._problem_of(item, element)))
        return next(problems, "")

    def _problem_of(self, value: object, kind: str) -> str:
        if not _is(value, kind):
            return f"must be {_TYPE_WORDS[kind]}, got {value!r}"
        if isinstance(value, str):
            return _not_one_of(value, self.choices) if self.choices else ""
        assert isinstance(value, (int, float))
        if not math.isfinite(value):
            return f"must be finite, got {value}"
        if self.low is not None and value < self.low:
            return f"must be at least {self.low:g}{self._unit_text()}, got {value}"
        if self.high is not None and value > self.high:
            return f"must be at most {self.high:g}{self._unit_text()}, got {value}"
        return ""

    def _unit_text(self) -> str:
        return "" if self.unit in ("", "1") else f" {self.unit}"

    def parse(self, text: str) -> Value:
        """The value that a command line's text means for this key. Raises ValueError with what was expected."""
        element = _ELEMENT.get(self.type)
        if element is None:
            return _parse(text, self.type)
        items = [item.strip() for item in text.strip().strip("[]").split(",") if item.strip()]
        return [_parse(item, element) for item in items]  # type: ignore[return-value]  # all of one type, by construction


@dataclass(frozen=True, slots=True)
class Section:
    """A table of the file. With `many`, a table of tables, `[name.ENTRY]`, each with these keys (`op.ffma.latency`)."""

    name: str
    doc: str
    keys: tuple[Key, ...]
    many: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    sections: Mapping[str, Section]
    keys: Mapping[str, Mapping[str, Key]] = field(default_factory=dict)  # section -> name -> key

    def section(self, name: str) -> Section:
        """Raises ConfigError with the nearest names."""
        if name not in self.sections:
            raise ConfigError(f"unknown section '{name}'{near(name, self.sections)}")
        return self.sections[name]

    def key(self, dotted: str) -> Key:
        """The key that `section.key` or `section.ENTRY.key` names. Raises ConfigError with the nearest names."""
        section_name, _, rest = dotted.partition(".")
        section = self.section(section_name)
        entry, _, name = rest.rpartition(".")
        if section.many != bool(entry) or "." in entry:
            shape = f"{section_name}.NAME.key" if section.many else f"{section_name}.key"
            raise ConfigError(f"unknown key '{dotted}': keys of section '{section_name}' read {shape}")
        key = self.keys[section_name].get(name)
        if key is None:
            raise ConfigError(f"unknown key '{dotted}'{near(name, self.keys[section_name])}")
        return key


def make_schema(sections: Iterable[Section]) -> Schema:
    """Joins sections of one name; a key declared twice is a mistake in warpsight itself."""
    joined: dict[str, Section] = {}
    for section in sections:
        known = joined.get(section.name)
        if known is not None:
            assert known.many == section.many, f"section {section.name} is declared both with and without many"
            section = Section(section.name, known.doc, known.keys + section.keys, section.many)
        names = [key.name for key in section.keys]
        assert len(names) == len(set(names)), f"section {section.name} declares a key twice: {names}"
        joined[section.name] = section
    return Schema(joined, {name: {key.name: key for key in section.keys} for name, section in joined.items()})


@cache
def schema() -> Schema:
    """The schema of GPU files: every SECTIONS of the package's keys_*.py, in order of file name."""
    package = __package__
    assert package is not None
    found: list[Section] = []
    for module in sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name.startswith("keys_")):
        found.extend(importlib.import_module(f"{package}.{module}").SECTIONS)
    return make_schema(found)


def near(name: str, names: Iterable[str]) -> str:
    """`; near: a, b`, or the empty string."""
    close = difflib.get_close_matches(name, list(names), 3, 0.5)
    return f"; near: {', '.join(close)}" if close else ""


def _is(value: object, kind: str) -> bool:
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    types: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "str": (str,)}
    return isinstance(value, types[kind])


def _not_one_of(value: str, choices: Iterable[str]) -> str:
    return "" if value in choices else f"must be one of {', '.join(choices)}, got '{value}'"


def name_problem(key: Key, value: Value, names: Iterable[str]) -> str:
    """As Key.problem, for a key whose choices are the entries of another section."""
    values = value if isinstance(value, list) else [value]
    return next((text for item in values if (text := _not_one_of(str(item), list(names)))), "")


def _parse(text: str, kind: str) -> int | float | bool | str:
    text = text.strip()
    try:
        if kind == "int":
            return int(text, 0)
        if kind == "float":
            return float(text)
    except ValueError:
        raise ValueError(f"must be {_TYPE_WORDS[kind]}, got '{text}'") from None
    if kind == "bool":
        if text not in ("true", "false"):
            raise ValueError(f"must be true or false, got '{text}'")
        return text == "true"
    return text
