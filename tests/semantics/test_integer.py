"""Integer, logic, bit and comparison opcodes against plain Python integers, as the PTX manual defines them.

(What hardware gives for these is in test_isa_hardware.py; here every opcode meets arbitrary operands.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsight.lanes.numpy_builder import NumpyBuilder
from warpsight.lanes.types import BY_NAME, LANES, PRED, LaneType
from warpsight.semantics import Form, forms

FORMS = {f.name.partition(":")[0]: f for f in forms() if f.emit is not None and f.memory is None}


def operand(type: LaneType) -> st.SearchStrategy[int]:
    """Raw bits; edge values are common."""
    if type is PRED:
        return st.integers(0, 1)
    top = 1 << type.bits
    edges = st.sampled_from([0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 255, top - 1, top - 2, top // 2, top // 2 - 1, top // 2 + 1])
    return (edges | st.integers(0, 70) | st.integers(0, top - 1)).map(lambda v: v % top)


def signed(v: int, bits: int) -> int:
    return v - (1 << bits) if v >> (bits - 1) & 1 else v


def evaluate(form: Form, lanes: list[list[int]]) -> list[list[int]]:
    """lanes[operand][lane] as raw bits; the destinations likewise."""
    b = NumpyBuilder()
    sources = []
    for values, type in zip(lanes, form.src, strict=True):
        raw = LaneType("b", type.bits) if type is not PRED else PRED
        sources.append(b.bitcast(b.const_lanes(raw, values), type))
    assert form.emit is not None
    results = form.emit(b, sources)
    return [[int(v) & ((1 << t.bits) - 1) for v in r.handle] for r, t in zip(results, form.dst, strict=True)]


def check(data: st.DataObject, name: str, expected: Callable[..., Any]) -> None:
    """`expected` takes each source as the number its type says and gives the result (any size, wrapped here) or a tuple of them."""
    form = FORMS[name]
    few = [data.draw(st.lists(operand(t), min_size=n, max_size=n)) for t, n in zip(form.src, (5, 7, 3, 4), strict=False)]
    lanes = [[values[lane % len(values)] for lane in range(LANES)] for values in few]  # lengths without common factors: all pairs meet
    got = evaluate(form, lanes)
    for lane in range(LANES):
        raw = [values[lane] for values in lanes]
        arguments = [signed(v, t.bits) if t.signed else v for v, t in zip(raw, form.src, strict=True)]
        want = expected(*arguments)
        wants = want if isinstance(want, tuple) else (want,)
        for g, w, t in zip(got, wants, form.dst, strict=False):
            assert g[lane] == int(w) & ((1 << t.bits) - 1), f"{name}{tuple(hex(v) for v in raw)}: {g[lane]:#x}, expected {w:#x}"


def clamp(v: int, bits: int) -> int:
    return max(-(1 << (bits - 1)), min((1 << (bits - 1)) - 1, v))


def quotient(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def table() -> dict[str, Callable[..., Any]]:
    out: dict[str, Callable[..., Any]] = {}
    for name in ("u16", "s16", "u32", "s32", "u64", "s64"):
        bits = BY_NAME[name].bits
        out[f"add.{name}"] = lambda a, b: a + b
        out[f"sub.{name}"] = lambda a, b: a - b
        out[f"mul.lo.{name}"] = lambda a, b: a * b
        out[f"mul.hi.{name}"] = lambda a, b, n=bits: a * b >> n
        out[f"mad.lo.{name}"] = lambda a, b, c: a * b + c
        out[f"mad.hi.{name}"] = lambda a, b, c, n=bits: (a * b >> n) + c
        out[f"sad.{name}"] = lambda a, b, c: c + abs(a - b)
        out[f"min.{name}"], out[f"max.{name}"] = min, max
        out[f"div.{name}"] = lambda a, b: quotient(a, b) if b else -1
        out[f"rem.{name}"] = lambda a, b: a - quotient(a, b) * b if b else -1
        out[f"shr.{name}"] = lambda a, n, bits=bits: a >> min(n, bits)
        for cmp, function in COMPARE.items():
            out[f"setp.{cmp}.{name}"] = lambda a, b, f=function: (f(a, b), not f(a, b))
            out[f"setp.{cmp}.xor.{name}"] = lambda a, b, p, f=function: (f(a, b) ^ p, (not f(a, b)) ^ p)
            out[f"set.{cmp}.u32.{name}"] = lambda a, b, f=function: -f(a, b)
        out[f"slct.{name}.s32"] = lambda a, b, c: a if c >= 0 else b
    for name in ("s16", "s32", "s64"):
        out[f"abs.{name}"], out[f"neg.{name}"] = abs, lambda a: -a
    for name in ("u16", "s16", "u32", "s32"):
        out[f"mul.wide.{name}"] = lambda a, b: a * b
        out[f"mad.wide.{name}"] = lambda a, b, c: a * b + c
    out["add.sat.s32"] = lambda a, b: clamp(a + b, 32)
    out["sub.sat.s32"] = lambda a, b: clamp(a - b, 32)
    out["mad.hi.sat.s32"] = lambda a, b, c: clamp((a * b >> 32) + c, 32)
    for name in ("u32", "s32"):
        low = (lambda v: signed(v & 0xFFFFFF, 24)) if name == "s32" else (lambda v: v & 0xFFFFFF)
        out[f"mul24.lo.{name}"] = lambda a, b, f=low: f(a) * f(b)
        out[f"mul24.hi.{name}"] = lambda a, b, f=low: f(a) * f(b) >> 16
        out[f"mad24.lo.{name}"] = lambda a, b, c, f=low: f(a) * f(b) + c
        out[f"mad24.hi.{name}"] = lambda a, b, c, f=low: (f(a) * f(b) >> 16) + c
    for bits in (32, 64):
        mask = (1 << bits) - 1
        for name in (f"u{bits}", f"s{bits}"):
            out[f"add.cc.{name}"] = lambda a, b, m=mask: (a + b, (a & m) + (b & m) > m)
            out[f"addc.cc.{name}"] = lambda a, b, c, m=mask: (a + b + c, (a & m) + (b & m) + c > m)
            out[f"sub.cc.{name}"] = lambda a, b, m=mask: (a - b, (a & m) >= (b & m))
            out[f"subc.cc.{name}"] = lambda a, b, c, m=mask: (a - b - 1 + c, (a & m) >= (b & m) + 1 - c)
            out[f"madc.hi.cc.{name}"] = lambda a, b, c, d, m=mask, n=bits: (
                (a * b >> n) + c + d, ((a * b >> n) & m) + (c & m) + d > m)  # fmt: skip
        out[f"popc.b{bits}"] = lambda a: bin(a).count("1")
        out[f"clz.b{bits}"] = lambda a, n=bits: n - a.bit_length()
        out[f"brev.b{bits}"] = lambda a, n=bits: int(f"{a:0{n}b}"[::-1], 2)
        out[f"bfind.u{bits}"] = lambda a: a.bit_length() - 1
        out[f"bfind.s{bits}"] = lambda a: (a if a >= 0 else ~a).bit_length() - 1
        out[f"bfind.shiftamt.u{bits}"] = lambda a, n=bits: n - a.bit_length() if a else -1
        out[f"bfi.b{bits}"] = lambda f, a, p, n, w=bits: bfi(f, a, position(p, w), position(n, w), w)
        out[f"bfe.u{bits}"] = lambda a, p, n, w=bits: bfe(a, position(p, w), position(n, w), w, False)
        out[f"bfe.s{bits}"] = lambda a, p, n, w=bits: bfe(a, position(p, w), position(n, w), w, True)
    for bits in (16, 32, 64):
        out[f"and.b{bits}"], out[f"or.b{bits}"], out[f"xor.b{bits}"] = lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b
        out[f"not.b{bits}"], out[f"cnot.b{bits}"] = lambda a: ~a, lambda a: a == 0
        out[f"shl.b{bits}"] = lambda a, n, w=bits: a << n if n < w else 0
        out[f"shr.b{bits}"] = lambda a, n: a >> n
        out[f"selp.b{bits}"] = lambda a, b, p: a if p else b
    out["shf.l.clamp.b32"] = lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32
    out["shf.l.wrap.b32"] = lambda a, b, n: (b << 32 | a) << (n & 31) >> 32
    out["shf.r.clamp.b32"] = lambda a, b, n: (b << 32 | a) >> min(n, 32)
    out["shf.r.wrap.b32"] = lambda a, b, n: (b << 32 | a) >> (n & 31)
    out["prmt.b32"] = prmt
    for lut in (0x17, 0x1B, 0x3C, 0x6A, 0x96, 0xCA, 0xE8, 0xFE):
        out[f"lop3.b32.{lut:#x}"] = lambda a, b, c, t=lut: sum(
            (t >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i for i in range(32))  # fmt: skip
    for x in ("u32", "s32"):
        for y in ("u32", "s32"):
            out[f"dp4a.{x}.{y}"] = lambda a, b, c, x=x, y=y: c + sum(field(a, 8, i, x) * field(b, 8, i, y) for i in range(4))
            out[f"dp2a.lo.{x}.{y}"] = lambda a, b, c, x=x, y=y: c + sum(field(a, 16, i, x) * field(b, 8, i, y) for i in range(2))
            out[f"dp2a.hi.{x}.{y}"] = lambda a, b, c, x=x, y=y: c + sum(field(a, 16, i, x) * field(b, 8, i + 2, y) for i in range(2))
    out["fns.b32"] = fns
    out["bmsk.wrap.b32"] = lambda a, b: ((1 << (b & 31)) - 1) << (a & 31)
    out["bmsk.clamp.b32"] = lambda a, b: ((1 << min(b, 32)) - 1) << min(a, 32)
    out["szext.clamp.u32"] = lambda a, n: a & ((1 << min(n, 32)) - 1)
    out["szext.wrap.s32"] = lambda a, n: signed(a & ((1 << (n & 31)) - 1), n & 31) if n & 31 else 0
    return out


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}  # fmt: skip


def field(v: int, bits: int, index: int, type: str) -> int:
    raw = v >> (bits * index) & ((1 << bits) - 1)
    return signed(raw, bits) if type == "s32" else raw


def position(v: int, width: int) -> int:
    """A field's start or length. The manual allows 0 to 255; beyond, hardware differs between the widths (tests/data/isa_h200.npz)."""
    return v & 255 if width == 32 else v


