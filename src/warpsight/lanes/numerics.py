"""Floating-point numerics in the lane language that no opcode owns: NaNs, flushing, saturation, exact errors, conversions in every mode.

Half-precision values (binary16, bfloat16) are computed as F32 lanes that hold exactly representable values; `widen` and `narrow` lead in
and out. Rounding modes are the PTX words rn rz rm rp; `ODD` is rounding to odd, used between two roundings so that the second sees the
truth (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", IEEE Trans. Computers
57(4), 2008).
"""

from __future__ import annotations

from dataclasses import dataclass

from .builder import Builder, Value
from .types import BF16, F16, F32, F64, S64, U16, U32, U64, LaneType

ODD = "odd"


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the fields of an IEEE-like format lie. `fraction`: explicit significand bits. `nan`: what an invalid operation gives."""

    type: LaneType
    fraction: int
    nan: int

    @property
    def raw(self) -> LaneType:
        return {16: U16, 32: U32, 64: U64}[self.type.bits]

    @property
    def sign(self) -> int:
        return 1 << (self.type.bits - 1)

    @property
    def infinity(self) -> int:
        return self.sign - (1 << self.fraction)

    @property
    def quiet(self) -> int:
        return 1 << (self.fraction - 1)

    @property
    def least_normal(self) -> int:
        return 1 << self.fraction

    @property
    def one(self) -> int:
        return (self.infinity >> 1) & self.infinity


# NaNs as measured on an H200, see docs/numerics.md.
LAYOUT = {
    F16: Layout(F16, 10, 0x7FFF),
    BF16: Layout(BF16, 7, 0x7FFF),
    F32: Layout(F32, 23, 0x7FFFFFFF),
    F64: Layout(F64, 52, 0xFFF8000000000000),
}


def pattern(b: Builder, type: LaneType, bits: int) -> Value:
    """The constant of a float type with these bits."""
    return b.const(LAYOUT[type].raw, bits).bits(type)


def raw(x: Value) -> Value:
    """The bits as an unsigned integer."""
    return x.bits(LAYOUT[x.type].raw)


# NaN, zero and range


def canonical(b: Builder, x: Value) -> Value:
    """Replaces every NaN by the type's own."""
    return b.select(b.is_nan(x), pattern(b, x.type, LAYOUT[x.type].nan), x)


def propagate(b: Builder, result: Value, *sources: Value) -> Value:
    """A NaN result becomes the first source that is a NaN, made quiet, or the type's own NaN if none is. Other results stay."""
    layout = LAYOUT[result.type]
    nan = b.const(layout.raw, layout.nan)
    for source in reversed(sources):
        nan = b.select(b.is_nan(source), raw(source) | layout.quiet, nan)
    return b.select(b.is_nan(result), nan.bits(result.type), result)


def flush(b: Builder, x: Value) -> Value:
    """Subnormals become zeros of their sign (.ftz)."""
    layout = LAYOUT[x.type]
    zero = (raw(x) & layout.sign).bits(x.type)
    return b.select(b.fabs(x) < pattern(b, x.type, layout.least_normal), zero, x)


def saturate(b: Builder, x: Value) -> Value:
    """Clamps to [0, 1]; NaN and -0 give +0 (.sat)."""
    zero, one = b.const(x.type, 0.0), b.const(x.type, 1.0)
    return b.select(x > zero, b.select(x < one, x, one), zero)


def relu(b: Builder, x: Value) -> Value:
    """Negative values and -0 give +0; NaNs stay."""
    zero = b.const(x.type, 0.0)
    return b.select(x <= zero, zero, x)


def step(b: Builder, bits: Value, p: Value, by: int) -> Value:
    """`bits` moved by one unit in the last place where `p` holds: +1 away from zero, -1 toward it."""
    return b.select(p, bits + by, bits)


# Rounding to odd


def odd(b: Builder, nearest: Value, error: Value) -> Value:
    """`nearest` + `error` rounded to odd; `nearest` is that sum rounded to nearest, `error` has the sign of the rest (0 or NaN: exact)."""
    bits = raw(nearest)
    opposite = (raw(error) ^ bits) >> (nearest.type.bits - 1)
    inexact = b.or_(error > 0.0, error < 0.0)
    return b.select(inexact, (bits - opposite) | 1, bits).bits(nearest.type)


def sum_to_odd(b: Builder, x: Value, y: Value) -> Value:
    """x + y rounded to odd. The error of a sum is itself a float (Knuth's two-sum)."""
    total = x + y
    of_y = total - x
    error = (x - (total - of_y)) + (y - of_y)
    return odd(b, total, error)


# Half precision


def widen(b: Builder, x: Value) -> Value:
    """F16 or BF16 -> F32, exact; NaN stays a NaN of unspecified payload."""
    return b.float_extend(x, F32)


