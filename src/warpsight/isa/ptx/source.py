"""The text of a module: comments, braces, positions.

What must look at every character of a library-sized module is done by NumPy here; the rest reads only what it is asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...errors import PtxSyntaxError, TruncatedPtxError

_OPEN, _CLOSE, _QUOTE, _SLASH, _BLANK, _NEWLINE = b'{}"/ \n'


class Source:
    """`text` is as read. In `code` comments are blanks and characters beyond ASCII are '?', so both share offsets.

    `blocks` maps the offset of every outermost `{` to that of its `}`.
    """

    __slots__ = ("_anchor", "blocks", "code", "name", "text")

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self._anchor = (0, 1)
        characters = np.frombuffer(bytearray(text.encode("ascii", "replace")), np.uint8)
        strings = self._blank_comments(characters)
        self.code = characters.tobytes().decode("ascii")
        self.blocks = self._find_blocks(characters, strings)

    def _blank_comments(self, characters: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Overwrites comments with blanks, newlines kept. Returns the offsets of the quotes around strings, in pairs."""
        text = self.text
        quotes: list[int] = []
        behind = 0
        for start in np.flatnonzero((characters == _SLASH) | (characters == _QUOTE)).tolist():
            if start < behind:
                continue
            if text[start] == '"':
                behind = self._string_end(start)
                quotes += (start, behind - 1)
            elif text.startswith("//", start):
                end = text.find("\n", start)
                behind = end if end >= 0 else len(text)
                characters[start:behind] = _BLANK
            elif text.startswith("/*", start):
                end = text.find("*/", start + 2)
                if end < 0:
                    raise self.error("this comment never ends", start, truncated=True)
                behind = end + 2
                comment = characters[start:behind]
                comment[comment != _NEWLINE] = _BLANK
        return np.array(quotes, np.int64)

    def _string_end(self, start: int) -> int:
        """The offset behind the closing quote."""
        text, position = self.text, start + 1
        line_end = text.find("\n", start)
        line_end = line_end if line_end >= 0 else len(text)
        while True:
            quote = text.find('"', position, line_end)
            if quote < 0:
                raise self.error("this string does not end on its line", start)
            backslashes = quote - len(text[start + 1 : quote].rstrip("\\")) - start - 1
            if backslashes % 2 == 0:
                return quote + 1
            position = quote + 1

    def _find_blocks(self, characters: NDArray[np.uint8], quotes: NDArray[np.int64]) -> dict[int, int]:
        at = np.flatnonzero((characters == _OPEN) | (characters == _CLOSE))
        at = at[np.searchsorted(quotes, at) % 2 == 0]  # those in strings are text
        step = np.where(characters[at] == _OPEN, 1, -1)
        depth = np.cumsum(step)
        if depth.size and depth.min() < 0:
            raise self.error("this '}' closes nothing", int(at[np.argmax(depth < 0)]))
        opens, closes = at[(depth == 1) & (step == 1)], at[depth == 0]
        if len(opens) > len(closes):
            raise self.error("this '{' is never closed", int(opens[-1]), truncated=True)
        return dict(zip(opens.tolist(), closes.tolist(), strict=True))

    def line(self, offset: int) -> int:
        """The line of an offset, counted from 1."""
        known, line = self._anchor  # the last answer: questions come close to each other
        if offset >= known:
            line += self.text.count("\n", known, offset)
        else:
            line -= self.text.count("\n", offset, known)
        self._anchor = (offset, line)
        return line

    def error(self, message: str, offset: int, truncated: bool = False) -> PtxSyntaxError:
        offset = min(offset, len(self.text))
        start = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        text = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r").replace("\t", " ")  # a tab would shift the caret
        kind = TruncatedPtxError if truncated else PtxSyntaxError
        return kind(message, self.name, self.line(offset), offset - start + 1, text)
