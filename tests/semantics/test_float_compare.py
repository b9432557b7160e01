"""min max abs neg copysign testp setp set slct of every float type against their definitions in the manual, on all pairs of edge values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests import oracle_float as oracle
from tests.semantics.float_rules import BUILDERS, Bits, form, pairs, run, show
from warpsight.semantics import NotSupported

ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
OPERATORS = (*ORDERED, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
TYPES = ("f32", "f64", "f16", "bf16")
HALVES = ("f16", "bf16")


def register(type: str) -> str:
    return "b32" if type.endswith("x2") else f"b{oracle.FORMATS[type].bits}"


def edge_pairs(type: str) -> list[Bits]:
    values = oracle.edges(oracle.FORMATS[type])
    return pairs(values, values)


def expect(builder: str, spelling: str, dst: str, src: list[str], columns: list[Bits], function: Callable[..., int]) -> None:
    want = np.array([function(*map(int, row)) for row in zip(*columns, strict=True)], np.uint64)
    problem = show(spelling, columns, run(builder, spelling, [dst], src, columns)[0], want)
    assert not problem, problem


def packed(columns: list[Bits]) -> list[Bits]:
    """Two different halves in every operand."""
    return [c | np.roll(c, 5) << np.uint64(16) for c in columns]


def halves(x: int) -> tuple[int, int]:
    return x & 0xFFFF, x >> 16


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("type", TYPES)
def test_min_and_max(type: str, op: str, builder: str) -> None:
    fmt = oracle.FORMATS[type]
    for nan, xorsign in ((False, False),) if type == "f64" else ((False, False), (True, False), (False, True), (True, True)):
        spelling = f"{op}{'.NaN' if nan else ''}{'.xorsign.abs' if xorsign else ''}"

        def want(a: int, b: int, nan: bool = nan, xorsign: bool = xorsign) -> int:
            return oracle.extremum(op, fmt, a, b, nan, xorsign)

        def want_packed(a: int, b: int, nan: bool = nan, xorsign: bool = xorsign) -> int:
            (a0, a1), (b0, b1) = halves(a), halves(b)
            return oracle.extremum(op, fmt, a0, b0, nan, xorsign) | oracle.extremum(op, fmt, a1, b1, nan, xorsign) << 16

        expect(builder, f"{spelling}.{type}", register(type), [register(type)] * 2, edge_pairs(type), want)
        if type in HALVES:
            expect(builder, f"{spelling}.{type}x2", "b32", ["b32"] * 2, packed(edge_pairs(type)), want_packed)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", ["f32", "f16"])
def test_min_flushes(type: str, builder: str) -> None:
    fmt = oracle.FORMATS[type]
    expect(builder, f"min.ftz.{type}", register(type), [register(type)] * 2, edge_pairs(type),
           lambda a, b: oracle.extremum("min", fmt, oracle.flushed(fmt, a), oracle.flushed(fmt, b)))  # fmt: skip


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", TYPES)
def test_abs_and_neg(type: str, builder: str) -> None:
    """Numbers change their sign bit alone. NaNs become the type's own; of f64 they become quiet and keep their sign (measured)."""
    fmt = oracle.FORMATS[type]
    values = list(range(1 << 16)) if fmt.bits == 16 else oracle.edges(fmt)

    def want(change: Callable[[int], int]) -> Callable[[int], int]:
        return lambda x: (x | 1 << 51 if type == "f64" else fmt.nan) if oracle.is_nan(fmt, x) else change(x)

    column = [np.array(values, np.uint64)]
    expect(builder, f"abs.{type}", register(type), [register(type)], column, want(lambda x: x & (fmt.sign - 1)))
    expect(builder, f"neg.{type}", register(type), [register(type)], column, want(lambda x: x ^ fmt.sign))
    if type in ("f32", "f16"):
        expect(builder, f"neg.ftz.{type}", register(type), [register(type)], column, want(lambda x: oracle.flushed(fmt, x) ^ fmt.sign))


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_copysign_takes_the_sign_of_the_first(type: str, builder: str) -> None:
    sign = oracle.FORMATS[type].sign
    expect(builder, f"copysign.{type}", register(type), [register(type)] * 2, edge_pairs(type), lambda a, b: b & (sign - 1) | a & sign)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_testp(type: str, builder: str) -> None:
    """Zeros are "normal" on an H200."""
    fmt = oracle.FORMATS[type]

    def subnormal(x: int) -> bool:
        return not oracle.is_nan(fmt, x) and 0 < x & (fmt.sign - 1) < 1 << fmt.fraction

    tests: dict[str, Callable[[int], bool]] = {
        "finite": lambda x: not oracle.is_nan(fmt, x) and not oracle.is_infinite(fmt, x),
        "infinite": lambda x: oracle.is_infinite(fmt, x),
        "number": lambda x: not oracle.is_nan(fmt, x),
        "notanumber": lambda x: oracle.is_nan(fmt, x),
        "normal": lambda x: not oracle.is_nan(fmt, x) and not oracle.is_infinite(fmt, x) and not subnormal(x),
        "subnormal": subnormal,
    }
    for name, holds in tests.items():
        expect(
            builder,
            f"testp.{name}.{type}",
            "pred",
            [register(type)],
            [np.array(oracle.edges(fmt), np.uint64)],
            lambda x, h=holds: int(h(x)),
        )


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", TYPES)
def test_setp(type: str, builder: str) -> None:
    fmt = oracle.FORMATS[type]
    columns = edge_pairs(type)
    for op in OPERATORS:
        want = np.array([oracle.compare(op, fmt, int(a), int(b)) for a, b in zip(*columns, strict=True)], np.uint64)
        p, q = run(builder, f"setp.{op}.{type}", ["pred", "pred"], [register(type)] * 2, columns)
        assert not (show(op, columns, p, want) or show(f"{op} (second)", columns, q, 1 - want))


