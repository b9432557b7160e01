"""Loads of neighbouring words of shared memory become one of 8 or 16 bytes where the address is known to be aligned, as ptxas does."""

from __future__ import annotations

from ...isa.ir import Imm, Mem, Operand, Reg, Vec
from ...semantics import Kind
from .block import Block, Function, Op
from .defs import Definitions

_MOST = 5  # binary logarithm of the largest alignment that matters
_WORD = 4
_TYPES = ("b32", "u32", "s32", "f32")


def vectorize(function: Function) -> None:
    alignment = Alignment(function)
    defs = Definitions(function)
    for block in function.blocks:
        for group in _groups(block, defs):
            _join(block, group, alignment)


class Alignment:
    """How many low bits of an integer register are known to be zero: the least over everything written to it, from below a fixed point."""

    def __init__(self, function: Function) -> None:
        writes: dict[str, list[Op]] = {}
        for op in function.ops():
            for name in op.defs():
                writes.setdefault(name, []).append(op)
        self.known = dict.fromkeys(writes, _MOST)
        changed = True
        while changed:
            changed = False
            for name, ops in writes.items():
                least = min(min(self._of(op) for op in ops), self.known[name])
                if least < self.known[name]:
                    self.known[name] = least
                    changed = True

    def of(self, operand: Operand) -> int:
        if isinstance(operand, Reg):
            return self.known.get(operand.name, 0)
        if isinstance(operand, Imm):
            value = int(operand.value)
            return min(_MOST, (value & -value).bit_length() - 1) if value else _MOST
        return 0

    def _of(self, op: Op) -> int:
        if not op.form.pure or len(op.dst) != 1 or not op.src:
            return 0
        source = [self.of(s) for s in op.src]
        match op.opcode:
            case "mov" if len(op.src) == 1:
                return source[0]
            case "add" | "sub" | "or" | "xor" if len(source) == 2:
                return min(source)
            case "and" if len(source) == 2:
                return max(source)
            case "cvt" if all(t.is_int for t in (*op.form.src, *op.form.dst)) and "sat" not in op.modifiers:
                return source[0]
            case "shl" if isinstance(op.src[1], Imm):
                return min(_MOST, source[0] + max(0, int(op.src[1].value)))
            case "mul" if "hi" not in op.modifiers and op.form.dst[0].is_int:
                return min(_MOST, source[0] + source[1])
            case "mad" if "hi" not in op.modifiers and op.form.dst[0].is_int and len(source) == 3:
                return min(_MOST, source[0] + source[1], source[2])
            case "selp":
                return min(source[:2])
        return 0


def _groups(block: Block, defs: Definitions) -> list[list[int]]:
    """Positions of plain 32-bit loads from one base between which nothing writes shared memory; each could stand where the first one
    does.
    """
    open_groups: dict[tuple[object, ...], list[int]] = {}
    done: list[list[int]] = []
    for position, op in enumerate(block.ops):
        memory = op.form.memory
        orders = op.kind not in (Kind.ALU, Kind.MEMORY, Kind.NOP)
        if orders or (memory is not None and memory.op != "load" and memory.space in ("shared", "generic")):
            done += open_groups.values()
            open_groups = {}
            continue
        if (
            memory is None
            or op.opcode != "ld"
            or len(op.modifiers) != 2
            or not op.modifiers[0].startswith("shared")
            or op.modifiers[1] not in _TYPES
        ):
            continue
        base, result = op.src[0], op.dst[0]
        if not isinstance(result, Reg) or (op.guard is None and result.name not in defs.once):
            continue
        key = (base.name if isinstance(base, Reg) else None, op.guard)
        group = open_groups.get(key)
        if group and (not _can_move(block, defs, group[0], position)):
            done.append(group)
            group = None
        if group is None:
            open_groups[key] = [position]
        else:
            group.append(position)
    return done + list(open_groups.values())


def _can_move(block: Block, defs: Definitions, first: int, position: int) -> bool:
    """Whether the load at `position` reads the same address at `first`, and nothing between needs its register's old value or its guard's
    new one.
    """
    op = block.ops[position]
    moved = set(op.defs())
    sources = [*op.src, *([op.guard.reg] if op.guard else [])]
    if not all(defs.same_value(s, (block, first), (block, position)) for s in sources):
        return False
    return not any(moved & {*other.uses(), *other.defs()} for other in block.ops[first:position])


def _join(block: Block, group: list[int], alignment: Alignment) -> None:
    """Joins runs of four, then two neighbouring words of a group; the joined load stands at the first one's place."""
    by_offset = {int(op.src[1].value): op for op in (block.ops[p] for p in group) if isinstance(op.src[1], Imm)}
    if len(by_offset) != len(group):
        return
    base = block.ops[group[0]].src[0]
    start = int(base.value) if isinstance(base, Imm) else 0
    gone: set[Op] = set()
    places = {block.ops[p]: p for p in group}
    for count in (4, 2):
        if not isinstance(base, Imm) and 1 << alignment.of(base) < count * _WORD:
            continue
        for offset in sorted(by_offset):
            ops = [by_offset.get(offset + i * _WORD) for i in range(count)]
            if (start + offset) % (count * _WORD) or any(op is None or op in gone for op in ops):
                continue
            members = [op for op in ops if op is not None]
            leader = min(members, key=lambda op: places[op])
            _make_vector(leader, members, offset)
            gone.update(members)
            gone.discard(leader)
            by_offset = {o: op for o, op in by_offset.items() if op not in members}
    block.ops = [op for op in block.ops if op not in gone]


def _make_vector(leader: Op, members: list[Op], offset: int) -> None:
    base = leader.src[0]
    address = Mem(base, offset) if isinstance(base, Reg) else Mem(None, offset)
    leader.reform("ld", ("shared", f"v{len(members)}", "b32"), [Vec(tuple(op.dst[0] for op in members))], [address])
    if isinstance(base, Imm):
        leader.src[0] = base
