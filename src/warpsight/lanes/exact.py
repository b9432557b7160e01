"""Correctly rounded float operations of one lane in any rounding mode, computed with Python integers.

This is the reference behind the NumPy builder's `directed` and `fma`: an operation is done exactly on integers (mantissa times a power of
two, with a sticky bit for what division and square root leave over) and rounded once, as IEEE 754-2019 section 4.3 defines it. It shares
nothing with core/exec/directed.cpp, which sets the host's rounding mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

INF, NAN = math.inf, math.nan


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """`precision` in bits with the hidden one; `least`: exponent of the smallest subnormal; `most`: of the largest power of two."""

    precision: int
    least: int
    most: int


BINARY32 = FloatFormat(24, -149, 127)
BINARY64 = FloatFormat(53, -1074, 1023)


def _split(x: float) -> tuple[int, int]:
    """Finite x as (m, e) with x = m * 2**e and m an integer."""
    m, e = math.frexp(x)
    return int(m * (1 << 53)), e - 53


def _round(m: int, e: int, sticky: bool, mode: str, fmt: FloatFormat) -> float:
    """m * 2**e (m != 0; magnitude a little more than |m| when sticky) rounded to `fmt` by `mode` (rn rz rm rp)."""
    negative, m = m < 0, abs(m)
    quantum = max(m.bit_length() + e - fmt.precision, fmt.least)
    dropped = quantum - e
    if dropped <= 0:
        assert not sticky, "the caller keeps enough bits for a sticky result"
        kept, rest, half = m << -dropped, 0, 1
    else:
        kept, rest, half = m >> dropped, m & ((1 << dropped) - 1), 1 << (dropped - 1)
    inexact = rest != 0 or sticky
    up = {
        "rn": rest > half or (rest == half and (sticky or kept & 1 == 1)),
        "rz": False,
        "rm": negative and inexact,
        "rp": not negative and inexact,
    }[mode]
    kept += up
    sign = -1.0 if negative else 1.0
    if kept.bit_length() + quantum > fmt.most + 1:
        to_infinity = mode == "rn" or (mode == "rm" and negative) or (mode == "rp" and not negative)
        largest = math.ldexp((1 << fmt.precision) - 1, fmt.most + 1 - fmt.precision)
        return sign * (INF if to_infinity else largest)
    return sign * math.ldexp(kept, quantum)


def _zero_sum(x: float, y: float, mode: str) -> float:
    """x + y when it is exactly zero: zeros of one sign keep it, others give +0, or -0 toward minus infinity (IEEE 754 section 6.3)."""
    if x == 0.0 and y == 0.0 and math.copysign(1.0, x) == math.copysign(1.0, y):
        return x
    return -0.0 if mode == "rm" else 0.0


def _sign(*xs: float) -> float:
    return math.prod(math.copysign(1.0, x) for x in xs)


def fma(mode: str, fmt: FloatFormat, a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        if math.isnan(a) or math.isnan(b) or math.isnan(c) or (math.isinf(a) and b == 0.0) or (a == 0.0 and math.isinf(b)):
            return NAN
        if math.isinf(a) or math.isinf(b):
            product = _sign(a, b) * INF
            return NAN if math.isinf(c) and c != product else product
        return c
    (ma, ea), (mb, eb), (mc, ec) = _split(a), _split(b), _split(c)
    e = min(ea + eb, ec)
    total = ((ma * mb) << (ea + eb - e)) + (mc << (ec - e))
    if total == 0:
        product_zero = a == 0.0 or b == 0.0
        return _zero_sum(_sign(a, b) * (0.0 if product_zero else 1.0), c, mode)
    return _round(total, e, False, mode, fmt)


def add(mode: str, fmt: FloatFormat, a: float, b: float) -> float:
    return fma(mode, fmt, a, 1.0, b)


def sub(mode: str, fmt: FloatFormat, a: float, b: float) -> float:
    return fma(mode, fmt, a, 1.0, -b)


def mul(mode: str, fmt: FloatFormat, a: float, b: float) -> float:
    if math.isfinite(a) and math.isfinite(b) and (a == 0.0 or b == 0.0):
        return _sign(a, b) * 0.0
    if math.isnan(a) or math.isnan(b):
        return NAN
    return fma(mode, fmt, a, b, 0.0)


def div(mode: str, fmt: FloatFormat, a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b) or (a == 0.0 and b == 0.0) or (math.isinf(a) and math.isinf(b)):
        return NAN
    if math.isinf(a) or b == 0.0:
        return _sign(a, b) * INF
    if a == 0.0 or math.isinf(b):
        return _sign(a, b) * 0.0
    (ma, ea), (mb, eb) = _split(a), _split(b)
    extra = 2 * fmt.precision + 60 + max(0, -(ea - eb) - fmt.least)  # what is dropped always includes a bit
    quotient, rest = divmod(abs(ma) << extra, abs(mb))
    return _round(int(_sign(a, b)) * quotient, ea - eb - extra, rest != 0, mode, fmt)


def sqrt(mode: str, fmt: FloatFormat, a: float) -> float:
    if math.isnan(a) or a < 0.0:
        return NAN
    if a == 0.0 or math.isinf(a):
        return a
    m, e = _split(a)
    shift = 2 * fmt.precision + 10 + (e & 1)
    root = math.isqrt(m << shift)
    return _round(root, (e - shift) // 2, root * root != m << shift, mode, fmt)


OPERATIONS: dict[str, Callable[..., float]] = {"add": add, "sub": sub, "mul": mul, "div": div, "sqrt": sqrt, "fma": fma}
