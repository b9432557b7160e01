"""Comparison and selection on integers and bits (PTX ISA, "Comparison and Selection Instructions"); floats are elsewhere."""

from __future__ import annotations

from ..lanes.builder import Builder, Value
from ..lanes.types import B32, F32, LaneType
from .registry import Mods, op

ORDERED = "cmp=eq|ne|lt|le|gt|ge|lo|ls|hi|hs"
INT = "type=u16|u32|u64|s16|s32|s64"
BIT = "cmp=eq|ne"
BITS = "type=b16|b32|b64"
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


def compare(b: Builder, cmp: str, x: Value, y: Value) -> Value:
    """An integer comparison; lo ls hi hs are unsigned whatever the type."""
    if cmp in UNSIGNED:
        unsigned = LaneType("u", x.type.bits)
        return b.cmp(UNSIGNED[cmp], x.bits(unsigned), y.bits(unsigned))
    return b.cmp(cmp, x, y)


def combine(name: str, p: Value, q: Value) -> Value:
    """The boolean that setp and set combine their result with."""
    return {"and": lambda: p & q, "or": lambda: p | q, "xor": lambda: p ^ q}[name]()


@op("setp", f"{ORDERED} {INT}", "pred|pred? = type, type")
@op("setp", f"{BIT} {BITS}", "pred|pred? = type, type")
def setp(b: Builder, m: Mods, x: Value, y: Value) -> tuple[Value, Value]:
    p = compare(b, m.cmp, x, y)
    return p, ~p


@op("setp", f"{ORDERED} bool=and|or|xor {INT}", "pred|pred? = type, type, pred")
@op("setp", f"{BIT} bool=and|or|xor {BITS}", "pred|pred? = type, type, pred")
def setp_bool(b: Builder, m: Mods, x: Value, y: Value, c: Value) -> tuple[Value, Value]:
    p = compare(b, m.cmp, x, y)
    return combine(m["bool"], p, c), combine(m["bool"], ~p, c)


def truth(b: Builder, p: Value, dtype: LaneType) -> Value:
    """set's result: all ones, or 1.0 in f32."""
    if dtype == F32:
        return b.select(p, b.const(B32, 0x3F800000), b.const(B32, 0)).bits(F32)
    return b.select(p, b.const(dtype, -1), b.const(dtype, 0))


@op("set", f"{ORDERED} dtype=u32|s32|f32 {INT}", "dtype = type, type")
@op("set", f"{BIT} dtype=u32|s32|f32 {BITS}", "dtype = type, type")
def set_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return truth(b, compare(b, m.cmp, x, y), m.lane("dtype"))


@op("set", f"{ORDERED} bool=and|or|xor dtype=u32|s32|f32 {INT}", "dtype = type, type, pred")
@op("set", f"{BIT} bool=and|or|xor dtype=u32|s32|f32 {BITS}", "dtype = type, type, pred")
def set_bool(b: Builder, m: Mods, x: Value, y: Value, c: Value) -> Value:
    return truth(b, combine(m["bool"], compare(b, m.cmp, x, y), c), m.lane("dtype"))


@op("selp", "type=b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64", "type = type, type, pred")
def selp(b: Builder, m: Mods, x: Value, y: Value, p: Value) -> Value:
    return b.select(p, x, y)


@op("slct", "type=b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64 stype=s32", "type = type, type, s32")
def slct(b: Builder, m: Mods, x: Value, y: Value, c: Value) -> Value:
    return b.select(c >= 0, x, y)


