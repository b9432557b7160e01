"""When instructions issue: latencies, pipes, dependences, barriers, fences. Expected cycles are the H200's where it was measured."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.core.sm_run import cycles_by_step, fixed, launch, trace
from tests.core.timed_code import OPS, PREDICATE, TimedCode, counter
from warpsight import _core


def repeat(*timings: str, dependent: bool) -> Any:
    """n rounds over the classes, each instruction reading what the one before wrote, or none reading anything."""

    def build(code: TimedCode, n: int) -> None:
        for i in range(n):
            for j, timing in enumerate(timings):
                code.op(timing, reads=[1] if dependent else [], writes=[1 if dependent else 2 + (i * len(timings) + j) % 16])

    return build


@pytest.mark.parametrize(
    ("classes", "dependent", "warps", "expected"),
    [
        (["add"], True, 1, 4),  # latency
        (["add"], False, 1, 1),  # one issue a cycle
        (["half"], False, 1, 2),  # 16 lanes: a warp takes two cycles
        (["half"], False, 4, 2),  # a warp on each sub-core
        (["half"], False, 8, 4),  # two warps share a pipe
        (["fma"], False, 1, 1),  # heavy and lite half in turns
        (["imad"], False, 1, 2),  # the heavy half only
        (["fma", "fma", "imad", "imad"], False, 1, 6),  # measured: 192 cycles for 128 (pt_ffma_imad): every other fma takes the heavy half
        (["mufu"], False, 1, 8),  # 4 lanes a sub-core
        (["add", "imad"], True, 1, 10),  # measured: 5 a step when a chain changes pipe with every step (pairs.csv)
        (["fma", "imad"], True, 1, 8),  # measured: 4 a step, heavy and lite half are one pipe for this (pl_ffma_imad)
        (["3*add"], True, 1, 6),  # three slots, the last result after its latency
        (["chain(add+add+add)"], True, 1, 12),
        (["chain(add+mufu)+add"], True, 1, 9),  # the third does not wait for the second
    ],
)
def test_cycles_a_step(classes: list[str], dependent: bool, warps: int, expected: float) -> None:
    assert cycles_by_step(repeat(*classes, dependent=dependent), fixed(issue__cross_pipe_cycles=1), block=32 * warps) == expected


def test_a_guard_waits_longer_than_an_operand() -> None:
    """Measured: ISETP and the add that it guards, 18.0 cycles a pair (setp_pred_add); FSETP and the select that reads it, 8.0."""

    def guarded(code: TimedCode, n: int) -> None:
        for _ in range(n):
            code.op("isetp", reads=[1], writes=[PREDICATE])
            code.op("imad", reads=[1], writes=[1], guard=0)

    def selected(code: TimedCode, n: int) -> None:
        for _ in range(n):
            code.op("isetp", reads=[1], writes=[PREDICATE])
            code.op("add", reads=[1, PREDICATE], writes=[1])

    flat = fixed("h200")
    flat.update({"op": [*flat["op"], "isetp"], "op.isetp.pipe": "alu", "op.isetp.latency": 4, "op.isetp.interval": 2})
    assert cycles_by_step(guarded, flat) == 18
    assert cycles_by_step(selected, flat) == 8


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 24, 32])
def test_barriers_cost_what_the_h200s_do(warps: int) -> None:
    """barrier.csv: 64 bar.sync in a loop take 896, 1022, 1280, 1790, 2814, 3838, 4864 cycles with 1 to 32 warps."""
    measured = {1: 896, 2: 1022, 4: 1280, 8: 1790, 16: 2814, 24: 3838, 32: 4864}

    def build(code: TimedCode, n: int) -> None:
        for _ in range(n):
            code.op("bar", 0, -1, 0, 0, kind="barrier", aux=3)

    assert cycles_by_step(build, fixed("h200"), block=32 * warps) == pytest.approx(measured[warps] / 64, abs=1.5)


@pytest.mark.parametrize(("scope", "measured"), [(0, 10), (2, 266), (3, 1156)])
def test_fences_without_stores(scope: int, measured: int) -> None:
    """Measured: fence.acq_rel of cta, gpu and sys scope."""

    def build(code: TimedCode, n: int) -> None:
        for _ in range(n):
            code.op("fence", kind="fence", sub=scope)

    assert cycles_by_step(build, fixed("h200"), steps=8) == measured


def issue_cycles(code: TimedCode, flat: dict[str, Any]) -> dict[int, int]:
    """Cycle in which each record of a one-warp program executed, from the first one's."""
    seen = trace(code)
    memory = _core.Memory(1 << 20)
    base = memory.allocate(4096)
    code.base = base  # type: ignore[attr-defined]
    _core.Gpu(flat).launch(code.machine(memory))
    return {issue.record: issue.cycle - seen[0].cycle for issue in seen}


class MemoryCode(TimedCode):
    """Loads and stores of the 4096 bytes that issue_cycles() allocates."""

    base = 0

    def here(self, context: Any) -> list[int]:
        return [self.base + 4 * lane for lane in range(32)]


