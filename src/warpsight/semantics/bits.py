"""Bit counting, searching and fields (PTX ISA, "Integer Arithmetic Instructions": popc to bmsk, szext)."""

from __future__ import annotations

from ..lanes.builder import Builder, Value
from ..lanes.types import S32, U32, LaneType
from .registry import Mods, op


def shift_left(b: Builder, x: Value, n: Value) -> Value:
    """x << n, zero from the width on. n is a u32."""
    width = x.type.bits
    shifted = b.shl(x, (n & (width - 1)).resize(LaneType("u", width)).bits(x.type))
    return b.select(n < width, shifted, b.const(x.type, 0))


def shift_right(b: Builder, x: Value, n: Value) -> Value:
    """x >> n by signedness; from the width on zero, or all sign bits. n is a u32."""
    width = x.type.bits
    if x.type.signed:
        return b.ashr(x, b.min_(n, b.const(U32, width - 1)).resize(LaneType("u", width)).bits(x.type))
    shifted = b.lshr(x, (n & (width - 1)).resize(LaneType("u", width)).bits(x.type))
    return b.select(n < width, shifted, b.const(x.type, 0))


def low_ones(b: Builder, type: LaneType, n: Value) -> Value:
    """The lowest n bits set; all from the width on. n is a u32."""
    return ~shift_left(b, b.const(type, -1), n)


@op("popc", "type=b32|b64", "u32 = type")
def popc(b: Builder, m: Mods, x: Value) -> Value:
    return b.popcount(x).resize(U32)


@op("clz", "type=b32|b64", "u32 = type")
def clz(b: Builder, m: Mods, x: Value) -> Value:
    return b.clz(x).resize(U32)


@op("brev", "type=b32|b64", "type = type")
def brev(b: Builder, m: Mods, x: Value) -> Value:
    return b.bitreverse(x)


@op("bfind", "shiftamt=shiftamt? type=u32|u64|s32|s64", "u32 = type")
def bfind(b: Builder, m: Mods, x: Value) -> Value:
    """Position of the highest bit that differs from the sign (of the highest set bit, unsigned); all ones when there is none."""
    magnitude = b.select(x < 0, ~x, x) if x.type.signed else x
    leading = b.clz(magnitude).resize(U32)
    position = leading if m.shiftamt else (x.type.bits - 1) - leading
    return b.select(magnitude == 0, b.const(U32, -1), position)


@op("fns", "type=b32", "u32 = u32, u32, s32")
def fns(b: Builder, m: Mods, mask: Value, base: Value, offset: Value) -> Value:
    """The offset-th set bit from `base` on, upwards for positive offsets, downwards for negative; offset 0 asks for bit `base` itself."""
    mask = b.select(base < 32, mask, b.const(U32, 0))  # nothing lies beyond; the manual allows bases up to 31
    wanted = b.select(offset < 0, -offset, offset).bits(U32)
    wanted = b.max_(wanted, b.const(U32, 1))
    from_base = shift_left(b, b.const(U32, -1), base)
    below = ~shift_left(b, from_base, b.const(U32, 1))
    at_base = shift_left(b, b.const(U32, 1), base)
    candidates = mask & b.select(offset > 0, from_base, b.select(offset < 0, below, at_base))
    # Upwards the search is for the wanted-th bit from below; downwards it is the same in the mirrored mask.
    mirrored = b.select(offset < 0, b.bitreverse(candidates), candidates)
    found = _nth_set_bit(b, mirrored, wanted - 1)
    position = b.select(offset < 0, 31 - found, found)
    return b.select(wanted <= b.popcount(candidates), position, b.const(U32, -1))


def _nth_set_bit(b: Builder, x: Value, n: Value) -> Value:
    """Position of the n-th set bit from below (n from 0; must exist), by halving."""
    position = b.const(U32, 0)
    for width in (16, 8, 4, 2, 1):
        below = b.popcount(b.lshr(x, position) & ((1 << width) - 1))
        beyond = n >= below
        n = b.select(beyond, n - below, n)
        position = b.select(beyond, position + width, position)
    return position


def field_bounds(b: Builder, width: int, start: Value, length: Value) -> tuple[Value, Value]:
    """The manual allows 0..255; beyond, the 32-bit instruction reads the low byte and the 64-bit sequence the whole word (isa_h200.npz)."""
    if width == 32:
        return start & 0xFF, length & 0xFF
    limit = b.const(U32, width)
    return b.min_(start, limit), b.min_(length, limit)


@op("bfe", "type=u32|u64|s32|s64", "type = type, u32, u32")
def bfe(b: Builder, m: Mods, x: Value, start: Value, length: Value) -> Value:
    """`length` bits from `start` on; bits past the operand's end read as the sign of the field (its top bit, or the operand's), or zero."""
    width = x.type.bits
    start, length = field_bounds(b, width, start, length)
    unsigned = x.bits(LaneType("u", width))
    field = shift_right(b, unsigned, start) & low_ones(b, unsigned.type, length)
    if not x.type.signed:
        return field
    top = b.min_(start + length - 1, b.const(U32, width - 1))  # length 0: the sign is not used
    negative = ((shift_right(b, unsigned, top) & 1) != 0) & (length != 0)
    inside = b.min_(length, width - b.min_(start, b.const(U32, width)))
    extended = field | shift_left(b, b.const(unsigned.type, -1), inside)
    return b.select(negative, extended, field).bits(x.type)


@op("bfi", "type=b32|b64", "type = type, type, u32, u32")
def bfi(b: Builder, m: Mods, field: Value, into: Value, start: Value, length: Value) -> Value:
    start, length = field_bounds(b, field.type.bits, start, length)
    mask = shift_left(b, low_ones(b, field.type, length), start)
    return (into & ~mask) | (shift_left(b, field, start) & mask)


@op("bmsk", "mode=clamp|wrap type=b32", "type = u32, u32")
def bmsk(b: Builder, m: Mods, start: Value, length: Value) -> Value:
    """`length` ones from bit `start` on; .wrap takes both modulo 32, .clamp cuts off what passes bit 31."""
    if m.mode == "wrap":
        start, length = start & 31, length & 31
    upper = shift_left(b, b.const(U32, -1), start)
    end = b.min_(start, b.const(U32, 32)) + b.min_(length, b.const(U32, 32))
    return upper & low_ones(b, U32, end)


@op("szext", "mode=clamp|wrap type=u32|s32", "type = type, u32")
def szext(b: Builder, m: Mods, x: Value, width: Value) -> Value:
    """The lowest `width` bits extended by zero or sign; .wrap takes the width modulo 32."""
    if m.mode == "wrap":
        width = width & 31
    kept = low_ones(b, U32, width)
    field = x.bits(U32) & kept
    if not x.type.signed:
        return field
    sign = shift_right(b, x.bits(U32), width - 1) & 1  # width 0: the amount is out of range and gives 0
    return b.select(sign != 0, field | ~kept, field).bits(S32)
