"""Initialisers of module variables: nested braces, numbers, strings and addresses (PTX ISA 5.4.4)."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from ..ir import Imm
from .constants import parse_constant, parse_integer, starts_constant
from .lexer import Cursor
from .types import MEMORY_BYTES

Reloc = tuple[int, str, int, int, bool]  # offset, symbol, addend, width in bytes, generic


@dataclass(slots=True)
class Initializer:
    """The bytes, with zeroes where an address goes, and those addresses."""

    data: bytes
    relocs: tuple[Reloc, ...] = ()


@dataclass(slots=True)
class _Writer:
    """Fills the elements of an array in row-major order; an inner `{ }` shorter than its row leaves zeroes."""

    type: str
    data: bytearray = field(default_factory=bytearray)
    relocs: list[Reloc] = field(default_factory=list)
    bytes_of: dict[int, tuple[str, int, bool, int]] = field(default_factory=dict)  # offset: symbol, addend, generic, which byte of it

    @property
    def width(self) -> int:
        return MEMORY_BYTES[self.type]


def parse_initializer(cursor: Cursor, type: str, vector: int, extents: list[int | None]) -> Initializer:
    """Reads what follows `=`, up to the `,` or `;` behind it."""
    writer = _Writer(type)
    start = cursor.token.start
    shape = [*extents, vector] if vector > 1 else list(extents)
    if cursor.token.text == "{":
        if not shape:
            shape = [1]
        _braces(cursor, writer, shape)
    else:
        if shape and cursor.token.kind != "string":
            cursor.fail("an array needs an initialiser in braces")
        _element(cursor, writer)
    _join_bytes(cursor, writer, start)
    return Initializer(bytes(writer.data), tuple(writer.relocs))


def _braces(cursor: Cursor, writer: _Writer, shape: list[int | None]) -> None:
    start = cursor.token.start
    base = len(writer.data)
    inner = writer.width
    for extent in shape[1:]:
        inner *= extent or 0
    cursor.expect("{")
    cursor.nest()
    flat = _flat_numbers(cursor, writer)
    while not flat and cursor.token.text != "}":
        if cursor.token.text == "{":
            if len(shape) < 2:
                cursor.fail("more braces than the array has dimensions")
            if (len(writer.data) - base) % inner if inner else False:
                cursor.fail("braces in the middle of a row")
            _braces(cursor, writer, shape[1:])
        else:
            _element(cursor, writer)
        if not cursor.accept(","):
            break
    cursor.expect("}")
    cursor.depth -= 1
    if shape[0] is not None:
        size = inner * shape[0]
        if len(writer.data) - base > size:
            cursor.fail(f"more values than the {size} bytes that they initialise", start)
        writer.data.extend(bytes(size - (len(writer.data) - base)))


def _flat_numbers(cursor: Cursor, writer: _Writer) -> bool:
    """Takes a long list of plain integers at once: tables have millions of them. False, and nothing read, for anything else."""
    first = cursor.token
    code = cursor.source.code
    end = code.find("}", first.start, cursor.end)
    if first.kind != "number" or end < 0 or writer.type[0] not in "usb":
        return False
    try:
        values = [int(text) for text in code[first.start : end].split(",")]
    except ValueError:
        return False  # hexadecimal, floats, symbols...: the general way
    if any(text.lstrip().startswith("0") and text.strip() != "0" for text in code[first.start : end].split(",")) or not _fits(values, 8):
        return False  # octal
    mask = (1 << 8 * writer.width) - 1
    writer.data += b"".join((value & mask).to_bytes(writer.width, "little") for value in values)
    cursor.seek(end)
    return True


def _fits(values: list[int], width: int) -> bool:
    return min(values) >= -(1 << 8 * width - 1) and max(values) < 1 << 8 * width


def _element(cursor: Cursor, writer: _Writer) -> None:
    token = cursor.token
    if token.kind == "string":
        if writer.width != 1:
            cursor.fail("a string initialises bytes")
        cursor.next()
        writer.data += _unescape(token.text[1:-1]).encode("latin-1", "replace") + b"\0"
    elif token.kind == "name" and token.text != "WARP_SZ":
        _address(cursor, writer)
    else:
        value = parse_constant(cursor)
        if cursor.token.text == "(" and value.kind == "int":
            _masked_address(cursor, writer, int(value.value), token.start)
        else:
            writer.data += _encode(cursor, value, writer.type, token.start)


def _encode(cursor: Cursor, value: Imm, type: str, start: int) -> bytes:
    width = MEMORY_BYTES[type]
    if type[0] == "f" and type != "f16x2":
        if value.bits32 is not None and width == 4:
            return value.bits32.to_bytes(4, "little")
        if value.bits64 is not None and width == 8:
            return value.bits64.to_bytes(8, "little")
        if value.kind == "float" or type != "f16":
            return _pack_float(float(value.value), width)
        return (int(value.value) & 0xFFFF).to_bytes(2, "little")  # an integer initialises f16 by its bits
    if value.kind == "float":
        bits = value.bits32 if value.bits32 is not None else value.bits64
        if bits is None or width != (4 if value.bits32 is not None else 8):
            cursor.fail(f"a float cannot initialise .{type}", start)
        return bits.to_bytes(width, "little")
    return (int(value.value) & (1 << 8 * width) - 1).to_bytes(width, "little")


def _pack_float(value: float, width: int) -> bytes:
    """To nearest even; beyond the range infinity."""
    try:
        return struct.pack({2: "<e", 4: "<f", 8: "<d"}[width], value)
    except OverflowError:
        return struct.pack({2: "<e", 4: "<f"}[width], float("inf") if value > 0 else float("-inf"))


def _symbol(cursor: Cursor) -> tuple[str, int, bool]:
    """`name`, `name+4`, `generic(name)`, `generic(name)+4`, `generic(name+4)`: symbol, addend, generic."""
    name = cursor.name("a variable's name").text
    generic = name == "generic" and cursor.accept("(")
    if generic:
        name = cursor.name("a variable's name").text
    addend = _addend(cursor)
    if generic:
        cursor.expect(")")
        addend += _addend(cursor)
    return name, addend, generic


def _addend(cursor: Cursor) -> int:
    total = 0
    while cursor.token.text in ("+", "-"):
        sign = -1 if cursor.next().text == "-" else 1
        if not starts_constant(cursor.token):
            cursor.fail("expected an offset")
        total += sign * parse_integer(cursor, "an offset")
    return total


def _address(cursor: Cursor, writer: _Writer) -> None:
    start = cursor.token.start
    symbol, addend, generic = _symbol(cursor)
    if writer.width not in (4, 8) or writer.type[0] == "f":
        cursor.fail(f"an address cannot initialise .{writer.type}", start)
    writer.relocs.append((len(writer.data), symbol, addend, writer.width, generic))
    writer.data += bytes(writer.width)


def _masked_address(cursor: Cursor, writer: _Writer, mask: int, start: int) -> None:
    """`0xff00(name)`: one byte of an address, in an array of bytes."""
    which = next((i for i in range(8) if mask == 0xFF << 8 * i or mask & (1 << 64) - 1 == 0xFF << 8 * i), None)
    if which is None or writer.width != 1:
        cursor.fail("a mask selects one byte (0xff, 0xff00...) of an address and initialises a byte", start)
    cursor.expect("(")
    symbol, addend, generic = _symbol(cursor)
    cursor.expect(")")
    writer.bytes_of[len(writer.data)] = (symbol, addend, generic, which)
    writer.data += b"\0"


def _join_bytes(cursor: Cursor, writer: _Writer, start: int) -> None:
    """Makes one relocation of the bytes 0, 1, ... of one address in a row, which is how compilers write a pointer in a struct."""
    offsets = writer.bytes_of
    for offset, (symbol, addend, generic, which) in sorted(offsets.items()):
        if which == 0:
            width = 1
            while offsets.get(offset + width) == (symbol, addend, generic, width):
                width += 1
            writer.relocs.append((offset, symbol, addend, width, generic))
        elif offsets.get(offset - 1) != (symbol, addend, generic, which - 1):
            cursor.fail(f"byte {which} of the address of '{symbol}' stands alone: only bytes from the lowest up are supported", start)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out, i = [], 0
    while i < len(text):
        if text[i] == "\\":
            out.append(_ESCAPES.get(text[i + 1], text[i + 1]))
            i += 1
        else:
            out.append(text[i])
        i += 1
    return "".join(out)
