"""Launches as a whole: accounting, counters, samples, CTA placement, occupancy, budgets, deadlocks, instruction caches."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.core.sm_run import fixed, launch, trace
from tests.core.timed_code import TimedCode, config, counter
from warpsight import _core

DEADLOCK = 12  # FaultKind in core/exec/memory.h


class Mixed(TimedCode):
    """A random program of everything that can stall a warp. Memory accesses go to `base`."""

    def __init__(self, seed: int, length: int = 120) -> None:
        super().__init__()
        self.base = 0
        rng = random.Random(seed)
        for _ in range(length):
            r = [rng.randrange(1, 12) for _ in range(3)]
            match rng.randrange(9):
                case 0 | 1:
                    self.op(rng.choice(["add", "half", "fma", "imad"]), reads=r[:2], writes=r[2:])
                case 2:
                    self.op("mufu", reads=r[:1], writes=r[1:2])
                case 3:
                    self.load(self.lanes, reads=r[:1], writes=r[1:2])
                case 4:
                    self.store(self.lanes, reads=r[:2])
                case 5:
                    self.op("bar", 0, -1, 0, 0, kind="barrier", aux=3)
                case 6:
                    self.op("chain(add+mufu)+2*fma", reads=r[:2], writes=r[2:], slots=4)
                case 7:
                    self.op("fence", kind="fence", sub=rng.choice([0, 2]))
                case 8:
                    self.op("sleep", 50, kind="sleep", aux=1)
        self.exit()

    def lanes(self, context: Any) -> Any:
        return self.base + 4 * (np.asarray(context.special("tid_x"), np.uint64) + np.uint64(512 * context.special("ctaid_x")))

    def on(self, flat: dict[str, Any], grid: int = 6, block: int = 160, **options: Any) -> dict[str, Any]:
        memory = _core.Memory(1 << 20)
        self.base = memory.allocate(4 * 512 * grid)
        result: dict[str, Any] = _core.Gpu(flat).launch(self.machine(memory, grid, block), **options)
        return result


@pytest.mark.parametrize("policy", ["cggty", "gto", "lrr", "two_level", "oldest"])
@pytest.mark.parametrize("memory", ["fixed", "modelled"])
def test_every_cycle_of_a_warp_has_one_reason(policy: str, memory: str) -> None:
    """The sum over all reasons is the time that warps were resident, which the SM counts from launches and exits."""
    for seed in range(3):
        result = Mixed(seed).on(config(core__issue_policy=policy, core__memory=memory))
        assert sum(result["stalls"].values()) == counter(result, "sm__warps_active")
        assert result["stalls"]["selected"] == counter(result, "smsp__inst_issued") > 0
        by_subcore = sum(values for name, (_, values) in result["units"].items() if name.startswith("stall_"))
        assert by_subcore.sum() == counter(result, "sm__warps_active")
        assert counter(result, "smsp__warps_launched") == 6 * 5
        assert counter(result, "sm__ctas_launched") == 6


@pytest.mark.parametrize("memory", ["fixed", "modelled"])
def test_all_policies_execute_the_same_and_runs_repeat(memory: str) -> None:
    executed, cycles = set(), []
    for policy in ("cggty", "gto", "lrr", "two_level", "oldest", "cggty"):
        result = Mixed(7).on(config(core__issue_policy=policy, core__memory=memory))
        executed.add((counter(result, "smsp__inst_executed"), counter(result, "smsp__thread_inst_executed")))
        cycles.append(result["cycles"])
    assert len(executed) == 1
    assert cycles[0] == cycles[-1]


def test_samples_and_lines_add_up_and_change_nothing() -> None:
    plain = Mixed(3).on(config())
    full = Mixed(3).on(config(), samples=100, lines=True)
    assert full["cycles"] == plain["cycles"]
    assert full["counters"] == plain["counters"]
    samples = full["samples"]
    marks = np.arange(1, len(samples["cycles"])) * 100
    assert ((samples["cycles"][:-1] >= marks) & (samples["cycles"][:-1] < marks + 30)).all()
    for name, (unit, totals) in full["units"].items():
        table = samples["values"][name]
        assert samples["units"][name] == unit
        assert table.shape == (len(samples["cycles"]), len(totals))
        assert (table.sum(axis=0) == totals).all(), name
        assert table.max() < 1 << 60, f"{name} went backwards"
    lines = full["lines"]
    assert lines["issues"].sum() == counter(full, "smsp__inst_issued")
    assert lines["threads"].sum() == counter(full, "smsp__thread_inst_executed")
    for reason, total in full["stalls"].items():
        assert lines[f"stall_{reason}"].sum() == total, reason


def empty() -> TimedCode:
    code = TimedCode()
    code.exit()
    return code


def test_the_smallest_kernel_takes_what_it_does_on_an_h200() -> None:
    """ncu_cold.csv: 2975 to 3040 cycles more than its SM is active, for grids of few CTAs."""
    result = launch(empty(), config("h200"))
    assert 2500 <= result["cycles"] - result["counters"]["sm__cycles_active.max"] <= 3100


def test_ctas_start_one_every_1_19_cycles() -> None:
    """launch.csv: 0.60 ns a CTA at 1980 MHz, grids of 13200 and more."""
    few, many = (launch(empty(), fixed("h200"), grid=n)["cycles"] for n in (4000, 12000))
    assert (many - few) / 8000 == pytest.approx(0.60 * 1.98, rel=0.02)


def test_ctas_fill_the_sms_as_an_h200s_do() -> None:
    """cta_schedule: with one CTA an SM, the first 132 go to 132 SMs, in pairs to the two SMs of a TPC, beginning with 124 to 131."""
    first = TimedCode()
    first.op("add")
    first.op("sleep", 1000, kind="sleep", aux=1)
    first.exit()
    seen = trace(first)
    launch(first, fixed("h200"), grid=132, machine={"dynamic": 200 * 1024})
    placed = [issue.sm for issue in sorted(seen, key=lambda i: i.cta) if issue.record == 0]
    assert sorted(placed) == list(range(132))
    assert set(placed[:8]) == set(range(124, 132))
    assert all(a // 2 == b // 2 for a, b in zip(placed[::2], placed[1::2], strict=True))


@pytest.mark.parametrize(
    ("block", "registers", "shared", "expected"),
    [  # CUDA occupancy calculator, cc 9.0
        (256, 32, 0, (8, "warps")),
        (256, 33, 0, (6, "registers")),
        (256, 64, 0, (4, "registers")),
        (1024, 64, 0, (1, "registers")),
        (32, 16, 0, (32, "CTAs")),
        (128, 16, 100 * 1024, (2, "shared memory")),
        (96, 168, 0, (4, "registers")),
    ],
)
def test_occupancy(block: int, registers: int, shared: int, expected: tuple[int, str]) -> None:
    result = launch(empty(), fixed("h200"), block=block, machine={"registers": registers, "dynamic": shared})
    assert (result["ctas_per_sm"], result["occupancy_limit"]) == expected


def test_a_cta_that_fits_no_sm_is_refused() -> None:
    with pytest.raises(ValueError, match="shared memory"):
        launch(empty(), fixed(), machine={"dynamic": 1 << 20})


def test_a_cta_waits_for_room() -> None:
    """Five CTAs of an SM's whole shared memory on four SMs: the fifth starts after the first to end, plus the time of a restart."""
    code = TimedCode()
    code.op("add")
    code.op("sleep", 2000, kind="sleep", aux=1)
    code.exit()
    seen = trace(code)
    launch(code, fixed(launch__restart_cycles=77), grid=5, machine={"dynamic": 60 * 1024})
    begins = {issue.cta: issue.cycle for issue in seen if issue.record == 0}
    earliest = min(begins[i] for i in range(4)) + 2000  # at 1000 MHz a nanosecond is a cycle
    assert begins[4] >= earliest + 77
    assert begins[4] <= earliest + 77 + 40


