"""From blocks with registers placed to the tables of a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...isa.ir import Blank, Imm, Instruction, Neg, Operand, Reg, Special
from ...isa.ptx.timing import entry_for, slots
from ...lanes.types import PRED
from ...semantics import Form, Kind, resolve
from ..handlers import HandlerKey, handler_key
from ..program import (
    CACHE_OPS,
    GUARD_NEGATE,
    MEMORY_OPS,
    NO_GUARD,
    PREDICATE_USE,
    RECORD,
    SCOPES,
    SPACES,
    UNIFORM_BRANCH,
    VECTOR_ACCESS,
    WHOLE_WARP,
    ProgramImage,
    Sizes,
)  # fmt: skip
from .allocate import PREDICATE_BYTES, Frame
from .block import Block, Function, Op, bits, units
from .layout import ROW
from .liveness import register_types

BARRIERS = 16
_WITH_HANDLER = (Kind.ALU, Kind.MEMORY, Kind.SYNC_ALU)
_BARRIER_ID_IMM, _BARRIER_COUNT_IMM, _BARRIER_PRED_NEGATE = 1, 2, 4  # BarrierOperandFlags in record.h
SLOT_BYTES = 16  # of an instruction in the code


@dataclass(slots=True)
class _Tables:
    rows: list[dict[str, int]] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    branch_table: list[int] = field(default_factory=list)
    timing: dict[str, int] = field(default_factory=dict)
    instructions: list[Instruction] = field(default_factory=list)
    handlers: list[tuple[Form, HandlerKey] | None] = field(default_factory=list)
    patches: list[tuple[int, Block]] = field(default_factory=list)  # record -> block it branches to
    table_patches: list[tuple[int, Block]] = field(default_factory=list)
    calls: list[tuple[int, str]] = field(default_factory=list)
    address: int = 0
    barriers: int = 0


def emit(name: str, functions: Sequence[Function], frames: Mapping[str, Frame], sizes: Sizes) -> ProgramImage:
    """Lays the functions out one behind the other, the entry first."""
    tables = _Tables()
    starts: dict[str, int] = {}
    block_starts: dict[Block, int] = {}
    for function in functions:
        starts[function.name] = len(tables.rows)
        writer = _Writer(tables, function, frames[function.name])
        for block, op, targets in linear(function):
            block_starts.setdefault(block, len(tables.rows))
            if op is not None:
                writer.write(op, targets)
    records = np.zeros(len(tables.rows), RECORD)
    for column in RECORD.names or ():
        if column not in ("handler", "reserved"):
            records[column] = [row.get(column, 0) for row in tables.rows]
    for record, block in tables.patches:
        records["target"][record] = block_starts[block]
    for at, block in tables.table_patches:
        tables.branch_table[at] = block_starts[block]
    for record, callee in tables.calls:
        records["target"][record] = starts[callee]
    return ProgramImage(
        name, records, np.array(tables.operands, np.int64), np.array(tables.uses, np.uint16), np.array(tables.branch_table, np.uint32),
        list(tables.timing), replace(sizes, barriers=tables.barriers), tables.instructions, tables.handlers,
        tuple((first, function) for function, first in starts.items()),
    )  # fmt: skip


def linear(function: Function) -> Iterator[tuple[Block, Op | None, Sequence[Block]]]:
    """The operations in order with their targets, with the branches that the order of the blocks needs. Every block yields at least
    once.
    """
    for block, follower in zip(function.blocks, [*function.blocks[1:], None]):
        yield block, None, ()
        for op in block.ops:
            yield block, op, ()
        branch, goes_on = block.branch, block.next
        if branch is not None and goes_on is not follower and block.targets == [follower] and branch.guard is not None:
            inverted = replace(branch.guard, negate=not branch.guard.negate)
            assert goes_on is not None
            yield block, replace(branch, guard=inverted), [goes_on]
            continue
        if branch is not None:
            yield block, branch, block.targets
        if goes_on is not None and goes_on is not follower:
            yield block, block.jump or _jump_after(block, function), [goes_on]


def _jump_after(block: Block, function: Function) -> Op:
    """A branch that no instruction of the text stands for; listed under the last instruction before it."""
    last = next(reversed([op.origin for op in block.all_ops()]), Instruction("bra", (), (), None, function.kernel.line))
    return Op("bra", (), resolve(Instruction("bra", (), (), None, last.line)).form, [], [], None, last)


class _Writer:
    """Writes the records of one function."""

    def __init__(self, tables: _Tables, function: Function, frame: Frame) -> None:
        self.t, self.function, self.frame = tables, function, frame
        self.types = register_types(function)

    def write(self, op: Op, targets: Sequence[Block]) -> None:
        t, form, index = self.t, op.form, len(self.t.rows)
        entry = op.entry if op.entry is not None else entry_for(op.opcode, op.modifiers, form)
        operands, aux, sub = self._operands(op)
        flags = WHOLE_WARP if form.whole_warp else 0
        guard = NO_GUARD
        if op.guard is not None:
            guard = self.frame.offsets[op.guard.reg.name]
            flags |= GUARD_NEGATE if op.guard.negate else 0
        target = 0
        if op.kind == Kind.BRANCH:
            flags |= UNIFORM_BRANCH if "uni" in op.modifiers else 0
            t.patches.append((index, targets[0]))
        elif op.kind == Kind.BRANCH_INDEXED:
            target, aux = len(t.branch_table), len(targets)
            t.table_patches.extend((target + i, block) for i, block in enumerate(targets))
            t.branch_table.extend([0] * len(targets))
        elif op.kind == Kind.CALL:
            aux = self.frame.bytes
            t.calls.append((index, op.callee))
        first_use = len(t.uses)
        reads, writes = self._register_uses(op, entry)
        t.uses.extend(reads + writes)
        row = {
            "operands": len(t.operands), "n_operands": len(operands), "guard": guard, "target": target, "aux": aux, "sub": sub,
            "uses": first_use, "n_reads": len(reads), "n_writes": len(writes), "address": t.address, "line": op.origin.line,
            "timing": t.timing.setdefault(entry, len(t.timing)), "kind": int(op.kind), "flags": flags, "scope": SCOPES[form.scope],
        }  # fmt: skip
        memory = form.memory
        if memory is not None:
            row.update(
                space=SPACES[memory.space], memory_op=MEMORY_OPS[memory.op], cache_op=CACHE_OPS[memory.cache_op],
                scope=SCOPES[memory.scope],
                bytes=memory.element_bytes * memory.elements, element_bytes=memory.element_bytes,
                flags=flags | (VECTOR_ACCESS if memory.elements > 1 else 0),
            )  # fmt: skip
        t.rows.append(row)
        t.operands.extend(operands)
        t.address += SLOT_BYTES * slots(entry)
        t.instructions.append(op.origin)
        has_handler = form.emit is not None and op.kind in _WITH_HANDLER
        t.handlers.append((form, handler_key(form, op.dst, op.src)) if has_handler else None)

    def _operands(self, op: Op) -> tuple[list[int], int, int]:
        """Entries of the operand pool, `aux` and `sub` of the record."""
        form = op.form
        if op.kind == Kind.BARRIER:
            return self._barrier(op)
        values = [self._place(d) for d in op.dst]
        values += [self._place(s) for s in op.src]
        aux, sub = 0, form.sub
        if form.sync_mask is not None:
            aux, sub = int(isinstance(op.src[form.sync_mask], Imm)), len(op.dst) + form.sync_mask
        elif op.kind == Kind.SLEEP:
            aux = int(isinstance(op.src[0], Imm))
        return values, aux, sub

    def _barrier(self, op: Op) -> tuple[list[int], int, int]:
        """Barrier id, thread count or -1, result row, predicate row; see `Barrier` in record.h."""
        aux, predicate = 0, 0
        numbers = [s for s, type in zip(op.src, op.form.src) if type is not PRED]
        for s, type in zip(op.src, op.form.src):
            if type is PRED:
                predicate = self._place(s)
                aux |= _BARRIER_PRED_NEGATE if isinstance(s, Neg) else 0
        identity, count = numbers[0], numbers[1] if len(numbers) > 1 else bits(-1)
        aux |= _BARRIER_ID_IMM if isinstance(identity, Imm) else 0
        aux |= _BARRIER_COUNT_IMM if isinstance(count, Imm) else 0
        used = int(identity.value) + 1 if isinstance(identity, Imm) else BARRIERS
        self.t.barriers = max(self.t.barriers, used)
        result = self._place(op.dst[0]) if op.dst else 0
        return [self._place(identity), self._place(count), result, predicate], aux, op.form.sub

    def _place(self, operand: Operand) -> int:
        match operand:
            case Reg(name=name) | Neg(operand=Reg(name=name)):
                return self.frame.offsets[name]
            case Imm(kind="bits", value=value):
                assert isinstance(value, int)
                return value
            case Special() | Blank():
                return 0
        raise AssertionError(f"{operand} is no operand of a record")

    def _register_uses(self, op: Op, entry: str) -> tuple[list[int], list[int]]:
        """Entries of the use pool for the registers read and written. An operation that hardware does not execute waits for nothing."""
        if not entry:
            return [], []
        names = dict.fromkeys([*op.uses(), *op.through])
        reads = [use for name in names for use in self._uses_of(name)]
        return reads, [use for name in op.defs() for use in self._uses_of(name)]

    def _uses_of(self, name: str) -> list[int]:
        offset, type = self.frame.offsets[name], self.types[name]
        if type == "pred":
            return [PREDICATE_USE | (offset - self.frame.rows_bytes) // PREDICATE_BYTES]
        return [offset // ROW + i for i in range(units(type))]
