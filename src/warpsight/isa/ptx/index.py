"""The outline of a module: where its functions, variables and tables stand, without reading any body.

The braces of the whole text are known (`source.py`), so that a body is skipped by its extent; of what lies between, only the first words
are read. A library module of tens of megabytes is outlined in a fraction of a second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .constants import parse_integer
from .declarations import parse_function_head, parse_pragma
from .lexer import IDENTIFIER, Cursor
from .source import Source
from .types import DECLARATION_WORDS, LINKAGE

_FUNCTION = re.compile(
    rf"\s*(?:\.(?:{'|'.join(LINKAGE)})\s+)?\.(entry|func)\b\s*(?:\.noreturn\b\s*)?(?:\([^()]*\)\s*)?({IDENTIFIER})\s*[({{;.]", re.ASCII
)
_FUNCTION_START = re.compile(rf"\s*(?:\.(?:{'|'.join(LINKAGE)})\s+)?\.(?:entry|func)\b", re.ASCII)
_DECLARATION_STOP = re.compile(r'"(?:[^"\\\n]|\\.)*"|[{;]')
_DATUM = r"[-\w$%.]+(?:[ \t]*[-+][ \t]*[-\w$%.]+)?"  # a number, a label or section, a difference of labels
_SECTION_LINE = re.compile(rf"\s*(?:{IDENTIFIER}\s*:|\.b(?:8|16|32|64)\s+{_DATUM}(?:\s*,\s*{_DATUM})*(?=\s|$))", re.ASCII)


@dataclass(slots=True)
class FunctionEntry:
    """A function's place: `start` of its head, `body` the offsets of its braces (None: a declaration)."""

    name: str
    is_entry: bool
    start: int
    body: tuple[int, int] | None


@dataclass(slots=True)
class Index:
    version: str = ""
    target: list[str] = field(default_factory=list)
    address_size: int = 32  # PTX ISA 11.1.3: without the directive
    files: dict[int, str] = field(default_factory=dict)
    functions: dict[str, FunctionEntry] = field(default_factory=dict)
    variables: list[int] = field(default_factory=list)  # offsets of the declarations
    aliases: dict[str, str] = field(default_factory=dict)


class Indexer:
    """Walks over the statements of a module."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.index = Index()

    def run(self) -> Index:
        code = self.source.code
        position = self._header()
        while True:
            function = _FUNCTION.match(code, position)
            if function is not None:
                position = self._function(function, position)
                continue
            cursor = Cursor(self.source, position)
            token = cursor.token
            if token.kind == "end":
                return self.index
            if _FUNCTION_START.match(code, position):
                position = self._unusual_function(cursor)
            elif token.text == ";":
                position = token.end
            else:
                position = self._directive(cursor)

    def _header(self) -> int:
        """`.version`, which must come first, and `.target`."""
        cursor = Cursor(self.source, 0)
        cursor.expect(".version")
        version = cursor.take("number", "a version like 8.3")
        if not re.fullmatch(r"\d+\.\d+", version.text):
            cursor.fail("expected a version like 8.3", version.start)
        self.index.version = version.text
        cursor.expect(".target")
        while True:
            self.index.target.append(cursor.name("a target like sm_90").text)
            if not cursor.accept(","):
                return cursor.behind

    def _function(self, match: re.Match[str], start: int) -> int:
        """Notes a function and gives the offset behind it."""
        code = self.source.code
        head_end = match.end() - 1
        brace, semicolon = code.find("{", head_end), code.find(";", head_end)
        quote = code.find('"', head_end, min(offset for offset in (brace, semicolon, len(code)) if offset >= 0))
        if quote >= 0:  # a .pragma, which may hold any character
            return self._unusual_function(Cursor(self.source, start))
        if brace < 0 and semicolon < 0:
            raise self.source.error(f"function '{match[2]}' has neither a body nor ';'", match.start(2), truncated=True)
        has_body = brace >= 0 and (semicolon < 0 or brace < semicolon)
        return self._note_function(match[2], match[1] == "entry", start, brace if has_body else semicolon)

    def _note_function(self, name: str, is_entry: bool, start: int, stop: int) -> int:
        """`stop` is the offset of the `{` or `;` behind the head."""
        body = (stop, self.source.blocks[stop]) if self.source.code[stop] == "{" else None
        known = self.index.functions.get(name)
        if known is None or known.body is None:
            self.index.functions[name] = FunctionEntry(name, is_entry, start, body)
        elif body is not None:
            raise self.source.error(f"'{name}' is defined twice", start)
        return (body[1] if body else stop) + 1

    def _unusual_function(self, cursor: Cursor) -> int:
        """A head that the quick pattern does not know, read in full."""
        start = cursor.token.start
        head = parse_function_head(cursor)
        return self._note_function(head.name, head.is_entry, start, head.end)

    def _directive(self, cursor: Cursor) -> int:
        token = cursor.token
        if token.kind != "dotted":
            cursor.fail("expected a directive")
        parse = {
            ".address_size": self._address_size,
            ".file": self._file,
            ".pragma": parse_pragma,
            ".alias": self._alias,
            ".section": self._section,
        }.get(token.text)
        if parse is not None:
            cursor.next()
            parse(cursor)
            return cursor.behind
        if token.text[1:] in DECLARATION_WORDS:
            return self._variable(token.start)
        cursor.fail("unknown directive, or one that may not stand here")

    def _address_size(self, cursor: Cursor) -> None:
        start = cursor.token.start
        self.index.address_size = parse_integer(cursor, "32 or 64")
        if self.index.address_size not in (32, 64):
            cursor.fail("the address size is 32 or 64", start)

    def _file(self, cursor: Cursor) -> None:
        """`.file 1 "name" {, timestamp, size}`"""
        number = parse_integer(cursor, "a file's number")
        self.index.files[number] = cursor.take("string", "a file's name").text[1:-1]
        while cursor.accept(","):
            parse_integer(cursor, "a time stamp or size")

    def _alias(self, cursor: Cursor) -> None:
        """`.alias name, function;`"""
        name = cursor.name("a function's name").text
        cursor.expect(",")
        self.index.aliases[name] = cursor.name("a function's name").text
        cursor.expect(";")

    def _section(self, cursor: Cursor) -> None:
        """`.section .debug_info { ... }`: DWARF data, checked and left alone (11.5)."""
        cursor.take("dotted", "a section's name")
        start = cursor.token.start
        cursor.expect("{")
        position, end = start + 1, self.source.blocks[start]
        while match := _SECTION_LINE.match(self.source.code, position, end):
            position = match.end()
        if self.source.code[position:end].strip():
            Cursor(self.source, position, end).fail("expected a label or data such as '.b8 1'")
        cursor.behind = end + 1

    def _variable(self, start: int) -> int:
        """Skips a declaration: to the first `;` outside braces and strings."""
        self.index.variables.append(start)
        code = self.source.code
        position = start
        for match in _DECLARATION_STOP.finditer(code, start):
            if match.start() < position:
                continue
            if match[0] == ";":
                return match.end()
            if match[0] == "{":
                position = self.source.blocks[match.start()] + 1
        raise self.source.error("this declaration never ends", start, truncated=True)