def test_a_barrier_that_never_opens_is_a_deadlock_and_the_gpu_goes_on() -> None:
    stuck = TimedCode()
    stuck.op("bar", 0, 64, 0, 0, kind="barrier", aux=3)
    stuck.exit()
    gpu = _core.Gpu(fixed())
    memory = _core.Memory(1 << 20)
    machine = stuck.machine(memory)
    with pytest.raises(_core.KernelFault) as fault:
        gpu.launch(machine)
    assert fault.value.args[0]["kind"] == DEADLOCK
    assert machine.places()
    fresh = launch(empty(), fixed())["cycles"]
    assert gpu.launch(empty().machine(memory))["cycles"] == fresh


@pytest.mark.parametrize("memory", ["fixed", "modelled"])
def test_a_launch_stopped_by_its_budget_leaves_a_usable_gpu(memory: str) -> None:
    flat = config(core__memory=memory)
    code = Mixed(1)
    space = _core.Memory(1 << 20)
    code.base = space.allocate(4 * 512 * 6)
    gpu = _core.Gpu(flat)
    stopped = gpu.launch(code.machine(space, 6, 160), budget_cycles=700)
    assert stopped["end"] == "cycles"
    assert 700 <= stopped["cycles"] < 900
    gpu.flush_caches()
    assert gpu.launch(code.machine(space, 6, 160), budget_instructions=100)["end"] == "instructions"
    gpu.flush_caches()
    again = gpu.launch(code.machine(space, 6, 160))
    assert again["end"] == "finished"
    assert counter(again, "smsp__inst_executed") == counter(Mixed(1).on(flat), "smsp__inst_executed")


