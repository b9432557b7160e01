"""The memory side as a whole: nothing is lost, nothing depends on chance, and the H200 model meets what was measured on an H200."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .mem_bench import BASE, CG, LOAD, STORE, Array, Bench, rows


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["global", "local", "const", "shared"]))
def test_every_access_completes_once_and_none_before_its_time(seed: int, space: str) -> None:
    """Random loads, stores, atomics and reductions, few resources so that everything has to wait somewhere; the bench raises when one
    never completes."""
    bench = Bench(
        l1__mshrs=3, lsu__store_credits=2, const__mshrs=2, dram__queue_entries=2, dram__write_high=2, dram__write_low=1, l2__bytes=8192
    )
    random = np.random.default_rng(seed)
    n = 300
    ops = random.choice([1] if space == "const" else [1, 2] if space == "local" else [1, 2, 3, 4, 5], n)
    addresses = (0 if space in ("shared", "const") else BASE) + random.integers(0, 1 << 14, (n, 32)) * 4
    result = bench.run(
        addresses,
        mask=random.integers(1, 1 << 32, n),
        sm=random.integers(0, 4, n),
        warp=random.integers(0, 8, n),
        op=ops,
        space=space,
        window=4,
        limit=10**7,
    )
    assert (result["completed"] > result["issued"]).all()
    assert all(bench.core.drained(sm, warp) for sm in range(4) for warp in range(8))
    again = bench.run(addresses[:1])
    assert again["cycles"] > 0


def mixed(bench: Bench) -> Array:
    n = 2000
    random = np.random.default_rng(1)
    return bench.run(
        rows(BASE + random.integers(0, 1 << 16, n) * 128),
        sm=random.integers(0, 4, n),
        warp=random.integers(0, 16, n),
        op=random.choice([1, 2, 3], n),
        window=4,
    )["completed"]


def test_runs_repeat_to_the_cycle() -> None:
    assert np.array_equal(mixed(Bench()), mixed(Bench()))


def test_reset_and_flush_lead_back_to_the_start() -> None:
    """After flush() and reset() a run takes the same cycles as on a new GPU, but for DRAM rows that are still open."""
    bench = Bench(dram__page_policy="closed")
    first = mixed(bench)
    bench.core.flush()
    bench.core.reset()
    assert np.array_equal(mixed(bench), first)


def test_a_run_cut_short_leaves_nothing_behind() -> None:
    bench = Bench(dram__page_policy="closed")
    expected = mixed(bench)
    with pytest.raises(RuntimeError, match="not finished after 300 cycles"):
        bench.run(rows(BASE + (1 << 22) + np.arange(500) * 128), warp=np.arange(500) % 8, window=8, limit=300)
    bench.core.flush()
    bench.core.reset()
    assert np.array_equal(mixed(bench), expected)


def test_contents_stay_from_launch_to_launch() -> None:
    bench = Bench()
    cold = bench.run([BASE], cache_op=CG)["cycles"]
    bench.core.reset()
    assert bench.run([BASE], cache_op=CG)["cycles"] < cold


# The H200 model against the H200: chase.csv, dram_l2_bandwidth.csv, dram_stride.csv. 132 SMs with 32 warps each run a grid-stride loop,
# with CTAs dealt to GPCs in turn as the hardware does.


@pytest.fixture(scope="module")
def h200() -> Bench:
    return Bench("h200")


def chase(bench: Bench, footprint: int, **options: int) -> float:
    """Cycles a load of one thread walking a ring of 128-byte steps; a warm ring, sampled over its first 10000 steps."""
    ring = BASE + np.arange(footprint // 128) * 128
    bench.core.flush()
    for _ in range(2):
        bench.run(ring, mask=1, window=64, **options)
    sample = ring[:10000]
    return float(bench.run(sample, mask=1, **options)["latency"].mean())


@pytest.mark.parametrize(
    ("footprint", "cycles", "tolerance"),
    [(1 << 20, 280.8, 0.02), (24 << 20, 280.6, 0.02), (36 << 20, 512.0, 0.05), (48 << 20, 512.1, 0.05), (96 << 20, 659.4, 0.05)],
)
def test_latency_by_footprint(h200: Bench, footprint: int, cycles: float, tolerance: float) -> None:
    assert chase(h200, footprint, cache_op=CG) == pytest.approx(cycles, rel=tolerance)


def grid_stride(count: int, warps: int = 132 * 32) -> dict[str, Array]:
    """SM and warp of every access of a grid-stride loop; consecutive CTAs go round the GPCs."""
    worker = np.arange(count) % warps
    order = np.argsort(np.arange(132) % 17 * 8 + np.arange(132) // 17, kind="stable")  # SM 0, 17, 34, ...
    return {"sm": order[worker // 32 % 132], "warp": worker % 32}


def bytes_per_cycle(bench: Bench, megabytes: int, op: int, warm: int) -> float:
    count = megabytes * (1 << 20) // 512
    addresses = rows(BASE + np.arange(count) * 512, 16)
    bench.core.flush()
    options: dict[str, Any] = {"bytes": 16, "cache_op": CG, "window": 4, "op": op}
    for _ in range(warm):
        bench.run(addresses, **grid_stride(count), **options)
    repeats = 2 if warm else 1
    result = bench.run(np.tile(addresses, (repeats, 1)), **{k: np.tile(v, repeats) for k, v in grid_stride(count).items()}, **options)
    return repeats * megabytes * (1 << 20) / int(result["cycles"])


def test_read_bandwidth_of_l2_and_dram(h200: Bench) -> None:
    """16 MB: 4843 bytes an SM cycle. DRAM: 4.65 TB/s at 1980 MHz, 2348 bytes a cycle."""
    assert bytes_per_cycle(h200, 16, LOAD, warm=1) == pytest.approx(4843, rel=0.08)
    assert bytes_per_cycle(h200, 48, LOAD, warm=0) == pytest.approx(2348, rel=0.05)


def test_one_sm_reads_79_bytes_a_cycle_from_l2(h200: Bench) -> None:
    count = 2048
    addresses = rows(BASE + np.arange(count) * 512, 16)
    options: dict[str, Any] = {"bytes": 16, "cache_op": CG, "window": 4, "warp": np.arange(count) % 32}
    h200.run(addresses, **options)
    assert count * 512 / h200.run(addresses, **options)["cycles"] == pytest.approx(79, rel=0.06)


@pytest.mark.parametrize("stride", [256, 4096])
def test_scattered_sectors_cost_an_activate_each(h200: Bench, stride: int) -> None:
    """32.4 to 34 G accesses of 32 bytes a second from a stride of 256 bytes on: one in 5.7 ns for each of 188 pseudo channels."""
    count = 1 << 18
    addresses = (BASE + np.arange(count) * stride).astype(np.uint64).reshape(-1, 32)
    h200.core.flush()
    result = h200.run(addresses, **grid_stride(len(addresses)), cache_op=CG, window=2)
    assert count / result["cycles"] * 1.98 == pytest.approx(33, rel=0.12)


def test_stores_of_one_sm_leave_at_32_bytes_a_cycle(h200: Bench) -> None:
    """stg_fence.csv: 384 stores of 128 bytes in 1518 cycles."""
    count = 384
    issued = h200.run(rows(BASE + np.arange(count) * 128), op=STORE, warp=np.arange(count) % 12, window=32)["issued"]
    assert issued.max() == pytest.approx(1518, rel=0.12)


@pytest.mark.parametrize(("scope", "asked"), [("none", 4), ("gpu", 1)])
def test_loads_of_one_line_that_are_out_together_ask_l2_once(scope: str, asked: int) -> None:
    """Four SMs read one line at the same time: merged, L2 looks up its four sectors once, and all four loads end."""
    bench = Bench(noc__coalescer=scope, l2__partitions=1)
    result = bench.run(np.repeat(rows([BASE]), 4, axis=0), sm=[0, 1, 2, 3])
    assert (result["completed"] > result["issued"]).all()
    looked_up, merged = bench.total("lts__t_sectors"), bench.total("noc__coalesced_sectors") if scope != "none" else 0
    assert (looked_up, merged) == (4 * asked, 16 - 4 * asked)


def test_loads_that_follow_each_other_are_not_merged() -> None:
    bench = Bench(noc__coalescer="gpu", l2__partitions=1)
    for sm in range(4):
        bench.run(rows([BASE]), sm=sm)
    assert bench.total("lts__t_sectors") == 16
