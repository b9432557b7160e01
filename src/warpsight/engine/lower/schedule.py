"""The order of operations inside a block: long latencies first, as far as registers allow.

List scheduling on the dependences of each stretch between operations that order everything (barriers, fences, calls, exits, ...). Loads
may pass other loads, and stores to places that are certainly different; nothing passes an atomic or ordered access of its space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...isa.ir import Imm, Reg
from ...isa.ptx.timing import classes
from ...semantics import Kind
from .block import Function, Op
from .converge import varying_registers
from .liveness import Liveness, UnitCount, liveness, pressure

# Cycles that the scheduler expects of an operation; a compiler's guesses, not the model's latencies.
_ALU, _EXPECTED = 4, {
    "imad_wide": 5, "imad_hi": 5, "mufu": 18, "popc": 14, "flo": 14, "brev": 14, "f2i": 16, "i2f": 16, "frnd": 16, "f2f64": 16, "s2r": 20,
    "ldc": 20,
    "dadd": 8, "dmul": 8, "dfma": 8, "dsetp": 8, "shfl": 24, "lds": 24, "ldg": 200, "ldl": 200, "ld": 200, "atoms": 40, "atomg": 200,
    "redux": 20, "isetp": 8, "fsetp": 8,
}  # fmt: skip
FREE_REGISTERS = 32  # a thread may hold on any occupancy: 65536 / 2048
_ALLOCATION = 8  # registers come in multiples of this
_OVERHEAD = 2  # registers that lowering does not see: the stack pointer and the like
_REGION_LIMIT = 256  # operations; longer stretches are cut, since the work grows with the square
_WINDOW = 64  # operations that may be ready and are considered at a time
_FREE_KINDS = (Kind.ALU, Kind.MEMORY, Kind.SYNC_ALU, Kind.NOP)


def schedule(function: Function) -> None:
    live = liveness(function)
    sizes = UnitCount(function, live, varying_registers(function))  # the others can be in uniform registers
    most = pressure(function, live, sizes)
    limit = max(FREE_REGISTERS - _OVERHEAD, -(-most // _ALLOCATION) * _ALLOCATION - _OVERHEAD)
    for block in function.blocks:
        after = live.out_of[block]
        if block.branch is not None:
            after = live.before(block.branch, after)
        done: list[Op] = []
        for region in reversed(_regions(block.ops)):
            ordered = _best_order(region, live, sizes, after, max(limit, most)) if len(region) > 2 else region
            done[:0] = ordered
            for op in reversed(ordered):
                after = live.before(op, after)
        block.ops = done


def _best_order(region: list[Op], live: Liveness, sizes: UnitCount, after: int, limit: int) -> list[Op]:
    """The first order that stays below the limit, asking for fewer and fewer registers; the order of the text if none does."""
    for wanted in range(limit, limit // 2, -3):
        ordered = _Region(region, live, sizes, after, wanted).order()
        if _most_live(ordered, live, sizes, after) <= limit:
            return ordered
    return region


def _most_live(ops: Sequence[Op], live: Liveness, sizes: UnitCount, after: int) -> int:
    most = sizes.of(after)
    for op in reversed(ops):
        most = max(most, sizes.of(after | live.mask(op.defs())))
        after = live.before(op, after)
    return max(most, sizes.of(after))


def _regions(ops: Sequence[Op]) -> list[list[Op]]:
    """Stretches in which operations may change places; what orders everything stands alone."""
    found: list[list[Op]] = [[]]
    for op in ops:
        if op.kind not in _FREE_KINDS or (op.kind in (Kind.ALU, Kind.NOP) and not op.form.pure):
            found += [[op], []]
        else:
            if len(found[-1]) == _REGION_LIMIT:
                found.append([])
            found[-1].append(op)
    return [region for region in found if region]


def expected_latency(op: Op) -> int:
    names = classes(op.entry or "")
    if not names:
        return 0
    return (
        len(names) - 1 + (_EXPECTED.get(names[-1], _ALU) if "chain" not in (op.entry or "") else sum(_EXPECTED.get(n, _ALU) for n in names))
    )


@dataclass(slots=True)
class _Node:
    op: Op
    index: int
    latency: int
    after: dict[int, int] = field(default_factory=dict)  # successor -> cycles it must wait
    waits: int = 0
    path: int = 0  # cycles from its start to the end of the region
    ready: int = 0
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()


class _Region:
    def __init__(self, ops: Sequence[Op], live: Liveness, sizes: UnitCount, live_out: int, limit: int) -> None:
        self.nodes = [
            _Node(op, i, expected_latency(op), reads=frozenset(op.uses()), writes=frozenset(op.defs())) for i, op in enumerate(ops)
        ]
        self.sizes, self.limit = sizes.sizes, limit
        self.live_out = set(live.names(live_out))
        self.incoming: set[str] = set()  # registers whose values from before are read
        self._depend()
        for node in reversed(self.nodes):
            node.path = node.latency + max((self.nodes[s].path for s in node.after), default=0)

    def _edge(self, before: int, after: int, cycles: int) -> None:
        if before == after:
            return
        edges = self.nodes[before].after
        if after not in edges:
            self.nodes[after].waits += 1
        edges[after] = max(edges.get(after, 0), cycles)

    def _depend(self) -> None:
        written: dict[str, int] = {}
        read: dict[str, list[int]] = {}
        memory: list[int] = []
        last_sync = -1
        for node in self.nodes:
            op, i = node.op, node.index
            for name in node.reads if op.overwrites else node.reads | node.writes:
                if name in written:
                    self._edge(written[name], i, self.nodes[written[name]].latency)
                else:
                    self.incoming.add(name)
                read.setdefault(name, []).append(i)
            for name in node.writes:
                for reader in read.pop(name, ()):
                    self._edge(reader, i, 1)
                if name in written:
                    self._edge(written[name], i, 1)
                written[name] = i
                if not op.overwrites:
                    read[name] = [i]
            if op.form.memory is not None:
                for other in memory:
                    if _ordered(self.nodes[other].op, op):
                        self._edge(other, i, 1)
                memory.append(i)
            if op.kind == Kind.SYNC_ALU:
                if last_sync >= 0:
                    self._edge(last_sync, i, 1)
                last_sync = i

    def order(self) -> list[Op]:
        """Picks, of the operations whose inputs are there, the one with the longest way to the end; when registers are short, one that
        frees some.
        """
        size = self.sizes
        left: dict[str, int] = {}
        for node in self.nodes:
            for name in node.reads:
                left[name] = left.get(name, 0) + 1
        holds = self.incoming | (self.live_out - {name for node in self.nodes for name in node.writes})
        used = sum(size[name] for name in holds)
        ready = [n for n in self.nodes if n.waits == 0]
        time = 0
        result: list[Op] = []
        while ready:
            best = None
            best_key: tuple[int, int, int, int] | None = None
            for node in ready[:_WINDOW]:
                grows = sum(size[n] for n in node.writes if n not in holds)
                grows -= sum(size[n] for n in node.reads if left[n] == 1 and n in holds and n not in self.live_out)
                short = used + grows > self.limit and grows > 0
                key = (int(short), max(0, node.ready - time), -node.path, node.index) if not short else (1, grows, node.index, 0)
                if best_key is None or key < best_key:
                    best, best_key = node, key
            assert best is not None
            ready.remove(best)
            result.append(best.op)
            time = max(time, best.ready) + max(1, len(classes(best.op.entry or "")))
            for name in best.reads:
                left[name] -= 1
                if left[name] == 0 and name in holds and name not in self.live_out:
                    holds.discard(name)
                    used -= size[name]
            for name in best.writes:
                if name not in holds and (left.get(name) or name in self.live_out):
                    holds.add(name)
                    used += size[name]
            for successor, cycles in best.after.items():
                node = self.nodes[successor]
                node.ready = max(node.ready, time + cycles - 1)
                node.waits -= 1
                if node.waits == 0:
                    ready.append(node)
            ready.sort(key=lambda n: n.index)
        assert len(result) == len(self.nodes)
        return result


def _ordered(first: Op, second: Op) -> bool:
    """Whether two memory operations must keep their order."""
    a, b = first.form.memory, second.form.memory
    assert a is not None and b is not None
    if "param" in (a.space, b.space) or "const" in (a.space, b.space) or a.cache_op == "nc" or b.cache_op == "nc":
        return False
    if a.op == "load" and b.op == "load" and not _is_strong(a.cache_op) and not _is_strong(b.cache_op):
        return False
    if a.space != b.space and "generic" not in (a.space, b.space):
        return _is_strong(a.cache_op) or _is_strong(b.cache_op)
    if _is_strong(a.cache_op) or _is_strong(b.cache_op) or "atomic" in (a.op, b.op):
        return True
    return not _apart(first, second)


def _is_strong(cache_op: str) -> bool:
    return cache_op in ("volatile", "relaxed", "acquire", "release")


def _apart(first: Op, second: Op) -> bool:
    """Whether two accesses of one base touch different bytes. That the base is unchanged between them, the register dependences see to."""
    a, b = first.form.memory, second.form.memory
    assert a is not None and b is not None
    base, other = first.src[0], second.src[0]
    same = (isinstance(base, Reg) and isinstance(other, Reg) and base.name == other.name) or base == other
    if not same or not isinstance(first.src[1], Imm) or not isinstance(second.src[1], Imm):
        return False
    x, y = int(first.src[1].value), int(second.src[1].value)
    return x + a.element_bytes * a.elements <= y or y + b.element_bytes * b.elements <= x
