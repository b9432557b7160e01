"""add sub mul fma mad div rcp sqrt abs neg copysign testp min max of f32 and f64 (PTX ISA, "Floating-Point Instructions").

An instruction without a rounding modifier rounds to nearest; compilers may fuse such ones, warpsight does not.
"""

from __future__ import annotations

from ..lanes import numerics as num
from ..lanes.builder import Builder, Value
from ..lanes.types import F64
from .floatops import Mode, arithmetic, fmax, fmin
from .registry import Mods, op

ROUND = "round=rn|rz|rm|rp"
F32_MODE = f"{ROUND}? ftz=ftz? sat=sat? type=f32"
F64_MODE = f"{ROUND}? type=f64"
TWO, THREE = "type = type, type", "type = type, type, type"


def mode(m: Mods) -> Mode:
    return Mode(m.round or "rn", bool(m.ftz), m.sat == "sat", m.sat == "relu")


@op("add", F32_MODE, TWO)
@op("add", F64_MODE, TWO)
def add(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "add", m["type"], (x, y), mode(m))


@op("sub", F32_MODE, TWO)
@op("sub", F64_MODE, TWO)
def sub(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "sub", m["type"], (x, y), mode(m))


@op("mul", F32_MODE, TWO)
@op("mul", F64_MODE, TWO)
def mul(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "mul", m["type"], (x, y), mode(m))


# mad of f32 and f64 is fma since sm_20.
@op("mad", F32_MODE, THREE)
@op("mad", F64_MODE, THREE)
@op("fma", f"{ROUND} ftz=ftz? sat=sat? type=f32", THREE)
@op("fma", f"{ROUND} type=f64", THREE)
def fma(b: Builder, m: Mods, x: Value, y: Value, z: Value) -> Value:
    return arithmetic(b, "fma", m["type"], (x, y, z), mode(m))


@op("div", f"{ROUND} ftz=ftz? type=f32", TWO)
@op("div", f"{ROUND} type=f64", TWO)
def div(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return arithmetic(b, "div", m["type"], (x, y), mode(m))


@op("rcp", f"{ROUND} ftz=ftz? type=f32", "type = type")
@op("rcp", f"{ROUND} type=f64", "type = type")
def rcp(b: Builder, m: Mods, x: Value) -> Value:
    return arithmetic(b, "div", m["type"], (b.const(x.type, 1.0), x), mode(m))


@op("sqrt", f"{ROUND} ftz=ftz? type=f32", "type = type")
@op("sqrt", f"{ROUND} type=f64", "type = type")
def sqrt(b: Builder, m: Mods, x: Value) -> Value:
    return arithmetic(b, "sqrt", m["type"], (x,), mode(m))


# Signs


@op("abs", "ftz=ftz? type=f32", "type = type")
@op("abs", "type=f64", "type = type")
def abs_(b: Builder, m: Mods, x: Value) -> Value:
    return _signed(b, m, x, b.fabs(x))


@op("neg", "ftz=ftz? type=f32", "type = type")
@op("neg", "type=f64", "type = type")
def neg(b: Builder, m: Mods, x: Value) -> Value:
    return _signed(b, m, x, -x)


def _signed(b: Builder, m: Mods, x: Value, result: Value) -> Value:
    """A NaN is treated as by an addition, which is what these become in hardware: its sign does not change."""
    if m.ftz:
        result = num.flush(b, result)
    return num.propagate(b, result, x) if x.type == F64 else num.canonical(b, result)


@op("copysign", "type=f32|f64", TWO)
def copysign(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    """The second operand with the first one's sign; bits only, NaNs too."""
    sign = num.LAYOUT[x.type].sign
    return ((num.raw(y) & (sign - 1)) | (num.raw(x) & sign)).bits(x.type)


@op("testp", "test=finite|infinite|number|notanumber|normal|subnormal type=f32|f64", "pred = type")
def testp(b: Builder, m: Mods, x: Value) -> Value:
    """Zeros count as normal (measured)."""
    layout = num.LAYOUT[x.type]
    magnitude = num.raw(x) & (layout.sign - 1)
    subnormal = b.and_(magnitude != 0, magnitude < layout.least_normal)
    match m.test:
        case "finite":
            return magnitude < layout.infinity
        case "infinite":
            return magnitude == layout.infinity
        case "number":
            return magnitude <= layout.infinity
        case "notanumber":
            return magnitude > layout.infinity
        case "normal":
            return b.and_(b.not_(subnormal), magnitude < layout.infinity)
    return subnormal


# Smaller and larger

EXTREMUM = "nan=NaN? xorsign=xorsign? abs=abs?"


def unpaired(m: Mods) -> str:
    return "" if bool(m.xorsign) == bool(m.abs) else ".xorsign and .abs go together"


@op("min", f"ftz=ftz? {EXTREMUM} type=f32", TWO, refuse=unpaired)
@op("min", "type=f64", TWO)
def min_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return fmin(b, x, y, m["type"], bool(m.ftz), bool(m.nan), bool(m.xorsign))


@op("max", f"ftz=ftz? {EXTREMUM} type=f32", TWO, refuse=unpaired)
@op("max", "type=f64", TWO)
def max_(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return fmax(b, x, y, m["type"], bool(m.ftz), bool(m.nan), bool(m.xorsign))
