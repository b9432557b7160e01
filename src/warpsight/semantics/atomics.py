"""Atomic operations (PTX ISA, "Parallel Synchronization and Communication Instructions": atom, red).

Lanes of a warp that meet at one address take turns in lane order; hardware promises no order. Orders and scopes go to the timing model.
"""

from __future__ import annotations

from collections.abc import Callable

from ..lanes.builder import Builder, Value
from ..lanes.types import LaneType
from . import floatops
from .form import Kind
from .memory import HINTS, ORDER, SCOPE, address, memory_info, space_of
from .mov import WINDOWS
from .registry import Mods, op

SPACE = "space=global|shared|shared::cta|shared::cluster?"
HEAD = f"{ORDER} {SCOPE} {SPACE}"

Combine = Callable[[Builder, Value, Value], Value]


def _increment(b: Builder, old: Value, limit: Value) -> Value:
    return b.select(old >= limit, b.const(old.type, 0), old + 1)


def _decrement(b: Builder, old: Value, limit: Value) -> Value:
    return b.select((old == 0) | (old > limit), limit, old - 1)


COMBINE: dict[str, Combine] = {
    "add": lambda b, old, x: old + x,
    "min": lambda b, old, x: b.min_(old, x),
    "max": lambda b, old, x: b.max_(old, x),
    "and": lambda b, old, x: old & x,
    "or": lambda b, old, x: old | x,
    "xor": lambda b, old, x: old ^ x,
    "exch": lambda b, old, x: x,
    "inc": _increment,
    "dec": _decrement,
}


def _read_modify_write(b: Builder, m: Mods, at: Value, type: LaneType, combine: Combine, x: Value, want_old: bool) -> Value | None:
    return b.atomic(space_of(m), at, type, lambda one, old: combine(one, old, one.lane_value(x)), want_old)


def _float_combine(m: Mods, at: Value) -> Combine:
    """Float addition, minimum and maximum. f32 addition flushes subnormals in global memory and keeps them in shared memory (PTX ISA,
    atom).
    """
    if m.op in ("min", "max"):
        extremum = floatops.fmin if m.op == "min" else floatops.fmax
        return lambda b, old, x: extremum(b, old, x, m.type)

    def keep(b: Builder, old: Value, x: Value) -> Value:
        return floatops.fadd(b, old, x, m.type)

    def flush(b: Builder, old: Value, x: Value) -> Value:
        return floatops.fadd(b, old, x, m.type, ftz=True)

    if m.type != "f32" or space_of(m) == "shared":
        return keep
    if space_of(m) == "global":
        return flush
    start, size = WINDOWS["shared"]
    in_shared = (at - start) < size
    return lambda b, old, x: b.select(b.lane_value(in_shared), keep(b, old, x), flush(b, old, x))


def _info(kind: str) -> Callable[[Mods], object]:
    return memory_info(kind, "relaxed", "gpu")


INT_RULES = (
    "op=add type=u32|s32|u64|s64",
    "op=min|max type=u32|s32|u64|s64",
    "op=and|or|xor type=b32|b64",
    "op=inc|dec type=u32",
)
FLOAT_RULES = ("op=add type=f32|f64", "op=add noftz=noftz type=f16|bf16|f16x2|bf16x2")
VECTOR_RULES = (
    "op=add vec=v2|v4 type=f32",
    "op=add|min|max noftz=noftz vec=v2|v4|v8 type=f16|bf16",
    "op=add|min|max noftz=noftz vec=v2|v4 type=f16x2|bf16x2",
)


def _atom(b: Builder, m: Mods, base: Value, offset: Value, x: Value) -> Value | None:
    return _read_modify_write(b, m, address(b, base, offset), x.type, COMBINE[m.op], x, True)


def _red(b: Builder, m: Mods, base: Value, offset: Value, x: Value) -> None:
    _read_modify_write(b, m, address(b, base, offset), x.type, COMBINE[m.op], x, False)


def _atom_float(b: Builder, m: Mods, base: Value, offset: Value, *xs: Value) -> list[Value]:
    return _float_elements(b, m, address(b, base, offset), xs, True)


def _red_float(b: Builder, m: Mods, base: Value, offset: Value, *xs: Value) -> None:
    _float_elements(b, m, address(b, base, offset), xs, False)


def _float_elements(b: Builder, m: Mods, at: Value, xs: tuple[Value, ...], want_old: bool) -> list[Value]:
    """A vector operation is atomic by element. The first element goes last: its address is the access's."""
    old = []
    for i in reversed(range(len(xs))):
        place = at + i * xs[i].type.bytes
        old.append(_read_modify_write(b, m, place, xs[i].type, _float_combine(m, place), xs[i], want_old))
    return [v for v in reversed(old) if v is not None]


def _register() -> None:
    atom = {"kind": Kind.MEMORY, "memory": _info("atomic"), "pure": False}
    red = {"kind": Kind.MEMORY, "memory": _info("reduction"), "pure": False}
    for rule in (*INT_RULES, "op=exch type=b32|b64|b128"):
        op("atom", f"{HEAD} {rule} {HINTS}", "type = [addr], type", **atom)(_atom)
    for rule in INT_RULES:
        op("red", f"{HEAD} {rule} {HINTS}", "[addr], type", **red)(_red)
    for rule in FLOAT_RULES:
        op("atom", f"{HEAD} {rule} {HINTS}", "type = [addr], type", **atom)(_atom_float)
        op("red", f"{HEAD} {rule} {HINTS}", "[addr], type", **red)(_red_float)
    head = HEAD.replace(SPACE, "space=global?")
    for rule in VECTOR_RULES:
        op("atom", f"{head} {rule} {HINTS}", "type*vec = [addr], type*vec", **atom)(_atom_float)
        op("red", f"{head} {rule} {HINTS}", "[addr], type*vec", **red)(_red_float)


_register()


_CAS = f"{HEAD} op=cas type=b16|b32|b64|b128 {HINTS}"


@op("atom", _CAS, "type = [addr], type, type", kind=Kind.MEMORY, memory=_info("atomic"), pure=False)
def atom_cas(b: Builder, m: Mods, base: Value, offset: Value, expected: Value, new: Value) -> Value | None:
    def swap(one: Builder, old: Value) -> Value:
        return one.select(old == one.lane_value(expected), one.lane_value(new), old)

    return b.atomic(space_of(m), address(b, base, offset), expected.type, swap, True)


