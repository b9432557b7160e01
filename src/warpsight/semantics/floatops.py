"""Floating-point operations by PTX type, shared by arithmetic instructions and atomics.

`type` is the PTX name: f32 f64 f16 bf16 f16x2 bf16x2. Values of the packed types are B32, the others have their own lane type.
Which NaN comes out is what an H200 gives, see docs/numerics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..lanes import numerics as num
from ..lanes.builder import Builder, Value
from ..lanes.types import B32, BF16, F16, F64, U16, LaneType

HALF = {"f16": F16, "bf16": BF16, "f16x2": F16, "bf16x2": BF16}


@dataclass(frozen=True, slots=True)
class Mode:
    """Modifiers of an arithmetic instruction. `rounding`: rn rz rm rp (halves: rn only)."""

    rounding: str = "rn"
    ftz: bool = False
    sat: bool = False
    relu: bool = False


PLAIN = Mode()

NEAREST: dict[str, Callable[..., Value]] = {
    "add": lambda b, x, y: x + y,
    "sub": lambda b, x, y: x - y,
    "mul": lambda b, x, y: x * y,
    "div": lambda b, x, y: x / y,
    "fma": lambda b, x, y, z: b.fma(x, y, z),
    "sqrt": lambda b, x: b.fsqrt(x),
}

# Of several NaN operands of an f64 operation, which one hardware passes on: positions, first choice first.
NAN_ORDER = {"add": (1, 0), "sub": (1, 0), "mul": (1, 0), "div": (0, 1), "fma": (1, 2, 0), "sqrt": (0,)}


def arithmetic(b: Builder, op: str, type: str, args: Sequence[Value], mode: Mode = PLAIN) -> Value:
    """add sub mul div fma sqrt, correctly rounded (halves: add sub mul fma)."""
    if type in HALF:
        return on_halves(b, type, args, lambda *lanes: _half(b, op, HALF[type], lanes, mode), mode.ftz)
    if mode.ftz:
        args = [num.flush(b, x) for x in args]
    result = _rounded(b, op, mode.rounding, args)
    if mode.ftz:
        result = flush_result(b, op, mode.rounding, args, result)
    if mode.sat:
        return num.saturate(b, result)
    if result.type == F64:
        return num.propagate(b, result, *(args[i] for i in NAN_ORDER[op]))
    return num.canonical(b, result)


def _rounded(b: Builder, op: str, rounding: str, args: Sequence[Value]) -> Value:
    return NEAREST[op](b, *args) if rounding == "rn" else b.directed(op, rounding, args)


def flush_result(b: Builder, op: str, rounding: str, args: Sequence[Value], result: Value) -> Value:
    """.ftz of an f32 result. It is tiny when the value rounded to 24 bits without a bound on the exponent is below the least normal
    number; rounding to a multiple of the least subnormal first could lift it to 2**-126. The same operation 2**32 higher tells. Sums of
    floats are exact down there, roots are never that small; where scaling overflows, the result is no candidate.
    """
    if op in ("add", "sub", "sqrt"):
        return num.flush(b, result)
    up = b.const(result.type, 2.0**32)
    scaled = (args[0] * up, *args[1:2], *(z * up for z in args[2:]))
    tiny = b.fabs(_rounded(b, op, rounding, scaled)) < 2.0**-94
    return b.select(tiny, (num.raw(result) & num.LAYOUT[result.type].sign).bits(result.type), result)


def fadd(b: Builder, x: Value, y: Value, type: str, rounding: str = "rn", ftz: bool = False, sat: bool = False) -> Value:
    return arithmetic(b, "add", type, (x, y), Mode(rounding, ftz, sat))


def fmin(b: Builder, x: Value, y: Value, type: str, ftz: bool = False, nan: bool = False, xorsign: bool = False) -> Value:
    """The smaller; -0 is less than +0. A NaN loses against a number, or wins with `nan`.

    `xorsign`: the smaller magnitude, with the sign of the product.
    """
    return _extremum(b, "min", type, x, y, ftz, nan, xorsign)


def fmax(b: Builder, x: Value, y: Value, type: str, ftz: bool = False, nan: bool = False, xorsign: bool = False) -> Value:
    """The larger; as `fmin` otherwise."""
    return _extremum(b, "max", type, x, y, ftz, nan, xorsign)


def flush_half(b: Builder, x: Value, type: LaneType, rounds: bool = False) -> Value:
    """A half value in F32: subnormals of the half type become zeros of their sign.

    `rounds`: x is still to be rounded to the half's precision, so values that round up to the least normal number stay (as `flush_result`).
    """
    layout = num.LAYOUT[type]
    least = 2.0 ** (1 - (layout.infinity >> (layout.fraction + 1)))
    if rounds:
        least -= least * 2.0 ** -(layout.fraction + 2)
    return b.select(b.fabs(x) < least, (num.raw(x) & 0x80000000).bits(x.type), x)


def on_halves(b: Builder, type: str, args: Sequence[Value], compute: Callable[..., Value], ftz: bool = False) -> Value:
    """Applies `compute` (F32 lanes to one F32) to every half of `args` and rounds to the half type. `ftz`: flushes both."""
    half = HALF[type]

    def one(*lanes: Value) -> Value:
        if not ftz:
            return num.half_pattern(b, compute(*lanes), half)
        result = compute(*(flush_half(b, x, half) for x in lanes))
        return num.half_pattern(b, flush_half(b, result, half, rounds=True), half)

    if type == half.name:
        return one(*(num.widen(b, x) for x in args)).resize(U16).bits(half)
    low, high = zip(*(num.unpack(b, x, half) for x in args), strict=True)
    return num.pack(one(*low), one(*high)).bits(B32)


def each_half(b: Builder, x: Value, type: str) -> list[Value]:
    """F32 values of a half operand: one, or (low, high) of a packed one."""
    return list(num.unpack(b, x, HALF[type])) if type.endswith("x2") else [num.widen(b, x)]


def _half(b: Builder, op: str, half: LaneType, args: Sequence[Value], mode: Mode) -> Value:
    """In F32, whose 24 bits are at least twice a half's plus two: rounding twice gives what rounding once would, except for fma."""
    result = num.half_fma(b, args[0], args[1], args[2], half) if op == "fma" else NEAREST[op](b, *args)
    if mode.sat:
        result = num.saturate(b, result)
    return num.relu(b, result) if mode.relu else result


