"""Timed launches: the account, and that everything else is as without timing."""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any

import numpy as np
import pytest

import warpsight as ws

from .kernels import SAXPY, SPIN, entry

N = 20_000


def saxpy(gpu: ws.Device, **options: Any) -> tuple[ws.LaunchResult, np.ndarray[Any, Any]]:
    x, y = gpu.array(np.arange(N, dtype=np.float32)), gpu.array(np.ones(N, np.float32))
    result = gpu.load(SAXPY)["saxpy"].launch(-(-N // 256), 256, [x, y, np.float32(0.25), np.int32(N)], **options)
    return result, y.numpy()


@pytest.fixture(scope="module")
def gpu() -> ws.Device:
    return ws.Device("mini")


def test_the_account_of_a_launch(gpu: ws.Device) -> None:
    result, y = saxpy(gpu, cold=True)
    assert (y == 0.25 * np.arange(N, dtype=np.float32) + 1).all()
    assert result.cycles is not None and result.time_us == pytest.approx(result.cycles / 1000), "mini runs at 1000 MHz"
    counters = result.counters
    assert counters["sm__cycles_elapsed.max"] == result.cycles and counters["smsp__inst_executed.sum"] == result.warp_instructions
    assert counters["sm__ctas_launched.sum"] == 79 and counters["smsp__warps_launched.sum"] == 79 * 8
    # 20,000 floats of x and of y are read, y is written, in sectors of 8 floats: from cold caches x and y come from DRAM once
    assert counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 2 * N // 8
    assert counters["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == N // 8
    assert counters["dram__bytes_read.sum"] >= 2 * 4 * N
    assert sum(result.stalls.values()) == counters["sm__warps_active.sum"], "every cycle of every warp has one reason"
    assert result.stalls["selected"] > 0 and result.metrics["top_stall"] == "long_scoreboard"
    assert 0 < float(result.metrics["ipc"]) < 4 and 0 < float(result.metrics["occupancy"]) <= 1
    assert "cycles" in result.table() and "long_scoreboard" in result.table()


def test_counters_by_unit_and_their_rollups(gpu: ws.Device) -> None:
    counters = saxpy(gpu)[0].counters
    assert isinstance(counters, ws.Counters)
    by_sm = counters.by_unit["sm__cycles_active"]
    assert by_sm.shape == (4,) and counters.unit_of["sm__cycles_active"] == "sm"
    assert counters["sm__cycles_active.sum"] == by_sm.sum() and counters["sm__cycles_active.max"] == by_sm.max()
    assert counters["sm__cycles_active.avg"] == pytest.approx(by_sm.mean())
    assert counters.by_unit["smsp__inst_executed"].shape == (4 * int(gpu.model.integer("sm.subcores")),)
    with pytest.raises(KeyError, match="smsp__inst_executed"):
        counters["smsp__inst_execute.sum"]


def test_the_same_launch_takes_the_same_cycles() -> None:
    first, second = (saxpy(ws.Device("mini"))[0] for _ in range(2))
    assert first.cycles == second.cycles and dict(first.counters) == dict(second.counters) and first.stalls == second.stalls


def test_warm_caches_are_faster_than_cold_ones(gpu: ws.Device) -> None:
    kernel, n = gpu.load(SAXPY)["saxpy"], 4096
    x, y = gpu.array(np.ones(n, np.float32)), gpu.array(np.ones(n, np.float32))
    args = [x, y, np.float32(1), np.int32(n)]
    cold, warm, again = (kernel.launch(n // 256, 256, args, cold=cold) for cold in (True, False, True))
    assert warm.counters["dram__bytes_read.sum"] < cold.counters["dram__bytes_read.sum"]
    assert warm.cycles is not None and cold.cycles is not None and warm.cycles < cold.cycles
    assert again.counters["dram__bytes_read.sum"] == cold.counters["dram__bytes_read.sum"]


def test_samples_add_up_to_the_totals(gpu: ws.Device) -> None:
    result, _ = saxpy(gpu, samples=100)
    samples = result.samples
    assert samples is not None and result.cycles is not None and isinstance(result.counters, ws.Counters)
    assert samples.interval == 100 and samples.cycles[-1] == result.cycles and (np.diff(samples.cycles) > 0).all()
    # A sample waits for the end of the window in which it is due (docs/model/sm.md).
    late = samples.cycles[:-1] - 100 * np.arange(1, len(samples.cycles), dtype=np.uint64)
    assert (late < 50).all() and len(samples.cycles) >= result.cycles // 100
    for name, series in samples.values.items():
        assert series.shape[0] == len(samples.cycles)
        assert (series.sum(axis=0) == result.counters.by_unit[name]).all(), name


def test_lines_add_up_to_the_totals(gpu: ws.Device) -> None:
    result, _ = saxpy(gpu, lines=True)
    lines = result.lines
    assert lines is not None
    assert lines.counts["issues"].sum() == result.warp_instructions
    for reason, cycles in result.stalls.items():
        assert lines.counts[f"stall_{reason}"].sum() <= cycles, reason
    loads = [i for i, text in enumerate(lines.text) if text.startswith("ld.global")]
    assert lines.counts["sectors"][loads].sum() == 2 * N // 8
    assert {lines.source[i] for i in loads} == {"saxpy.cu:5"}
    assert result.to_dict()["lines"]["text"] == lines.text


def test_asking_for_series_and_lines_changes_nothing() -> None:
    plain = saxpy(ws.Device("mini"))[0]
    full = saxpy(ws.Device("mini"), samples=64, lines=True)[0]
    assert plain.cycles == full.cycles and dict(plain.counters) == dict(full.counters)


@pytest.mark.parametrize("policy", ["cggty", "gto", "lrr", "two_level", "oldest"])
def test_issue_policies_by_override(policy: str) -> None:
    result, y = saxpy(ws.Device("mini", overrides={"core.issue_policy": policy}))
    assert y[-1] == np.float32(0.25) * (N - 1) + 1 and result.cycles is not None


def test_the_numpy_interpreter_takes_the_same_cycles() -> None:
    text = entry(
        ".param .u64 out",
        "ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r1;",
    )
    results = []
    for interpreter in ("llvm", "numpy"):
        gpu = ws.Device("mini", interpreter=interpreter)
        out = gpu.empty(64, np.uint32)
        results.append(gpu.load(text)["k"].launch(1, 64, [out]))
        assert (out.numpy() == np.arange(64)).all()
    assert results[0].cycles == results[1].cycles


# What goes wrong is told as without timing


def test_faults_are_the_same_with_and_without_timing(gpu: ws.Device) -> None:
    messages = []
    for device in (gpu, ws.Device("mini", timing=False)):
        x = device.empty(100, np.float32)
        with pytest.raises(ws.MemoryFault) as error:
            device.load(SAXPY)["saxpy"].launch(1, 128, [x, x, np.float32(1), np.int32(101)])
        text = str(error.value)
        for word in ("load of 4 bytes", "saxpy.cu:5", "(100, 0, 0) of CTA (0, 0, 0)", "right behind its end"):
            assert word in text
        messages.append(text.splitlines()[1:5])
    assert messages[0] == messages[1]
    saxpy(gpu)


def test_endless_kernels_and_deadlocks(gpu: ws.Device) -> None:
    spin = gpu.load(SPIN)["spin"]
    with pytest.raises(ws.KernelTimeout, match="5,000 instructions"):
        spin.launch(1, 64, [None], budget_instructions=5000)
    with pytest.raises(ws.KernelTimeout, match=r"0\.2 seconds"):
        spin.launch(1, 64, [None], budget_seconds=0.2)
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;\n@!%p1 bar.sync 2, 64;"
    with pytest.raises(ws.DeadlockError, match="barrier 1"):
        gpu.load(entry("", body))["k"].launch(1, 64)
    with pytest.raises(ws.TrapError):
        gpu.load(entry("", "trap;"))["k"].launch(1, 32)
    saxpy(gpu)


def test_ctrl_c_ends_a_timed_launch(gpu: ws.Device) -> None:
    spin = gpu.load(SPIN)["spin"]
    spin.prepare()
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        _thread.interrupt_main()

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            spin.launch(1, 32, [None], budget_seconds=20)
    finally:
        timer.join()
    assert time.perf_counter() - sent[0] < 1.0, "0.2 s on an idle machine"
    saxpy(gpu)
