"""Timing entries of a function's operations: each instruction's own, changed where ptxas makes fewer instructions of several.

An operation that becomes part of another costs nothing (entry "") and hands the registers it reads to that one (`through`). Patterns
as ptxas 13.0 -arch=sm_90 makes them (measured by disassembly).
"""

from __future__ import annotations

from collections.abc import Callable

from ...isa.ir import Imm, Instruction, Operand, Reg, Special, Sym
from ...isa.ptx.timing import entry_for, special_entry
from ...semantics import Form, Kind
from .block import Block, Function, Op, predecessors
from .converge import add_convergence
from .defs import Definitions, Place

_FLOAT_READERS = ("add", "sub", "mul", "fma", "mad", "setp", "set", "min", "max")
_PAIR = "iadd3+iadd3_x"


def price(function: Function) -> None:
    for op in function.ops():
        op.entry = _own(op)
    _pair_parameters(function)
    _pair_products(function)
    _Joiner(function).run()
    add_convergence(function)
    if function.kernel.is_entry:
        _add_prologue(function)


def _own(op: Op) -> str:
    if op.opcode == "mov" and len(op.src) == 1 and isinstance(op.src[0], Special):
        return special_entry(op.src[0].name)
    return entry_for(op.opcode, op.modifiers, op.form)


def _pair_parameters(function: Function) -> None:
    """Two 32-bit parameters side by side come with one load of 64 bits, if they are first needed in one stretch of code."""
    needed: dict[str, int] = {}  # register -> stretch of its first reader
    stretch = 0
    for block in function.blocks:
        stretch += 1
        for op in block.all_ops():
            for name in op.uses():
                needed.setdefault(name, stretch)
            stretch += op.kind == Kind.EXIT or op.kind == Kind.RETURN
    loaded: dict[int, tuple[Op, int]] = {}
    for op in function.ops():
        memory, result = op.form.memory, op.dst[0] if op.dst else None
        if memory is None or (memory.space, memory.element_bytes, memory.elements) != ("param", 4, 1) or not isinstance(result, Reg):
            continue
        if isinstance(op.src[0], Imm) and isinstance(op.src[1], Imm):
            loaded.setdefault(int(op.src[0].value) + int(op.src[1].value), (op, needed.get(result.name, 0)))
    for offset, (op, where) in loaded.items():
        if offset % 8 == 4 and offset - 4 in loaded and loaded[offset - 4][1] == where:
            op.entry = ""


def _pair_products(function: Function) -> None:
    """Lower and upper half of one 32-bit product: one IMAD.WIDE, which the first of the two stands for."""
    defs = Definitions(function)
    for block in function.blocks:
        halves: dict[tuple[bool, frozenset[Operand]], tuple[Op, int]] = {}
        for position, op in enumerate(block.ops):
            if op.opcode != "mul" or op.modifiers[0] not in ("lo", "hi") or op.modifiers[1] not in ("u32", "s32") or not op.plain:
                continue
            upper, factors = op.modifiers[0] == "hi", frozenset(op.src)
            first, at = halves.pop((not upper, factors), (None, 0))
            signed = (op if upper or first is None else first).modifiers[1] == "s32"
            if first is None or signed or not all(defs.same_value(s, (block, at), (block, position)) for s in factors):
                halves[upper, factors] = (op, position)
                continue
            first.entry, op.entry = "imad_wide", ""


class _Joiner:
    """Finds what becomes part of its readers."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.defs = Definitions(function)
        self.readers: dict[str, list[tuple[Op, Place]]] = {}
        for block in function.blocks:
            for position, op in enumerate(block.all_ops()):
                for name in op.uses():
                    self.readers.setdefault(name, []).append((op, (block, position)))

    def run(self) -> None:
        for block in self.function.blocks:
            for position, op in enumerate(block.ops):
                if op.form.pure and op.kind == Kind.ALU and len(op.dst) == 1 and isinstance(op.dst[0], Reg):
                    for rule in _RULES:
                        if rule(self, op, (block, position)):
                            break

    def joins(self, op: Op, place: Place, accepts: Callable[[Op], bool], single: bool = False) -> list[Op]:
        """All readers of an operation's result, if each accepts it, reads that very result, and could read its sources instead."""
        name = next(op.defs())
        found = self.readers.get(name, [])
        if not found or (single and len(found) > 1):
            return []
        for reader, at in found:
            if not accepts(reader) or self.defs.reaches(name, at) is not op or not all(self.defs.same_value(s, place, at) for s in op.src):
                return []
        return [reader for reader, _ in found]

    def fold(self, op: Op, readers: list[Op]) -> bool:
        """The operation becomes part of its readers."""
        if not readers:
            return False
        op.entry = ""
        for reader in readers:
            reader.through = tuple(dict.fromkeys((*reader.through, *op.uses(), *op.through)))
        return True


Rule = Callable[[_Joiner, Op, Place], bool]


def _narrow_product(j: _Joiner, op: Op, place: Place) -> bool:
    """16-bit factors that come with zeroes or signs above need no extension."""
    if op.opcode not in ("mul", "mad") or "prmt" not in (op.entry or "") or "hi" in op.modifiers:
        return False
    sources = [j.defs.reaches(s.name, place) for s in op.src if isinstance(s, Reg)]
    if all(s is not None and (s.form.memory is not None or s.opcode in ("and", "cvt")) for s in sources):
        op.entry = "imad"
    return True


