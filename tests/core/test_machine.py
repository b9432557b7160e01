"""The functional machine's control flow, barriers and memory checks, with hand-made programs (no ISA involved)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpsight import _core

from .machine_code import Code, lanes, row, set_pred

ALL = 0xFFFFFFFF
P = 960  # byte offset of a predicate in the frame
OUT_OF_BOUNDS, MISALIGNED, WRITE_CONST, TRAP, BAD_INDEX, BARRIER_ID, SYNC_MASK, DEADLOCK = 1, 2, 4, 5, 8, 9, 11, 12
GLOBAL, SHARED, LOCAL, PARAM, GENERIC = 0, 1, 2, 4, 5


@pytest.fixture
def memory() -> Any:
    return _core.Memory(1 << 24)


def log(trace: list[tuple[str, int]], name: str) -> Any:
    return lambda regs, mask, context: trace.append((name, mask))


def test_diverged_lanes_meet_at_the_common_point(memory: Any) -> None:
    trace: list[tuple[str, int]] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, np.arange(32) < 5, m))
    b = c.emit("branch", guard=P)
    c.emit("alu", run=log(trace, "else"))
    j = c.emit("branch")
    c.patch_target(b, c.emit("alu", run=log(trace, "then")))
    c.patch_target(j, c.emit("alu", run=log(trace, "join")))
    c.emit("exit")
    assert c.machine(memory, (1, 1, 1), (32, 1, 1)).run(1)
    assert trace == [("else", ALL & ~31), ("then", 31), ("join", ALL)]


def test_partial_last_warp_and_thread_indices(memory: Any) -> None:
    seen: list[Any] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: seen.append((m, x.special("tid_x").copy(), x.special("tid_y").copy(), x.special("ctaid_x"))))
    c.emit("exit")
    m = c.machine(memory, (2, 1, 1), (10, 4, 1))
    assert m.run(1)
    assert [s[0] for s in seen] == [ALL, 0xFF, ALL, 0xFF] and [s[3] for s in seen] == [0, 0, 1, 1]
    t = np.arange(32) + 32
    assert (seen[1][1][:8] == (t % 10)[:8]).all() and (seen[1][2][:8] == (t // 10)[:8]).all()
    assert m.ctas_done == 2 and m.executed == 8 and m.thread_executed == 160


def test_lanes_that_leave_a_loop_wait_outside(memory: Any) -> None:
    """Lane i takes i+1 turns; the code behind the loop runs once, with all lanes."""
    trace: list[tuple[str, int]] = []
    c = Code()

    def turn(r: Any, m: int, x: Any) -> None:
        trace.append(("loop", m))
        row(r, 0)[lanes(m)] += 1
        set_pred(r, P, row(r, 0) <= np.arange(32), m)

    top = c.emit("alu", run=turn)
    c.emit("branch", guard=P, target=top)
    c.emit("alu", run=log(trace, "after"))
    c.emit("exit")
    c.machine(memory, (1, 1, 1), (32, 1, 1)).run(1)
    assert trace[-1] == ("after", ALL) and len(trace) == 33
    assert [bin(m).count("1") for n, m in trace[:-1]] == list(range(32, 0, -1))


@pytest.mark.parametrize("polls", [True, False])
def test_a_spin_lock_inside_one_warp_ends(memory: Any, polls: bool) -> None:
    """Each lane spins until it gets the lock; the lane that has it must run the code behind the loop to give it back."""
    owner: list[int] = []
    entered: list[int] = []
    c = Code()

    def acquire(r: Any, m: int, x: Any) -> None:
        got = np.zeros(32, bool)
        if not owner:
            lane = (m & -m).bit_length() - 1
            owner.append(lane)
            got[lane] = True
        set_pred(r, P, ~got, m)

    def release(r: Any, m: int, x: Any) -> None:
        assert m == 1 << owner[0]
        entered.append(owner.pop())

    top = c.emit("memory" if polls else "alu", run=acquire, op=3 if polls else 0)
    c.emit("branch", guard=P, target=top)
    c.emit("alu", run=release)
    c.emit("exit")
    block = 32 if polls else 2  # without a hint that the loop polls memory the machine is slow to give up convergence
    assert c.machine(memory, (1, 1, 1), (block, 1, 1)).run(1)
    assert sorted(entered) == list(range(block))


def test_warps_and_ctas_that_wait_for_each_other_end(memory: Any) -> None:
    """CTA 0 warp 0 spins until CTA 1 warp 1 has run."""
    flag = [False]
    c = Code()

    def check(r: Any, m: int, x: Any) -> None:
        waits = x.special("ctaid_x") == 0 and x.special("warp_in_cta") == 0 and not flag[0]
        set_pred(r, P, np.full(32, waits), m)
        flag[0] |= x.special("ctaid_x") == 1 and x.special("warp_in_cta") == 1

    top = c.emit("alu", run=check)
    c.emit("branch", guard=P, target=top)
    c.emit("exit")
    assert c.machine(memory, (2, 1, 1), (64, 1, 1)).run(2)
    flag[0] = False
    assert not c.machine(memory, (2, 1, 1), (64, 1, 1)).run(1, 400_000), "with room for one CTA only, the second can never start"


def test_call_and_return_use_windows(memory: Any) -> None:
    out: list[Any] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: row(r, 0).__setitem__(slice(None), 7))
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, np.arange(32) % 2 == 0, m))
    call = c.emit("call", guard=P, aux=1024)
    c.emit("alu", run=lambda r, m, x: out.append((m, row(r, 0).copy(), row(r, 1024).copy())))
    c.emit("exit")
    c.patch_target(call, c.emit("alu", run=lambda r, m, x: row(r, 0).__setitem__(lanes(m), 9)))
    c.emit("ret")
    assert c.machine(memory, (1, 1, 1), (32, 1, 1)).run(1)
    assert len(out) == 1, "callers that did not call wait for those that did"
    mask, caller, callee = out[0]
    assert mask == ALL and (caller == 7).all() and (callee[::2] == 9).all() and (callee[1::2] == 0).all()


def test_barrier_waits_for_all_warps_and_exited_ones_do_not_count(memory: Any) -> None:
    trace: list[tuple[str, int]] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, np.full(32, x.special("warp_in_cta") == 3), m))
    c.emit("exit", guard=P)
    c.emit("alu", run=lambda r, m, x: trace.append(("before", x.special("warp_in_cta"))))
    c.emit("barrier", 0, -1, 0, 0, aux=3)
    c.emit("alu", run=lambda r, m, x: trace.append(("after", x.special("warp_in_cta"))))
    c.emit("exit")
    assert c.machine(memory, (1, 1, 1), (128, 1, 1)).run(1)
    assert [n for n, w in trace] == ["before"] * 3 + ["after"] * 3


@pytest.mark.parametrize(("sub", "expect"), [(2, 40), (3, 0), (4, 1)])
def test_barrier_reduction(memory: Any, sub: int, expect: int) -> None:
    out: list[Any] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, x.special("tid_x") < 40, m))
    c.emit("barrier", 1, -1, 0 if sub == 2 else P + 4, P, aux=3, sub=sub)
    c.emit("alu", run=lambda r, m, x: out.append(row(r, 0)[0] if sub == 2 else int(r[P + 4 : P + 8].view(np.uint32)[0])))
    c.emit("exit")
    assert c.machine(memory, (1, 1, 1), (64, 1, 1)).run(1)
    assert [int(v) for v in out] == ([expect] * 2 if sub == 2 else [ALL * expect] * 2)


def test_producer_arrives_and_goes_on(memory: Any) -> None:
    trace: list[str] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, np.full(32, x.special("warp_in_cta") == 1), m))
    b = c.emit("branch", guard=P)
    c.emit("barrier", 2, 64, 0, 0, aux=3)
    c.emit("alu", run=lambda r, m, x: trace.append("consumer"))
    c.emit("exit")
    c.patch_target(b, c.emit("alu", run=lambda r, m, x: trace.append("producer")))
    c.emit("barrier", 2, 64, 0, 0, aux=3, sub=1)
    c.emit("exit")
    assert c.machine(memory, (1, 1, 1), (64, 1, 1)).run(1)
    assert trace == ["producer", "consumer"]


def test_sync_instruction_waits_for_its_members(memory: Any) -> None:
    trace: list[tuple[str, int]] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, np.arange(32) < 16, m))
    b = c.emit("branch", guard=P)
    c.emit("alu", run=log(trace, "slow"))
    c.patch_target(b, c.emit("syncalu", ALL, run=log(trace, "shfl"), aux=1))
    c.emit("exit")
    c.machine(memory, (1, 1, 1), (32, 1, 1)).run(1)
    assert trace == [("slow", 0xFFFF0000), ("shfl", ALL)]


def fault_of(c: Code, memory: Any, **options: Any) -> dict[str, Any]:
    with pytest.raises(_core.KernelFault) as e:
        c.machine(memory, (1, 1, 1), options.pop("block", (32, 1, 1)), **options).run(1)
    return e.value.args[0]


def test_member_that_waits_elsewhere_is_a_fault(memory: Any) -> None:
    c = Code()
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, np.arange(32) < 16, m))
    b = c.emit("branch", guard=P)
    c.emit("syncalu", ALL, aux=1)
    c.emit("exit")
    c.patch_target(b, c.emit("syncalu", ALL, aux=1))
    c.emit("exit")
    assert fault_of(c, memory)["kind"] == SYNC_MASK


def test_barrier_that_some_never_reach_is_a_deadlock(memory: Any) -> None:
    c = Code()
    c.emit("barrier", 0, 96, 0, 0, aux=3)
    c.emit("exit")
    m = c.machine(memory, (1, 1, 1), (64, 1, 1))
    with pytest.raises(_core.KernelFault) as e:
        m.run(1)
    assert e.value.args[0]["kind"] == DEADLOCK
    (place,) = m.places()
    assert (place["warps"], place["arrived"], place["expected"]) == (2, 64, 96)


def test_trap_names_the_first_thread(memory: Any) -> None:
    c = Code()
    c.emit("alu", run=lambda r, m, x: set_pred(r, P, np.arange(32) >= 9, m))
    c.emit("trap", guard=P)
    c.emit("exit")
    f = fault_of(c, memory)
    assert (f["kind"], f["tid"], f["pc"]) == (TRAP, (9, 0, 0), 1)


def test_indexed_branch(memory: Any) -> None:
    trace: list[tuple[str, int]] = []
    c = Code()
    c.emit("alu", run=lambda r, m, x: row(r, 0).__setitem__(slice(None), np.arange(32) % 3))
    c.emit("brx", 0, aux=3)
    for name in "abc":
        c.table.append(c.emit("alu", run=log(trace, name)))
        c.emit("exit")
    c.machine(memory, (1, 1, 1), (32, 1, 1)).run(1)
    assert trace == [(n, sum(1 << i for i in range(32) if i % 3 == k)) for k, n in enumerate("abc")]
    c.records[1] = c.records[1][:20] + (2).to_bytes(4, "little") + c.records[1][24:]
    assert fault_of(c, memory)["kind"] == BAD_INDEX


def access(space: int, addresses: Any, *, store: bool = False, size: int = 4, count: int = 1, got: list[Any] | None = None) -> Code:
    c = Code()

    def run(r: Any, m: int, x: Any) -> None:
        a = np.asarray(addresses, np.uint64)
        if store:
            x.store(space, a, m, size, count, np.arange(32 * size * count, dtype=np.uint64).astype(np.uint8))
        else:
            data = x.load(space, a, m, size, count)
            if got is not None:
                got.append(data)

    c.emit("memory", run=run, op=2 if store else 1, nbytes=size * count, space=space)
    c.emit("exit")
    return c


@pytest.mark.parametrize(
    ("pattern", "size", "count"),
    [
        (np.arange(32) * 4, 4, 1),
        (np.arange(32) * 8, 8, 1),
        (np.arange(32) * 16, 4, 4),
        (np.arange(32) * 16, 16, 1),
        (np.arange(32)[::-1] * 4, 4, 1),
        (np.zeros(32), 4, 1),
        (np.arange(32) * 2, 2, 1),
        (np.arange(32) * 3, 1, 1),
        ((np.arange(32) * 7 % 32) * 8, 4, 2),
    ],
)
def test_loads_of_every_width_and_pattern(memory: Any, pattern: Any, size: int, count: int) -> None:
    base = memory.allocate(4096)
    data = np.random.default_rng(1).integers(0, 256, 4096).astype(np.uint8)
    memory.write(base, data)
    got: list[Any] = []
    where = pattern.astype(np.uint64)
    access(GLOBAL, where + np.uint64(base), size=size, count=count, got=got).machine(memory, (1, 1, 1), (32, 1, 1)).run(1)
    loaded = got[0].reshape(count, 32, size)
    for lane in range(32):
        at = int(where[lane])
        assert (loaded[:, lane].reshape(-1) == data[at : at + size * count]).all()


def test_out_of_bounds_names_thread_and_address(memory: Any) -> None:
    base = memory.allocate(100, name="x")
    addresses = base + 4 * np.arange(32)
    f = fault_of(access(GLOBAL, addresses), memory)
    assert (f["kind"], f["tid"], f["address"], f["bytes"], f["store"]) == (OUT_OF_BOUNDS, (25, 0, 0), base + 100, 4, False)
    assert memory.nearest(f["address"])[:3] == (base, 100, "x")
    assert memory.find(f["address"]) is None


def test_a_faulting_store_touches_nothing(memory: Any) -> None:
    base = memory.allocate(64)
    assert fault_of(access(GLOBAL, base + 4 * np.arange(32), store=True), memory)["store"] is True
    assert memory.read(base, 64) == bytes(64)


def test_other_faults_of_memory(memory: Any) -> None:
    base = memory.allocate(4096)
    const = memory.allocate(256, read_only=True)
    assert fault_of(access(GLOBAL, base + 4 * np.arange(32) + 2), memory)["kind"] == MISALIGNED
    assert fault_of(access(GLOBAL, base + 8 * np.arange(32), size=4, count=4), memory)["kind"] == MISALIGNED
    assert fault_of(access(GLOBAL, np.full(32, const), store=True), memory)["kind"] == WRITE_CONST
    assert fault_of(access(SHARED, 4 * np.arange(32)), memory, shared=64)["tid"] == (16, 0, 0)
    assert fault_of(access(LOCAL, np.full(32, 16)), memory, local=16)["kind"] == OUT_OF_BOUNDS
    assert fault_of(access(GLOBAL, np.zeros(32)), memory)["address"] == 0
    assert fault_of(access(GLOBAL, np.full(32, 2**64 - 4)), memory)["kind"] == OUT_OF_BOUNDS


def test_released_memory_is_no_longer_valid_and_is_used_again(memory: Any) -> None:
    a = memory.allocate(1000)
    memory.write(a, np.full(1000, 255, np.uint8))
    memory.release(a)
    assert fault_of(access(GLOBAL, np.full(32, a)), memory)["kind"] == OUT_OF_BOUNDS
    assert memory.allocate(1000) == a and memory.read(a, 1000) == bytes(1000)
    with pytest.raises(ValueError):
        memory.release(a + 4)
    with pytest.raises(MemoryError):
        memory.allocate(1 << 25)


def test_local_memory_is_per_lane_and_generic_addresses_mix_spaces(memory: Any) -> None:
    base = memory.allocate(256)
    memory.write(base, np.arange(256, dtype=np.uint8))
    got: list[Any] = []
    c = Code()
    shared, local = 0x600001000000, 0x610000000000

    def write(r: Any, m: int, x: Any) -> None:
        x.store(LOCAL, np.full(32, 4, np.uint64), m, 4, 1, np.arange(32, dtype=np.uint32).view(np.uint8))
        x.store(SHARED, np.arange(32, dtype=np.uint64) * np.uint64(4), m, 4, 1, (np.arange(32, dtype=np.uint32) + 100).view(np.uint8))

    def read(r: Any, m: int, x: Any) -> None:
        kinds = np.arange(32) % 3
        a = np.where(kinds == 0, base + 4 * np.arange(32), np.where(kinds == 1, shared + 4 * np.arange(32), local + 4)).astype(np.uint64)
        got.append(x.load(GENERIC, a, m, 4, 1).view(np.uint32))

    c.emit("memory", run=write, op=2, nbytes=4)
    c.emit("memory", run=read, op=1, nbytes=4, space=GENERIC)
    c.emit("exit")
    assert c.machine(memory, (1, 1, 1), (32, 1, 1), shared=128, local=8).run(1)
    words = np.arange(256, dtype=np.uint8).view(np.uint32)
    for lane in range(32):
        assert got[0][lane] == [words[lane], lane + 100, lane][lane % 3]


def test_budget_and_poll_stop_a_run(memory: Any) -> None:
    c = Code()
    top = c.emit("nop")
    c.emit("branch", target=top)
    m = c.machine(memory, (1, 1, 1), (32, 1, 1))
    assert m.run(1, 3_000_000) is False
    assert m.executed >= 3_000_000
    (place,) = m.places()
    assert place["pc"] in (0, 1)
    assert c.machine(memory, (1, 1, 1), (32, 1, 1)).run(1, 0, lambda executed, done: False) is False
