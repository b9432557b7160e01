"""Initialisers of module variables: nested braces, numbers, addresses (PTX ISA 5.4.4, 5.4.5).

Where the manual is silent, this follows what ptxas 13.0 accepts and emits.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

from ..ir import Imm
from .constants import parse_constant, parse_integer
from .lexer import Cursor, Token
from .types import MEMORY_BYTES

Reloc = tuple[int, str, int, int, bool]  # offset, symbol, addend, width in bytes, generic

_MOST_BYTES = 1 << 31  # of one initialiser, with the zeroes it implies: they are kept in memory

_DECIMALS = re.compile(r"[\d,\s-]+")  # with no octal number among them:
_OCTAL = re.compile(r"(?<!\d)0\d|\d{20}")


@dataclass(slots=True)
class Initializer:
    """The bytes, with zeroes where an address goes, and those addresses."""

    data: bytes
    relocs: tuple[Reloc, ...] = ()


@dataclass(slots=True)
class _Writer:
    """Collects the elements of an array in row-major order."""

    type: str
    data: bytearray = field(default_factory=bytearray)
    relocs: list[Reloc] = field(default_factory=list)
    bytes_of: dict[int, tuple[str, int, bool, int]] = field(default_factory=dict)  # offset: symbol, addend, generic, which byte of it

    @property
    def width(self) -> int:
        return MEMORY_BYTES[self.type]


def parse_initializer(cursor: Cursor, type: str, shape: list[int | None]) -> Initializer:
    """Reads what follows `=`, up to the `,` or `;` behind it. `shape`: extents (None: open), the vector size last; empty for a scalar."""
    writer = _Writer(type)
    start = cursor.token.start
    if type == "f16":
        cursor.fail("a .f16 variable cannot have an initialiser", start)
    if shape:
        _braces(cursor, writer, shape)
    else:
        _element(cursor, writer)
    _join_bytes(cursor, writer, start)
    return Initializer(bytes(writer.data), tuple(writer.relocs))


def _braces(cursor: Cursor, writer: _Writer, shape: list[int | None]) -> None:
    """`{...}` for the extents `shape`, with zeroes for what it leaves out."""
    start, base = cursor.token.start, len(writer.data)
    row = writer.width
    for extent in shape[1:]:
        row *= extent or 0
    cursor.expect("{")
    cursor.nest()
    if cursor.token.text != "}" and not (len(shape) == 1 and _decimals(cursor, writer)):
        while True:
            if len(shape) > 1:
                _braces(cursor, writer, shape[1:])
            else:
                _element(cursor, writer)
            if not cursor.accept(","):
                break
    cursor.expect("}")
    cursor.depth -= 1
    if shape[0] is not None:
        missing = base + row * shape[0] - len(writer.data)
        if missing < 0:
            cursor.fail(f"more values than the {shape[0]} elements that they initialise", start)
        if missing > _MOST_BYTES:
            cursor.fail(f"an initialised variable of more than {_MOST_BYTES} bytes", start)
        writer.data += bytes(missing)


def _decimals(cursor: Cursor, writer: _Writer) -> bool:
    """Takes a list of plain decimal integers at once: tables have millions of them. False, and nothing read, for anything else."""
    code, start = cursor.source.code, cursor.token.start
    match = _DECIMALS.match(code, start, cursor.end)
    if match is None or writer.type[0] not in "usb" or code[match.end() : match.end() + 1] != "}" or _OCTAL.search(match[0]):
        return False
    try:
        values = [int(text) for text in match[0].split(",")]
    except ValueError:  # an empty place, two numbers without a comma...: read it again for the exact error
        return False
    mask = (1 << 8 * writer.width) - 1
    writer.data += b"".join([(value & mask).to_bytes(writer.width, "little") for value in values])
    cursor.seek(match.end())
    return True


def _element(cursor: Cursor, writer: _Writer) -> None:
    token = cursor.token
    if token.kind == "name" and token.text != "WARP_SZ":
        _address(cursor, writer)
        return
    value = parse_constant(cursor)
    if cursor.token.text == "(" and value.kind == "int":
        _byte_of_address(cursor, writer, int(value.value), token)
    else:
        writer.data += _encode(cursor, value, writer.type, token)


def _encode(cursor: Cursor, value: Imm, type: str, token: Token) -> bytes:
    width = MEMORY_BYTES[type]
    if value.kind == "int":
        if type[0] == "f" and type != "f16x2":
            cursor.fail(f"an integer cannot initialise .{type}", token.start)
        return (int(value.value) & (1 << 8 * width) - 1).to_bytes(width, "little")
    if type not in ("f32", "f64", "b32", "b64") or (type == "f64" and value.bits32 is not None):
        cursor.fail(f"{token.text!r} cannot initialise .{type}", token.start)
    if value.bits32 is not None:
        return value.bits32.to_bytes(width, "little")
    if value.bits64 is not None and width == 8:
        return value.bits64.to_bytes(8, "little")
    return _binary32(value.value)


def _binary32(value: float) -> bytes:
    """To nearest even; beyond the range infinity."""
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", float("inf") if value > 0 else float("-inf"))


def _symbol(cursor: Cursor) -> tuple[str, int, bool]:
    """`name`, `name+4`, `generic(name)`, `generic(name)+4`: symbol, addend, generic."""
    name = cursor.name("a variable's name").text
    generic = name == "generic" and cursor.accept("(")
    if generic:
        name = cursor.name("a variable's name").text
        cursor.expect(")")
    return name, parse_integer(cursor, "an offset") if cursor.accept("+") else 0, generic


def _address(cursor: Cursor, writer: _Writer) -> None:
    start = cursor.token.start
    symbol, addend, generic = _symbol(cursor)
    if writer.width not in (4, 8) or writer.type[0] == "f":
        cursor.fail(f"an address cannot initialise .{writer.type}", start)
    writer.relocs.append((len(writer.data), symbol, addend, writer.width, generic))
    writer.data += bytes(writer.width)


def _byte_of_address(cursor: Cursor, writer: _Writer, mask: int, token: Token) -> None:
    """`0xff00(name)`: one byte of an address, in an array of bytes."""
    which = next((i for i in range(8) if mask & (1 << 64) - 1 == 0xFF << 8 * i), None)
    if which is None or writer.width != 1:
        cursor.fail("a mask selects one byte of an address (0xff, 0xff00...) and initialises a byte", token.start)
    cursor.expect("(")
    symbol, addend, generic = _symbol(cursor)
    cursor.expect(")")
    writer.bytes_of[len(writer.data)] = (symbol, addend, generic, which)
    writer.data += b"\0"


def _join_bytes(cursor: Cursor, writer: _Writer, start: int) -> None:
    """Makes one relocation of the bytes 0, 1, ... of an address in a row, which is how compilers write a pointer within a struct."""
    places = writer.bytes_of
    for offset, (symbol, addend, generic, which) in sorted(places.items()):
        if which == 0:
            width = 1
            while places.get(offset + width) == (symbol, addend, generic, width):
                width += 1
            writer.relocs.append((offset, symbol, addend, width, generic))
        elif places.get(offset - 1) != (symbol, addend, generic, which - 1):
            cursor.fail(f"byte {which} of the address of '{symbol}' stands alone: only bytes from the lowest up are supported", start)
