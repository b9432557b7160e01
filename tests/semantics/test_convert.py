"""cvt and cvt.pack against exact integers and rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracle_float as oracle
from tests.semantics.float_rules import BUILDERS, Bits, form, pairs, run, show
from warpsight.semantics import NotSupported

INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "bf16", "f32", "f64")
SETTINGS = settings(max_examples=10, deadline=None)


def width(type: str) -> int:
    return oracle.FORMATS[type].bits if type in oracle.FORMATS else int(type[1:])


def register(type: str) -> str:
    return f"b{max(16, width(type))}"


def integer_edges(type: str) -> list[int]:
    """Bounds of every width, neighbours of powers of two, and numbers on and beside the ties of every float format."""
    values = {0, 1, 2, 3, 5, 100, 255}
    for power in range(width(type) + 1):
        values |= {(1 << power) + d for d in (-2, -1, 0, 1)}
    for fraction in (7, 10, 23, 52):
        for extra in (1, 2, 9):
            half = 1 << (extra - 1)
            values |= {(((1 << fraction) + k) << extra) + half + d for k in (0, 1, (1 << fraction) - 1) for d in (-1, 0, 1)}
    mask = (1 << width(type)) - 1
    return sorted({v & mask for v in values} | {-v & mask for v in values})


def number(type: str, bits: int) -> int:
    """The value of an integer pattern."""
    n = width(type)
    bits &= (1 << n) - 1
    return bits - (1 << n) if type[0] == "s" and bits >> (n - 1) else bits


def in_register(type: str, value: int) -> int:
    """A value of the type as it stands in a register of at least 16 bits: extended by its sign."""
    return number(type, value) & ((1 << max(16, width(type))) - 1)


def clamp(type: str, value: int) -> int:
    n = width(type)
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if type[0] == "s" else (0, (1 << n) - 1)
    return min(max(value, low), high)


def check(builder: str, spelling: str, to: str, source: str, values: list[int], expected: list[int]) -> None:
    operands = [np.array(values, np.uint64)]
    got = run(builder, spelling, [register(to)], [register(source)], operands)[0]
    problem = show(spelling, operands, got, np.array(expected, np.uint64))
    assert not problem, problem


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_between_integers(source: str, builder: str) -> None:
    values = integer_edges(source)
    for to in INTEGERS:
        check(builder, f"cvt.{to}.{source}", to, source, values, [in_register(to, number(source, v)) for v in values])
        check(builder, f"cvt.sat.{to}.{source}", to, source, values, [in_register(to, clamp(to, number(source, v))) for v in values])


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("source", INTEGERS)
def test_integer_to_float(source: str, builder: str) -> None:
    values = integer_edges(source)
    for to in FLOATS:
        for mode in oracle.MODES:
            want = [oracle.rounded(oracle.FORMATS[to], Fraction(number(source, v)), mode) for v in values]
            check(builder, f"cvt.{mode}.{to}.{source}", to, source, values, want)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("source", ["u64", "s64"])
@SETTINGS
@given(st.data())
def test_random_long_integers_to_float(source: str, builder: str, data: st.DataObject) -> None:
    shape = st.builds(
        lambda x, k, d: (x >> k << (k // 2)) + d & (2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 63), st.integers(-2, 2)
    )
    values = data.draw(st.lists(shape, min_size=1, max_size=64))
    for to in FLOATS:
        for mode in oracle.MODES:
            want = [oracle.rounded(oracle.FORMATS[to], Fraction(number(source, v)), mode) for v in values]
            check(builder, f"cvt.{mode}.{to}.{source}", to, source, values, want)


def float_values(fmt: oracle.Format) -> list[int]:
    """Edge values, and those around every bound of an integer type and every half."""
    values = set(oracle.edges(fmt))
    for limit in (0, 7, 8, 15, 16, 31, 32, 63, 64):
        for nudge in (Fraction(0), Fraction(-1), Fraction(1), Fraction(1, 2), Fraction(-1, 2), Fraction(3, 2)):
            for mode in ("rm", "rp"):
                x = oracle.rounded(fmt, 2**limit + nudge, mode)
                values |= {x, x ^ fmt.sign}
    return sorted(values)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("source", FLOATS)
def test_float_to_integer(source: str, builder: str) -> None:
    fmt = oracle.FORMATS[source]
    values = list(range(1 << 16)) if builder == "llvm" and fmt.bits == 16 else float_values(fmt)
    exhaustive = len(values) == 1 << 16
    for to in ("s32", "u8") if exhaustive else INTEGERS:
        for mode in ("rni",) if exhaustive else ("rni", "rzi", "rmi", "rpi"):
            want = [in_register(to, oracle.to_integer(fmt, v, width(to), to[0] == "s", mode)) for v in values]
            check(builder, f"cvt.{mode}.{to}.{source}", to, source, values, want)
    if source == "f32":
        flushed = [in_register("s32", oracle.to_integer(fmt, oracle.flushed(fmt, v), 32, True, "rpi")) for v in values]
        check(builder, "cvt.rpi.ftz.s32.f32", "s32", source, values, flushed)


def nan_bits(source: oracle.Format, to: oracle.Format, x: int) -> int:
    """Measured on an H200: conversions from or to f64 keep sign and upper payload of a NaN and make it quiet; bf16 to f32 is a shift."""
    if (source, to) == (oracle.BF16, oracle.F32):
        return x << 16
    if oracle.F64 not in (source, to):
        return to.nan
    payload = x & ((1 << source.fraction) - 1)
    shift = to.fraction - source.fraction
    payload = payload << shift if shift >= 0 else payload >> -shift
    return (to.sign if oracle.negative(source, x) else 0) | to.infinity | 1 << (to.fraction - 1) | payload


def converted(source: oracle.Format, to: oracle.Format, x: int, mode: str, ftz: bool = False) -> int:
    if ftz and source is oracle.F32:
        x = oracle.F32.nan if oracle.is_nan(source, x) else oracle.flushed(source, x)
    result = oracle.convert(source, to, x, mode, ftz and to is oracle.F32)
    return nan_bits(source, to, x) if result is None else result


NARROWING = [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16"), ("f16", "bf16"), ("bf16", "f16")]
WIDENING = [("f16", "f32"), ("bf16", "f32"), ("f16", "f64"), ("bf16", "f64"), ("f32", "f64")]


def around_ties(to: oracle.Format, source: oracle.Format) -> list[int]:
    """Source values on, and one unit beside, the ties of the destination, for normal and subnormal results, and at its overflow."""
    values = []
    bases = (0, 1, 2, (1 << to.fraction) - 1, 1 << to.fraction, to.one, to.one + 1, to.infinity - 1)
    for base in bases:
        low = oracle.value(to, base)
        high = low + (low - oracle.value(to, base - 1)) if base == to.infinity - 1 else oracle.value(to, base + 1)
        middle = oracle.rounded(source, (low + high) / 2, "rz")
        values += [v for v in (middle - 1, middle, middle + 1) if 0 <= v < source.infinity]
    return values + [v | source.sign for v in values]


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("source, to", NARROWING)
def test_rounding_to_a_smaller_float(source: str, to: str, builder: str) -> None:
    s, t = oracle.FORMATS[source], oracle.FORMATS[to]
    values = list(range(1 << 16)) if s.bits == 16 and builder == "llvm" else oracle.edges(s) + around_ties(t, s)
    for mode in oracle.MODES if len(values) < 1000 else ("rn", "rm"):
        check(builder, f"cvt.{mode}.{to}.{source}", to, source, values, [converted(s, t, v, mode) for v in values])
        if "f32" in (source, to):
            check(builder, f"cvt.{mode}.ftz.{to}.{source}", to, source, values, [converted(s, t, v, mode, ftz=True) for v in values])


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("source, to", NARROWING[:5])
@SETTINGS
@given(st.data())
def test_rounding_random_values(source: str, to: str, builder: str, data: st.DataObject) -> None:
    s, t = oracle.FORMATS[source], oracle.FORMATS[to]
    exponents = st.integers(max(0, s.bias - t.bias - t.fraction - 3), s.bias + t.bias + 1)
    shape = st.builds(lambda sign, e, f, k: sign * s.sign | e << s.fraction | (f >> k << k), st.integers(0, 1), exponents,
                      st.integers(0, (1 << s.fraction) - 1), st.integers(0, s.fraction - t.fraction))  # fmt: skip
    values = data.draw(st.lists(shape, min_size=8, max_size=64))
    for mode in oracle.MODES:
        check(builder, f"cvt.{mode}.{to}.{source}", to, source, values, [converted(s, t, v, mode) for v in values])


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("source, to", WIDENING)
def test_widening_is_exact(source: str, to: str, builder: str) -> None:
    s, t = oracle.FORMATS[source], oracle.FORMATS[to]
    values = list(range(1 << 16)) if s.bits == 16 and builder == "llvm" else oracle.edges(s)
    check(builder, f"cvt.{to}.{source}", to, source, values, [converted(s, t, v, "rn") for v in values])


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", FLOATS)
def test_rounding_to_integral_values(type: str, builder: str) -> None:
    fmt = oracle.FORMATS[type]
    values = list(range(1 << 16)) if fmt.bits == 16 and builder == "llvm" else float_values(fmt)

    def expected(x: int, mode: str) -> int:
        if oracle.is_nan(fmt, x):
            return nan_bits(fmt, fmt, x)
        if oracle.is_infinite(fmt, x):
            return x
        return oracle.rounded(fmt, Fraction(oracle.integral(oracle.value(fmt, x), mode)), "rn", x & fmt.sign)

    for mode in ("rni", "rzi", "rmi", "rpi") if len(values) < 1000 else ("rni",):
        check(builder, f"cvt.{mode}.{type}.{type}", type, type, values, [expected(v, mode) for v in values])


@pytest.mark.parametrize("builder", BUILDERS)
def test_saturation_and_relu(builder: str) -> None:
    values = oracle.edges(oracle.F32)
    for to in ("f32", "f16", "bf16"):
        fmt = oracle.FORMATS[to]
        mode = "" if to == "f32" else "rz."
        rounded = [oracle.convert(oracle.F32, fmt, v, "rz") for v in values]
        clamped = [0 if r is None or oracle.negative(fmt, r) else min(r, fmt.one) for r in rounded]
        check(builder, f"cvt.{mode}sat.{to}.f32", to, "f32", values, clamped)
        if mode:
            positive = [fmt.nan if r is None else 0 if oracle.negative(fmt, r) else r for r in rounded]
            check(builder, f"cvt.rz.relu.{to}.f32", to, "f32", values, positive)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("to", ["f16", "bf16"])
def test_packed_takes_the_first_source_as_the_upper_half(to: str, builder: str) -> None:
    fmt = oracle.FORMATS[to]
    values = oracle.edges(oracle.F32)[::2] + around_ties(fmt, oracle.F32)[::5]
    high, low = pairs(values, values)
    for mode in ("rn", "rz"):
        halves = {v: converted(oracle.F32, fmt, v, mode) for v in values}
        want = np.array([halves[int(h)] << 16 | halves[int(v)] for h, v in zip(high, low, strict=True)], np.uint64)
        spelling = f"cvt.{mode}.{to}x2.f32"
        problem = show(spelling, [high, low], run(builder, spelling, ["b32"], ["b32", "b32"], [high, low])[0], want)
        assert not problem, problem


@pytest.mark.parametrize("builder", BUILDERS)
def test_tf32_rounds_ties_away_from_zero(builder: str) -> None:
    tf32 = oracle.Format("tf32", 8, 10)
    values = [v for v in oracle.edges(oracle.F32) + around_ties(tf32, oracle.F32) if not oracle.is_nan(oracle.F32, v)]
    want = [(oracle.convert(oracle.F32, tf32, v, "rna") or 0) << 13 for v in values]
    check(builder, "cvt.rna.tf32.f32", "f32", "f32", values, want)


@pytest.mark.parametrize("builder", BUILDERS)
def test_pack(builder: str) -> None:
    values = [
        0,
        1,
        2,
        3,
        4,
        7,
        8,
        15,
        16,
        127,
        128,
        255,
        256,
        32767,
        32768,
        65535,
        65536,
        2**31 - 1,
        2**31,
        2**32 - 1,
        2**32 - 3,
        2**32 - 129,
        2**32 - 32769,
    ]
    high, low = pairs(values, values)
    rest = np.full(len(high), 0x9ABCDEF7, np.uint64)
    for source in ("s32", "u32"):
        for to in ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"):
            n, with_rest = int(to[1:]), to not in ("u16", "s16")
            field = {v: clamp(to, number(source, v)) & ((1 << n) - 1) for v in values}
            above = (0x9ABCDEF7 << 2 * n) & 0xFFFFFFFF if with_rest else 0
            want = np.array([above | field[int(h)] << n | field[int(v)] for h, v in zip(high, low, strict=True)], np.uint64)
            spelling = f"cvt.pack.sat.{to}.{source}" + (".b32" if with_rest else "")
            operands: list[Bits] = [high, low, rest] if with_rest else [high, low]
            problem = show(spelling, operands, run(builder, spelling, ["b32"], ["b32"] * len(operands), operands)[0], want)
            assert not problem, problem


@pytest.mark.parametrize("spelling, dst, src", [
    ("cvt.s32.f32", "b32", "b32"), ("cvt.rn.s32.f32", "b32", "b32"), ("cvt.rzi.f32.s32", "b32", "b32"), ("cvt.f32.s32", "b32", "b32"),
    ("cvt.f32.f64", "b32", "b64"), ("cvt.rn.f64.f32", "b64", "b32"), ("cvt.ftz.f64.f16", "b64", "b16"),
    ("cvt.rn.relu.f16.f64", "b16", "b64"),
    ("cvt.rn.s16.s32", "b16", "b32"), ("cvt.rn.satfinite.e4m3x2.f32", "b16", "b32"),
])  # fmt: skip
def test_what_the_manual_does_not_have_is_refused(spelling: str, dst: str, src: str) -> None:
    with pytest.raises(NotSupported):
        form(spelling, (dst,), (src,))