def _extremum(b: Builder, op: str, type: str, x: Value, y: Value, ftz: bool, nan: bool, xorsign: bool) -> Value:
    if type in HALF:
        return on_halves(b, type, (x, y), lambda p, q: _choose(b, op, p, q, nan, xorsign), ftz)
    if ftz:
        x, y = num.flush(b, x), num.flush(b, y)
    return _choose(b, op, x, y, nan, xorsign)


def _choose(b: Builder, op: str, x: Value, y: Value, nan: bool, xorsign: bool) -> Value:
    sign = (num.raw(x) ^ num.raw(y)) & num.LAYOUT[x.type].sign
    left, right = (b.fabs(x), b.fabs(y)) if xorsign else (x, y)
    p, q = num.raw(left), num.raw(right)
    keep_left = b.or_(left < right if op == "min" else left > right, b.is_nan(right))
    bits = b.select(left == right, p | q if op == "min" else p & q, b.select(keep_left, p, q))
    result = (bits | sign if xorsign else bits).bits(x.type)
    if nan:
        result = b.select(b.or_(b.is_nan(x), b.is_nan(y)), num.pattern(b, x.type, num.LAYOUT[x.type].nan), result)
    return num.propagate(b, result, y, x) if x.type == F64 else num.canonical(b, result)


# Comparison


def compare(b: Builder, op: str, x: Value, y: Value) -> Value:
    """eq ne lt le gt ge (false on NaN), equ neu ltu leu gtu geu (true on NaN), num nan. F32 or F64 lanes."""
    match op:
        case "ne":
            return b.or_(x < y, x > y)
        case "equ":
            return b.not_(b.or_(x < y, x > y))
        case "ltu" | "leu" | "gtu" | "geu":
            return b.not_(b.cmp({"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[op[:2]], x, y))
        case "neu":
            return x != y
        case "nan":
            return b.or_(b.is_nan(x), b.is_nan(y))
        case "num":
            return b.not_(b.or_(b.is_nan(x), b.is_nan(y)))
    return b.cmp(op, x, y)


__all__ = ["HALF", "PLAIN", "Mode", "arithmetic", "compare", "each_half", "fadd", "flush_half", "fmax", "fmin", "on_halves"]
