"""Counted loops four times over, as ptxas unrolls what a compiler before it has begun to: loads of several turns then overlap.

A loop qualifies when it is one block that counts a register down to zero in steps of two or more (the remainder loop that a compiler puts
beside it counts in ones). It gets a second loop of four turns in front, for as long as more than three steps are left. No turn of it can
be the last one, whatever the counter is: it passes zero only in a step from at most one step above.
"""

from __future__ import annotations

from ...isa.ir import Guard, Imm, Instruction, Neg, Operand, Reg
from ...isa.ptx.timing import entry_for, slots
from ...semantics import Kind, resolve
from .block import Block, Function, Op, bits, predecessors
from .liveness import Liveness, liveness

TURNS = 4
# Issue slots of a turn up to which ptxas 13.0 unrolls (measured: it does with 31, and does not with 80).
_SLOT_LIMIT = 48
_PLAIN = (Kind.ALU, Kind.MEMORY)


def unroll(function: Function) -> None:
    loops = [(block, counter) for block in function.blocks if (counter := _counter(block)) is not None]
    if not loops:
        return
    live = liveness(function)
    for block, counter in loops:
        assert block.branch is not None and block.branch.guard is not None and block.next is not None
        if not live.into[block.next] >> live.index[block.branch.guard.reg.name] & 1:
            _unroll(function, block, *counter, live)


def _counter(block: Block) -> tuple[Reg, int, Op] | None:
    """The register that a one-block loop counts down to zero, the step, and the comparison."""
    branch = block.branch
    if branch is None or branch.kind != Kind.BRANCH or branch.guard is None:
        return None
    if block.targets != [block] or block.next in (None, block):
        return None
    if any(op.kind not in _PLAIN or (op.kind == Kind.ALU and not op.form.pure) for op in block.ops):
        return None
    if sum(slots(entry_for(op.opcode, op.modifiers, op.form)) for op in block.ops) > _SLOT_LIMIT:
        return None
    flag = branch.guard.reg.name
    compares = [op for op in block.ops if flag in op.defs()]
    if len(compares) != 1 or any(flag in op.uses() for op in block.ops):
        return None
    compare = compares[0]
    wanted = "eq" if branch.guard.negate else "ne"
    if compare.opcode != "setp" or compare.guard is not None or compare.modifiers[0] != wanted or len(compare.modifiers) != 2:
        return None
    counter, zero = compare.src[:2]
    if compare.form.src[0].bits != 32 or not compare.form.src[0].is_int:
        return None
    if not isinstance(counter, Reg) or not isinstance(zero, Imm) or zero.value != 0:
        return None
    counts = [op for op in block.ops if counter.name in op.defs()]
    if len(counts) != 1 or block.ops.index(counts[0]) > block.ops.index(compare):
        return None
    count = counts[0]
    if count.opcode != "add" or count.modifiers not in (("s32",), ("u32",)) or count.guard is not None or count.src[0] != counter:
        return None
    step = count.src[1]
    if not isinstance(step, Imm) or not -(1 << 20) < int(step.value) <= -2:
        return None
    return counter, -int(step.value), compare


def _unroll(function: Function, block: Block, counter: Reg, step: int, compare: Op, live: Liveness) -> None:
    ahead, body, behind = (Block(len(function.blocks) + i) for i in range(3))
    body.ops = _turns(function, block, compare, live)
    ways = ((ahead, "gt", body, block), (body, "gt", body, behind), (behind, "ne", block, block.next))
    for place, test, target, following in ways:
        limit = (TURNS - 1) * step if test == "gt" else 0
        flag = function.new_register("pred")
        place.ops.append(_make("setp", (test, "s32"), (flag, counter, bits(limit)), compare))
        place.branch = _make("bra", (), (), compare)
        place.branch.guard = Guard(flag)
        place.targets, place.next = [target], following
    for before in predecessors(function.blocks)[block]:
        if before is not block:
            before.targets = [ahead if target is block else target for target in before.targets]
            before.next = ahead if before.next is block else before.next
    at = function.blocks.index(block)
    function.blocks[at:at] = [ahead, body, behind]


def _make(opcode: str, modifiers: tuple[str, ...], operands: tuple[Operand, ...], near: Op) -> Op:
    resolved = resolve(Instruction(opcode, modifiers, operands, None, near.origin.line))
    return Op(opcode, modifiers, resolved.form, list(resolved.dst), list(resolved.src), None, near.origin)


def _turns(function: Function, block: Block, compare: Op, live: Liveness) -> list[Op]:
    """The operations of several turns. Every result gets a register of its own, so that turns depend on each other only through values;
    those that outlive the turn are moved back at the end.
    """
    now: dict[str, Reg] = {}  # register of the loop -> the one that holds its value

    def current(operand: Operand) -> Operand:
        if isinstance(operand, Reg):
            return now.get(operand.name, operand)
        if isinstance(operand, Neg):
            return Neg(now.get(operand.operand.name, operand.operand))
        return operand

    ops: list[Op] = []
    originals: dict[str, Reg] = {}
    for _ in range(TURNS):
        for op in block.ops:
            if op is compare:
                continue
            guard = Guard(now.get(op.guard.reg.name, op.guard.reg), op.guard.negate) if op.guard is not None else None
            copy = Op(op.opcode, op.modifiers, op.form, [], [current(s) for s in op.src], guard, op.origin)
            for result in op.dst:
                if isinstance(result, Reg) and op.guard is None:
                    originals[result.name] = result
                    now[result.name] = function.new_register(result.type)
                copy.dst.append(current(result))
            ops.append(copy)
    assert block.next is not None
    needed = live.into[block] | live.into[block.next]
    for name, reg in now.items():
        if needed >> live.index[name] & 1:
            type = "pred" if reg.type == "pred" else f"b{reg.type.lstrip('busf')}"
            ops.append(_make("mov", (type,), (originals[name], reg), compare))
    return ops