def bfe(a: int, start: int, length: int, width: int, is_signed: bool) -> int:
    """The manual's loop over bits."""
    sign = a >> min(start + length - 1, width - 1) & 1 if is_signed and length else 0
    return sum((a >> (start + i) & 1 if i < length and start + i < width else sign) << i for i in range(width))


def bfi(f: int, a: int, start: int, length: int, width: int) -> int:
    bits = [a >> i & 1 for i in range(width)]
    for i in range(min(length, width)):
        if start + i < width:
            bits[start + i] = f >> i & 1
    return sum(bit << i for i, bit in enumerate(bits))


def prmt(a: int, b: int, selector: int) -> int:
    data = (b << 32 | a).to_bytes(8, "little")
    out = 0
    for i in range(4):
        nibble = selector >> (4 * i) & 15
        byte = data[nibble & 7]
        out |= ((0xFF if byte >> 7 else 0) if nibble & 8 else byte) << (8 * i)
    return out


def fns(mask: int, base: int, offset: int) -> int:
    """The manual's loop; bases beyond bit 31 find nothing."""
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else -1
    position, left = base, abs(offset) - 1
    while 0 <= position < 32:
        if mask >> position & 1:
            if left == 0:
                return position
            left -= 1
        position += 1 if offset > 0 else -1
    return -1


