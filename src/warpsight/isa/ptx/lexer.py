"""PTX tokens, and a cursor that reads them with exact error positions.

Written by hand over `re`: the parser libraries for Python (lark, pyparsing, parsimonious, textX) make objects of every token in Python and
are far from the hundred thousand statements a second that library modules of tens of megabytes ask for.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from .source import Source

MAX_NESTING = 64  # brackets within brackets; no compiler comes near, and Python's own stack ends at some hundreds

# Identifiers: PTX ISA 4.4. Numbers: 4.5. A name part of an opcode such as `.16x64b` or `.shared::cta` is one "dotted" token.
IDENTIFIER = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)"
INTEGER = r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?"
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<number> 0[fF][0-9a-fA-F]{{8}}(?![\w$]) | 0[dD][0-9a-fA-F]{{16}}(?![\w$])
                | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+ | {INTEGER})
    | (?P<name> {IDENTIFIER} | _)
    | (?P<dotted> \.\w+(?:::\w+)*)
    | (?P<string> "(?:[^"\\\n]|\\.)*")
    | (?P<punctuation> << | >> | <= | >= | == | != | && | \|\| | [-+*/%~!<>=&^|?:;,()\[\]{{}}@])
    )""",
    re.VERBOSE | re.ASCII,
)


class Token(NamedTuple):
    kind: str  # number, name, dotted, string, punctuation; "end" behind the last one
    text: str
    start: int
    end: int


class Cursor:
    """Reads tokens of `source.code` from offset `start` up to `end`."""

    __slots__ = ("behind", "depth", "end", "source", "token")

    def __init__(self, source: Source, start: int, end: int | None = None) -> None:
        self.source = source
        self.end = len(source.code) if end is None else end
        self.depth = 0
        self.behind = start  # end of the token read last
        self.token = self._scan(start)

    def _scan(self, offset: int) -> Token:
        code, end = self.source.code, self.end
        match = _TOKEN.match(code, offset, end)
        if match is not None and match.lastgroup is not None:
            if match.lastgroup == "string":
                return Token("string", self.source.text[match.start("string") : match.end()], match.start("string"), match.end())
            return Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup), match.end())
        while offset < end and code[offset] in " \t\n\r\f\v":
            offset += 1
        if offset >= end:
            return Token("end", "", offset, offset)
        if code[offset] == '"':
            raise self.source.error("this string does not end on its line", offset)
        raise self.source.error(f"unexpected character {code[offset]!r}", offset)

    def seek(self, offset: int) -> None:
        self.token = self._scan(offset)

    def next(self) -> Token:
        token = self.token
        if token.kind == "end":
            self.fail("unexpected end")
        self.behind = token.end
        self.token = self._scan(token.end)
        return token

    def accept(self, text: str) -> bool:
        if self.token.text != text or self.token.kind == "string":
            return False
        self.next()
        return True

    def expect(self, *texts: str) -> Token:
        if self.token.text not in texts or self.token.kind == "string":
            self.fail(f"expected {' or '.join(repr(t) for t in texts)}")
        return self.next()

    def take(self, kind: str, what: str) -> Token:
        """The next token, which must be of that kind; `what` names it in the error."""
        if self.token.kind != kind:
            self.fail(f"expected {what}")
        return self.next()

    def name(self, what: str) -> Token:
        if self.token.text == "_":
            self.fail(f"expected {what}")
        return self.take("name", what)

    def nest(self) -> None:
        """Called where a bracket opens inside an expression or operand; the caller takes 1 off `depth` behind it."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} brackets or operators within each other")

    def fail(self, message: str, offset: int | None = None) -> NoReturn:
        """Raises a syntax error at the current token, or at `offset`."""
        if offset is not None:
            raise self.source.error(message, offset)
        token = self.token
        found = f"found {token.text!r}" if token.kind != "end" else "found the end"
        at_end = token.kind == "end" and not self.source.code[self.end :].strip()
        raise self.source.error(f"{message}, {found}", token.start, truncated=at_end)
