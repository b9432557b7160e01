"""The order of blocks. The engine runs the split with the lowest program counter first, so lanes meet again at the earliest place if
every block comes behind those that lead to it, and every loop before what follows it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .block import Block, Function, predecessors


def remove_unreachable(function: Function) -> None:
    seen = {function.blocks[0]}
    work = [function.blocks[0]]
    while work:
        for successor in work.pop().successors:
            if successor not in seen:
                seen.add(successor)
                work.append(successor)
    function.blocks = [b for b in function.blocks if b in seen]


def order(function: Function) -> None:
    """Puts the blocks into a weak topological order: each strongly connected part (loop) in one piece behind its header, recursively."""
    everything = frozenset(function.blocks)
    ordered: list[Block] = []
    # Pieces still to lay out, the next one last: the blocks of a loop (or one block) with the block at which control enters.
    work = _pieces(_components(everything, function.blocks[0], None), everything)
    while work:
        piece, entry = work.pop()
        if len(piece) == 1:
            ordered.append(entry)
            continue
        # Without the edges back to its header, the loop falls apart into smaller pieces in topological order; the header stands alone.
        work += _pieces(_components(piece, entry, entry), piece)
    function.blocks = ordered


def _pieces(parts: list[list[Block]], around: frozenset[Block]) -> list[tuple[frozenset[Block], Block]]:
    return [(frozenset(part), part[0] if len(part) == 1 else _header(part, around)) for part in reversed(parts)]


def _header(part: Sequence[Block], around: frozenset[Block]) -> Block:
    """The block of a loop at which control enters first, in the order of the text when there are several."""
    inside = set(part)
    entered = {s for block in around - inside for s in block.successors if s in inside}
    return min(entered or inside, key=lambda b: b.index)


def _components(piece: frozenset[Block], entry: Block, cut: Block | None) -> list[list[Block]]:
    """Strongly connected components in topological order (Tarjan), leaving out the edges into `cut`. Fall-through blocks follow
    closely.
    """
    number: dict[Block, int] = {}
    low: dict[Block, int] = {}
    stack: list[Block] = []
    on_stack: set[Block] = set()
    found: list[list[Block]] = []
    work = []

    def visit(block: Block) -> None:
        number[block] = low[block] = len(number)
        stack.append(block)
        on_stack.add(block)
        work.append((block, iter([s for s in block.successors if s in piece and s is not cut])))

    visit(entry)
    while work:
        block, successors = work[-1]
        following = next(successors, None)
        if following is None:
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[block])
            if low[block] == number[block]:
                at = stack.index(block)
                found.append(stack[at:])
                on_stack.difference_update(stack[at:])
                del stack[at:]
        elif following not in number:
            visit(following)
        elif following in on_stack:
            low[block] = min(low[block], number[following])
    found.reverse()
    return found


def skip_empty(function: Function) -> None:
    """Sends ways through a block without operations to where it goes on."""

    def end_of(block: Block) -> Block:
        seen = {block}
        while not block.ops and block.branch is None and block.next is not None and block.next not in seen:
            block = block.next
            seen.add(block)
        return block

    for block in function.blocks:
        block.targets = [end_of(target) for target in block.targets]
        if block.next is not None:
            block.next = end_of(block.next)


def merge_straight(function: Function) -> None:
    """Joins a block with the one that it alone leads to and that has no other way in."""
    count: dict[Block, int] = {}
    for block in function.blocks:
        for successor in block.successors:
            count[successor] = count.get(successor, 0) + 1
    gone: set[Block] = set()
    for block in function.blocks:
        if block in gone:
            continue
        while block.branch is None and block.next is not None and block.next is not block:
            following = block.next
            if count[following] != 1 or following is function.blocks[0]:
                break
            block.ops.extend(following.ops)
            block.branch, block.targets, block.next, block.jump = following.branch, following.targets, following.next, following.jump
            gone.add(following)
    function.blocks = [b for b in function.blocks if b not in gone]


def reverse_post_order(function: Function) -> list[Block]:
    """Every block behind those that lead to it, but for edges back."""
    found: list[Block] = []
    seen = {function.blocks[0]}
    work = [(function.blocks[0], iter(function.blocks[0].successors))]
    while work:
        block, successors = work[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            found.append(block)
            work.pop()
        else:
            seen.add(following)
            work.append((following, iter(following.successors)))
    found.reverse()
    return found


def dominators(function: Function) -> dict[Block, Block]:
    """Immediate dominator of every block but the entry (Cooper, Harvey, Kennedy: iterate to a fixed point in reverse post-order)."""
    ordered = reverse_post_order(function)
    position = {block: i for i, block in enumerate(ordered)}
    before = predecessors(ordered)
    entry = function.blocks[0]
    idom = {entry: entry}
    changed = True
    while changed:
        changed = False
        for block in ordered[1:]:
            known = [p for p in before[block] if p in idom]
            if not known:
                continue
            best = known[0]
            for other in known[1:]:
                a, b = best, other
                while a is not b:
                    while position[a] > position[b]:
                        a = idom[a]
                    while position[b] > position[a]:
                        b = idom[b]
                best = a
            if idom.get(block) is not best:
                idom[block] = best
                changed = True
    del idom[entry]
    return idom


def post_dominators(function: Function) -> dict[Block, Block]:
    """The block that every way from a block to its end passes next; absent where there is none (ways end in different places, or never).

    Guarded exits inside a block are not ways out of it.
    """
    blocks = function.blocks
    # Sets as bits, bit i for blocks[i], the last bit for the end of the function.
    index = {block: i for i, block in enumerate(blocks)}
    full = (1 << len(blocks)) - 1
    later = dict.fromkeys(blocks, full)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            common = full
            for successor in block.successors:
                common &= later[successor]
            new = (common if block.successors else 0) | 1 << index[block]
            if new != later[block]:
                later[block] = new
                changed = True
    found: dict[Block, Block] = {}
    for block in blocks:
        strict = later[block] & ~(1 << index[block])
        # The nearest is the one that all others come after: it has the most post-dominators itself.
        candidates = [b for i, b in enumerate(blocks) if strict >> i & 1]
        if candidates:
            found[block] = max(candidates, key=lambda b: bin(later[b]).count("1"))
    return found
