"""Communication inside a warp, and barriers (PTX ISA, "Parallel Synchronization and Communication Instructions": shfl to elect, bar,
fence).

The `.sync` forms wait for their member mask before their function runs (Kind.SYNC_ALU): then all its lanes are active.
"""

from __future__ import annotations

from ..lanes.builder import Builder, Value
from ..lanes.types import PRED, S32, U32
from .atomics import COMBINE
from .form import Kind
from .registry import Mods, control, op


def first_lane(b: Builder, mask: Value) -> Value:
    """Index of the lowest set bit of a lane mask (u32)."""
    return b.clz(b.bitreverse(mask))


def everyone(b: Builder) -> Value:
    """The mask of active lanes."""
    return b.ballot(b.const(PRED, 1))


# Shuffles


def _shfl(b: Builder, m: Mods, x: Value, by: Value, limits: Value, *member_mask: Value) -> tuple[Value, Value]:
    """d = x of the lane that mode, `by` and `limits` (clamp in bits 0-4, segment mask in bits 8-12) give; p = whether that lane is in
    range.

    Out of range, a lane gets its own x.
    """
    lane = b.lane_id()
    by, clamp, segment = by & 31, limits & 31, (limits >> 8) & 31
    most, least = (lane & segment) | (clamp & ~segment), lane & segment
    source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": least | (by & ~segment)}[m.mode]
    inside = source.bits(S32) >= most.bits(S32) if m.mode == "up" else source <= most
    return b.shuffle(x, b.select(inside, source, lane)), inside


_MODES = "mode=up|down|bfly|idx type=b32"
op("shfl", _MODES, "type|pred? = type, u32, u32", pure=False)(_shfl)
op("shfl", f"sync=sync {_MODES}", "type|pred? = type, u32, u32, u32", kind=Kind.SYNC_ALU, sync_mask=3, pure=False)(_shfl)


# Votes


def _vote(b: Builder, m: Mods, p: Value, *member_mask: Value) -> Value:
    yes, all_ = b.ballot(p), everyone(b)
    if m.mode == "any":
        return yes != 0
    unanimous = yes == all_
    return unanimous if m.mode == "all" else unanimous | (yes == 0)


def _ballot(b: Builder, m: Mods, p: Value, *member_mask: Value) -> Value:
    return b.ballot(p)


op("vote", "mode=all|any|uni type=pred", "pred = pred", pure=False)(_vote)
op("vote", "mode=ballot type=b32", "type = pred", pure=False)(_ballot)
op("vote", "sync=sync mode=all|any|uni type=pred", "pred = pred, u32", kind=Kind.SYNC_ALU, sync_mask=1, pure=False)(_vote)
op("vote", "sync=sync mode=ballot type=b32", "type = pred, u32", kind=Kind.SYNC_ALU, sync_mask=1, pure=False)(_ballot)


@op("activemask", "type=b32", "type =", pure=False)
def activemask(b: Builder, m: Mods) -> Value:
    return everyone(b)


@op("match", "mode=any sync=sync type=b32|b64", "b32 = type, u32", kind=Kind.SYNC_ALU, sync_mask=1, pure=False)
def match_any(b: Builder, m: Mods, x: Value, member_mask: Value) -> Value:
    """The mask of the active lanes whose value is this lane's."""
    result = b.const(U32, 0)
    for lane in range(32):
        same = b.ballot(x == b.shuffle(x, b.const(U32, lane)))
        result = b.select(b.lane_id() == lane, same, result)
    return result


@op("match", "mode=all sync=sync type=b32|b64", "b32|pred? = type, u32", kind=Kind.SYNC_ALU, sync_mask=1, pure=False)
def match_all(b: Builder, m: Mods, x: Value, member_mask: Value) -> tuple[Value, Value]:
    all_ = everyone(b)
    same = b.ballot(x == b.shuffle(x, first_lane(b, all_))) == all_
    return b.select(same, all_, b.const(U32, 0)), same


@op("redux", "sync=sync op=add|min|max type=u32|s32", "type = type, u32", kind=Kind.SYNC_ALU, sync_mask=1, pure=False)
@op("redux", "sync=sync op=and|or|xor type=b32", "type = type, u32", kind=Kind.SYNC_ALU, sync_mask=1, pure=False)
def redux(b: Builder, m: Mods, x: Value, member_mask: Value) -> Value:
    low, high = (-(2**31), 2**31 - 1) if x.type.signed else (0, 2**32 - 1)
    identity = {"add": 0, "or": 0, "xor": 0, "and": -1, "min": high, "max": low}[m.op]
    x = b.select(b.active(), x, b.const(x.type, identity))
    for distance in (16, 8, 4, 2, 1):
        other = b.shuffle(x, b.lane_id() ^ distance)
        x = COMBINE[m.op](b, x, other)
    return x


@op("elect", "sync=sync", "b32|pred = u32", kind=Kind.SYNC_ALU, sync_mask=0, pure=False)
def elect(b: Builder, m: Mods, member_mask: Value) -> tuple[Value, Value]:
    """The lowest lane of the member mask leads."""
    leader = first_lane(b, member_mask)
    return leader, b.lane_id() == leader


# Barriers and fences: the engine's own. Operands: barrier id, thread count if given, predicate of a reduction.

control("bar", "warp=warp sync=sync", "u32", kind=Kind.WARP_SYNC, sync_mask=0)
for _opcode, _extra in (("bar", ""), ("barrier", " aligned~aligned?")):
    control(_opcode, f"cta~cta? what=sync{_extra}", "u32, u32?", kind=Kind.BARRIER, sub=0)
    control(_opcode, f"cta~cta? what=arrive{_extra}", "u32, u32", kind=Kind.BARRIER, sub=1)
    for _operands in ("u32, pred", "u32, u32, pred"):
        control(_opcode, f"cta~cta? what=red op=popc{_extra} type=u32", f"u32 = {_operands}", kind=Kind.BARRIER, sub=2)
        control(_opcode, f"cta~cta? what=red op=and{_extra} type=pred", f"pred = {_operands}", kind=Kind.BARRIER, sub=3)
        control(_opcode, f"cta~cta? what=red op=or{_extra} type=pred", f"pred = {_operands}", kind=Kind.BARRIER, sub=4)


def _scope(m: Mods) -> str:
    return {"gl": "gpu"}.get(m.scope, m.scope) or "cta"


control("membar", "scope~cta|gl|sys", "", kind=Kind.FENCE, scope=_scope)
control("fence", "order~sc|acq_rel|acquire|release? scope~cta|cluster|gpu|sys", "", kind=Kind.FENCE, scope=_scope)
for _opcode in ("membar", "fence"):
    control(_opcode, "proxy~proxy kind~alias|async space~global|shared::cta|shared::cluster?", "", kind=Kind.FENCE)