@pytest.mark.parametrize("builder", BUILDERS)
def test_setp_flushes(builder: str) -> None:
    for type in ("f32", "f16"):
        fmt = oracle.FORMATS[type]
        expect(builder, f"setp.lt.ftz.{type}", "pred", [register(type)] * 2, edge_pairs(type),
               lambda a, b, f=fmt: int(oracle.compare("lt", f, oracle.flushed(f, a), oracle.flushed(f, b))))  # fmt: skip


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("join", ["and", "or", "xor"])
def test_comparison_joined_with_a_predicate(join: str, builder: str) -> None:
    function: dict[str, Callable[[int, int], int]] = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
    columns = edge_pairs("f32")
    other = np.arange(len(columns[0]), dtype=np.uint64) // 3 % 2
    for op in ("lt", "geu"):
        holds = [int(oracle.compare(op, oracle.F32, int(a), int(b))) for a, b in zip(*columns, strict=True)]
        want = [np.array([function[join](h ^ flip, int(c)) for h, c in zip(holds, other, strict=True)], np.uint64) for flip in (0, 1)]
        p, q = run(builder, f"setp.{op}.{join}.f32", ["pred", "pred"], ["b32", "b32", "pred"], [*columns, other])
        d = run(builder, f"set.{op}.{join}.u32.f32", ["b32"], ["b32", "b32", "pred"], [*columns, other])[0]
        assert np.array_equal(p, want[0]) and np.array_equal(q, want[1])
        assert np.array_equal(d, want[0] * np.uint64(0xFFFFFFFF))


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", HALVES)
def test_packed_comparisons_give_a_predicate_per_half(type: str, builder: str) -> None:
    fmt = oracle.FORMATS[type]
    columns = packed(edge_pairs(type))
    for op in ("eq", "ltu", "gt", "nan"):
        both = [
            [int(oracle.compare(op, fmt, x, y)) for x, y in zip(halves(int(a)), halves(int(b)), strict=True)]
            for a, b in zip(*columns, strict=True)
        ]
        want = np.array(both, np.uint64)
        p, q = run(builder, f"setp.{op}.{type}x2", ["pred", "pred"], ["b32"] * 2, columns)
        assert np.array_equal(p, want[:, 0]) and np.array_equal(q, want[:, 1])
        for to, one in ((f"{type}x2", fmt.one), ("u32", 0xFFFF), ("s32", 0xFFFF)):
            d = run(builder, f"set.{op}.{to}.{type}x2", ["b32"], ["b32"] * 2, columns)[0]
            assert np.array_equal(d, want[:, 0] * np.uint64(one) | want[:, 1] * np.uint64(one << 16))


