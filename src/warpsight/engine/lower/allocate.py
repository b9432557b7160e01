"""Registers to rows of the frame: moves coalesced, then linear scan over live ranges."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

from ...isa.ir import Neg, Operand, Reg
from ...semantics import Kind
from .block import Function, Op, units
from .layout import ROW, round_up
from .liveness import Liveness, liveness

PREDICATE_BYTES = 4  # a lane mask


@dataclass(slots=True)
class Frame:
    """Byte offset of every register in the frame: rows first, then predicates. `rows_bytes`: where the predicates start; `bytes`: of the
    frame.
    """

    offsets: dict[str, int]
    rows_bytes: int
    bytes: int


def is_move(op: Op) -> bool:
    """A copy of one register to another of the same size, by all lanes."""
    return (
        op.opcode == "mov" and op.guard is None and op.kind == Kind.ALU and len(op.src) == 1 and len(op.dst) == 1
        and isinstance(op.src[0], Reg) and isinstance(op.dst[0], Reg) and units(op.src[0].type) == units(op.dst[0].type)
        and (op.form.src[0].bits == op.form.dst[0].bits)
    )  # fmt: skip


def coalesce(function: Function) -> None:
    """Gives both sides of a move one register where their live ranges allow it; the move then disappears."""
    live = liveness(function)
    names = list(live.index)
    sides: set[str] = set()
    moves: list[tuple[str, str]] = []
    for op in function.ops():
        if is_move(op):
            d, s = op.dst[0], op.src[0]
            assert isinstance(d, Reg) and isinstance(s, Reg)
            if d.name not in function.fixed and s.name not in function.fixed and d.type.lstrip("bsuf") == s.type.lstrip("bsuf"):
                sides.update((d.name, s.name))
                moves.append((d.name, s.name))
    if not moves:
        return
    conflicts = _conflicts(function, live, sides)
    group = {name: name for name in sides}
    members = {name: 1 << live.index[name] for name in sides}

    def find(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    for a, b in moves:
        x, y = find(a), find(b)
        if x == y or conflicts[x] & members[y] or conflicts[y] & members[x]:
            continue
        group[y] = x
        members[x] |= members[y]
        conflicts[x] |= conflicts[y]
    rename_registers(function, {name: Reg(find(name), live.types[find(name)]) for name in names if name in sides and find(name) != name})
    for block in function.blocks:
        block.ops = [op for op in block.ops if not (is_move(op) and op.dst[0] == op.src[0])]


def _conflicts(function: Function, live: Liveness, wanted: set[str]) -> dict[str, int]:
    """Of each wanted register: those live where it is written, but for the source of a move into it."""
    found = dict.fromkeys(wanted, 0)
    for block in function.blocks:
        for _, op, after in live.backwards(block):
            written = [d for d in op.defs() if d in found]
            for name in written:
                others = after | live.mask(op.defs())
                if is_move(op):
                    others &= ~live.mask(iter([op.src[0].name]))  # type: ignore[union-attr]  # a Reg
                found[name] |= others & ~(1 << live.index[name])
    entry = live.into[function.blocks[0]]
    for name in live.names(entry):  # read before written: all are live together at the start
        if name in found:
            found[name] |= entry & ~(1 << live.index[name])
    return found


def rename_registers(function: Function, names: dict[str, Reg]) -> None:
    """Replaces registers everywhere."""
    if not names:
        return

    def renamed(operand: Operand) -> Operand:
        if isinstance(operand, Reg):
            return names.get(operand.name, operand)
        if isinstance(operand, Neg) and operand.operand.name in names:
            return Neg(names[operand.operand.name])
        return operand

    for op in function.ops():
        op.dst = [renamed(d) for d in op.dst]
        op.src = [renamed(s) for s in op.src]
        if op.guard is not None and op.guard.reg.name in names:
            op.guard = replace(op.guard, reg=names[op.guard.reg.name])
        op.through = tuple(names[n].name if n in names else n for n in op.through)


def allocate(function: Function, reserved_bytes: int) -> Frame:
    """Places for all registers. `reserved_bytes` (a lane's, 4 a unit) at the start of the frame hold return values and parameters."""
    live = liveness(function)
    ranges = _ranges(function, live)
    offsets: dict[str, int] = {}
    rows, predicates = _Pool(reserved_bytes // 4), _Pool(0)
    active: list[tuple[int, int, int, bool]] = []  # (end, first unit, size, is a predicate)
    for start, end, name in sorted((r[0], r[1], name) for name, r in ranges.items()):
        if name in function.fixed:
            continue
        while active and active[0][0] < start:
            _, unit, size, is_predicate = heapq.heappop(active)
            (predicates if is_predicate else rows).give_back(unit, size)
        size = units(live.types[name])
        pool, size = (rows, size) if size else (predicates, 1)
        unit = pool.take(size)
        heapq.heappush(active, (end, unit, size, pool is predicates))
        offsets[name] = unit
    rows_bytes = rows.size * ROW
    for name, unit in offsets.items():
        offsets[name] = rows_bytes + unit * PREDICATE_BYTES if live.types[name] == "pred" else unit * ROW
    # A whole number of even units, so that the frame of a callee behind it is aligned for wide registers.
    frame_bytes = round_up(rows_bytes + predicates.size * PREDICATE_BYTES, 2 * ROW)
    for name, slot in function.fixed.items():
        offsets[name] = slot.offset * (ROW // 4) + (frame_bytes if slot.outgoing else 0)
    return Frame(offsets, rows_bytes, max(frame_bytes, 2 * ROW))


def _ranges(function: Function, live: Liveness) -> dict[str, tuple[int, int]]:
    """First and last position at which each register holds a value, over the blocks in order. An operation reads at 2i and writes at 2i +
    1.
    """
    first: dict[str, int] = {}
    last: dict[str, int] = {}

    def touch(name: str, at: int) -> None:
        first[name] = min(first.get(name, at), at)
        last[name] = max(last.get(name, at), at)

    position = 0
    for block in function.blocks:
        for name in live.names(live.into[block]):
            touch(name, position)
        for op in block.all_ops():
            for name in op.uses():
                touch(name, position)
            for name in op.defs():
                touch(name, position + 1)
                if not op.overwrites:
                    touch(name, position)
            position += 2
        for name in live.names(live.out_of[block]):
            touch(name, position)
        position += 2
    return {name: (first[name], last[name]) for name in first}


class _Pool:
    """Units of a frame: the lowest free ones first, wide values at multiples of their size."""

    def __init__(self, reserved: int) -> None:
        self.used = (1 << reserved) - 1
        self.size = reserved

    def take(self, size: int) -> int:
        wanted = (1 << size) - 1
        unit = 0
        if size == 1:
            free = ~self.used
            unit = (free & -free).bit_length() - 1
        else:
            while self.used >> unit & wanted:
                unit += size
        self.used |= wanted << unit
        self.size = max(self.size, unit + size)
        return unit

    def give_back(self, unit: int, size: int) -> None:
        self.used &= ~(((1 << size) - 1) << unit)