EXPECTED = table()


@pytest.mark.parametrize("name", sorted(EXPECTED))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_equals_python_integers(name: str, data: st.DataObject) -> None:
    check(data, name, EXPECTED[name])


@pytest.mark.parametrize(("mode", "rows"), {
    # The manual's tables: for selector 0 to 3, the source byte of destination bytes 3 2 1 0.
    "f4e": ["3210", "4321", "5432", "6543"],
    "b4e": ["5670", "6701", "7012", "0123"],
    "rc8": ["0000", "1111", "2222", "3333"],
    "ecl": ["3210", "3211", "3222", "3333"],
    "ecr": ["0000", "1110", "2210", "3210"],
    "rc16": ["1010", "3232", "1010", "3232"],
}.items())  # fmt: skip
def test_prmt_modes(mode: str, rows: list[str]) -> None:
    low, high = 0xA3A2A1A0, 0xA7A6A5A4
    for selector, row in enumerate(rows):
        got = evaluate(FORMS[f"prmt.b32.{mode}"], [[low] * LANES, [high] * LANES, [selector] * LANES])[0][0]
        assert got == int("".join(f"A{digit}" for digit in row), 16), (mode, selector)


@pytest.mark.parametrize("type", ["u16x2", "s16x2"])
def test_packed(type: str) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(0, 1 << 32, LANES, dtype=np.uint32) for _ in range(2))
    x, y = (v.view(np.int16 if type == "s16x2" else np.uint16) for v in (a, b))
    for name, want in (("add", x + y), ("min", np.minimum(x, y)), ("max", np.maximum(x, y))):
        got = evaluate(FORMS[f"{name}.{type}"], [a.tolist(), b.tolist()])[0]
        assert got == want.view(np.uint32).tolist(), name
    if type == "s16x2":
        got = evaluate(FORMS["min.relu.s16x2"], [a.tolist(), b.tolist()])[0]
        assert got == np.maximum(np.minimum(x, y), 0).view(np.uint32).tolist()