@pytest.mark.parametrize("builder", BUILDERS)
def test_set_writes_all_ones_or_one(builder: str) -> None:
    true = {
        "u32": 0xFFFFFFFF,
        "s32": 0xFFFFFFFF,
        "u16": 0xFFFF,
        "s16": 0xFFFF,
        "f32": oracle.F32.one,
        "f16": oracle.F16.one,
        "bf16": oracle.BF16.one,
    }
    table = {"f32": ("u32", "s32", "f32", "f16", "bf16"), "f64": ("u32", "s32", "f32", "f16", "bf16"),
             "f16": ("f16", "u16", "s16", "u32", "s32"),
             "bf16": ("bf16", "u16", "s16", "u32", "s32")}  # fmt: skip
    for type, destinations in table.items():
        fmt = oracle.FORMATS[type]
        for to in destinations:
            width = 16 if to in ("f16", "bf16", "u16", "s16") else 32
            expect(builder, f"set.leu.{to}.{type}", f"b{width}", [register(type)] * 2, edge_pairs(type),
                   lambda a, b, f=fmt, t=to: true[t] if oracle.compare("leu", f, a, b) else 0)  # fmt: skip


@pytest.mark.parametrize("builder", BUILDERS)
def test_types_of_set_keep_their_order(builder: str) -> None:
    """The first type is what is written, the second what is compared."""
    columns = pairs([0, 1, 0x80000000, 0xFFFFFFFF], [0, 1, 0x80000000, 0xFFFFFFFF])

    def signed(x: int) -> int:
        return x - (1 << 32) if x >> 31 else x

    expect(builder, "set.lt.f32.s32", "b32", ["b32"] * 2, columns, lambda a, b: 0x3F800000 if signed(a) < signed(b) else 0)
    expect(builder, "set.lt.s32.f32", "b32", ["b32"] * 2, columns, lambda a, b: 0xFFFFFFFF if oracle.compare("lt", oracle.F32, a, b) else 0)
    expect(builder, "set.lo.f16.u32", "b16", ["b32"] * 2, columns, lambda a, b: 0x3C00 if a < b else 0)
    expect(builder, "set.lt.bf16.s32", "b16", ["b32"] * 2, columns, lambda a, b: 0x3F80 if signed(a) < signed(b) else 0)


@pytest.mark.parametrize("builder", BUILDERS)
def test_slct(builder: str) -> None:
    selectors = np.array(oracle.edges(oracle.F32), np.uint64)
    a, b = np.full(len(selectors), 0x7FA00001, np.uint64), np.full(len(selectors), 5, np.uint64)

    def first(x: int, ftz: bool) -> bool:
        return oracle.compare("ge", oracle.F32, oracle.flushed(oracle.F32, x) if ftz else x, 0)

    for type in ("f32", "b32", "s32"):
        for ftz in (False, True):
            spelling = f"slct{'.ftz' if ftz else ''}.{type}.f32"
            expect(builder, spelling, "b32", ["b32"] * 3, [a, b, selectors], lambda x, y, c, z=ftz: x if first(c, z) else y)
    expect(builder, "slct.f32.s32", "b32", ["b32"] * 3, [a, b, selectors], lambda x, y, c: y if c >> 31 else x)
    expect(builder, "slct.f64.f32", "b64", ["b64", "b64", "b32"], [a, b, selectors], lambda x, y, c: x if first(c, False) else y)


@pytest.mark.parametrize("spelling, dst, src", [
    ("min.f32", "b32", ("b32", "b32", "b32")), ("min.xorsign.f32", "b32", ("b32", "b32")), ("min.NaN.f64", "b64", ("b64", "b64")),
    ("setp.lo.f32", "pred", ("b32", "b32")), ("set.equ.f16.s32", "b16", ("b32", "b32")), ("set.eq.ftz.u32.bf16", "b32", ("b16", "b16")),
    ("set.eq.f16x2.bf16x2", "b32", ("b32", "b32")), ("abs.ftz.f64", "b64", ("b64",)), ("testp.normal.f16", "pred", ("b16",)),
])  # fmt: skip
def test_what_the_manual_does_not_have_is_refused(spelling: str, dst: str, src: tuple[str, ...]) -> None:
    with pytest.raises(NotSupported):
        form(spelling, (dst,), src)
