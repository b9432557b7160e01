"""The approximate instructions: div.approx div.full rcp.approx sqrt.approx rsqrt.approx sin cos lg2 ex2 tanh (PTX ISA, same headings).

Errors stay within the manual's bounds (docs/numerics.md lists bound and measured maximum of each); special values are the hardware's. The
last bits may differ from hardware's tables. Polynomials are minimax fits made for this file, evaluated by fused multiply-adds in F32.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..lanes import numerics as num
from ..lanes.builder import Builder, Value
from ..lanes.types import F32, S32, U64
from .floatops import Mode, arithmetic, on_halves
from .registry import Mods, op

INVERSE_TWO_PI = 0x3E22F983  # 1 / 2 pi as hardware's range reduction multiplies by it
# 2**f = 1 + f * P(f), |f| <= 1/2
EXP2 = ("0x1.62e430p-1", "0x1.ebfbe0p-3", "0x1.c6aed0p-5", "0x1.3b29aep-7", "0x1.5f478cp-10", "0x1.448d7ap-13")
# log2(1 + t) = t * P(t), sqrt(1/2) <= 1 + t < sqrt(2)
LOG2 = (
    *("0x1.715474p+0", "-0x1.71546ap-1", "0x1.ec76eep-2", "-0x1.7160e2p-2", "0x1.269002p-2"),
    *("-0x1.e87dd8p-3", "0x1.bd2a68p-3", "-0x1.aeac24p-3", "0x1.00df98p-3"),
)
# sin(2 pi a) = a * P(a**2), 0 <= a <= 1/4; a last bit was moved so that the value at 1/4 is 1 exactly and none is above
SIN = ("0x1.921fb4p+2", "-0x1.4abbb4p+5", "0x1.466772p+6", "-0x1.323350p+6", "0x1.3c4f9ap+5")
# tanh(a) = a + a**3 * P(a**2), 0 <= a <= 5/8
TANH = ("-0x1.5552d2p-2", "0x1.108ffcp-3", "-0x1.a9c058p-5", "0x1.f2f454p-7")
TWO_LOG2_E = 2.8853900817779268


def polynomial(b: Builder, x: Value, coefficients: Sequence[str]) -> Value:
    """Horner's scheme; the constant term comes first. Coefficients are exact binary32 values in hexadecimal."""
    terms = [b.const(x.type, float.fromhex(c)) for c in coefficients]
    result = terms[-1]
    for term in reversed(terms[:-1]):
        result = b.fma(result, x, term)
    return result


def reciprocal(b: Builder, x: Value) -> Value:
    return b.const(x.type, 1.0) / x


def power_of_two(n: Value) -> Value:
    """S32 exponent in the normal range -> F32."""
    return ((n + 127) << 23).bits(F32)


def exp2(b: Builder, x: Value) -> Value:
    """2**x in F32, with subnormal results."""
    clamped = b.select(x > 130.0, b.const(F32, 130.0), b.select(x < -152.0, b.const(F32, -152.0), x))
    clamped = b.select(b.is_nan(x), b.const(F32, 0.0), clamped)
    whole = b.fround("rint", clamped)
    rest = clamped - whole
    mantissa = b.fma(rest, polynomial(b, rest, EXP2), b.const(F32, 1.0))
    n = b.float_to_int(whole, S32)
    half = n >> 1
    scaled = mantissa * power_of_two(half) * power_of_two(n - half)
    return b.select(b.is_nan(x), x, scaled)


def log2(b: Builder, x: Value) -> Value:
    """log2(x) in F32: zeros give -inf, negative numbers NaN."""
    small = b.fabs(x) < 2.0**-126
    bits = num.raw(b.select(small, x * 2.0**24, x)).bits(S32)
    exponent = (bits - 0x3F3504F3) >> 23  # of the significand in [sqrt(1/2), sqrt(2))
    t = (bits - (exponent << 23)).bits(F32) - 1.0
    whole = b.int_to_float(b.select(small, exponent - 24, exponent), F32)
    result = b.fma(t, polynomial(b, t, LOG2), whole)
    infinite = num.pattern(b, F32, num.LAYOUT[F32].infinity)
    result = b.select(x == infinite, infinite, result)
    result = b.select(x == 0.0, -infinite, result)
    return b.select(b.or_(x < 0.0, b.is_nan(x)), num.pattern(b, F32, num.LAYOUT[F32].nan), result)


def turns(b: Builder, x: Value) -> Value:
    """x / 2 pi less the nearest whole number. The product is rounded toward zero and flushed, as hardware's range reduction does."""
    inverse = num.pattern(b, F32, INVERSE_TWO_PI)
    product = x * inverse
    rest = b.fma(x, inverse, -product)
    too_large = b.or_(b.and_(rest < 0.0, product > 0.0), b.and_(rest > 0.0, product < 0.0))
    product = num.flush(b, num.step(b, num.raw(product), too_large, -1).bits(F32))
    return product - b.fround("rint", product)


def sin_of_turns(b: Builder, a: Value) -> Value:
    """sin(2 pi a), |a| <= 1/4."""
    return a * polynomial(b, a * a, SIN)


def sin(b: Builder, x: Value) -> Value:
    angle = turns(b, x)
    size = b.fabs(angle)
    result = sin_of_turns(b, b.select(size > 0.25, 0.5 - size, size))
    sign = num.raw(b.select(angle == 0.0, x, angle)) & num.LAYOUT[F32].sign
    return (num.raw(result) | sign).bits(F32)