def test_a_load_is_waited_for_where_its_result_is_used() -> None:
    code = MemoryCode()
    load = code.load(code.here, reads=[8], writes=[1])
    other = code.op("add", reads=[2], writes=[3])
    use = code.op("add", reads=[1], writes=[4])
    code.exit()
    at = issue_cycles(code, fixed(fixed__global_latency=100))
    assert at[other] - at[load] == 1
    assert at[use] - at[load] == 100


def test_a_result_does_not_overtake_one_on_its_way() -> None:
    """Write after write: the register holds the add's value in the end, so the add waits for the load."""
    code = MemoryCode()
    load = code.load(code.here, writes=[1])
    again = code.op("add", writes=[1])
    code.exit()
    at = issue_cycles(code, fixed(fixed__global_latency=100))
    assert at[again] - at[load] >= 100 - OPS["add"][1] + 1


def test_an_address_is_not_overwritten_before_it_is_read() -> None:
    code = MemoryCode()
    load = code.load(code.here, reads=[8], writes=[1])
    change = code.op("add", writes=[8])
    code.exit()
    assert (at := issue_cycles(code, fixed(issue__memory_read_cycles=12)))[change] - at[load] == 12


def test_what_follows_an_access_in_one_instruction_waits_for_it_only_in_a_chain() -> None:
    for entry, expected in (("ld+add", 2), ("chain(ld+add)", 101)):
        code = MemoryCode()
        load = code.load(code.here, writes=[1], timing=entry)
        after = code.op("add", reads=[2], writes=[3])
        code.exit()
        at = issue_cycles(code, fixed(fixed__global_latency=100))
        assert at[after] - at[load] == expected, entry


def test_free_instructions_take_no_time_and_pass_their_sources_on() -> None:
    code = TimedCode()
    code.op("add", reads=[1], writes=[2])
    code.op("", reads=[2], writes=[3])
    code.op("add", reads=[3], writes=[4])
    code.exit()
    at = issue_cycles(code, fixed())
    assert at[2] - at[0] == 4
    assert counter(launch(code, fixed()), "smsp__inst_executed") == 3


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("gto", [0] * 8 + [4] * 8),  # the oldest until it ends
        ("oldest", [0] * 8 + [4] * 8),
        ("cggty", [4] * 8 + [0] * 8),  # the youngest until it ends: as measured (warp_issue_trace), the highest slots run first
        ("lrr", [0, 4] * 8),
        ("two_level", [0, 4] * 8),
    ],
)
def test_issue_policies(policy: str, expected: list[int]) -> None:
    """Five warps on four sub-cores: warps 0 and 4 share one, and are always ready."""
    code = TimedCode()
    for i in range(8):
        code.op("add", writes=[1 + i])
    code.exit()
    seen = trace(code)
    launch(code, fixed(core__issue_policy=policy), block=160)
    assert [issue.warp for issue in seen if issue.warp in (0, 4) and issue.record < 8] == expected


@pytest.mark.parametrize("policy", ["gto", "cggty"])
def test_greedy_policies_leave_a_warp_that_waits(policy: str) -> None:
    code = TimedCode()
    for _ in range(8):
        code.op("add", reads=[1], writes=[1])
    code.exit()
    seen = trace(code)
    launch(code, fixed(core__issue_policy=policy), block=160)
    both = [issue for issue in seen if issue.warp in (0, 4)]
    assert max(i.cycle for i in both) - min(i.cycle for i in both) <= 8 * 4 + 1


def test_register_banks_and_the_reuse_cache() -> None:
    """Three sources of one bank of two ports need two cycles; the same ones again come from the reuse cache."""

    def sources(reads: list[list[int]]) -> Any:
        def build(code: TimedCode, n: int) -> None:
            for i in range(n):
                code.op("add", reads=reads[i % len(reads)], writes=[64 + i % 32])

        return build

    def cost(reads: list[list[int]], reuse: int) -> float:
        flat = fixed(core__register_file="banked", regfile__banks=2, regfile__ports=2, regfile__reuse_entries=reuse)
        return cycles_by_step(sources(reads), flat)

    assert cost([[0, 2, 4]], 0) == 2
    assert cost([[0, 1, 2]], 0) == 1
    assert cost([[0, 2, 4]], 1) == 1
    assert cost([[0, 2, 4], [6, 8, 10]], 1) == 2


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("nonsense", "nonsense"),
        ("2add", "'*' expected"),
        ("add+", "operation class expected"),
        ("chain(add", "')' expected"),
        ("add)", "'+' or the end"),
        ("99999*add", "too many slots"),
    ],
)
def test_timing_entries_that_say_nothing(entry: str, says: str) -> None:
    code = TimedCode()
    code.op(entry)
    code.exit()
    with pytest.raises(ValueError, match=re.escape(says)):
        launch(code, fixed())


def test_a_memory_instruction_needs_a_memory_pipe() -> None:
    code = MemoryCode()
    code.load(code.here, timing="add")
    code.exit()
    with pytest.raises(ValueError, match=r"'add'.*memory pipe"):
        launch(code, fixed())
