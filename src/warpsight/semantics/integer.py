"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions")."""

from __future__ import annotations

from collections.abc import Callable

from ..lanes.builder import Builder, Value
from ..lanes.types import S16, S32, S64, U16, U32, U64, LaneType
from .registry import Mods, op

ANY_INT = "type=u16|u32|u64|s16|s32|s64"
PACKED_INT = "type=u16x2|s16x2"
WIDE = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


def halves(b: Builder, packed: Value, type: LaneType) -> tuple[Value, Value]:
    """The two 16-bit elements of a packed b32, the lower first."""
    bits = packed.bits(U32)
    return bits.resize(U16).bits(type), (bits >> 16).resize(U16).bits(type)


def pack(low: Value, high: Value) -> Value:
    """Two 16-bit values as a u32."""
    return low.bits(U16).resize(U32) | (high.bits(U16).resize(U32) << 16)


def by_halves(b: Builder, m: Mods, function: Callable[[Value, Value], Value], x: Value, y: Value) -> Value:
    """`function` on the elements of u16x2 or s16x2 operands."""
    element = S16 if m.type == "s16x2" else U16
    (xl, xh), (yl, yh) = halves(b, x, element), halves(b, y, element)
    return pack(function(xl, yl), function(xh, yh))


def clamp_s32(b: Builder, x: Value) -> Value:
    """An s64 saturated to s32."""
    return b.min_(b.max_(x, b.const(S64, -(2**31))), b.const(S64, 2**31 - 1)).resize(S32)


@op("add", ANY_INT, "type = type, type")
def add(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return x + y


@op("sub", ANY_INT, "type = type, type")
def sub(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return x - y


@op("add", "sat=sat type=s32", "type = type, type")
def add_sat(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return clamp_s32(b, x.resize(S64) + y.resize(S64))


@op("sub", "sat=sat type=s32", "type = type, type")
def sub_sat(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return clamp_s32(b, x.resize(S64) - y.resize(S64))


@op("add", PACKED_INT, "type = type, type")
def add_packed(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return by_halves(b, m, lambda p, q: p + q, x, y)


@op("mul", "mode=lo|hi " + ANY_INT, "type = type, type")
def mul(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return b.mul_hi(x, y) if m.mode == "hi" else x * y


@op("mad", "mode=lo|hi " + ANY_INT, "type = type, type, type")
def mad(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return mul(b, m, x, y) + z  # type: ignore[operator]


@op("mad", "mode=hi sat=sat type=s32", "type = type, type, type")
def mad_hi_sat(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return clamp_s32(b, b.mul_hi(x, y).resize(S64) + z.resize(S64))


def _register_wide() -> None:
    for narrow, wide in WIDE.items():

        def mul_wide(b: Builder, m: Mods, x: Value, y: Value, z: Value | None = None) -> Value:
            type = m.lane("wide")
            product = x.resize(type) * y.resize(type)
            return product if z is None else product + z

        op("mul", f"mode=wide type={narrow}", f"{wide} = type, type")(_with_wide(mul_wide, wide))
        op("mad", f"mode=wide type={narrow}", f"{wide} = type, type, {wide}")(_with_wide(mul_wide, wide))


def _with_wide(function: Callable[..., Value], wide: str) -> Callable[..., Value]:
    return lambda b, m, *sources: function(b, Mods({**m, "wide": wide}), *sources)


_register_wide()


def _low24(x: Value) -> Value:
    """The lower 24 bits, extended by signedness to 64."""
    return ((x << 8) >> 8).resize(S64 if x.type.signed else U64)


@op("mul24", "mode=lo|hi type=u32|s32", "type = type, type")
def mul24(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    product = _low24(x) * _low24(y)  # 48 bits
    return (product >> 16 if m.mode == "hi" else product).resize(x.type)


@op("mad24", "mode=lo|hi type=u32|s32", "type = type, type, type")
def mad24(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return mul24(b, m, x, y) + z  # type: ignore[operator]


@op("mad24", "mode=hi sat=sat type=s32", "type = type, type, type")
def mad24_hi_sat(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return clamp_s32(b, ((_low24(x) * _low24(y)) >> 16) + z.resize(S64))


@op("sad", ANY_INT, "type = type, type, type")
def sad(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return z + b.select(x < y, y - x, x - y)


# The manual leaves division by zero unspecified. The code that ptxas makes gives all ones, for quotient and remainder alike.
@op("div", ANY_INT, "type = type, type")
def div(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return b.select(y == 0, b.const(y.type, -1), b.div(x, y))


@op("rem", ANY_INT, "type = type, type")
def rem(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return b.select(y == 0, b.const(y.type, -1), b.rem(x, y))


@op("abs", "type=s16|s32|s64", "type = type")
def abs_(b: Builder, m: Mods, x: Value) -> Value:
    return b.select(x < 0, -x, x)


@op("neg", "type=s16|s32|s64", "type = type")
def neg(b: Builder, m: Mods, x: Value) -> Value:
    return -x


def _relu(b: Builder, m: Mods, x: Value) -> Value:
    return b.max_(x, b.const(x.type, 0)) if m.relu else x


@op("min", "relu=relu? type=s32", "type = type, type")
@op("min", "type=u16|u32|u64|s16|s64", "type = type, type")
def min_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return _relu(b, m, b.min_(x, y))


@op("max", "relu=relu? type=s32", "type = type, type")
@op("max", "type=u16|u32|u64|s16|s64", "type = type, type")
def max_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return _relu(b, m, b.max_(x, y))


@op("min", "relu=relu? type=s16x2", "type = type, type")
@op("min", "type=u16x2", "type = type, type")
def min_packed(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return by_halves(b, m, lambda p, q: _relu(b, m, b.min_(p, q)), x, y)


@op("max", "relu=relu? type=s16x2", "type = type, type")
@op("max", "type=u16x2", "type = type, type")
def max_packed(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return by_halves(b, m, lambda p, q: _relu(b, m, b.max_(p, q)), x, y)


def _elements(x: Value, bits: int, count: int) -> list[Value]:
    """The lowest `count` fields of `bits` bits, each extended to 32 by the signedness of x."""
    left = [32 - bits * (i + 1) for i in range(count)]
    return [(x << n if n else x) >> (32 - bits) for n in left]


def _dot(b: Builder, x: list[Value], y: list[Value], z: Value) -> Value:
    total = z.bits(U32)
    for p, q in zip(x, y, strict=True):
        total = total + p.bits(U32) * q.bits(U32)
    return total.bits(z.type)


def _register_dot_products() -> None:
    for atype in ("u32", "s32"):
        for btype in ("u32", "s32"):
            result = "u32" if atype == btype == "u32" else "s32"
            operands = f"{result} = atype, btype, {result}"
            op("dp4a", f"atype={atype} btype={btype}", operands)(lambda b, m, x, y, z: _dot(b, _elements(x, 8, 4), _elements(y, 8, 4), z))
            op("dp2a", f"mode=lo|hi atype={atype} btype={btype}", operands)(_dp2a)


def _dp2a(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    first = 2 if m.mode == "hi" else 0
    return _dot(b, _elements(x, 16, 2), _elements(y, 8, 4)[first : first + 2], z)


_register_dot_products()
