"""Short branches become guards: lanes that would branch around a few instructions skip them, and branches to a return become guarded
returns.
"""

from __future__ import annotations

from ...isa.ir import Guard
from ...isa.ptx.timing import entry_for, slots
from ...semantics import Kind
from .block import Block, Function, Op, predecessors
from .cfg import merge_straight, remove_unreachable, skip_empty
from .liveness import liveness

# Issue slots that ptxas 13.0 still puts under a guard rather than branching around them (measured on the kernels of the reference set).
SLOT_LIMIT = 10
_GUARDABLE = (Kind.ALU, Kind.MEMORY, Kind.NOP)


def predicate(function: Function) -> None:
    _guard_returns(function)
    while True:
        skip_empty(function)
        remove_unreachable(function)
        merge_straight(function)
        if not _guard_branches(function):
            break


def _guard_returns(function: Function) -> None:
    position = {block: i for i, block in enumerate(function.blocks)}
    for block in function.blocks:
        branch = block.branch
        if branch is None or branch.kind != Kind.BRANCH or branch.guard is None or block.next is None:
            continue
        target, following = block.targets[0], block.next
        if _leave_of(target) is not None:
            _leave_under(block, target, branch.guard, following)
        elif _leave_of(following) is not None and position[target] > position[block]:  # a loop keeps its branch back
            _leave_under(block, following, _negated(branch.guard), target)


def _leave_of(block: Block) -> Op | None:
    """The exit or return that a block consists of."""
    if len(block.ops) == 1 and block.next is None and block.branch is None and block.ops[0].kind in (Kind.EXIT, Kind.RETURN):
        return block.ops[0]
    return None


def _leave_under(block: Block, leaving: Block, guard: Guard, other: Block) -> None:
    leave = leaving.ops[0]
    block.ops.append(Op(leave.opcode, leave.modifiers, leave.form, [], list(leave.src), guard, leave.origin))
    block.branch, block.targets, block.next, block.jump = None, [], other, None


def _negated(guard: Guard) -> Guard:
    return Guard(guard.reg, not guard.negate)


def _guard_branches(function: Function) -> bool:
    """Takes the branch out of every `if` that is short enough and holds no other. False when there is none."""
    before = predecessors(function.blocks)
    live = liveness(function)
    touched: set[Block] = set()
    for block in function.blocks:
        found = _arms_of(block, before)
        if found is None:
            continue
        arms, join = found
        if touched & {block, join, *(arm for arm, _ in arms)} or not _is_short(arms):
            continue
        for i, (arm, guard) in enumerate(arms):
            needed = live.into[join]
            for other, _ in arms[i + 1 :]:
                needed |= live.into[other]
            for op in arm.ops:
                if not op.plain or live.mask(op.defs()) & needed:
                    op.guard = guard
                    op.local = not live.mask(op.defs()) & needed
                block.ops.append(op)
            arm.ops = []
        block.branch, block.targets, block.next, block.jump = None, [], join, None
        touched |= {block, join, *(arm for arm, _ in arms)}
    return bool(touched)


def _arms_of(block: Block, before: dict[Block, list[Block]]) -> tuple[list[tuple[Block, Guard]], Block] | None:
    """The one or two blocks that only a branch of `block` leads to, each with its guard, and the block where they end."""
    branch, fallen = block.branch, block.next
    if branch is None or branch.kind != Kind.BRANCH or branch.guard is None or fallen is None:
        return None
    taken = block.targets[0]
    if taken is fallen:
        return [], taken

    def is_arm(side: Block) -> bool:
        return side is not block and before[side] == [block] and side.branch is None and side.next is not None

    if is_arm(fallen) and fallen.next is taken:
        return [(fallen, _negated(branch.guard))], taken
    if is_arm(taken) and taken.next is fallen:
        return [(taken, branch.guard)], fallen
    if is_arm(fallen) and is_arm(taken) and fallen.next is taken.next and fallen.next is not None:
        return [(fallen, _negated(branch.guard)), (taken, branch.guard)], fallen.next
    return None


def _is_short(arms: list[tuple[Block, Guard]]) -> bool:
    total = 0
    for arm, guard in arms:
        for op in arm.ops:
            if op.guard is not None or op.kind not in _GUARDABLE or guard.reg.name in op.defs():
                return False
            total += slots(entry_for(op.opcode, op.modifiers, op.form))
    return total <= SLOT_LIMIT
