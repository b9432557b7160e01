"""The reference of float rounding against rational numbers, and the lane builders' own conversions against NumPy's."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpsight.lanes import exact, half
from warpsight.lanes.numpy_builder import NumpyBuilder
from warpsight.lanes.types import B16, F32, F64

FORMATS: dict[str, tuple[exact.FloatFormat, Any]] = {"f32": (exact.BINARY32, np.float32), "f64": (exact.BINARY64, np.float64)}
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


def neighbours(value: Fraction, dtype: Any) -> tuple[float, float]:
    """The largest number of the format not above `value` and the smallest not below it."""
    try:
        near = dtype(float(value)) if dtype is np.float64 else dtype(np.float64(float(value)))
    except OverflowError:
        near = dtype(math.inf if value > 0 else -math.inf)

    def exceeds(x: Any) -> bool:
        return bool(x == math.inf or (x != -math.inf and Fraction(float(x)) > value))

    def below(x: Any) -> bool:
        return bool(x == -math.inf or (x != math.inf and Fraction(float(x)) < value))

    low, high = near, near
    while exceeds(low):
        low = np.nextafter(low, dtype(-math.inf))
    while below(high):
        high = np.nextafter(high, dtype(math.inf))
    return float(low), float(high)


def check(format: str, op: str, value: Fraction, *args: float) -> None:
    """Rounding down and up give the neighbours of the true value, toward zero the one nearer to it."""
    fmt, dtype = FORMATS[format]
    with np.errstate(all="ignore"):
        low, high = neighbours(value, dtype)
    largest = float(np.finfo(dtype).max)
    want = {"rm": low, "rp": high, "rz": low if value > 0 else high}
    for mode, expected in want.items():
        if mode == "rz":
            expected = max(-largest, min(largest, expected))
        got = exact.OPERATIONS[op](mode, fmt, *args)
        assert got == expected, f"{op}.{mode}.{format}{args}: {got!r}, expected {expected!r}"


@given(a=SINGLES, b=SINGLES, c=SINGLES)
def test_f32(a: float, b: float, c: float) -> None:
    x, y, z = Fraction(a), Fraction(b), Fraction(c)
    check("f32", "add", x + y, a, b)
    check("f32", "sub", x - y, a, b)
    check("f32", "mul", x * y, a, b)
    check("f32", "fma", x * y + z, a, b, c)
    if b:
        check("f32", "div", x / y, a, b)


@given(a=DOUBLES, b=DOUBLES, c=DOUBLES)
def test_f64(a: float, b: float, c: float) -> None:
    x, y, z = Fraction(a), Fraction(b), Fraction(c)
    check("f64", "add", x + y, a, b)
    check("f64", "mul", x * y, a, b)
    check("f64", "fma", x * y + z, a, b, c)
    if b:
        check("f64", "div", x / y, a, b)


@given(a=st.floats(min_value=0, width=32, allow_infinity=False))
def test_sqrt(a: float) -> None:
    for format, (fmt, dtype) in FORMATS.items():
        low, high = exact.sqrt("rm", fmt, a), exact.sqrt("rp", fmt, a)
        assert Fraction(low) ** 2 <= Fraction(a) <= Fraction(high) ** 2, format
        assert high in (low, float(np.nextafter(dtype(low), dtype(math.inf))))
        assert (low == high) == (Fraction(low) ** 2 == Fraction(a))


@given(a=DOUBLES, b=DOUBLES, c=DOUBLES)
def test_to_nearest_is_the_hosts(a: float, b: float, c: float) -> None:
    with np.errstate(all="ignore"):
        x, y = np.float64(a), np.float64(b)
        for op, want in (("add", x + y), ("sub", x - y), ("mul", x * y), ("div", x / y), ("sqrt", np.sqrt(x))):
            got = exact.OPERATIONS[op]("rn", exact.BINARY64, *(a,) if op == "sqrt" else (a, b))
            assert np.float64(got).tobytes() == want.tobytes() or (np.isnan(got) and np.isnan(want)), op


@pytest.mark.parametrize(("op", "args", "want"), [
    # IEEE 754-2019, sections 6.1 to 6.3 and 7.2
    ("add", (math.inf, -math.inf), math.nan), ("mul", (0.0, math.inf), math.nan), ("div", (0.0, 0.0), math.nan),
    ("sqrt", (-1.0,), math.nan), ("div", (1.0, -0.0), -math.inf), ("sqrt", (-0.0,), -0.0), ("add", (-0.0, -0.0), -0.0),
    ("mul", (-0.0, 3.0), -0.0), ("div", (-1.0, math.inf), -0.0),
    ("fma", (math.inf, 1.0, -math.inf), math.nan), ("fma", (0.0, math.inf, 1.0), math.nan), ("fma", (2.0, 3.0, math.inf), math.inf),
    ("fma", (-0.0, 1.0, -0.0), -0.0), ("fma", (1e-300, -1e-300, 0.0), -0.0),
])  # fmt: skip
def test_special_cases(op: str, args: tuple[float, ...], want: float) -> None:
    got = exact.OPERATIONS[op]("rn", exact.BINARY64, *args)
    assert np.float64(got).tobytes() == np.float64(want).tobytes() or (math.isnan(got) and math.isnan(want))


def test_exact_cancellation_has_the_sign_that_the_mode_gives() -> None:
    for mode, sign in (("rn", 1.0), ("rz", 1.0), ("rp", 1.0), ("rm", -1.0)):
        assert math.copysign(1.0, exact.add(mode, exact.BINARY32, 1.5, -1.5)) == sign


@given(st.lists(st.tuples(SINGLES, SINGLES, SINGLES), min_size=32, max_size=32))
def test_fma_of_the_numpy_builder(lanes: list[tuple[float, float, float]]) -> None:
    b = NumpyBuilder()
    a, x, c = (b.value(F32, np.array(column, np.float32)) for column in zip(*lanes, strict=True))
    want = [exact.fma("rn", exact.BINARY32, *map(float, lane)) for lane in lanes]
    assert b.fma(a, x, c).handle.tobytes() == np.array(want, np.float32).tobytes()


def test_every_half_extends_to_its_float() -> None:
    b = NumpyBuilder()
    for start in range(0, 1 << 16, 32):
        bits = np.arange(start, start + 32, dtype=np.uint16)
        got = half.half_to_float(b, b.value(B16, bits)).handle
        want = bits.view(np.float16).astype(np.float32)
        assert np.array_equal(np.isnan(got), np.isnan(want))
        assert got[~np.isnan(got)].tobytes() == want[~np.isnan(want)].tobytes()


def test_floats_round_to_the_nearest_half() -> None:
    b = NumpyBuilder()
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
    finite = np.sort(every[np.isfinite(every)])
    with np.errstate(all="ignore"):
        middles = (finite[1:] + finite[:-1]) / np.float32(2)
        up, down = np.nextafter(middles, np.float32(np.inf)), np.nextafter(middles, np.float32(-np.inf))
        edges = np.array([65519.996, 65520.0, 1e30, np.inf, 2.0**-25, 2.0**-25 * 1.0000001, 1e-40, 0.0], np.float32)
        values = np.concatenate([middles[::7], up[::7], down[::7], edges, -edges])
        values = np.concatenate([values, np.zeros(-len(values) % 32, np.float32)])
        for chunk in values.reshape(-1, 32):
            got = half.float_to_half(b, b.value(F32, chunk)).handle
            assert got.tobytes() == chunk.astype(np.float16).tobytes()
    assert np.isnan(half.float_to_half(b, b.const(F32, math.nan)).handle.view(np.float16)).all()


def test_float_to_int_truncates() -> None:
    from warpsight.lanes.types import S32, U64

    b = NumpyBuilder()
    assert b.float_to_int(b.const(F64, -2.9), S32).handle[0] == -2
    assert b.float_to_int(b.const(F64, 2.0**63 + 2.0**11), U64).handle[0] == 2**63 + 2**11
