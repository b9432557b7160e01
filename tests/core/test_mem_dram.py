"""DRAM timing against the data sheet's rules, applied to command sequences worked out by hand. `mini`: command clock 1 GHz = SM clock, so
clocks are cycles; tRCD 14, tCL 14, tRP 14, tRAS 33, tRRD_S 4, tFAW 20, tCCD_S 4, tCCD_L 8, burst 4, reads and writes of 64 bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .mem_bench import BASE, LOAD, STORE, Array, Bench

BANKS, ROWS = 16, 16384
GRANULE = 256
NEVER = 2**64 - 1


def one_channel(**overrides: Any) -> Bench:
    """One pseudo channel, one slice, nothing hashed: granule g is bank g % 16, row g // 16 % 16384. No refresh during a test."""
    plain: dict[str, Any] = {"l2__partitions": 1, "l2__slices": 1, "l2__hash": "modulo", "dram__channels": 1, "dram__pseudo_channels": 1}
    plain |= {"dram__tREFI": 1e6, "dram__rows": ROWS}
    return Bench(**(plain | overrides))


def place(bank: int, row: int, column: int = 0) -> int:
    """Address of the 64-byte access `column` (0..3) of a granule."""
    base = -(-BASE // (GRANULE * BANKS * ROWS)) * GRANULE * BANKS * ROWS  # bank 0, row 0
    return base + (row * BANKS + bank) * GRANULE + column * 64


def replies(bench: Bench, addresses: list[int], cycles: int | list[int] = 0, op: int = LOAD) -> Array:
    """Reply cycles of 32-byte requests that all leave SM 0 at `cycles`."""
    n = len(addresses)
    lines = np.array(addresses, np.uint64) // np.uint64(128) * np.uint64(128)
    sectors = np.array([1 << address % 128 // 32 for address in addresses], np.uint8)
    at = np.broadcast_to(np.array(cycles, np.uint64), (n,))
    result: Array = bench.core.send(np.ascontiguousarray(at), lines, sectors, np.full(n, op, np.uint8), np.zeros(n, np.uint32))
    return result.astype(np.int64)


def latency(bench: Bench, address: int) -> int:
    return int(replies(bench, [address])[0])


def test_row_hit_closed_row_and_conflict() -> None:
    bench = one_channel()
    closed = latency(bench, place(3, 7, 0))
    hit = latency(bench, place(3, 7, 2))
    conflict = latency(bench, place(3, 8, 0))
    assert closed - hit == 14  # tRCD
    assert conflict - hit == 28  # tRP + tRCD
    assert bench.totals("dram__row_misses", "dram__row_hits", "dram__row_conflicts") == [1, 1, 1]
    assert bench.totals("dram__activates", "dram__precharges") == [2, 1]


def test_closed_pages_pay_no_precharge_and_never_hit() -> None:
    bench = one_channel(dram__page_policy="closed")
    first = latency(bench, place(3, 7))
    assert latency(bench, place(3, 7, 1)) == first
    assert latency(bench, place(3, 9)) == first


def spacing(bench: Bench, addresses: list[int], op: int = LOAD) -> list[int]:
    """Cycles between the data of consecutive requests that arrive together (as far as one slice can send them: a line a cycle)."""
    return np.diff(np.sort(replies(bench, addresses, op=op))).tolist()


def test_column_commands_of_one_bank_group_are_tccd_l_apart_and_of_others_tccd_s() -> None:
    bench = one_channel()
    for bank in range(4):
        latency(bench, place(bank, 0))  # open the rows
    assert spacing(bench, [place(0, 0, 1), place(0, 0, 2), place(0, 0, 3)]) == [8, 8]
    assert spacing(bench, [place(bank, 0, 1) for bank in (1, 2, 3)]) == [4, 4]


def test_at_most_four_activates_in_tfaw() -> None:
    """Eight rows in eight banks: activates at 0, 4, 8, 12, then 20, 24, 28, 32 (tRRD_S 4 between groups, tFAW 20)."""
    assert spacing(one_channel(), [place(bank, 1) for bank in range(8)]) == [4, 4, 4, 8, 4, 4, 4]
    assert spacing(one_channel(dram__tFAW=16), [place(bank, 1) for bank in range(8)]) == [4] * 7


def test_activates_within_a_bank_group_are_trrd_l_apart() -> None:
    assert spacing(one_channel(dram__tCCD_L=4), [place(bank, 1) for bank in (0, 4, 8)]) == [6, 6]


def test_one_bank_turns_over_no_faster_than_trc() -> None:
    """Rows of one bank one after the other: tRAS + tRP = 47 between activates."""
    assert spacing(one_channel(), [place(5, row) for row in range(5)]) == [47] * 4


@pytest.mark.parametrize(("scheduler", "order"), [("fcfs", [0, 1, 2, 3]), ("frfcfs", [0, 2, 3, 1])])
def test_open_rows_are_served_first(scheduler: str, order: list[int]) -> None:
    """All four have arrived before row 0 can be read; the second wants row 1 of the same bank."""
    bench = one_channel(dram__scheduler=scheduler)
    got = replies(bench, [place(0, 0, 0), place(0, 1), place(0, 0, 1), place(0, 0, 2)])
    assert np.argsort(got).tolist() == order


def test_frfcfs_beats_fcfs_on_interleaved_rows() -> None:
    def cycles(scheduler: str) -> int:
        bench = one_channel(dram__scheduler=scheduler)
        mixed = [place(0, row, column) for column in range(4) for row in range(4)]
        return int(replies(bench, mixed).max())

    assert cycles("frfcfs") < cycles("fcfs") / 2


def test_streams_reach_the_bus_and_never_more() -> None:
    """A 64-byte access takes 4 clocks of the bus: 16 bytes a cycle and pseudo channel, less refresh."""
    bench = Bench()
    n = 4096
    result = bench.run(
        (BASE + np.arange(n)[:, None] * 128 + np.arange(32) * 4).astype(np.uint64),
        cache_op=1,
        sm=np.arange(n) % 4,
        warp=np.arange(n) // 4 % 16,
        window=4,
    )
    rate = n * 128 / result["cycles"]
    assert 0.8 * 64 < rate <= 64
    busy = bench.core.counters()["dram__busy_ticks"] / 1024
    assert busy.max() <= result["cycles"]
    assert busy.sum() == n * 2 * 4


def test_writes_go_out_when_no_read_waits_or_enough_have_gathered() -> None:
    """An L2 of eight lines, all dirty: eight loads push them out. Each goes to DRAM once, after which a read pays tWTR."""

    def cycles(turnaround: int) -> int:
        bench = one_channel(l2__bytes=1024, l2__ways=8, dram__tWTR_S=turnaround, dram__tWTR_L=turnaround)
        replies(bench, [place(bank, 0) for bank in range(8)], op=STORE)
        got = [latency(bench, place(bank, 2)) for bank in range(8)]
        got += [latency(bench, place(bank, 3)) for bank in range(8)]
        assert bench.total("dram__bytes_write") == 8 * 64
        assert bench.total("dram__write_drains") == 8
        return sum(got)

    assert cycles(200) > cycles(5)


@pytest.mark.parametrize("mode", ["per_bank", "all_bank"])
def test_every_bank_is_refreshed_once_in_trefi(mode: str) -> None:
    bench = one_channel(dram__refresh=mode, dram__tREFI=4096)
    latency(bench, place(0, 0))
    replies(bench, [place(0, 5)], [40 * 4096])
    refreshes = bench.core.counters()["dram__refreshes"]
    assert refreshes.sum() == pytest.approx(40 * BANKS, abs=BANKS + 1)
    assert refreshes.max() - refreshes.min() <= 1


def test_a_bank_in_refresh_makes_its_requests_wait() -> None:
    bench = one_channel(dram__refresh="all_bank", dram__tREFI=4096, dram__tRFC=200)
    plain = latency(bench, place(0, 0))
    late = replies(bench, [place(1, 0)], [4096 - 100])[0] - (4096 - 100)
    assert plain < late <= plain + 200


def test_any_number_of_channels_shares_the_load() -> None:
    for channels in (2, 6, 10, 94):
        bench = Bench(dram__channels=channels)
        n = channels * 2 * 32
        bench.run(BASE + np.arange(n) * GRANULE, cache_op=1, warp=np.arange(n) % 8, window=8)
        sectors = bench.core.counters()["dram__sectors_read"]
        assert len(sectors) == 2 * channels and sectors.max() < 2 * sectors.mean() and sectors.min() > 0
