"""The approximate functions: errors against float64 on sweeps, special values as an H200 gives them, and nearness to the H200's results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from tests.semantics.float_rules import BUILDERS, Bits, run
from tests.semantics.test_float_hardware import REGISTER, columns, data

Reals = npt.NDArray[np.float64]
NAN, INF, ONE = 0x7FFFFFFF, 0x7F800000, 0x3F800000
MINUS = 0x80000000


def f32(bits: Bits) -> Reals:
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def bits_of(x: npt.NDArray[np.float32]) -> Bits:
    return x.view(np.uint32).astype(np.uint64)


def evaluate(builder: str, spelling: str, *operands: Bits) -> Bits:
    return run(builder, spelling, ["b32"], ["b32"] * len(operands), operands)[0]


def positive(count: int, low: float = 2.0**-126, high: float = 2.0**127) -> Bits:
    """Every exponent between, random significands."""
    rng = np.random.default_rng(3)
    return bits_of(np.exp2(rng.uniform(np.log2(low), np.log2(high), count)).astype(np.float32))


def between(low: float, high: float, count: int = 20000) -> Bits:
    return bits_of(np.random.default_rng(4).uniform(low, high, count).astype(np.float32))


def check_error(
    builder: str, spelling: str, x: Bits, truth: Callable[[Reals], Reals], relative: float = 0.0, absolute: float = 0.0
) -> None:
    got, want = f32(evaluate(builder, spelling, x)), truth(f32(x))
    excess = np.abs(got - want) - np.maximum(relative * np.abs(want), absolute)
    worst = int(np.argmax(excess))
    assert excess[worst] <= 0, f"{spelling} of {f32(x)[worst]!r}: {got[worst]!r}, truth {want[worst]!r}"


# Bounds: of the manual or tighter. A correctly rounded result has a relative error of at most 2**-24.
@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("z", ["", ".ftz"])
def test_errors_of_f32_functions(z: str, builder: str) -> None:
    x = positive(20000, high=2.0**126)
    check_error(builder, f"rcp.approx{z}.f32", x, lambda v: 1 / v, relative=2.0**-24)
    check_error(builder, f"sqrt.approx{z}.f32", x, np.sqrt, relative=2.0**-24)
    check_error(builder, f"rsqrt.approx{z}.f32", x, lambda v: 1 / np.sqrt(v), relative=2.0**-22.9)
    check_error(builder, f"ex2.approx{z}.f32", between(-126, 127.99), np.exp2, relative=2.0**-22)
    check_error(builder, f"lg2.approx{z}.f32", between(0.5, 2), np.log2, absolute=2.0**-22)
    check_error(
        builder, f"lg2.approx{z}.f32", np.concatenate([positive(20000, high=0.5), positive(20000, low=2.0)]), np.log2, relative=2.0**-22
    )
    for function, truth in (("sin", np.sin), ("cos", np.cos)):
        check_error(builder, f"{function}.approx{z}.f32", between(-2 * np.pi, 2 * np.pi), truth, absolute=2.0**-20.5)
        check_error(builder, f"{function}.approx{z}.f32", between(-100 * np.pi, 100 * np.pi), truth, absolute=2.0**-14.7)


@pytest.mark.parametrize("builder", BUILDERS)
def test_errors_of_tanh_and_subnormals(builder: str) -> None:
    check_error(builder, "tanh.approx.f32", np.concatenate([between(-10, 10), positive(20000)]), np.tanh, relative=2.0**-11)
    tiny = bits_of(np.exp2(np.random.default_rng(8).uniform(-149, -126, 4000)).astype(np.float32))
    check_error(builder, "lg2.approx.f32", tiny, np.log2, relative=2.0**-22)
    check_error(builder, "ex2.approx.f32", between(-149, -126), np.exp2, relative=2.0**-22, absolute=2.0**-149)
    check_error(builder, "sqrt.approx.f32", tiny, np.sqrt, relative=2.0**-24)
    check_error(
        builder,
        "rcp.approx.f32",
        positive(4000, low=2.0**126, high=1.99 * 2.0**127),
        lambda v: 1 / v,
        relative=2.0**-24,
        absolute=2.0**-150,
    )


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("form", ["div.approx", "div.full", "div.approx.ftz", "div.full.ftz"])
def test_quotients(form: str, builder: str) -> None:
    """At most 2 units in the last place off."""
    x, y = positive(20000, 2.0**-60, 2.0**60), positive(20000, 2.0**-60, 2.0**60)[::-1].copy()
    got = f32(evaluate(builder, f"{form}.f32", x, y))
    assert (np.abs(got / (f32(x) / f32(y)) - 1) <= 2.0**-22).all()


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_halves_everywhere(type: str, builder: str) -> None:
    """All 65536 patterns: within a unit of the last place of the truth."""
    patterns = np.arange(1 << 16, dtype=np.uint64)
    fraction = 10 if type == "f16" else 7

    def values(bits: Bits) -> Reals:
        if type == "f16":
            return bits.astype(np.uint16).view(np.float16).astype(np.float64)
        return f32(bits << np.uint64(16))

    x = values(patterns)
    least = 2.0**-14 if type == "f16" else 2.0**-126
    largest = 65504.0 if type == "f16" else (2 - 2.0**-7) * 2.0**127
    with np.errstate(all="ignore"):
        for spelling, truth in ((f"tanh.approx.{type}", np.tanh(x)), (f"ex2.approx{'.ftz' if type == 'bf16' else ''}.{type}", np.exp2(x))):
            got = values(run(builder, spelling, ["b16"], ["b16"], [patterns])[0])
            unit = np.exp2(np.floor(np.log2(np.clip(np.abs(truth), least, largest))) - fraction)
            flushed = (np.abs(truth) < least) & (got == 0) if "ftz" in spelling else np.zeros_like(got, bool)
            overflow = np.isinf(got) & (np.abs(truth) > largest)
            fine = (np.isnan(got) & np.isnan(x)) | (np.abs(got - truth) <= unit) | (got == truth) | overflow | flushed
            assert fine.all(), f"{spelling} of {x[np.argmin(fine)]}: {got[np.argmin(fine)]}"
    packed = patterns | np.roll(patterns, 9) << np.uint64(16)
    one = run(builder, f"tanh.approx.{type}", ["b16"], ["b16"], [patterns])[0]
    both = run(builder, f"tanh.approx.{type}x2", ["b32"], ["b32"], [packed])[0]
    assert np.array_equal(both, one | np.roll(one, 9) << np.uint64(16))


# The manual's tables: results for -inf, negative, -0, +0, +inf, NaN.
INPUTS = (0xFF800000, 0xC0000000, MINUS, 0, INF, 0xFFC00001)
SPECIAL = {
    "rcp.approx.f32": (MINUS, 0xBF000000, 0xFF800000, INF, 0, NAN),
    "sqrt.approx.f32": (NAN, NAN, MINUS, 0, INF, NAN),
    "rsqrt.approx.f32": (NAN, NAN, 0xFF800000, INF, 0, NAN),
    "lg2.approx.f32": (NAN, NAN, 0xFF800000, 0xFF800000, INF, NAN),
    "ex2.approx.f32": (0, 0x3E800000, ONE, ONE, INF, NAN),
    "sin.approx.f32": (NAN, None, MINUS, 0, NAN, NAN),
    "cos.approx.f32": (NAN, None, ONE, ONE, NAN, NAN),
    "tanh.approx.f32": (0xBF800000, None, MINUS, 0, ONE, NAN),
}


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("spelling", SPECIAL)
def test_special_values(spelling: str, builder: str) -> None:
    got = evaluate(builder, spelling, np.array(INPUTS, np.uint64))
    for x, result, want in zip(INPUTS, got, SPECIAL[spelling], strict=True):
        assert want is None or int(result) == want, f"{spelling} of {x:#x}: {int(result):#x}, not {want:#x}"


@pytest.mark.parametrize("builder", BUILDERS)
def test_quotients_by_huge_divisors_are_lost(builder: str) -> None:
    """div.approx: |y| > 2**126 gives 0 for finite x and NaN for infinite ones; div.full has no such gap."""
    x, y = np.array([0x7F000000, 0xFF000000, INF, ONE], np.uint64), np.array([0x7E800001, 0x7F7FFFFF, 0x7E800001, 0x7E800000], np.uint64)
    assert evaluate(builder, "div.approx.f32", x, y).tolist() == [0, MINUS, NAN, 0x00800000]
    assert evaluate(builder, "div.full.f32", x[:1], y[:1]).tolist() == [0x3FFFFFFE]


@pytest.mark.parametrize("builder", BUILDERS)
def test_coarse_f64_forms_use_the_upper_half_only(builder: str) -> None:
    x = np.array(
        [0x3FF8000000000000, 0x3FF80000FFFFFFFF, 0x0008000000000000, 0x7FF0000000000001, 0x7FF8000000000000, 0xFFF0000000000000], np.uint64
    )
    rcp = run(builder, "rcp.approx.ftz.f64", ["b64"], ["b64"], [x])[0].tolist()
    assert rcp == [0x3FE5555500000000, 0x3FE5555500000000, 0x7FF0000000000000, 0, 0x7FFFFFFF00000000, 1 << 63]
    rsqrt = run(builder, "rsqrt.approx.ftz.f64", ["b64"], ["b64"], [x])[0].tolist()
    assert rsqrt == [0x3FEA20BD00000000, 0x3FEA20BD00000000, 0x7FF0000000000000, 0, 0x7FFFFFFF00000000, 0x7FFFFFFF00000000]


# Units in the last place that the H200's result may differ by. sin, cos and lg2 near their zeros: an absolute difference.
NEAR = {"rcp": 1, "sqrt": 1, "rsqrt": 2, "ex2": 2, "div": 2, "tanh": 200}
ABSOLUTE = {"sin": 2.0**-20, "cos": 2.0**-20, "lg2": 2.0**-21}


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("spelling", [s for s in data()[1] if ("approx" in s or "full" in s) and s.endswith(".f32")])
def test_near_the_hardware(spelling: str, builder: str) -> None:
    bits, operands, want = columns(spelling)
    got = run(builder, spelling, [REGISTER[bits]], [REGISTER[bits]] * len(operands), operands)[0]
    op = spelling.split(".")[0]
    if op in ABSOLUTE:
        g, w = f32(got), f32(want)
        inside = np.abs(f32(operands[0])) < 100 if op != "lg2" else np.ones_like(g, bool)
        with np.errstate(invalid="ignore"):
            limit = np.maximum(ABSOLUTE[op], np.abs(w) * 2.0**-21)
            fine = (got == want) | (np.abs(g - w) <= limit) | ~(inside | np.isnan(g) | np.isnan(w))
    else:
        order = [
            np.where(b & np.uint64(MINUS), -(b & np.uint64(NAN)).astype(np.int64), (b & np.uint64(NAN)).astype(np.int64))
            for b in (got, want)
        ]
        fine = np.abs(order[0] - order[1]) <= NEAR[op]
    worst = int(np.argmin(fine))
    assert fine.all(), f"{spelling} of {[hex(int(c[worst])) for c in operands]}: {int(got[worst]):#x}, hardware {int(want[worst]):#x}"
