"""cvt and cvt.pack (PTX ISA, "Data Movement and Conversion Instructions: cvt", "cvt.pack").

Between integers of 8 to 64 bits, f16, bf16, f32 and f64. What NaN becomes was measured on an H200, see docs/numerics.md.
"""

from __future__ import annotations

from ..lanes import numerics as num
from ..lanes.builder import Builder, Value
from ..lanes.types import B32, BF16, F32, F64, S32, U32, U64, LaneType
from .floatops import HALF
from .registry import TYPES, Mods, op

INTEGERS = "u8|u16|u32|u64|s8|s16|s32|s64"
ALL = f"{INTEGERS}|f16|bf16|f32|f64"
TO_INTEGRAL = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}  # rounding modifier -> Builder.fround
TO_FLOAT = ("rn", "rz", "rm", "rp")


def refuse(m: Mods) -> str:
    """Why a combination of modifiers is no instruction, or ""."""
    to, source = TYPES[m.to], TYPES[m.type]
    integral, rounds = m.round in TO_INTEGRAL, m.round in TO_FLOAT
    if m.ftz and F32 not in (to, source):
        return ".ftz needs an f32 operand"
    if m.relu and not (source == F32 and m.to in HALF):
        return ".relu needs an f32 source and a half destination"
    if to.is_int:
        needs_integral = source.is_float
        return "" if integral == needs_integral and not rounds else _rounding(needs_integral, "an integer rounding (.rni .rzi .rmi .rpi)")
    if source == to:
        return "a rounding to an integral value (.rni .rzi .rmi .rpi) or none is expected" if rounds else ""
    inexact = source.is_int or source.bits >= to.bits
    return "" if rounds == inexact and not integral else _rounding(inexact, "a rounding (.rn .rz .rm .rp)")


def _rounding(needed: bool, which: str) -> str:
    return f"{which} is needed" if needed else "no rounding is possible"


@op("cvt", f"round=rni|rzi|rmi|rpi|rn|rz|rm|rp? ftz=ftz? relu=relu? sat=sat? to={ALL} type={ALL}", "to+ = type+", refuse=refuse)
def cvt(b: Builder, m: Mods, x: Value) -> Value:
    to, source = TYPES[m.to], x.type
    if source.is_int:
        if to.is_int:
            return clamp_integer(b, x, to) if m.sat else x.resize(to)
        return integer_to_float(b, m, x, to)
    if m.ftz and source == F32:
        x = num.canonical(b, num.flush(b, x))
    if to.is_int:
        return float_to_integer(b, x, to, TO_INTEGRAL[m.round])
    return float_to_float(b, m, x, to)


def clamp_integer(b: Builder, x: Value, to: LaneType) -> Value:
    """cvt.sat between integers: the nearest value of the destination type."""
    source = x.type
    low, high = (-(1 << (to.bits - 1)), (1 << (to.bits - 1)) - 1) if to.signed else (0, (1 << to.bits) - 1)
    lowest, highest = (-(1 << (source.bits - 1)), (1 << (source.bits - 1)) - 1) if source.signed else (0, (1 << source.bits) - 1)
    if low > lowest:
        x = b.max_(x, b.const(source, low))
    if high < highest:
        x = b.min_(x, b.const(source, high))
    return x.resize(to)


def integer_to_float(b: Builder, m: Mods, x: Value, to: LaneType) -> Value:
    result = num.from_integer(b, x, to, m.round)
    if not m.sat:
        return result
    return num.narrow(b, num.saturate(b, num.widen(b, result)), to) if to.bits == 16 else num.saturate(b, result)


def float_to_integer(b: Builder, x: Value, to: LaneType, mode: str) -> Value:
    """Out of range: the nearest bound, with or without .sat. NaN: 0, or only the top bit if source or destination have 64 bits."""
    nan = 1 << (to.bits - 1) if 64 in (x.type.bits, to.bits) else 0
    wide = num.widen(b, x) if x.type.bits == 16 else x
    return num.to_integer(b, wide, to, mode, nan)


