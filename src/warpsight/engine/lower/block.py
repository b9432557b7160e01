"""The mutable block IR that passes work on: functions of basic blocks of operations on virtual registers.

An operation is one record-to-be: a form, its flattened operands and a guard. Control flow between blocks is not in the operations: a block
ends in an optional conditional (or indexed) branch and goes on to `next`; `layout` of the emitter turns that into branch records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...isa import ir
from ...isa.ir import Guard, Imm, Instruction, Neg, Operand, Reg, Special
from ...lanes.types import LaneType
from ...semantics import Form, Kind, resolve
from ...semantics.registry import TYPES
from ...semantics.special import SPECIALS


@dataclass(slots=True, eq=False)
class Op:
    """One operation. `opcode` and `modifiers` are those of the form, which passes may have changed; `origin` is the PTX instruction it
    serves.

    `entry` names its timing entry once priced; `through` are registers read on its behalf by operations that were priced as part of it.
    `callee`: the function of a call. `local`: lanes that a guard keeps from writing do not read the results later.
    """

    opcode: str
    modifiers: tuple[str, ...]
    form: Form
    dst: list[Operand]
    src: list[Operand]
    guard: Guard | None
    origin: Instruction
    entry: str | None = None
    through: tuple[str, ...] = ()
    callee: str = ""
    local: bool = False

    @property
    def kind(self) -> Kind:
        return self.form.kind

    @property
    def spelling(self) -> str:
        return ".".join((self.opcode, *self.modifiers))

    @property
    def plain(self) -> bool:
        """Without effects besides its destinations, and executed by every lane."""
        return self.form.pure and self.guard is None and self.kind == Kind.ALU

    @property
    def overwrites(self) -> bool:
        """Whether old values of its destinations are dead: no lane that it does not write reads one."""
        return self.guard is None or self.local

    def defs(self) -> Iterator[str]:
        """Names of the registers written."""
        return (d.name for d in self.dst if isinstance(d, Reg))

    def uses(self) -> Iterator[str]:
        """Names of the registers read, the guard's included (not the old values that a guarded write keeps)."""
        for s in self.src:
            if isinstance(s, Reg):
                yield s.name
            elif isinstance(s, Neg):
                yield s.operand.name
        if self.guard is not None:
            yield self.guard.reg.name

    def reform(self, opcode: str, modifiers: Sequence[str], dst: Sequence[Operand], src: Sequence[Operand]) -> None:
        """Makes it another instruction with the same guard and origin. Operands are as written in PTX, addresses as Mem."""
        resolved = resolve(Instruction(opcode, tuple(modifiers), (*dst, *src), None, self.origin.line))
        self.opcode, self.modifiers, self.form = opcode, tuple(modifiers), resolved.form
        self.dst = list(resolved.dst)
        self.src = [
            literal_bits(s, type) if isinstance(s, Imm) and s.kind != "bits" else s for s, type in zip(resolved.src, resolved.form.src)
        ]


@dataclass(slots=True, eq=False)
class Block:
    """`branch`, if any, is the last operation (Kind BRANCH or BRANCH_INDEXED) and goes to `targets`; lanes that do not take it go to
    `next`.

    `next` None: control does not leave the end of the block (its last operation is an unguarded exit, return or trap).
    """

    index: int
    ops: list[Op] = field(default_factory=list)
    branch: Op | None = None
    targets: list[Block] = field(default_factory=list)
    next: Block | None = None
    jump: Op | None = None  # the bra that goes to `next`, where the text has one; emitted again if the layout needs it
    labels: list[str] = field(default_factory=list)

    @property
    def successors(self) -> list[Block]:
        """Without duplicates, branch targets first."""
        found = dict.fromkeys(self.targets)
        if self.next is not None:
            found[self.next] = None
        return list(found)

    def all_ops(self) -> Iterator[Op]:
        yield from self.ops
        if self.branch is not None:
            yield self.branch


@dataclass(slots=True, eq=False)
class Function:
    """A kernel or device function. `blocks[0]` is the entry. `fixed` registers live at a place of their own (see `Slot`)."""

    name: str
    kernel: ir.Kernel
    blocks: list[Block]
    fixed: dict[str, Slot] = field(default_factory=dict)
    callees: list[str] = field(default_factory=list)
    shared_names: set[str] = field(default_factory=set)  # shared variables whose addresses it uses
    fresh: int = 0

    def ops(self) -> Iterator[Op]:
        for block in self.blocks:
            yield from block.all_ops()

    def new_register(self, type: str) -> Reg:
        self.fresh += 1
        return Reg(f"%new{self.fresh}", type)


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a parameter or return value in a frame: the function's own, or that of the function it calls next.

    `offset` in bytes from the start of the frame; a value of `bits` takes whole 128-byte rows (docs/architecture.md, Frames).
    """

    outgoing: bool
    offset: int
    bits: int


def predecessors(blocks: Sequence[Block]) -> dict[Block, list[Block]]:
    found: dict[Block, list[Block]] = {b: [] for b in blocks}
    for block in blocks:
        for successor in block.successors:
            found[successor].append(block)
    return found


def units(type: str) -> int:
    """32-bit register units that a register of a PTX type takes; 0 for predicates, which live elsewhere."""
    return 0 if type == "pred" else max(1, TYPES[type].bits // 32)


def bits(value: int) -> Imm:
    """A literal as its bits: the signed 64-bit number of the operand pool. After `build`, all literals are of this kind."""
    value &= (1 << 64) - 1
    return Imm("bits", value - (1 << 64) if value >> 63 else value)


def literal_bits(literal: Imm, type: LaneType) -> Imm:
    """The bits of a PTX literal as an operand of `type`."""
    if literal.kind == "int":
        is_number = type.is_float and type.bits > 16  # an integer literal as an operand of type f32 or f64; f16 has bit patterns only
        return bits(int(np.dtype(f"f{type.bytes}").type(literal.value).view(f"u{type.bytes}")) if is_number else int(literal.value))
    if type.bits == 64:
        return bits(literal.bits64 if literal.bits64 is not None else int(np.float64(literal.value).view(np.uint64)))
    assert type.bits == 32, f"a float literal as {type}"
    return bits(literal.bits32 if literal.bits32 is not None else int(np.float32(literal.value).view(np.uint32)))


def is_invariant(operand: Operand) -> bool:
    """A source that is no register and always reads the same."""
    return isinstance(operand, Imm) or (isinstance(operand, Special) and not SPECIALS[operand.name].volatile)


__all__ = [
    "Block", "Function", "Op", "Slot", "bits", "is_invariant", "literal_bits", "predecessors", "units",
]  # fmt: skip
