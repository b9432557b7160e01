"""The cost of divergence in instructions: where lanes may part, ptxas marks the place where they meet again (BSSY) and waits there (BSYNC).

A branch may part lanes when its predicate depends on the lane: on the thread's index, on loaded data, on other lanes.
"""

from __future__ import annotations

from ...isa.ir import Imm, Neg, Reg, Special
from ...semantics import Kind
from .block import Block, Function, Op, predecessors
from .cfg import dominators, post_dominators

_UNIFORM_SPECIALS = (
    "%ctaid",
    "%ntid",
    "%nctaid",
    "%gridid",
    "%nsmid",
    "%nwarpid",
    "%clusterid",
    "%nclusterid",
    "%dynamic_smem",
    "%total_smem",
    "%aggr_smem",
)


def add_convergence(function: Function) -> None:
    """Adds a `bsync` to the first operation of every block at which lanes meet, and a `bssy` to the last one before they may part."""
    varying = varying_registers(function)
    parting = [b for b in function.blocks if b.branch is not None and b.branch.guard is not None and b.branch.guard.reg.name in varying]
    if not parting:
        return
    meets = post_dominators(function)
    parents = dominators(function)
    loops = _loops(function, parents)
    marked: set[tuple[Block, Block]] = set()
    for block in parting:
        join = meets.get(block)
        if join is None or _only_leaves(join):
            continue
        start = _outside(block, join, loops, parents)
        if start is None or any(known_join is join for _, known_join in marked):
            continue
        marked.add((start, join))
        _charge(_last(start), "bssy")
        _charge(_first(join), "bsync")


def varying_registers(function: Function) -> set[str]:
    """Registers that may differ between the lanes of a warp, not counting what differs because lanes took different paths."""
    varying: set[str] = set(function.fixed)  # parameters and results of device functions
    changed = True
    while changed:
        changed = False
        for op in function.ops():
            if _varies(op, varying):
                new = set(op.defs()) - varying
                varying |= new
                changed |= bool(new)
    return varying


def _varies(op: Op, varying: set[str]) -> bool:
    if op.form.memory is not None:
        return op.form.memory.space not in ("param", "const") or any(name in varying for name in op.uses())
    if op.kind not in (Kind.ALU, Kind.NOP) or not op.form.pure:
        return True
    for source in op.src:
        if isinstance(source, Special) and not source.name.startswith(_UNIFORM_SPECIALS):
            return True
        if isinstance(source, (Reg, Neg)) and (source.operand if isinstance(source, Neg) else source).name in varying:
            return True
        assert isinstance(source, (Reg, Neg, Special, Imm))
    return op.guard is not None and op.guard.reg.name in varying


def _loops(function: Function, parents: dict[Block, Block]) -> list[tuple[Block, set[Block]]]:
    """Header and blocks of every natural loop."""

    def dominates(a: Block, b: Block | None) -> bool:
        while b is not None and b is not a:
            b = parents.get(b)
        return b is a

    before = predecessors(function.blocks)
    found: dict[Block, set[Block]] = {}
    for block in function.blocks:
        for header in block.successors:
            if not dominates(header, block):
                continue
            body = found.setdefault(header, {header})
            work = [block]
            while work:
                inside = work.pop()
                if inside not in body:
                    body.add(inside)
                    work.extend(before[inside])
    return list(found.items())


def _outside(block: Block, join: Block, loops: list[tuple[Block, set[Block]]], parents: dict[Block, Block]) -> Block | None:
    """The last block before `block` that is in no loop without `join`: there the mark must be set, once."""
    start: Block | None = block
    while start is not None:
        around = [header for header, body in loops if start in body and join not in body]
        if not around:
            return start
        start = parents.get(around[0])
    return None


def _only_leaves(block: Block) -> bool:
    return bool(block.ops) and block.ops[0].kind in (Kind.EXIT, Kind.RETURN) and block.ops[0].guard is None


def _first(block: Block) -> Op | None:
    return next(block.all_ops(), None) or block.jump


def _last(block: Block) -> Op | None:
    return block.branch or (block.ops[-1] if block.ops else block.jump)


def _charge(op: Op | None, name: str) -> None:
    if op is not None and op.entry is not None:
        op.entry = f"{name}+{op.entry}" if op.entry else name
