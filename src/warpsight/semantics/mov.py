"""Register moves and addresses (PTX ISA, "Data Movement and Conversion Instructions": mov, cvta, isspacep)."""

from __future__ import annotations

from collections.abc import Callable

from ..lanes.builder import Builder, Value
from ..lanes.types import BY_NAME, U64, LaneType
from .registry import Mods, op, reject

# Windows of the generic address space: core/exec/memory.h.
WINDOWS = {
    "shared": (0x6000_0100_0000, 1 << 24),
    "local": (0x6100_0000_0000, 1 << 32),
    "param": (0x6200_0000_0000, 1 << 16),
}


# PTX has no mov.b8: lowering moves the bytes of a device function's parameters with it.
@op("mov", "type=pred|b8|b16|b32|b64|b128|u16|u32|u64|s16|s32|s64|f16|bf16|f32|f64", "type = type")
def mov(b: Builder, m: Mods, x: Value) -> Value:
    return x


def _pack(b: Builder, m: Mods, *parts: Value) -> Value:
    """Elements side by side, the first lowest."""
    type = m.lane()
    whole = LaneType("u", type.bits) if type.bits < 128 else type
    result = b.const(whole, 0)
    for i, part in enumerate(parts):
        wide = b.bitcast(b.resize(part, LaneType("b", type.bits)), whole)
        result = result | (wide << (i * part.type.bits) if i else wide)
    return b.bitcast(result, type)


def _unpack(count: int) -> Callable[..., list[Value]]:
    def unpack(b: Builder, m: Mods, x: Value) -> list[Value]:
        part = LaneType("b", x.type.bits // count)
        return [b.resize(b.lshr(x, b.const(x.type, i * part.bits)) if i else x, part) for i in range(count)]

    return unpack


_PARTS = {"b16": ("b8",), "b32": ("b16", "b8"), "b64": ("b32", "b16"), "b128": ("b64", "b32")}
for _type, _part in ((t, p) for t, parts in _PARTS.items() for p in parts):
    _count = BY_NAME[_type].bits // BY_NAME[_part].bits
    op("mov", f"type={_type}", f"type = {_part}*{_count}")(_pack)
    op("mov", f"type={_type}", f"{_part}*{_count} = type")(_unpack(_count))


SPACES = "space=global|const|shared|shared::cta|shared::cluster|local|param|param::entry"


def window(space: str) -> tuple[int, int] | None:
    """Start and size of a space's window in generic addresses; None for global and constant memory, whose addresses are generic already."""
    return WINDOWS.get(space.partition("::")[0])


@op("cvta", f"{SPACES} type=u64", "type = type")
def cvta(b: Builder, m: Mods, x: Value) -> Value:
    found = window(m.space)
    return x + found[0] if found else x


@op("cvta", f"to=to {SPACES} type=u64", "type = type")
def cvta_to(b: Builder, m: Mods, x: Value) -> Value:
    found = window(m.space)
    return x - found[0] if found else x


def _no_window(m: Mods) -> str:
    return "constant memory has no window of its own in generic addresses" if m.space == "const" else ""


@op("isspacep", SPACES, "pred = u64", refuse=_no_window)
def isspacep(b: Builder, m: Mods, x: Value) -> Value:
    """Whether a generic address lies in the space. Of several CTAs' shared windows there is one, so ::cta and ::cluster are the same."""

    def inside(space: str) -> Value:
        start, size = WINDOWS[space]
        return (x.bits(U64) - start) < size

    if m.space == "global":  # a kernel parameter counts as global: tests/ptx/generic.ptx on an H200
        return ~(inside("shared") | inside("local"))
    return inside(m.space.partition("::")[0])


reject("the address windows need 64-bit generic addresses", "cvta", "isspacep")
