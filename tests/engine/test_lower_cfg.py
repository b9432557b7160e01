"""Order, dominators and liveness against definitions, on random control flow graphs."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from warpsight.engine.lower import cfg
from warpsight.engine.lower.block import Block, Function, Op
from warpsight.engine.lower.liveness import liveness
from warpsight.isa.ir import Guard, Instruction, Kernel, Reg
from warpsight.semantics import resolve

PREDICATE = Guard(Reg("%p", "pred"))


def make_op(text: str, *operands: Reg) -> Op:
    opcode, *modifiers = text.split(".")
    instruction = Instruction(opcode, tuple(modifiers), operands, None, 1)
    resolved = resolve(instruction)
    return Op(opcode, tuple(modifiers), resolved.form, list(resolved.dst), list(resolved.src), None, instruction)


def make_function(edges: list[tuple[int, int | None]]) -> Function:
    """Block i goes on to edges[i][0] or branches to edges[i][1]."""
    blocks = [Block(i) for i in range(len(edges))]
    for block, (following, taken) in zip(blocks, edges):
        block.next = blocks[following % len(blocks)]
        if taken is not None:
            block.branch = make_op("bra")
            block.branch.guard = PREDICATE
            block.targets = [blocks[taken % len(blocks)]]
    return Function("f", Kernel("f", [], [], {}), blocks)


@st.composite
def graphs(draw: st.DrawFn) -> Function:
    size = draw(st.integers(1, 9))
    edge = st.tuples(st.integers(0, size - 1), st.one_of(st.none(), st.integers(0, size - 1)))
    function = make_function(draw(st.lists(edge, min_size=size, max_size=size)))
    for block in draw(st.sets(st.sampled_from(function.blocks))):  # some blocks end the kernel
        if block.branch is None:
            block.next = None
    cfg.remove_unreachable(function)
    return function


def reachable(start: Block, without: Block | None = None) -> set[Block]:
    seen: set[Block] = set()
    work = [start] if start is not without else []
    while work:
        block = work.pop()
        if block not in seen:
            seen.add(block)
            work.extend(s for s in block.successors if s is not without)
    return seen


@given(graphs())
def test_order_keeps_blocks_and_entry(function: Function) -> None:
    before = list(function.blocks)
    cfg.order(function)
    assert function.blocks[0] is before[0]
    assert sorted(b.index for b in function.blocks) == sorted(b.index for b in before)


@given(graphs())
def test_order_has_loops_in_one_piece_and_other_edges_forward(function: Function) -> None:
    cfg.order(function)
    position = {block: i for i, block in enumerate(function.blocks)}
    for block in function.blocks:
        cycle = {other for other in reachable(block) if block in reachable(other)}
        if len(cycle) > 1:  # a strongly connected part: an outermost loop
            places = sorted(position[b] for b in cycle)
            assert places == list(range(places[0], places[0] + len(places)))
        for successor in block.successors:
            assert position[successor] > position[block] or block in reachable(successor), "an edge back that closes no loop"


@given(graphs())
def test_dominators(function: Function) -> None:
    entry = function.blocks[0]
    parents = cfg.dominators(function)
    for block in function.blocks:
        dominators = {b for b in function.blocks if block not in reachable(entry, without=b)} - {block}
        chain = set()
        at = parents.get(block)
        while at is not None:
            chain.add(at)
            at = parents.get(at)
        assert chain == dominators


@given(graphs())
def test_post_dominators(function: Function) -> None:
    ends = [b for b in function.blocks if not b.successors]
    nearest = cfg.post_dominators(function)
    for block in function.blocks:
        if not reachable(block) & set(ends):
            continue  # never ends: every block is on every way to the end
        later = {b for b in function.blocks if b is not block and not reachable(block, without=b) & set(ends)}
        found = nearest.get(block)
        assert (found in later) if later else found is None
        if found is not None:
            assert all(b is found or b not in (later - {found}) or b in reachable(found) for b in later)


@settings(max_examples=60)
@given(graphs(), st.data())
def test_liveness_is_what_some_way_reads(function: Function, data: st.DataObject) -> None:
    """A register is live after an operation just when some way from there reads it before writing it."""
    names = [Reg(f"%r{i}", "b32") for i in range(4)]
    for block in function.blocks:
        for _ in range(data.draw(st.integers(0, 3))):
            d, a, b = (data.draw(st.sampled_from(names)) for _ in range(3))
            block.ops.append(make_op("add.s32", d, a, b))
    live = liveness(function)

    def is_read(block: Block, at: int, name: str) -> bool:
        seen: set[Block] = set()
        work = [(block, at)]
        while work:
            where, start = work.pop()
            for op in where.ops[start:]:
                if name in op.uses():
                    return True
                if name in op.defs():
                    break
            else:
                if where.branch is not None and name in where.branch.uses():
                    return True
                work.extend((s, 0) for s in where.successors if s not in seen)
                seen.update(where.successors)
        return False

    for block in function.blocks:
        for position, op, after in live.backwards(block):
            if op is block.branch:
                continue
            for reg in names:
                if reg.name in live.index:
                    assert bool(after >> live.index[reg.name] & 1) == is_read(block, position + 1, reg.name)
