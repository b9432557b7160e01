"""Floating-point arithmetic on bit patterns with rational numbers: what IEEE 754-2019 and the PTX manual define, one value at a time.

Nothing here knows how warpsight computes. A value is a bit pattern of a `Format`; `None` stands for a NaN result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

MODES = ("rn", "rz", "rm", "rp")


@dataclass(frozen=True)
class Format:
    name: str
    exponent: int  # bits
    fraction: int  # bits, without the hidden one

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.fraction

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.fraction

    @property
    def one(self) -> int:
        return self.bias << self.fraction

    @property
    def nan(self) -> int:
        """What an invalid operation gives on an H200."""
        return 0xFFF8000000000000 if self.bits == 64 else self.sign - 1


F16, BF16, F32, F64 = Format("f16", 5, 10), Format("bf16", 8, 7), Format("f32", 8, 23), Format("f64", 11, 52)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64)}


def is_nan(fmt: Format, x: int) -> bool:
    return x & (fmt.sign - 1) > fmt.infinity


def is_infinite(fmt: Format, x: int) -> bool:
    return x & (fmt.sign - 1) == fmt.infinity


def negative(fmt: Format, x: int) -> bool:
    return x & fmt.sign != 0


def value(fmt: Format, x: int) -> Fraction:
    """Of a finite pattern."""
    exponent, fraction = (x & fmt.infinity) >> fmt.fraction, x & ((1 << fmt.fraction) - 1)
    significand = fraction + (1 << fmt.fraction if exponent else 0)
    magnitude = significand * Fraction(2) ** (max(exponent, 1) - fmt.bias - fmt.fraction)
    return -magnitude if negative(fmt, x) else magnitude


def flushed(fmt: Format, x: int) -> int:
    return x & fmt.sign if x & fmt.infinity == 0 else x


def _exponent(x: Fraction) -> int:
    """floor(log2 x) of x > 0."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def _round(x: Fraction, mode: str, minus: bool, squared: bool = False) -> int:
    """x >= 0 (or its root, when squared) to an integer. `minus`: the number has a minus sign."""
    floor = math.isqrt(x.numerator // x.denominator) if squared else x.numerator // x.denominator

    def against(y: Fraction) -> int:
        target = y * y if squared else y
        return (x > target) - (x < target)

    inexact = against(Fraction(floor)) > 0
    half = against(floor + Fraction(1, 2))
    up = {
        "rn": half > 0 or (half == 0 and floor % 2 == 1),
        "rna": half >= 0,
        "rz": False,
        "rm": inexact and minus,
        "rp": inexact and not minus,
    }
    return floor + up[mode]


def rounded(fmt: Format, x: Fraction, mode: str, zero: int = 0, ftz: bool = False, squared: bool = False) -> int:
    """x (its root, when squared) in the format. An exact 0 gives `zero`.

    ftz: what is below the least normal number after rounding with any exponent becomes 0.
    """
    if x == 0:
        return zero
    minus, x = x < 0, abs(x)
    sign = fmt.sign if minus else 0
    e = _exponent(x) // 2 if squared else _exponent(x)
    least = 1 - fmt.bias - fmt.fraction

    def scaled(quantum: int) -> int:
        return _round(x / Fraction(2) ** (quantum * (2 if squared else 1)), mode, minus, squared)

    if ftz and scaled(e - fmt.fraction) * Fraction(2) ** (e - fmt.fraction) < Fraction(2) ** (1 - fmt.bias):
        return sign
    quantum = max(e - fmt.fraction, least)
    m = scaled(quantum)
    if m == 2 << fmt.fraction:
        m, quantum = m >> 1, quantum + 1
    if quantum + fmt.fraction > fmt.bias:
        grows = mode in ("rn", "rna") or (mode == "rm" and minus) or (mode == "rp" and not minus)
        return sign | (fmt.infinity if grows else fmt.infinity - 1)
    return sign | m if m < 1 << fmt.fraction else sign | ((quantum - least + 1) << fmt.fraction) | (m - (1 << fmt.fraction))


def fma(fmt: Format, a: int, b: int, c: int, mode: str = "rn", ftz: bool = False) -> int | None:
    if any(is_nan(fmt, x) for x in (a, b, c)):
        return None
    sign = (a ^ b) & fmt.sign
    if is_infinite(fmt, a) or is_infinite(fmt, b):
        if any(x & (fmt.sign - 1) == 0 for x in (a, b)) or (is_infinite(fmt, c) and c & fmt.sign != sign):
            return None
        return sign | fmt.infinity
    if is_infinite(fmt, c):
        return c
    product, addend = value(fmt, a) * value(fmt, b), value(fmt, c)
    cancelled = fmt.sign if mode == "rm" else 0
    both_zero = product == 0 and addend == 0 and sign == c & fmt.sign
    return rounded(fmt, product + addend, mode, sign if both_zero else cancelled, ftz)


def add(fmt: Format, a: int, b: int, mode: str = "rn", ftz: bool = False) -> int | None:
    return fma(fmt, a, fmt.one, b, mode, ftz)


def sub(fmt: Format, a: int, b: int, mode: str = "rn", ftz: bool = False) -> int | None:
    return add(fmt, a, b ^ fmt.sign, mode, ftz)


def mul(fmt: Format, a: int, b: int, mode: str = "rn", ftz: bool = False) -> int | None:
    return fma(fmt, a, b, (a ^ b) & fmt.sign, mode, ftz)


def div(fmt: Format, a: int, b: int, mode: str = "rn", ftz: bool = False) -> int | None:
    sign = (a ^ b) & fmt.sign
    zero = [x & (fmt.sign - 1) == 0 for x in (a, b)]
    infinite = [is_infinite(fmt, x) for x in (a, b)]
    if is_nan(fmt, a) or is_nan(fmt, b) or all(zero) or all(infinite):
        return None
    if infinite[0] or zero[1]:
        return sign | fmt.infinity
    if infinite[1] or zero[0]:
        return sign
    return rounded(fmt, value(fmt, a) / value(fmt, b), mode, sign, ftz)


def sqrt(fmt: Format, a: int, mode: str = "rn", ftz: bool = False) -> int | None:
    if is_nan(fmt, a) or (negative(fmt, a) and a != fmt.sign):
        return None
    return a if a in (fmt.sign, fmt.infinity) else rounded(fmt, value(fmt, a), mode, a, ftz, squared=True)


OPERATIONS: dict[str, tuple[Callable[..., int | None], int]] = {
    "add": (add, 2),
    "sub": (sub, 2),
    "mul": (mul, 2),
    "fma": (fma, 3),
    "div": (div, 2),
    "sqrt": (sqrt, 1),
}


def operation(op: str, fmt: Format, args: Sequence[int], mode: str = "rn", ftz: bool = False, sat: bool = False, relu: bool = False) -> int:
    """With PTX's modifiers. An f64 NaN operand is passed on, quiet: of fma b, c, a in this order; of others the last; of div the first."""
    if ftz:
        args = [flushed(fmt, x) for x in args]
    function, count = OPERATIONS[op]
    assert len(args) == count
    result = function(fmt, *args, mode, ftz)
    if result is None:
        if sat:
            return 0
        order = {"fma": (1, 2, 0), "div": (0, 1)}.get(op, tuple(reversed(range(count))))
        passed = [args[i] | 1 << (fmt.fraction - 1) for i in order if is_nan(fmt, args[i])] if fmt is F64 else []
        return passed[0] if passed else fmt.nan
    if (sat or relu) and negative(fmt, result):
        return 0
    return min(result, fmt.one) if sat else result


def convert(source: Format, to: Format, x: int, mode: str = "rn", ftz: bool = False) -> int | None:
    """A finite or infinite x in another format; None for NaN."""
    if is_nan(source, x):
        return None
    sign = to.sign if negative(source, x) else 0
    if is_infinite(source, x):
        return sign | to.infinity
    return rounded(to, value(source, x), mode, sign, ftz)


def integral(x: Fraction, mode: str) -> int:
    """The whole number that rni rzi rmi rpi round to."""
    functions: dict[str, Callable[[Fraction], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    return functions[mode](x)


def to_integer(source: Format, x: int, bits: int, signed: bool, mode: str) -> int:
    """cvt of a float to an integer: two's complement bits of the nearest value in range; NaN as the manual's section on cvt says."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if is_nan(source, x):
        return 1 << (bits - 1) if source is F64 or bits == 64 else 0
    bound = low if negative(source, x) else high
    whole = bound if is_infinite(source, x) else min(max(integral(value(source, x), mode), low), high)
    return whole & ((1 << bits) - 1)


def key(fmt: Format, x: int) -> int:
    """Orders patterns as min and max do: -0 before +0."""
    magnitude = x & (fmt.sign - 1)
    return -magnitude - 1 if negative(fmt, x) else magnitude


def extremum(op: str, fmt: Format, a: int, b: int, nan: bool = False, xorsign: bool = False) -> int:
    """min or max as PTX defines them (f64 NaNs: the second, quiet)."""
    nans = [is_nan(fmt, x) for x in (a, b)]
    if all(nans) or (nan and any(nans)):
        return b | 1 << (fmt.fraction - 1) if fmt is F64 else fmt.nan
    sign = (a ^ b) & fmt.sign
    if xorsign:
        a, b = a & (fmt.sign - 1), b & (fmt.sign - 1)
    chosen = b if nans[0] else a if nans[1] else {"min": min, "max": max}[op](a, b, key=lambda x: key(fmt, x))
    return chosen | sign if xorsign else chosen


def compare(op: str, fmt: Format, a: int, b: int) -> bool:
    """PTX's comparison operators on floats."""
    unordered = is_nan(fmt, a) or is_nan(fmt, b)
    if op in ("num", "nan"):
        return unordered == (op == "nan")
    if unordered:
        return len(op) == 3  # equ neu ltu leu gtu geu
    zero = [0 if x & (fmt.sign - 1) == 0 else key(fmt, x) for x in (a, b)]
    x, y = zero
    return {"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[op[:2]]


def edges(fmt: Format) -> list[int]:
    """Zeros, subnormals, least normals, neighbours of one, small numbers, a tie, the greatest, infinities, NaNs; of both signs."""
    unit, one = 1 << fmt.fraction, fmt.one
    values = [
        0,
        1,
        unit - 1,
        unit,
        unit + 1,
        one - 1,
        one,
        one + 1,
        one + unit // 2,
        one + unit,
        one + 5 * unit + 3,
        one - 9 * unit,
        fmt.infinity - 1,
    ]
    values += [fmt.infinity, fmt.infinity | unit // 2, fmt.infinity | 3, fmt.infinity | unit // 2 | 9]
    return [v | s for v in values for s in (0, fmt.sign)]