def test_caches_stay_warm_until_they_are_flushed() -> None:
    code = Mixed(5)
    space = _core.Memory(1 << 20)
    code.base = space.allocate(4 * 512 * 6)
    gpu = _core.Gpu(config())

    def sectors_missed() -> float:
        return counter(gpu.launch(code.machine(space, 6, 160)), "lts__t_sectors_lookup_miss")

    cold, warm = sectors_missed(), sectors_missed()
    gpu.flush_caches()
    assert warm == 0 < cold == sectors_missed()


@pytest.mark.parametrize(("instructions", "measured"), [(256, 1.0), (512, 1.0), (1024, 1.0), (3072, 2.2), (6144, 2.2), (16384, 5.6)])
def test_straight_line_code_runs_as_fast_as_the_instruction_caches_of_an_h200(instructions: int, measured: float) -> None:
    """icache.csv, one warp, cycles an instruction of the second pass."""
    warm = []
    for n in (0, instructions):
        code = TimedCode()
        for i in range(n):
            code.op("fma", writes=[1 + i % 16])
        code.exit()
        memory = _core.Memory(1 << 20)
        gpu = _core.Gpu(config("h200"))
        gpu.launch(code.machine(memory))
        warm.append(counter(gpu.launch(code.machine(memory)), "sm__warps_active"))
    assert (warm[1] - warm[0]) / instructions == pytest.approx(measured, rel=0.2)


def test_pipe_counters_say_who_executed_and_how_busy_pipes_were() -> None:
    """Four warps, one a sub-core, of 64 FFMA and 64 IMAD each: a half pipe is busy for two cycles with a warp."""
    code = TimedCode()
    for i in range(64):
        code.op("fma", writes=[1 + i % 8])
    for i in range(64):
        code.op("imad", writes=[1 + i % 8])
    code.exit()
    result = launch(code, fixed(), block=128)
    lite, heavy = (counter(result, f"smsp__inst_executed_pipe_{unit}") for unit in ("fmalite", "fmaheavy"))
    assert lite + heavy == counter(result, "smsp__inst_executed_pipe_fma") == 4 * 128
    assert heavy >= 4 * 64
    busy = 2 * 4 * 128 / 2 / (4 * counter(result, "sm__cycles_active"))
    assert result["counters"]["sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active"] == pytest.approx(100 * busy)


def test_a_long_sleep_is_as_long_as_it_says() -> None:
    """Also one of more cycles than the sub-core's ring of waiting warps has places."""
    code = TimedCode()
    code.op("sleep", 5_000_000, kind="sleep", aux=1)
    code.exit()
    result = launch(code, fixed())
    assert result["stalls"]["sleeping"] == 5_000_000 - 1


def test_a_poll_stops_a_launch_or_raises_out_of_it() -> None:
    """poll() is called every 50 ms; False ends the launch, an exception (Ctrl-C) comes out. Both leave a usable GPU."""
    code = Mixed(2)
    space = _core.Memory(1 << 24)
    grid = 400
    code.base = space.allocate(4 * 512 * grid)
    gpu = _core.Gpu(config())
    calls: list[tuple[int, int, int]] = []

    def stop(executed: int, ctas_done: int, cycle: int) -> bool:
        calls.append((executed, ctas_done, cycle))
        return len(calls) < 2

    def interrupt(executed: int, ctas_done: int, cycle: int) -> bool:
        raise KeyboardInterrupt

    assert gpu.launch(code.machine(space, grid, 160), poll=stop)["end"] == "poll"
    assert calls[0] < calls[1]
    assert 0 < calls[1][0] < grid * 5 * 130
    with pytest.raises(KeyboardInterrupt):
        gpu.launch(code.machine(space, grid, 160), poll=interrupt)
    assert gpu.launch(code.machine(space, 6, 160))["end"] == "finished"
