"""Extended-precision integer arithmetic (PTX ISA, "Extended-Precision Integer Arithmetic Instructions").

The carry flag is the implicit predicate `%cc`. The manual leaves open what mixing additions and subtractions gives; the hardware subtracts
by adding the complement, so that after a subtraction the flag says that nothing was borrowed (tests/data/isa_h200.npz).
"""

from __future__ import annotations

from ..lanes.builder import Builder, Value
from ..lanes.types import PRED, LaneType
from .registry import Mods, op

TYPE = "type=u32|s32|u64|s64"


def _unsigned(x: Value) -> Value:
    """Carries are those of the unsigned readings, whatever the instruction's type says."""
    return x.bits(LaneType("u", x.type.bits))


def _sum(b: Builder, x: Value, y: Value, carry: Value | None) -> tuple[Value, Value]:
    """x + y (+ carry) and whether it passed the width."""
    x, y = _unsigned(x), _unsigned(y)
    total = x + y
    out = total < x
    if carry is not None:
        with_carry = total + carry.resize(total.type)
        total, out = with_carry, out | (with_carry < total)
    return total, out


def _difference(b: Builder, x: Value, y: Value, carry: Value | None) -> tuple[Value, Value]:
    """x - y as x + ~y + carry (1 without a carry operand)."""
    return _sum(b, x, ~y, b.const(PRED, 1) if carry is None else carry)


@op("add", "cc=cc " + TYPE, "type, cc = type, type")
def add_cc(b: Builder, m: Mods, x: Value, y: Value) -> tuple[Value, Value]:
    return _sum(b, x, y, None)


@op("addc", TYPE, "type = type, type, cc")
def addc(b: Builder, m: Mods, x: Value, y: Value, carry: Value) -> Value:
    return _sum(b, x, y, carry)[0]


@op("addc", "cc=cc " + TYPE, "type, cc = type, type, cc")
def addc_cc(b: Builder, m: Mods, x: Value, y: Value, carry: Value) -> tuple[Value, Value]:
    return _sum(b, x, y, carry)


@op("sub", "cc=cc " + TYPE, "type, cc = type, type")
def sub_cc(b: Builder, m: Mods, x: Value, y: Value) -> tuple[Value, Value]:
    return _difference(b, x, y, None)


@op("subc", TYPE, "type = type, type, cc")
def subc(b: Builder, m: Mods, x: Value, y: Value, carry: Value) -> Value:
    return _difference(b, x, y, carry)[0]


@op("subc", "cc=cc " + TYPE, "type, cc = type, type, cc")
def subc_cc(b: Builder, m: Mods, x: Value, y: Value, carry: Value) -> tuple[Value, Value]:
    return _difference(b, x, y, carry)


def _product(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return b.mul_hi(x, y) if m.mode == "hi" else x * y


@op("mad", "mode=lo|hi cc=cc " + TYPE, "type, cc = type, type, type")
def mad_cc(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> tuple[Value, Value]:
    return _sum(b, _product(b, m, x, y), z, None)


@op("madc", "mode=lo|hi " + TYPE, "type = type, type, type, cc")
def madc(b: Builder, m: Mods, x: Value, y: Value, z: Value, carry: Value) -> Value:
    return _sum(b, _product(b, m, x, y), z, carry)[0]


@op("madc", "mode=lo|hi cc=cc " + TYPE, "type, cc = type, type, type, cc")
def madc_cc(b: Builder, m: Mods, x: Value, y: Value, z: Value, carry: Value) -> tuple[Value, Value]:
    return _sum(b, _product(b, m, x, y), z, carry)
