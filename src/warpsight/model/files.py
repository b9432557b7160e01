"""GPU files: reading, inheritance, sources, overrides, checks. The result is a `GpuModel`, a flat table of validated values."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import ConfigError
from .schema import NUMBERS, Key, Schema, Section, Value, name_problem, near, schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GPU_FOLDER = Path(__file__).parent.parent / "gpus"
_META = ("source", "sources")  # of a table: where its numbers come from


@dataclass(frozen=True, slots=True)
class Entry:
    """A value with where it stands (file, 1-based line or 0) and where its number comes from."""

    value: Value
    file: str
    line: int
    source: str


@dataclass(frozen=True)
class GpuModel:
    """A validated GPU. `entries` maps "section.key" (or "section.ENTRY.key") to its value and origin."""

    name: str
    path: Path
    entries: Mapping[str, Entry]
    overrides: Mapping[str, Value] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Value:
        if key not in self.entries:
            raise ConfigError(f"{self.path}: no key '{key}'{near(key, self.entries)}")
        return self.entries[key].value

    def integer(self, key: str) -> int:
        value = self[key]
        assert isinstance(value, int), f"{key} is declared as a whole number"
        return value

    def real(self, key: str) -> float:
        value = self[key]
        assert isinstance(value, (int, float)), f"{key} is declared as a number"
        return float(value)

    def integers(self, key: str) -> list[int]:
        value = self[key]
        assert isinstance(value, list), f"{key} is declared as a list"
        return [int(item) for item in value]

    def text(self, key: str) -> str:
        value = self[key]
        assert isinstance(value, str), f"{key} is declared as a string"
        return value

    def names(self, section: str) -> list[str]:
        """Entry names of a section of tables, in the order of the file."""
        return list(dict.fromkeys(key.split(".")[1] for key in self.entries if key.startswith(section + ".")))

    def flat(self) -> dict[str, int | float | str | list[float] | list[str]]:
        """As the core's Config takes it: booleans as 0 or 1, lists of numbers as floats; sections of tables ("op") list their entries."""
        return self._flat

    @cached_property
    def _flat(self) -> dict[str, int | float | str | list[float] | list[str]]:
        out: dict[str, int | float | str | list[float] | list[str]] = {}
        for key, entry in self.entries.items():
            value = entry.value
            if isinstance(value, bool):
                out[key] = int(value)
            elif isinstance(value, list):
                out[key] = [v if isinstance(v, str) else float(v) for v in value]  # type: ignore[assignment]  # of one type, as validated
            else:
                out[key] = value
        for section in schema().sections.values():
            if section.many:
                out[section.name] = self.names(section.name)
        return out


def gpu_names() -> list[str]:
    """Names of the bundled GPUs."""
    return sorted(path.stem for path in GPU_FOLDER.glob("*.toml"))


def load_gpu(
    name: str | Path, overrides: Mapping[str, Any] | Iterable[str] = (), *, folder: Path = GPU_FOLDER, rules: Schema | None = None
) -> GpuModel:
    """Reads a bundled GPU by name or a TOML file by path.

    `overrides`: {"core.issue_policy": "gto"} with Python values, or texts "core.issue_policy=gto" as on the command line.
    Raises ConfigError that names file, line and key.
    """
    rules = rules or schema()
    path = _find(name, folder)
    entries = _read_chain(path, folder, rules, ())
    changed = dict(_overrides(overrides, entries, rules, path))
    entries.update({key: Entry(value, "override", 0, "override") for key, value in changed.items()})
    _check(entries, path, rules)
    title = entries["device.name"].value if "device.name" in entries else path.stem
    return GpuModel(str(title), path, entries, changed)


def _find(name: str | Path, folder: Path) -> Path:
    bundled = folder / f"{name}.toml"
    if bundled.is_file():
        return bundled
    path = Path(name)
    if path.is_file():
        return path
    names = sorted(p.stem for p in folder.glob("*.toml"))
    if path.suffix == ".toml" or len(path.parts) > 1:
        raise ConfigError(f"cannot read GPU file {path}: no such file")
    raise ConfigError(f"no GPU named '{name}'{near(str(name), names)}; there are {', '.join(names)}, or give the path of a TOML file")


