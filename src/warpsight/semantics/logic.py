"""Logic, shifts and permutations (PTX ISA, "Logic and Shift Instructions", and prmt of "Data Movement")."""

from __future__ import annotations

from collections.abc import Callable

from ..lanes.builder import Builder, Value
from ..lanes.types import U32, U64
from .bits import shift_left, shift_right
from .registry import Mods, op

BITS = "type=pred|b16|b32|b64"


@op("and", BITS, "type = type, type")
def and_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return x & y


@op("or", BITS, "type = type, type")
def or_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return x | y


@op("xor", BITS, "type = type, type")
def xor(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return x ^ y


@op("not", BITS, "type = type")
def not_(b: Builder, m: Mods, x: Value) -> Value:
    return ~x


@op("cnot", "type=b16|b32|b64", "type = type")
def cnot(b: Builder, m: Mods, x: Value) -> Value:
    return b.select(x == 0, b.const(x.type, 1), b.const(x.type, 0))


def truth_table(b: Builder, table: int, inputs: tuple[Value, ...]) -> Value:
    """The function whose value at inputs (1 1 0), say, is bit 0b110 of `table`; the first input is the highest index bit."""
    if not inputs:
        raise AssertionError("a table needs inputs")
    first, rest = inputs[0], inputs[1:]
    half = 1 << len(rest)
    ones = (1 << half) - 1
    when0, when1 = table & ones, table >> half
    if not rest:
        return {(0, 0): b.const(first.type, 0), (0, 1): first, (1, 0): ~first, (1, 1): b.const(first.type, -1)}[when0, when1]
    if when0 == when1:
        return truth_table(b, when0, rest)
    if when0 == ones & ~when1:
        return first ^ truth_table(b, when0, rest)
    if when0 == 0:
        return first if when1 == ones else first & truth_table(b, when1, rest)
    if when1 == 0:
        return ~first if when0 == ones else ~first & truth_table(b, when0, rest)
    if when0 == ones:
        return ~first | truth_table(b, when1, rest)
    if when1 == ones:
        return first | truth_table(b, when0, rest)
    return (first & truth_table(b, when1, rest)) | (~first & truth_table(b, when0, rest))


LUT_SAMPLES = {"lut": (0x00, 0x17, 0x1B, 0x3C, 0x6A, 0x80, 0x96, 0xCA, 0xE8, 0xF8, 0xFE, 0xFF)}


@op("lop3", "type=b32", "type = type, type, type, #lut", samples=LUT_SAMPLES)
def lop3(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return truth_table(b, int(m.lut) & 0xFF, (x, y, z))


@op("lop3", "bool=and|or type=b32", "type|pred = type, type, type, #lut, pred", samples=LUT_SAMPLES)
def lop3_bool(b: Builder, m: Mods, x: Value, y: Value, z: Value, q: Value) -> tuple[Value, Value]:
    result = truth_table(b, int(m.lut) & 0xFF, (x, y, z))
    nonzero = result != 0
    return result, nonzero & q if m["bool"] == "and" else nonzero | q


@op("shl", "type=b16|b32|b64", "type = type, u32")
def shl(b: Builder, m: Mods, x: Value, n: Value) -> Value:
    return shift_left(b, x, n)


@op("shr", "type=b16|b32|b64|u16|u32|u64|s16|s32|s64", "type = type, u32")
def shr(b: Builder, m: Mods, x: Value, n: Value) -> Value:
    return shift_right(b, x, n)


@op("shf", "dir=l|r mode=clamp|wrap type=b32", "type = type, type, u32")
def shf(b: Builder, m: Mods, low: Value, high: Value, n: Value) -> Value:
    """A funnel shift of high:low; left gives the upper word, right the lower."""
    n = b.min_(n, b.const(U32, 32)) if m.mode == "clamp" else n & 31
    both = (high.resize(U64) << 32) | low.resize(U64)
    amount = n.resize(U64)
    return ((both << amount) >> 32 if m.dir == "l" else both >> amount).resize(U32)


# Which source byte (0 to 7) goes to byte i, by the selector n (0 to 3), in prmt's named modes.
_MODES: dict[str, Callable[[Builder, Value, int], Value]] = {
    "f4e": lambda b, n, i: n + i,
    "b4e": lambda b, n, i: (n - i) & 7,
    "rc8": lambda b, n, i: n,
    "ecl": lambda b, n, i: b.max_(n, b.const(U32, i)),
    "ecr": lambda b, n, i: b.min_(n, b.const(U32, i)),
    "rc16": lambda b, n, i: ((n & 1) << 1) + (i & 1),
}


@op("prmt", "type=b32 mode=f4e|b4e|rc8|ecl|ecr|rc16?", "type = type, type, u32")
def prmt(b: Builder, m: Mods, low: Value, high: Value, selector: Value) -> Value:
    """Four bytes of high:low, each picked by a nibble of the selector, whose top bit asks for the byte's sign instead."""
    both = (high.resize(U64) << 32) | low.resize(U64)
    result = b.const(U32, 0)
    for i in range(4):
        nibble = (selector >> (4 * i)) & 15
        index = _MODES[m.mode](b, selector & 3, i) if m.mode else nibble & 7
        byte = (both >> (index << 3).resize(U64)).resize(U32) & 0xFF
        if not m.mode:
            byte = b.select((nibble & 8) != 0, b.select((byte & 0x80) != 0, b.const(U32, 0xFF), b.const(U32, 0)), byte)
        result = result | (byte << (8 * i))
    return result