def _sum_of_three(j: _Joiner, op: Op, place: Place) -> bool:
    """add or sub, then another: IADD3. One of its operands may be a literal."""
    if op.entry != "iadd3" or op.through or op.guard is not None or op.opcode not in ("add", "sub", "neg"):
        return False
    literals = sum(isinstance(s, Imm) for s in op.src)

    def accepts(reader: Op) -> bool:
        return (
            reader.entry == "iadd3"
            and reader.opcode in ("add", "sub")
            and not reader.through
            and literals + sum(isinstance(s, Imm) for s in reader.src) < 2
        )

    return j.fold(op, j.joins(op, place, accepts, single=op.opcode != "neg"))


def _scaled_sum(j: _Joiner, op: Op, place: Place) -> bool:
    """shl by a literal, then add, of 64 bits: LEA and LEA.HI.X."""
    if op.opcode != "shl" or op.modifiers != ("b64",) or not isinstance(op.src[1], Imm):
        return False
    readers = j.joins(op, place, lambda r: r.entry == _PAIR and r.opcode == "add")
    for reader in readers:
        reader.entry = "lea+lea_x"
    return j.fold(op, readers)


def _extended_sum(j: _Joiner, op: Op, place: Place) -> bool:
    """Extension of 32 bits to 64, then add: the upper half is added as sign (LEA.HI.X.SX32) or zero."""
    if op.opcode != "cvt" or op.modifiers not in (("s64", "s32"), ("u64", "u32"), ("s64", "u32"), ("u64", "s32")):
        return False
    return j.fold(op, j.joins(op, place, lambda r: r.entry == _PAIR and r.opcode in ("add", "sub")))


def _float_sign(j: _Joiner, op: Op, place: Place) -> bool:
    """neg and abs of floats are modifiers of the operand that reads them."""
    if op.opcode not in ("neg", "abs") or not op.form.src[0].is_float:
        return False
    type = op.modifiers[-1]
    return j.fold(op, j.joins(op, place, lambda r: r.opcode in _FLOAT_READERS and r.modifiers[-1] == type))


def _predicate_not(j: _Joiner, op: Op, place: Place) -> bool:
    """Predicates are negated where they are read."""
    return op.opcode == "not" and op.modifiers == ("pred",) and j.fold(op, j.joins(op, place, lambda r: True))


def _test_of_bits(j: _Joiner, op: Op, place: Place) -> bool:
    """A logic operation compared with zero: LOP3 with a predicate result."""
    if op.entry != "lop3" or op.opcode == "copysign":
        return False

    def accepts(reader: Op) -> bool:
        return reader.opcode == "setp" and reader.modifiers[0] in ("eq", "ne") and reader.entry == "isetp" and any(
            isinstance(s, Imm) and s.value == 0 for s in reader.src[:2])  # fmt: skip

    readers = j.joins(op, place, accepts, single=True)
    for reader in readers:
        reader.entry = "lop3"
    return j.fold(op, readers)


def _extremum(j: _Joiner, op: Op, place: Place) -> bool:
    """min of a min, max of a max: VIMNMX3. add, then min or max of signed numbers: VIADDMNMX."""
    if op.through or op.guard is not None:
        return False
    if op.entry == "vimnmx":
        return j.fold(
            op,
            j.joins(
                op,
                place,
                lambda r: r.entry == "vimnmx" and (r.opcode, r.modifiers) == (op.opcode, op.modifiers) and not r.through,
                single=True,
            ),
        )
    if op.entry == "iadd3" and op.opcode == "add":
        return j.fold(op, j.joins(op, place, lambda r: r.entry == "vimnmx" and r.modifiers == ("s32",) and not r.through, single=True))
    return False


def _shifted_sum(j: _Joiner, op: Op, place: Place) -> bool:
    """shr by a literal, then add: LEA.HI."""
    if op.entry != "shf" or op.opcode != "shr" or op.form.dst[0].bits != 32 or not isinstance(op.src[1], Imm):
        return False
    readers = j.joins(op, place, lambda r: r.entry == "iadd3" and r.opcode == "add" and not r.through, single=True)
    for reader in readers:
        reader.entry = "lea"
    return j.fold(op, readers)


_RULES: tuple[Rule, ...] = (
    _narrow_product,
    _extremum,
    _shifted_sum,
    _sum_of_three,
    _scaled_sum,
    _extended_sum,
    _float_sign,
    _predicate_not,
    _test_of_bits,
)


def _add_prologue(function: Function) -> None:
    """What every kernel does first: stack pointer, descriptor of global memory, base addresses in the CTA's part of shared memory."""
    parts = ["ldc"]
    memories = {op.form.memory.space for op in function.ops() if op.form.memory is not None}
    if memories & {"global", "generic", "local"}:
        parts.append("ldc")
    if function.shared_names:
        parts += ["s2r", "mov", "lea"] + ["iadd3", "lea"] * (len(function.shared_names) - 1)
    head = Instruction(".entry", (), (Sym(function.name),), None, function.kernel.line)
    op = Op(".entry", (), Form("entry:<", Kind.NOP, (), (), None, pure=False), [], [], None, head, "+".join(parts))
    first = function.blocks[0]
    if predecessors(function.blocks)[first]:
        start = Block(len(function.blocks), next=first)
        function.blocks.insert(0, start)
        first = start
    first.ops.insert(0, op)
