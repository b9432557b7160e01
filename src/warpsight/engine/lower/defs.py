"""Where registers get their values: what lets a pass use a value somewhere else than where it stands."""

from __future__ import annotations

from bisect import bisect_right

from ...isa.ir import Neg, Operand, Reg
from .block import Block, Function, Op
from .cfg import dominators

Place = tuple[Block, int]  # an operation by block and position; the branch stands at len(ops)


class Definitions:
    """The definitions of a function's registers, as it is now. Passes that change operands or remove operations keep it valid; new ones
    do not.

    `once[name]`: where the register's only write stands, of those written exactly once and by all lanes.
    """

    def __init__(self, function: Function) -> None:
        self.uses: dict[str, int] = {}
        self._writes: dict[Block, dict[str, list[int]]] = {}
        count: dict[str, int] = {}
        self.once: dict[str, Place] = {}
        for block in function.blocks:
            writes: dict[str, list[int]] = {}
            for position, op in enumerate(block.all_ops()):
                for name in op.uses():
                    self.uses[name] = self.uses.get(name, 0) + 1
                for name in op.defs():
                    writes.setdefault(name, []).append(position)
                    count[name] = count.get(name, 0) + (1 if op.guard is None else 2)
                    self.once[name] = (block, position)
            self._writes[block] = writes
        for name, n in count.items():
            if n > 1:
                del self.once[name]
        for name in function.fixed:
            self.once.pop(name, None)
        self._fixed = function.fixed
        self._number_tree(function)

    def _number_tree(self, function: Function) -> None:
        """Entry and exit numbers of a walk over the dominator tree: a dominates b when a's interval holds b's."""
        children: dict[Block, list[Block]] = {block: [] for block in function.blocks}
        for block, parent in dominators(function).items():
            children[parent].append(block)
        self._first: dict[Block, int] = {}
        self._last: dict[Block, int] = {}
        work = [(function.blocks[0], False)]
        while work:
            block, leaving = work.pop()
            if leaving:
                self._last[block] = len(self._first)
                continue
            self._first[block] = len(self._first)
            work.append((block, True))
            work.extend((child, False) for child in children[block])

    def dominates(self, a: Block, b: Block) -> bool:
        return self._first[a] <= self._first[b] < self._last[a]

    def reaches(self, name: str, place: Place) -> Op | None:
        """The operation whose value of `name` every execution of `place` reads, if there is just one; it was done by all lanes there."""
        block, position = place
        inside = self._writes[block].get(name)
        if inside is not None:
            at = bisect_right(inside, position - 1) - 1
            if at >= 0:
                op = block.ops[inside[at]]
                return op if op.guard is None else None
        where = self.once.get(name)
        if where is None or where[0] is block or not self.dominates(where[0], block):
            return None
        return where[0].ops[where[1]]

    def same_value(self, operand: Operand, before: Place, after: Place) -> bool:
        """Whether a source read at `before` has the same value at `after`, which every lane reaches from there."""
        if isinstance(operand, Neg):
            operand = operand.operand
        if not isinstance(operand, Reg):
            return True
        if operand.name in self._fixed:
            return False
        where = self.once.get(operand.name)
        if where is not None:
            return where[1] < before[1] if where[0] is before[0] else self.dominates(where[0], before[0])
        if before[0] is not after[0]:
            return False
        inside = self._writes[before[0]].get(operand.name, [])
        return bisect_right(inside, after[1] - 1) == bisect_right(inside, before[1] - 1)

    def place_of(self, name: str, place: Place) -> Place:
        """Where the operation that `reaches` found stands."""
        block, position = place
        inside = self._writes[block].get(name)
        if inside is not None:
            at = bisect_right(inside, position - 1) - 1
            if at >= 0:
                return block, inside[at]
        return self.once[name]
