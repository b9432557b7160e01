"""add sub mul fma abs neg min max of f16, f16x2, bf16 and bf16x2 (PTX ISA, "Half Precision Floating-Point Instructions")."""

from __future__ import annotations

from ..lanes.builder import Builder, Value
from .float_arithmetic import EXTREMUM, THREE, TWO, mode, unpaired
from .floatops import arithmetic, fmax, fmin, on_halves
from .registry import Mods, op

F16, BF16 = "type=f16|f16x2", "type=bf16|bf16x2"


@op("add", f"round=rn? ftz=ftz? sat=sat? {F16}", TWO)
@op("add", f"round=rn? {BF16}", TWO)
def add(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "add", m["type"], (x, y), mode(m))


@op("sub", f"round=rn? ftz=ftz? sat=sat? {F16}", TWO)
@op("sub", f"round=rn? {BF16}", TWO)
def sub(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "sub", m["type"], (x, y), mode(m))


@op("mul", f"round=rn? ftz=ftz? sat=sat? {F16}", TWO)
@op("mul", f"round=rn? {BF16}", TWO)
def mul(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "mul", m["type"], (x, y), mode(m))


@op("fma", f"round=rn ftz=ftz? sat=sat|relu? {F16}", THREE)
@op("fma", f"round=rn sat=relu? {BF16}", THREE)
def fma(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return arithmetic(b, "fma", m["type"], (x, y, z), mode(m))


@op("abs", f"ftz=ftz? {F16}", "type = type")
@op("abs", BF16, "type = type")
def abs_(b: Builder, m: Mods, x: Value) -> Value:
    return on_halves(b, m["type"], (x,), b.fabs, bool(m.ftz))


@op("neg", f"ftz=ftz? {F16}", "type = type")
@op("neg", BF16, "type = type")
def neg(b: Builder, m: Mods, x: Value) -> Value:
    return on_halves(b, m["type"], (x,), b.neg, bool(m.ftz))


@op("min", f"ftz=ftz? {EXTREMUM} {F16}", TWO, refuse=unpaired)
@op("min", f"{EXTREMUM} {BF16}", TWO, refuse=unpaired)
def min_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return fmin(b, x, y, m["type"], bool(m.ftz), bool(m.nan), bool(m.xorsign))


@op("max", f"ftz=ftz? {EXTREMUM} {F16}", TWO, refuse=unpaired)
@op("max", f"{EXTREMUM} {BF16}", TWO, refuse=unpaired)
def max_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return fmax(b, x, y, m["type"], bool(m.ftz), bool(m.nan), bool(m.xorsign))
