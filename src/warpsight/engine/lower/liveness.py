"""Which registers are live where. Sets of registers are Python ints with a bit a register."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from ...isa.ir import Neg, Reg
from .block import Block, Function, Op, units


@dataclass(slots=True)
class Liveness:
    """`index` numbers the registers; `into` and `out_of` hold the registers live at the start and end of each block."""

    index: dict[str, int]
    types: dict[str, str]
    into: dict[Block, int]
    out_of: dict[Block, int]

    def mask(self, names: Iterator[str]) -> int:
        found = 0
        for name in names:
            found |= 1 << self.index[name]
        return found

    def names(self, mask: int) -> Iterator[str]:
        all_names = list(self.index)
        while mask:
            low = mask & -mask
            yield all_names[low.bit_length() - 1]
            mask ^= low

    def before(self, op: Op, after: int) -> int:
        """The registers live before an operation, given those after it. A guarded write keeps the old value of other lanes alive."""
        if op.overwrites:
            after &= ~self.mask(op.defs())
        return after | self.mask(op.uses())

    def backwards(self, block: Block) -> Iterator[tuple[int, Op, int]]:
        """(position, operation, registers live after it), from the last operation of the block to the first; its branch first, at
        len(ops).
        """
        live = self.out_of[block]
        if block.branch is not None:
            yield len(block.ops), block.branch, live
            live = self.before(block.branch, live)
        for position in range(len(block.ops) - 1, -1, -1):
            op = block.ops[position]
            yield position, op, live
            live = self.before(op, live)


def register_types(function: Function) -> dict[str, str]:
    """The PTX type of every register named."""
    found: dict[str, str] = {}
    for op in function.ops():
        for operand in (*op.dst, *op.src):
            if isinstance(operand, Reg):
                found[operand.name] = operand.type
            elif isinstance(operand, Neg):
                found[operand.operand.name] = "pred"
        if op.guard is not None:
            found[op.guard.reg.name] = "pred"
    return found


def liveness(function: Function) -> Liveness:
    types = register_types(function)
    result = Liveness({name: i for i, name in enumerate(types)}, types, {}, {})
    uses: dict[Block, int] = {}
    kept: dict[Block, int] = {}
    for block in function.blocks:
        read = written = 0
        for op in block.all_ops():
            read |= result.mask(op.uses()) & ~written
            if op.overwrites:
                written |= result.mask(op.defs())
            else:
                read |= result.mask(op.defs()) & ~written
        uses[block], kept[block] = read, ~written
        result.into[block] = result.out_of[block] = 0
    changed = True
    while changed:
        changed = False
        for block in reversed(function.blocks):
            after = 0
            for successor in block.successors:
                after |= result.into[successor]
            before = uses[block] | (after & kept[block])
            if before != result.into[block] or after != result.out_of[block]:
                result.into[block], result.out_of[block] = before, after
                changed = True
    return result


class UnitCount:
    """32-bit units that registers take, counting all of a function's or those of `among`. Predicates and the ends of the frame count
    nothing.
    """

    def __init__(self, function: Function, live: Liveness, among: Set[str] | None = None) -> None:
        self.sizes = {
            name: 0 if name in function.fixed or (among is not None and name not in among) else units(type)
            for name, type in live.types.items()
        }
        self._members: dict[int, int] = {}
        for name, size in self.sizes.items():
            if size:
                self._members[size] = self._members.get(size, 0) | 1 << live.index[name]

    def of(self, mask: int) -> int:
        return sum(n * bin(mask & members).count("1") for n, members in self._members.items())


def pressure(function: Function, live: Liveness, count: UnitCount) -> int:
    """Most units live at one point."""
    most = 0
    for block in function.blocks:
        most = max(most, count.of(live.out_of[block]), count.of(live.into[block]))
        for _, op, after in live.backwards(block):
            most = max(most, count.of(after | live.mask(op.defs())))
    return most