def cos(b: Builder, x: Value) -> Value:
    return sin_of_turns(b, 0.25 - b.fabs(turns(b, x)))


def tanh(b: Builder, x: Value) -> Value:
    size = b.fabs(x)
    square = size * size
    near = b.fma(size * square, polynomial(b, square, TANH), size)
    far = 1.0 - 2.0 * reciprocal(b, exp2(b, size * TWO_LOG2_E) + 1.0)
    result = b.select(size < 0.625, near, far)
    return (num.raw(result) | (num.raw(x) & num.LAYOUT[F32].sign)).bits(F32)


# f32

ONE = "type = type"
F32_APPROX = "approx=approx ftz=ftz? type=f32"


def unary(b: Builder, m: Mods, x: Value, function: str) -> Value:
    """An approximation of f32 by name, flushed if asked for."""
    x = num.flush(b, x) if m.ftz else x
    result = {"sin": sin, "cos": cos, "lg2": log2, "ex2": exp2, "tanh": tanh}[function](b, x)
    return num.canonical(b, num.flush(b, result) if m.ftz else result)


@op("sin", F32_APPROX, ONE)
def sin_approx(b: Builder, m: Mods, x: Value) -> Value:
    return unary(b, m, x, "sin")


@op("cos", F32_APPROX, ONE)
def cos_approx(b: Builder, m: Mods, x: Value) -> Value:
    return unary(b, m, x, "cos")


@op("lg2", F32_APPROX, ONE)
def lg2_approx(b: Builder, m: Mods, x: Value) -> Value:
    return unary(b, m, x, "lg2")


@op("ex2", F32_APPROX, ONE)
def ex2_approx(b: Builder, m: Mods, x: Value) -> Value:
    return unary(b, m, x, "ex2")


@op("tanh", "approx=approx type=f32", ONE)
def tanh_approx(b: Builder, m: Mods, x: Value) -> Value:
    return unary(b, m, x, "tanh")


@op("rcp", F32_APPROX, ONE)
def rcp_approx(b: Builder, m: Mods, x: Value) -> Value:
    return arithmetic(b, "div", "f32", (b.const(F32, 1.0), x), Mode(ftz=bool(m.ftz)))


@op("sqrt", F32_APPROX, ONE)
def sqrt_approx(b: Builder, m: Mods, x: Value) -> Value:
    return arithmetic(b, "sqrt", "f32", (x,), Mode(ftz=bool(m.ftz)))


@op("rsqrt", F32_APPROX, ONE)
def rsqrt_approx(b: Builder, m: Mods, x: Value) -> Value:
    x = num.flush(b, x) if m.ftz else x
    return num.canonical(b, reciprocal(b, b.fsqrt(x)))


@op("div", "full=full ftz=ftz? type=f32", "type = type, type")
def div_full(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "div", "f32", (x, y), Mode(ftz=bool(m.ftz)))


@op("div", F32_APPROX, "type = type, type")
def div_approx(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    """x times the reciprocal of y: where that underflows (|y| > 2**126), finite x give 0 and infinite ones NaN."""
    quotient = arithmetic(b, "div", "f32", (x, y), Mode(ftz=bool(m.ftz)))
    size = b.fabs(y)
    lost = b.and_(size > 2.0**126, size < num.pattern(b, F32, num.LAYOUT[F32].infinity))
    zero = (num.raw(x) ^ num.raw(y)) & num.LAYOUT[F32].sign
    infinite = b.fabs(x) == num.pattern(b, F32, num.LAYOUT[F32].infinity)
    instead = b.select(infinite, num.pattern(b, F32, num.LAYOUT[F32].nan), zero.bits(F32))
    return b.select(b.and_(lost, b.not_(b.is_nan(x))), instead, quotient)


# f64: the .ftz forms see and give the upper 32 bits only.


@op("rcp", "approx=approx ftz=ftz type=f64", ONE)
def rcp_f64(b: Builder, m: Mods, x: Value) -> Value:
    return _coarse_result(b, reciprocal(b, num.flush(b, upper_half(x))))


@op("rsqrt", "approx=approx ftz=ftz? type=f64", ONE)
def rsqrt_f64(b: Builder, m: Mods, x: Value) -> Value:
    if m.ftz:
        return _coarse_result(b, reciprocal(b, b.fsqrt(num.flush(b, upper_half(x)))))
    return num.propagate(b, reciprocal(b, b.fsqrt(x)), x)


def upper_half(x: Value) -> Value:
    """F64 with the lower 32 bits cleared."""
    return (num.raw(x) & 0xFFFFFFFF00000000).bits(x.type)


def _coarse_result(b: Builder, x: Value) -> Value:
    result = num.raw(upper_half(num.flush(b, x)))
    return b.select(b.is_nan(x), b.const(U64, 0x7FFFFFFF00000000), result).bits(x.type)


# Halves


@op("tanh", "approx=approx type=f16|f16x2|bf16|bf16x2", ONE)
def tanh_half(b: Builder, m: Mods, x: Value) -> Value:
    return on_halves(b, m["type"], (x,), lambda v: tanh(b, v))


@op("ex2", "approx=approx type=f16|f16x2", ONE)
@op("ex2", "approx=approx ftz=ftz type=bf16|bf16x2", ONE)
def ex2_half(b: Builder, m: Mods, x: Value) -> Value:
    return on_halves(b, m["type"], (x,), lambda v: exp2(b, v), bool(m.ftz))
