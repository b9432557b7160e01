"""L1 and L2: what hits, what goes on, what is written back. Expected numbers: reference models in a few lines, or counters of the H200
(ncu_cold.csv)."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .mem_bench import ATOMIC, BASE, CA, CG, LINE, LOAD, REDUCTION, STORE, Bench, rows

LTS = ("lts__t_sectors_op_read", "lts__t_sectors_op_write", "lts__t_sectors_lookup_miss", "lts__t_sectors_srcunit_ltcfabric")


def test_saxpy_counts_as_the_h200_counts() -> None:
    """saxpy_n16384, cold: 4096 sectors loaded without a hit; 2048 stored, all on sectors that the load of y left in L1; every byte read
    once from DRAM. In L2 half of the sectors are looked up twice, in the SM's own partition and at home: 1.5 x 6144, of which loads miss
    each time."""
    bench = Bench("h200")
    n = 16384 // 32
    sm, warp = np.arange(n) // 8 % 128, np.arange(n) % 8
    x, y = rows(BASE + np.arange(n) * LINE), rows(BASE + (1 << 24) + np.arange(n) * LINE)
    bench.run(x, sm=sm, warp=warp)
    bench.run(y, sm=sm, warp=warp)
    bench.run(y, sm=sm, warp=warp, op=STORE)
    l1 = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
    assert bench.totals(l1 + "ld", l1 + "ld_lookup_hit", l1 + "st", l1 + "st_lookup_hit") == [4096, 0, 2048, 2048]
    assert bench.totals("l1tex__m_xbar2l1tex_read_sectors", "l1tex__m_l1tex2xbar_write_bytes") == [4096, 65536]
    assert bench.totals(
        "lts__t_sectors_srcunit_tex", "lts__t_sectors_srcunit_tex_lookup_miss", "lts__t_sectors_srcunit_tex_lookup_hit"
    ) == [6144, 4096, 2048]
    read, written, missed, fabric = bench.totals(*LTS)
    assert read == pytest.approx(6144, rel=0.05) and missed == read
    assert written == pytest.approx(3072, rel=0.05)
    assert fabric == read + written - 6144
    assert bench.totals("dram__bytes_read", "dram__bytes_write") == [4096 * 32, 0]


def test_stores_to_lines_never_loaded() -> None:
    """vecadd: whole sectors stored once hit nothing (st_lookup_hit 0); column by column, 4 bytes at a time, 7 of 8 find their sector
    (transpose_naive)."""
    bench = Bench("h200")
    bench.run(rows(BASE + np.arange(64) * LINE), op=STORE)
    assert bench.total("l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit") == 0
    columns = np.concatenate([rows([BASE + (1 << 20) + 4 * i], LINE) for i in range(8)])
    bench.run(columns, op=STORE)
    assert bench.total("l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit") == 7 * 32
    before = bench.total("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit")
    bench.run(rows([BASE + (1 << 20)], LINE)[:, :4].repeat(8, 1), op=LOAD)  # sectors that stores covered whole, piece by piece
    assert bench.total("l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit") == before  # L1 does not know that they add up


def test_no_allocate_leaves_nothing_in_l1() -> None:
    bench = Bench(l1__store_miss="no_allocate")
    bench.run(np.repeat(rows([BASE]), 3, axis=0), op=STORE)
    assert bench.total("l1tex__t_sectors_pipe_lsu_mem_global_op_st_lookup_hit") == 0


@pytest.mark.parametrize("shared", [0, 30_000, 65_536])
def test_l1_holds_what_shared_memory_leaves(shared: int) -> None:
    """mini: 72 KiB in all; carve-outs of 8, 16, 32 and 64 KiB. A ring that fits (and starts where sets do) hits always; a longer one
    thrashes under LRU."""
    bench = Bench()
    bench.core.set_shared_bytes(shared)
    carveout = min(size for size in (8192, 16384, 32768, 65536) if size >= shared)
    lines = (73728 - carveout) // LINE
    start = -(-BASE // (lines * LINE)) * lines * LINE
    ring = start + np.arange(lines) * LINE
    bench.run(ring)
    assert bench.run(ring)["latency"].max() == 30
    longer = start + np.arange(lines * 5 // 4 + 1) * LINE
    bench.run(longer)
    assert bench.run(longer)["latency"].min() > 30


def test_more_shared_memory_than_there_is() -> None:
    with pytest.raises(ValueError, match=r"70000 bytes .* shared\.carveouts"):
        Bench().core.set_shared_bytes(70_000)


def test_misses_on_one_line_are_merged() -> None:
    """Eight warps ask for one line at a time: one request to L2. Sectors that are not on their way yet are asked for by themselves."""
    bench = Bench()
    bench.run(np.repeat(rows([BASE]), 8, axis=0), warp=np.arange(8))
    assert bench.total("lts__t_requests") - bench.total("lts__t_sectors_srcunit_ltcfabric") // 4 == 1
    other = Bench()
    halves = np.stack([BASE + np.arange(32) % 16 * 4, BASE + 64 + np.arange(32) % 16 * 4])
    other.run(halves, warp=[0, 1])
    assert other.total("lts__t_sectors_srcunit_tex") == 4


def test_full_miss_registers_hold_accesses_back_but_lose_none() -> None:
    bench = Bench(l1__mshrs=2)
    result = bench.run(rows(BASE + np.arange(64) * LINE), warp=np.arange(64) % 4, window=16)
    assert bench.total("lsu__blocked_accesses") > 0
    wide = Bench(l1__mshrs=64).run(rows(BASE + np.arange(64) * LINE), warp=np.arange(64) % 4, window=16)
    assert result["cycles"] > 2 * wide["cycles"]


def test_local_stores_are_written_back_on_eviction_only() -> None:
    bench = Bench()
    lines = (73728 - 8192) // LINE
    local = rows(0x6100_0000_0000 + np.arange(lines) * LINE)
    bench.run(local, op=STORE, space="local")
    assert bench.total("l1tex__m_l1tex2xbar_write_sectors") == 0
    bench.run(local, space="local")
    assert bench.total("l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit") == 4 * lines
    bench.run(rows(BASE + np.arange(lines) * LINE))  # pushes all of it out
    assert bench.total("l1tex__m_l1tex2xbar_write_sectors") == 4 * lines


def test_l2_writes_back_and_reads_nothing_for_whole_sectors() -> None:
    """512 KiB of L2 (half of it for lines of each partition); 2 MiB stored whole: all but what still fits has gone to DRAM, nothing was
    read."""
    bench = Bench()
    stored = 1 << 21
    bench.run(rows(BASE + np.arange(stored // LINE) * LINE), op=STORE, warp=np.arange(stored // LINE) % 8, window=8)
    read, written = bench.totals("dram__bytes_read", "dram__bytes_write")
    assert read == 0
    assert stored - (1 << 19) <= written <= stored
    assert written == 32 * bench.total("lts__sectors_written_back")


def test_flush_makes_caches_cold_and_drops_dirty_lines() -> None:
    bench = Bench()
    ring = BASE + np.arange(64) * LINE
    bench.run(ring, op=STORE)
    bench.run(ring)
    written = bench.total("dram__bytes_write")
    bench.core.flush()
    misses = bench.total("dram__bytes_read")
    bench.run(ring)
    assert bench.total("dram__bytes_read") - misses == 64 * 64  # 64 bytes an access
    assert bench.total("dram__bytes_write") == written


def test_l1_is_cold_after_invalidation_but_l2_warm() -> None:
    bench = Bench()
    bench.run([BASE])
    bench.core.invalidate_l1()
    read = bench.total("dram__bytes_read")
    assert bench.run([BASE])["cycles"] > 30
    assert bench.total("dram__bytes_read") == read


@pytest.mark.parametrize("op", [ATOMIC, REDUCTION])
def test_atomics_on_one_word_take_turns_in_l2(op: int) -> None:
    """Every lane operation takes an L2 clock (here an SM cycle); 4 SMs together are no faster. atomics.csv: 0.86 an SM cycle at 1.7 /
    1.98 GHz."""
    bench = Bench(lsu__atomic_pass_cycles=0.01, lsu__atomic_sector_cycles=0.01)
    bench.run([BASE], op=op)
    n = 64
    result = bench.run(np.full(4 * n, BASE), op=op, sm=np.arange(4 * n) % 4, warp=np.arange(4 * n) // 4 % 8, window=8)
    assert result["cycles"] == pytest.approx(4 * n * 32, rel=0.05)


def test_atomics_on_different_words_of_a_line_go_together() -> None:
    bench = Bench()
    bench.run(rows([BASE]), op=ATOMIC)
    assert bench.run(rows([BASE]), op=ATOMIC)["cycles"] < 32 + bench.run([BASE], op=ATOMIC, mask=1)["cycles"]
    assert bench.run([BASE], op=ATOMIC)["cycles"] >= 31 + bench.run([BASE], op=ATOMIC, mask=1)["cycles"]


def test_an_atomic_makes_l1_and_other_copies_stale() -> None:
    """Values live elsewhere, but the time must show that the next load has to go to where the atomic was done."""
    bench = Bench()
    bench.run([BASE, BASE])
    bench.run([BASE], op=REDUCTION)
    assert bench.run([BASE])["cycles"] > 30
    far = Bench()
    for sm in (0, 3):
        far.run([BASE], sm=sm)  # one of these partitions is not the line's home and keeps a copy
    far.core.invalidate_l1()
    fabric = far.total("lts__t_sectors_srcunit_ltcfabric")
    far.run([BASE, BASE], sm=[0, 3])
    assert far.total("lts__t_sectors_srcunit_ltcfabric") == fabric
    far.core.invalidate_l1()
    far.run([BASE], op=REDUCTION, sm=[0])
    fabric = far.total("lts__t_sectors_srcunit_ltcfabric")
    far.run([BASE], sm=[0])
    far.run([BASE], sm=[3])
    assert far.total("lts__t_sectors_srcunit_ltcfabric") == fabric + 1


def test_sectors_partly_written_are_fetched_when_read() -> None:
    bench = Bench()
    bench.run([BASE], op=STORE, mask=1)
    assert bench.total("dram__bytes_read") == 0
    bench.run([BASE + 16], cache_op=CG)
    assert bench.total("dram__bytes_read") == 64
    bench.run([BASE + 8], cache_op=CG)
    assert bench.total("dram__bytes_read") == 64


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 23), min_size=1, max_size=120))
def test_an_lru_set_against_a_list(order: list[int]) -> None:
    """A cache of one set (4 ways of 128 bytes in L1) against an ordered dictionary."""
    bench = Bench(l1__bytes=8192 + 512, l1__ways=4)
    cache: OrderedDict[int, None] = OrderedDict()
    for line in order:
        hit = line in cache
        cache[line] = None
        cache.move_to_end(line)
        if len(cache) > 4:
            cache.popitem(last=False)
        latency = bench.run([BASE + line * LINE], cache_op=CA)["cycles"]
        assert (latency == 30) == hit


@pytest.mark.parametrize("slices", [2, 6, 10, 94])
@pytest.mark.parametrize("stride", [1, 2, 3, 16, 1024])
def test_any_number_of_slices_is_used_evenly(slices: int, stride: int) -> None:
    """Lines at any stride (in granules of 256 bytes) spread over all slices: none sees twice its share."""
    bench = Bench(l2__slices=slices, l2__bytes=slices * 65536)
    n = 64 * slices
    bench.run(BASE + np.arange(n) * 256 * stride, cache_op=CG, warp=np.arange(n) % 8, window=8)
    per_slice = bench.core.counters()["lts__t_requests"]
    assert len(per_slice) == slices
    assert per_slice.max() < 2 * per_slice.mean() and per_slice.min() > 0


def test_dram_brings_both_sectors_of_a_half_line_once() -> None:
    """spmv_scalar_16K and hist_shared_uniform_1MB read each byte of DRAM once, although their sectors are asked for one by one."""
    later = Bench()
    later.run([BASE], cache_op=CG)
    later.run([BASE + 32], cache_op=CG)
    at_once = Bench()
    at_once.run([BASE, BASE + 32], warp=[0, 1], cache_op=CG)
    other_half = Bench()
    other_half.run([BASE, BASE + 64], warp=[0, 1], cache_op=CG)
    assert [bench.total("dram__bytes_read") for bench in (later, at_once, other_half)] == [64, 64, 128]
