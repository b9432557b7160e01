"""setp set slct on floating-point operands (PTX ISA, "Comparison and Selection Instructions").

Comparisons of integers are elsewhere, but for a `set` with a half destination; so are selections that no float decides.
"""

from __future__ import annotations

from collections.abc import Callable

from ..lanes import numerics as num
from ..lanes.builder import Builder, Value
from ..lanes.types import U16, U32, LaneType
from .floatops import HALF, compare, each_half, flush_half
from .registry import TYPES, Mods, op

ORDERED = "eq|ne|lt|le|gt|ge"
COMPARE = f"cmp={ORDERED}|equ|neu|ltu|leu|gtu|geu|num|nan"
UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}  # comparisons of u and b types, by other names
BOOL = "bool=and|or|xor"
INTEGERS = "b16|b32|b64|u16|u32|u64|s16|s32|s64"


def comparisons(b: Builder, m: Mods, x: Value, y: Value) -> list[Value]:
    """The predicate of a scalar comparison, or (low, high) of a packed one."""
    type = m["type"]
    if x.type.is_int and type not in HALF:
        return [b.cmp(UNSIGNED.get(m.cmp, m.cmp), x, y)]
    if type in HALF:
        pairs = list(zip(each_half(b, x, type), each_half(b, y, type), strict=True))
        if m.ftz:
            pairs = [(flush_half(b, p, HALF[type]), flush_half(b, q, HALF[type])) for p, q in pairs]
    else:
        pairs = [(num.flush(b, x), num.flush(b, y))] if m.ftz else [(x, y)]
    return [compare(b, m.cmp, p, q) for p, q in pairs]


def combine(b: Builder, m: Mods, p: Value, other: Value | None) -> Value:
    """The comparison joined with the predicate operand, if there is one."""
    if other is None:
        return p
    join: dict[str, Callable[[Value, Value], Value]] = {"and": b.and_, "or": b.or_, "xor": b.xor}
    return join[m.bool](p, other)


@op("setp", f"{COMPARE} ftz=ftz? type=f32|f16|f16x2", "pred|pred? = type, type")
@op("setp", f"{COMPARE} type=f64|bf16|bf16x2", "pred|pred? = type, type")
@op("setp", f"{COMPARE} {BOOL} ftz=ftz? type=f32|f16|f16x2", "pred|pred? = type, type, pred")
@op("setp", f"{COMPARE} {BOOL} type=f64|bf16|bf16x2", "pred|pred? = type, type, pred")
def setp(b: Builder, m: Mods, x: Value, y: Value, other: Value | None = None) -> tuple[Value, Value]:
    """Packed types: the predicates of the low and the high half. Others: the comparison and its negation, each joined with the operand."""
    results = comparisons(b, m, x, y)
    first, second = results if len(results) == 2 else (results[0], b.not_(results[0]))
    return combine(b, m, first, other), combine(b, m, second, other)


def truth(b: Builder, p: Value, type: LaneType) -> Value:
    """What `set` writes: all ones for an integer type, 1.0 for a float; 0 for false."""
    raw = num.LAYOUT[type].raw if type.is_float else type
    return b.select(p, b.const(raw, num.LAYOUT[type].one if type.is_float else -1), b.const(raw, 0)).bits(type)


# Which types `set` compares for which destination type.
PLAIN_SOURCES = ("f32", "f64")
HALF_SOURCES = (*PLAIN_SOURCES, "f16", *INTEGERS.split("|"))
SET_SOURCES = {
    "f32": PLAIN_SOURCES,
    "f16": HALF_SOURCES,
    "bf16": (*HALF_SOURCES, "bf16"),
    "f16x2": ("f16x2",),
    "bf16x2": ("bf16x2",),
    "u16": ("f16", "bf16"),
    "s16": ("f16", "bf16"),
    "u32": (*PLAIN_SOURCES, "f16", "bf16", "f16x2", "bf16x2"),
    "s32": (*PLAIN_SOURCES, "f16", "bf16", "f16x2", "bf16x2"),
}


def refuse_set(m: Mods) -> str:
    type = m["type"]
    if type not in SET_SOURCES[m.to]:
        return f"set.{m.to} does not compare {type}"
    if m.ftz and type not in ("f32", "f16", "f16x2"):
        return f".ftz does not go with {type}"
    if "f" in type:
        return f"'{m.cmp}' compares unsigned integers" if m.cmp in UNSIGNED else ""
    allowed = {"b": ("eq", "ne"), "s": ORDERED.split("|"), "u": (*ORDERED.split("|"), *UNSIGNED)}[type[0]]
    return "" if m.cmp in allowed else f"'{m.cmp}' does not compare {type}"


SET_TYPES = f"to={'|'.join(SET_SOURCES)} type=f32|f64|f16|bf16|f16x2|bf16x2|{INTEGERS}"


@op("set", f"{COMPARE}|lo|ls|hi|hs ftz=ftz? {SET_TYPES}", "to = type, type", refuse=refuse_set)
@op("set", f"{COMPARE}|lo|ls|hi|hs {BOOL} ftz=ftz? {SET_TYPES}", "to = type, type, pred", refuse=refuse_set)
def set_(b: Builder, m: Mods, x: Value, y: Value, other: Value | None = None) -> Value:
    results = [combine(b, m, p, other) for p in comparisons(b, m, x, y)]
    if len(results) == 1:
        return truth(b, results[0], TYPES[m.to])
    half = HALF.get(m.to, U16)  # an integer destination holds 0xffff a half
    low, high = (truth(b, p, half).bits(U16).resize(U32) for p in results)
    return num.pack(low, high).bits(TYPES[m.to])


@op("slct", f"ftz=ftz? type=f32|f64|{INTEGERS} by=f32", "type = type, type, by")
def slct(b: Builder, m: Mods, x: Value, y: Value, by: Value) -> Value:
    """The first where `by` >= 0 (-0 too), the second elsewhere and on NaN."""
    if m.ftz:
        by = num.flush(b, by)
    return b.select(by >= 0.0, x, y)