def float_to_float(b: Builder, m: Mods, x: Value, to: LaneType) -> Value:
    wide = num.widen(b, x) if x.type.bits == 16 else x
    if x.type == BF16 and to == F32 and not m.sat:  # a shift, of NaNs too
        return num.flush(b, wide) if m.ftz else wide
    result = b.fround(TO_INTEGRAL[m.round], wide) if m.round in TO_INTEGRAL else wide
    if m.relu:
        result = num.relu(b, result)
    if m.sat:
        result = num.saturate(b, result)
    if result.type.bits > to.bits:
        result = _narrow(b, m, result, to)
    elif result.type.bits < to.bits:
        result = b.float_extend(result, to)
    return _with_nan(b, x, result)


def _narrow(b: Builder, m: Mods, x: Value, to: LaneType) -> Value:
    """Rounds to a smaller type. .ftz of f64 to f32: tiny is what stays below 2**-126 when rounded to 24 bits with any exponent."""
    mode = m.round or "rn"
    result = num.narrow(b, x, to, mode)
    if not (m.ftz and x.type == F64):
        return result
    tiny = b.fabs(num.narrow(b, x * 2.0**32, to, mode)) < 2.0**-94
    return b.select(tiny, (num.raw(result) & num.LAYOUT[to].sign).bits(to), result)


def _with_nan(b: Builder, x: Value, result: Value) -> Value:
    """NaNs of a conversion. To or from f64, sign and upper payload bits survive and the NaN becomes quiet; otherwise the type's own NaN."""
    to, source = num.LAYOUT[result.type], num.LAYOUT[x.type]
    if F64 not in (to.type, source.type):
        return num.canonical(b, result)
    bits = num.raw(x)
    payload = bits & (source.least_normal - 1)
    shift = to.fraction - source.fraction
    payload = payload.resize(to.raw) << shift if shift >= 0 else (payload >> -shift).resize(to.raw)
    apart = to.type.bits - source.type.bits
    sign = (bits & source.sign).resize(U64)
    sign = (sign << apart if apart >= 0 else sign >> -apart).resize(to.raw)
    nan = (sign | payload | to.infinity | to.quiet).bits(result.type)
    return b.select(b.is_nan(result), nan, result)


# Packed and special destinations


@op("cvt", "round=rn|rz relu=relu? to=f16x2|bf16x2 type=f32", "to = type, type")
def cvt_packed(b: Builder, m: Mods, high: Value, low: Value) -> Value:
    """The first source goes to the upper half."""
    halves = [num.relu(b, x) if m.relu else x for x in (low, high)]
    to = HALF[m.to]
    bits = [b.select(b.is_nan(x), b.const(U32, num.LAYOUT[to].nan), num.raw(num.narrow(b, x, to, m.round)).resize(U32)) for x in halves]
    return num.pack(*bits).bits(B32)


@op("cvt", "round=rna to=tf32 type=f32", "b32 = type")
def cvt_tf32(b: Builder, m: Mods, x: Value) -> Value:
    """Rounds the significand to 10 bits, ties away from zero; infinities and NaNs only lose their lower bits."""
    bits = num.raw(x)
    special = (bits & 0x7F800000) == 0x7F800000
    return (b.select(special, bits, bits + 0x1000) & 0xFFFFE000).bits(B32)


@op("cvt", "pack=pack sat=sat to=u16|s16 type=u32|s32", "b32 = type, type")
@op("cvt", "pack=pack sat=sat to=u2|s2|u4|s4|u8|s8 type=u32|s32 rest=b32", "b32 = type, type, rest")
def cvt_pack(b: Builder, m: Mods, x: Value, y: Value, rest: Value | None = None) -> Value:
    """Both saturated, the first above the second; `rest` fills the bits above them."""
    bits = int(m.to[1:])
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if m.to[0] == "s" else (0, (1 << bits) - 1)

    def field(value: Value) -> Value:
        clamped = b.min_(value, b.const(value.type, high))
        if value.type == S32:
            clamped = b.max_(clamped, b.const(S32, low))
        return clamped.bits(U32) & ((1 << bits) - 1)

    packed = (field(x) << bits) | field(y)
    return (packed | (rest.bits(U32) << (2 * bits)) if rest is not None else packed).bits(B32)
