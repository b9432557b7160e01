"""Loads, stores and prefetches (PTX ISA, "Data Movement and Conversion Instructions": ld, ldu, st, prefetch, discard...).

Data is moved as bits. Cache operators, orders, scopes and eviction priorities do not change what a load returns here: a machine that runs
one instruction after another is sequentially consistent. They go to the timing model in MemoryInfo.
"""

from __future__ import annotations

from collections.abc import Callable

from ..lanes.builder import Builder, Value
from ..lanes.types import LaneType
from .form import Kind, MemoryInfo
from .registry import VECTORS, Mods, control, op

ORDER = "order~weak|volatile|relaxed|acquire|release|acq_rel|sc? mmio~mmio?"
SCOPE = "scope~cta|cluster|gpu|sys?"
HINTS = (
    "l1~L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? "
    "l2~L2::evict_normal|L2::evict_first|L2::evict_last? hint~L2::cache_hint? size~L2::64B|L2::128B|L2::256B?"
)
TYPES = "type=b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
LOAD_SPACES = "global|shared|shared::cta|shared::cluster|local|const|param|param::entry|param::func"
VECTOR = "vec=v2|v4|v8?"


def address(b: Builder, base: Value, offset: Value) -> Value:
    """base + offset as U64; a 32-bit base wraps at 32 bits."""
    bits = base.type.bits
    total = base.bits(LaneType("u", bits)) + offset.resize(LaneType("u", bits))
    return total.resize(LaneType("u", 64))


def space_of(m: Mods) -> str:
    """The state space as the builders name it. A cluster has one CTA, so its shared memory is the CTA's."""
    return m.space.partition("::")[0] or "generic"


def memory_info(op: str, default: str, default_scope: str = "cta") -> Callable[[Mods], MemoryInfo]:
    """MemoryInfo from the modifiers; an order outranks a cache operator, `default` holds without both."""

    def info(m: Mods) -> MemoryInfo:
        order = {"weak": "", "acq_rel": "acquire", "sc": "acquire"}.get(m.order, m.order)
        cache_op = order or m.nc or m.cop or default
        scope = m.scope or (default_scope if order else "cta")
        return MemoryInfo(space_of(m), op, m.lane().bytes, VECTORS[m.vec], cache_op, "sys" if m.order == "volatile" else scope)

    return info


def too_wide(m: Mods) -> str:
    """A vector access moves at most 32 bytes, and eight elements only of 32 bits."""
    count, size = VECTORS[m.vec], m.lane().bytes
    return f"no vector .{m.vec} of .{m.type}" if count > 1 and (count * size > 32 or (count == 8 and size != 4)) else ""


@op(
    "ld",
    f"{ORDER} {SCOPE} space={LOAD_SPACES}? cop~ca|cg|cs|lu|cv? nc~nc? {HINTS} {VECTOR} {TYPES}",
    "type*vec+ = [addr]",
    kind=Kind.MEMORY,
    memory=memory_info("load", "ca"),
    pure=False,
    refuse=too_wide,
)
@op(
    "ldu",
    f"space=global? {VECTOR} {TYPES}",
    "type*vec+ = [addr]",
    kind=Kind.MEMORY,
    memory=memory_info("load", "nc"),
    pure=False,
    refuse=too_wide,
)
def ld(b: Builder, m: Mods, base: Value, offset: Value) -> list[Value]:
    type = m.lane()
    as_bits = type if type.is_int else LaneType("b", type.bits)
    return [v.bits(type) for v in b.load(space_of(m), address(b, base, offset), as_bits, VECTORS[m.vec])]


@op(
    "st",
    f"{ORDER} {SCOPE} space=global|shared|shared::cta|shared::cluster|local|param|param::func? cop~wb|cg|cs|wt? {HINTS} {VECTOR} {TYPES}",
    "[addr], type*vec+",
    kind=Kind.MEMORY,
    memory=memory_info("store", "wb"),
    pure=False,
    refuse=too_wide,
)
def st(b: Builder, m: Mods, base: Value, offset: Value, *values: Value) -> None:
    as_bits = LaneType("b", m.lane().bits)
    b.store(space_of(m), address(b, base, offset), [v.bits(as_bits) for v in values])


# Cache hints that move no data. They may point anywhere, so they must not be checked as accesses.
control("prefetch", "space~global|local? level~L1|L2", "[addr]", kind=Kind.NOP)
control("prefetch", "space~global level~L2::evict_last|L2::evict_normal", "[addr]", kind=Kind.NOP)
control("prefetchu", "level~L1", "[addr]", kind=Kind.NOP)
control("discard", "space~global? level~L2", "[addr], -", kind=Kind.NOP)
control("applypriority", "space~global? level~L2::evict_normal", "[addr], -", kind=Kind.NOP)


@op("createpolicy", "what~fractional|cvt|range space~global? first~L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged|L2? "
    "second~L2::evict_first|L2::evict_unchanged? type=b64", "type = -?, -?, -?")
def createpolicy(b: Builder, m: Mods) -> Value:
    """A cache policy is opaque; accesses with one behave as without."""
    return b.const(m.lane(), 0)