def narrow(b: Builder, x: Value, type: LaneType, mode: str = "rn") -> Value:
    """F64 -> F32, F16, BF16 and F32 -> F16, BF16 in any rounding mode (also ODD).

    Overflow follows the mode (IEEE 754-2019, 7.4). A NaN gives some NaN.
    """
    if x.type == F64 and type != F32:
        x = narrow(b, x, F32, ODD)
    nearest = b.float_truncate(x, type)
    if mode == "rn":
        return nearest
    bits, back = raw(nearest), b.float_extend(nearest, x.type)
    if mode in ("rz", ODD):
        bits = step(b, bits, b.fabs(back) > b.fabs(x), -1)
        if mode == ODD:
            bits = b.select(b.or_(back < x, back > x), bits | 1, bits)
        return bits.bits(type)
    wrong = back < x if mode == "rp" else back > x
    negative = (bits >> (type.bits - 1)) == 1
    toward_zero = negative if mode == "rp" else b.not_(negative)
    bits = step(b, bits, b.and_(wrong, toward_zero), -1)
    return step(b, bits, b.and_(wrong, b.not_(toward_zero)), 1).bits(type)


def half_pattern(b: Builder, x: Value, type: LaneType) -> Value:
    """F32 -> bits of a half type in the low 16 of a U32: to nearest even, NaN canonical."""
    layout = LAYOUT[type]
    return b.select(b.is_nan(x), b.const(U32, layout.nan), raw(b.float_truncate(x, type)).resize(U32))


def unpack(b: Builder, packed: Value, type: LaneType) -> tuple[Value, Value]:
    """Two halves in 32 bits -> (low, high) as F32, exact."""
    bits = packed.bits(U32)
    if type == BF16:
        return (bits << 16).bits(F32), (bits & 0xFFFF0000).bits(F32)
    return widen(b, bits.resize(U16).bits(type)), widen(b, (bits >> 16).resize(U16).bits(type))


def pack(low: Value, high: Value) -> Value:
    """Two half patterns (U32 below 2**16) -> 32 bits."""
    return low | (high << 16)


def half_fma(b: Builder, x: Value, y: Value, z: Value, type: LaneType) -> Value:
    """x * y + z of half values in F32, rounded so that a further rounding to `type` gives the fused result.

    Products of binary16 (22 bits, at least 2**-48) are exact in binary32. Those of bfloat16 can leave its exponent range, so they are
    summed in binary64.
    """
    if type == F16:
        return sum_to_odd(b, x * y, z)
    product = b.float_extend(x, F64) * b.float_extend(y, F64)
    return narrow(b, sum_to_odd(b, product, b.float_extend(z, F64)), F32, ODD)


# Integers


def to_integer(b: Builder, x: Value, type: LaneType, mode: str, nan: int) -> Value:
    """F32 or F64 -> an integer type of 8 to 64 bits. `mode`: of Builder.fround. Out of range: the nearest bound. NaN: the bits `nan`."""
    whole = b.fround(mode, x)
    low = -(1 << (type.bits - 1)) if type.signed else 0
    beyond = low + (1 << type.bits)
    computed = b.float_to_int(whole, LaneType(type.kind, max(32, type.bits))).resize(type)
    result = b.select(whole >= float(beyond), b.const(type, beyond - 1), computed)
    result = b.select(whole <= float(low), b.const(type, low), result)
    return b.select(b.is_nan(x), b.const(type, nan), result)


def from_integer(b: Builder, x: Value, type: LaneType, mode: str) -> Value:
    """An integer of 8 to 64 bits -> F16, BF16, F32 or F64 in any rounding mode."""
    if x.type.bits < 32:
        x = x.resize(LaneType(x.type.kind, 32))
    if type in (F32, F64) and (mode == "rn" or (x.type.bits == 32 and type == F64)):
        return b.int_to_float(x, type)
    if x.type.bits == 32:
        return narrow(b, b.int_to_float(x, F64), type, mode)
    if type == F64:
        high = b.int_to_float(x >> 32, F64) * 2.0**32
        low = b.int_to_float(x.bits(U64) & 0xFFFFFFFF, F64)
        return b.directed("add", mode, (high, low))
    return narrow(b, b.int_to_float(_sticky(b, x), F64), type, mode)


def _sticky(b: Builder, x: Value) -> Value:
    """A 64-bit integer rounded to odd at bit 11 where it has more than 53 bits, so that it is exact in binary64."""
    folded = b.select((x & 0x7FF) != 0, (x & -0x800) | 0x800, x)
    top = (x >> 53).bits(U64)
    long = (top + 1) > 1 if x.type == S64 else top != 0
    return b.select(long, folded, x)