def _read_chain(path: Path, folder: Path, rules: Schema, seen: tuple[Path, ...]) -> dict[str, Entry]:
    """Entries of a file laid over those of the file it inherits from."""
    if path.resolve() in seen:
        raise ConfigError(f"{path}: inherits from itself")
    text, table = _parse_file(path)
    lines = _Lines(str(path), text)
    parent = table.pop("inherits", None)
    if parent is not None and not isinstance(parent, str):
        raise ConfigError(f"{lines.at('inherits')}: inherits must be the name or path of a GPU file, got {parent!r}")
    base: dict[str, Entry] = {}
    if parent is not None:
        beside = path.parent / parent
        base = _read_chain(beside if beside.is_file() else _find(parent, folder), folder, rules, (*seen, path.resolve()))
    for section_name, content in table.items():
        try:
            section = rules.section(section_name)
        except ConfigError as error:
            raise ConfigError(f"{lines.at(section_name)}: {error}") from None
        if not isinstance(content, dict):
            raise ConfigError(f"{lines.at(section_name)}: '{section_name}' must be a table")
        base.update(_section_entries(section, content, lines, rules))
    return base


def _parse_file(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read GPU file {path}: {error}") from error
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error


def _section_entries(section: Section, content: dict[str, Any], lines: _Lines, rules: Schema) -> Iterator[tuple[str, Entry]]:
    if not section.many:
        yield from _table_entries(section.name, content, lines, rules.keys[section.name], lambda key: "")
        return
    common = _sources(section.name, content, lines)
    for name, table in content.items():
        if name in _META:
            continue
        dotted = f"{section.name}.{name}"
        if not isinstance(table, dict):
            raise ConfigError(f"{lines.at(dotted)}: '{dotted}' must be a table with the keys {', '.join(rules.keys[section.name])}")
        yield from _table_entries(dotted, table, lines, rules.keys[section.name], lambda key, name=name: common(name))  # type: ignore[misc]


def _table_entries(
    dotted: str, table: dict[str, Any], lines: _Lines, keys: Mapping[str, Key], fallback: Callable[[str], str]
) -> Iterator[tuple[str, Entry]]:
    source_of = _sources(dotted, table, lines)
    for name, value in table.items():
        if name in _META:
            continue
        full = f"{dotted}.{name}"
        key = keys.get(name)
        if key is None:
            raise ConfigError(f"{lines.at(full)}: unknown key '{full}'{near(name, keys)}")
        problem = key.problem(value)
        if problem:
            raise ConfigError(f"{lines.at(full)}: '{full}' {problem}")
        source = source_of(name) or fallback(name)
        if key.type in NUMBERS and not source:
            raise ConfigError(
                f'{lines.at(full)}: \'{full}\' has no source: add `source = "..."` to its table, or `sources = {{ {name} = "..." }}`'
            )
        yield full, Entry(value, lines.file, lines.number(full), source)


def _sources(dotted: str, table: dict[str, Any], lines: _Lines) -> Callable[[str], str]:
    """Where the numbers of a table come from: `sources.key`, else `source`, else "" (not said)."""
    general, each = table.get("source", ""), table.get("sources", {})
    if not isinstance(general, str):
        raise ConfigError(f"{lines.at(dotted + '.source')}: '{dotted}.source' must be a string")
    if not isinstance(each, dict) or not all(isinstance(text, str) for text in each.values()):
        raise ConfigError(f"{lines.at(dotted + '.sources')}: '{dotted}.sources' must be a table of strings, key to source")
    for name in each:
        if name not in table:
            raise ConfigError(
                f"{lines.at(dotted + '.sources')}: '{dotted}.sources' names '{name}', which the table does not hold{near(name, table)}"
            )
    return lambda key: each.get(key, general).strip()


def _overrides(
    given: Mapping[str, Any] | Iterable[str], entries: Mapping[str, Entry], rules: Schema, path: Path
) -> Iterator[tuple[str, Value]]:
    if isinstance(given, str):
        given = [given]
    pairs: list[tuple[str, Any, bool]]
    if isinstance(given, Mapping):
        pairs = [(name, value, False) for name, value in given.items()]
    else:
        pairs = []
        for text in given:
            name, equals, value = text.partition("=")
            if not equals:
                raise ConfigError(f"override '{text}' must read section.key=value")
            pairs.append((name.strip(), value, True))
    for name, value, is_text in pairs:
        key = rules.key(name)
        entry = name.rpartition(".")[0]
        if rules.sections[name.partition(".")[0]].many and not any(known.startswith(entry + ".") for known in entries):
            siblings = {known.rpartition(".")[0] for known in entries if known.startswith(name.partition(".")[0] + ".")}
            raise ConfigError(f"override '{name}': {path} has no [{entry}]{near(entry, siblings)}")
        try:
            parsed = key.parse(value) if is_text else _plain(value)
        except ValueError as error:
            raise ConfigError(f"override '{name}' {error}") from None
        problem = key.problem(parsed)
        if problem:
            raise ConfigError(f"override '{name}' {problem}")
        yield name, parsed


def _plain(value: Any) -> Any:
    """Python values out of NumPy scalars and sequences, so that overrides may come from a sweep."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value


def _check(entries: Mapping[str, Entry], path: Path, rules: Schema) -> None:
    """What needs the whole model: missing keys, list lengths, names of entries."""
    names = {
        s.name: list(dict.fromkeys(k.split(".")[1] for k in entries if k.startswith(s.name + ".")))
        for s in rules.sections.values()
        if s.many
    }
    for section in rules.sections.values():
        tables = [f"{section.name}.{name}" for name in names[section.name]] if section.many else [section.name]
        if not tables:
            raise ConfigError(f"{path}: missing section [{section.name}.NAME]")
        for table in tables:
            for key in section.keys:
                full = f"{table}.{key.name}"
                entry = entries.get(full)
                if entry is None:
                    raise ConfigError(f"{path}: missing key '{full}' ({key.doc})")
                problem = _problem_in_model(key, entry.value, entries, names)
                if problem:
                    where = f"{entry.file}:{entry.line}" if entry.line else entry.file
                    raise ConfigError(f"{where}: '{full}' {problem}")


def _problem_in_model(key: Key, value: Value, entries: Mapping[str, Entry], names: Mapping[str, list[str]]) -> str:
    if key.names_of:
        return name_problem(key, value, names[key.names_of])
    if isinstance(key.length, str) and isinstance(value, list):
        wanted = entries.get(key.length)
        if wanted is not None and len(value) != wanted.value:
            return f"needs {wanted.value} values ('{key.length}'), got {len(value)}"
    return ""


class _Lines:
    """Line numbers of keys; the TOML reader does not keep them. 0 when a key stands in a way that this scan does not see."""

    _HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
    _KEY = re.compile(r"""\s*([A-Za-z0-9_."'-]+)\s*=""")

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self._numbers: dict[str, int] = {}
        table = ""
        for number, line in enumerate(text.splitlines(), 1):
            header = self._HEADER.match(line)
            if header:
                table = header[1].replace('"', "")
                self._numbers.setdefault(table, number)
            elif key := self._KEY.match(line):
                name = key[1].replace('"', "")
                self._numbers.setdefault(f"{table}.{name}" if table else name, number)

    def number(self, dotted: str) -> int:
        """Of the key, or else of the table that holds it (inline tables stand on one line)."""
        while dotted not in self._numbers and "." in dotted:
            dotted = dotted.rpartition(".")[0]
        return self._numbers.get(dotted, 0)

    def at(self, dotted: str) -> str:
        number = self.number(dotted)
        return f"{self.file}:{number}" if number else self.file
