"""Load/store unit: coalescing, banks, queues. Expected numbers: H200 measurements (shared.csv, coalescing.csv) and brute force over
bytes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .mem_bench import ATOMIC, BASE, CG, LOAD, SECTOR, STORE, Bench, rows

LANES = np.arange(32)


def degree(d: int) -> np.ndarray:
    """Word addresses of 32 lanes of which d, all different, fall on each bank in use."""
    return (LANES % d * 32 + LANES // d) * 4


@pytest.fixture(scope="module")
def h200() -> Bench:
    return Bench("h200")


@pytest.mark.parametrize("d", [1, 2, 4, 8, 16, 32])
def test_shared_conflicts_cost_what_the_h200_shows(h200: Bench, d: int) -> None:
    """One warp: 22.8 cycles and 2 per extra way. 32 warps: d cycles an instruction (32.5 at 32, 1.03 at 1)."""
    one = h200.run(np.tile(degree(d), (64, 1)), space="shared")
    assert one["cycles"] / 64 == pytest.approx(22.8 + 2 * (d - 1), abs=0.5)
    many = h200.run(np.tile(degree(d), (64 * 32, 1)), space="shared", warp=np.arange(64 * 32) % 32)
    assert many["cycles"] / (64 * 32) == pytest.approx(1.02 * d, rel=0.03)


@pytest.mark.parametrize(("size", "extra"), [(4, 0), (8, 2), (16, 6)])
def test_wide_shared_loads_go_in_phases(h200: Bench, size: int, extra: int) -> None:
    """LDS.64 and LDS.128 without conflicts take 2 and 4 wavefronts: +2 and +6 cycles (lat_lds128 against lat_lds32)."""
    result = h200.run(np.tile(LANES * size, (64, 1)), space="shared", bytes=size)
    assert result["cycles"] / 64 == pytest.approx(22.8 + extra, abs=0.5)


def test_broadcast_is_free_but_not_for_atomics(h200: Bench) -> None:
    """All lanes on one word: a load is one wavefront; an atomic takes 32 turns, 2 cycles each for a lone warp (atoms_add: 31 and 93 with
    the add)."""
    assert h200.run(np.zeros(64), space="shared")["cycles"] / 64 == pytest.approx(22.8, abs=0.5)
    distinct = h200.run(np.tile(LANES * 4, (64, 1)), space="shared", op=ATOMIC)["cycles"] / 64
    same = h200.run(np.zeros(64), space="shared", op=ATOMIC)["cycles"] / 64
    assert same - distinct == pytest.approx(62, abs=1)


@pytest.mark.parametrize(
    ("stride", "alone", "together"),
    [
        (0, 1317, 1.46),
        (4, 1317, 1.46),
        (8, 1381, 2.13),
        (12, 1317, 1.48),
        (16, 1509, 4.17),
        (24, 1413, 2.14),
        (32, 1797, 8.29),
        (64, 2373, 16.5),
        (128, 3525, 33.0),
    ],
)
def test_l1_hits_by_lane_stride(h200: Bench, stride: int, alone: int, together: float) -> None:
    """coalescing.csv, coal_ca. `alone`: 32 dependent loads of one warp, which hold 32 adds of 9 cycles; `together`: cycles a load of 32
    warps (the loop of the kernel bounds it below at 1.46)."""
    addresses = np.tile(BASE + LANES * stride, (32, 1))
    h200.run(addresses)
    assert h200.run(addresses)["cycles"] / 32 == pytest.approx(alone / 32 - 9.05, rel=0.08)
    warp = np.arange(32 * 32) % 32
    many = np.tile(BASE + LANES * stride, (32 * 32, 1)) + warp[:, None] * max(128, 32 * stride) % 65536
    h200.run(many, warp=warp)
    per_load = h200.run(many, warp=warp)["cycles"] / len(many)
    assert max(per_load, 1.46) == pytest.approx(together, rel=0.06)


def test_queue_holds_back_the_eleventh_access_of_a_subcore() -> None:
    """Depth 10, 32-way conflicts dispatched at 2 x 32 cycles: the n-th issues at once up to 10, then one per 64 cycles (sts_conflict)."""
    bench = Bench("h200")
    issued = bench.run(np.tile(LANES * 128, (30, 1)), space="shared", op=STORE, window=30)["issued"]
    assert issued[:10].max() <= 10
    assert np.diff(issued[11:]).tolist() == [64] * 18


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 300), min_size=32, max_size=32),
    st.integers(1, 0xFFFFFFFF),
    st.sampled_from([1, 2, 4, 8, 16]),
)
def test_sectors_and_wavefronts_by_brute_force(places: list[int], mask: int, size: int) -> None:
    bench = _counting_bench()
    addresses = np.array(places) * size
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    touched = {int(byte) // SECTOR for lane in lanes for byte in range(addresses[lane], addresses[lane] + size)}
    result = bench.run((BASE + addresses)[None], mask=mask, bytes=size)
    assert result["counts"][0] == len(touched)

    per_phase = 32 * 4 // max(size, 4)
    expected = 0
    for first in range(0, 32, per_phase):
        words = defaultdict(set)  # bank -> words
        unit = max(size, 4)
        for lane in lanes:
            if first <= lane < first + per_phase:
                word = int(addresses[lane]) // unit
                words[word % (128 // unit)].add(word)
        expected += max((len(found) for found in words.values()), default=0)
    shared = bench.run(addresses[None], mask=mask, bytes=size, op=STORE, space="shared")
    assert shared["counts"][1] == expected


PATTERNS = json.loads((Path(__file__).parents[1] / "data" / "shared_wavefronts_h200.json").read_text())["patterns"]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda p: f"{p['bytes']}:{p['address']}")
def test_shared_wavefronts_are_those_of_the_h200(pattern: dict[str, Any]) -> None:
    addresses = np.array([eval(pattern["address"].replace("/", "//"), {"l": lane}) for lane in range(32)])
    for op, name in ((LOAD, "load"), (STORE, "store")):
        result = _counting_bench().run(addresses[None], bytes=pattern["bytes"], op=op, space="shared")
        assert result["counts"][1] == pattern[name], name


_shared_bench: list[Bench] = []


def _counting_bench() -> Bench:
    if not _shared_bench:
        _shared_bench.append(Bench())
        _shared_bench[0].core.set_line_counts(True)
    return _shared_bench[0]


def test_a_store_is_drained_only_after_l2_has_it() -> None:
    bench = Bench()
    bench.run(rows([BASE]), op=STORE, warp=5)
    assert bench.core.drained(0, 5)
    assert bench.total("l1tex__m_l1tex2xbar_write_sectors") == 4


def test_store_credits_bound_what_is_on_its_way() -> None:
    """With one credit, a store leaves only after the one before has been acknowledged; with many they follow at the port's width (4
    cycles)."""
    few, many = Bench(lsu__store_credits=1), Bench(lsu__store_credits=64)
    addresses = rows(BASE + np.arange(24) * 128)
    slow = few.run(addresses, op=STORE, window=24)["cycles"]
    fast = many.run(addresses, op=STORE, window=24)["cycles"]
    round_trip = many.run(addresses[:1], op=STORE)["cycles"]
    assert slow > 20 * round_trip / 2 > fast


def test_generic_addresses_and_unknown_spaces_are_errors() -> None:
    with pytest.raises(ValueError, match="no memory space 'generic'"):
        Bench().run([BASE], space="generic")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("lsu__queue_depth", 0, "lsu.queue_depth"),
        ("l1__store_miss", "sometimes", "l1.store_miss: no policy 'sometimes'"),
        ("l1__replacement", "mru", "no replacement policy 'mru'; known: fifo, lru, random"),
        ("dram__scheduler", "best", "no DRAM scheduler 'best'"),
        ("dram__refresh", "never", "dram.refresh"),
        ("l2__slices", 3, "l2.slices must be a multiple of l2.partitions"),
        ("l2__hash", "xor", "no address hash 'xor'"),
        ("const__first_line_bytes", 48, "const.first_line_bytes"),
    ],
)
def test_bad_values_name_their_key(key: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bench(**{key: value})


def test_a_missing_key_is_named() -> None:
    bench = Bench()
    config = {key: value for key, value in bench.config.items() if key != "dram.tFAW"}
    with pytest.raises(ValueError, match=r"dram\.tFAW"):
        type(bench.core)(config, 1000.0, [0])


def test_const_loads_as_measured(h200: Bench) -> None:
    """const.csv: 14.65 cycles with 4 of shift while 4 lines of 64 bytes are touched, 59 more for every line beyond."""
    for stride, lines, expected in ((64, 4, 14.65 - 4), (64, 8, 73.65 - 4), (64, 1024, 73.65 - 4), (4, 16 * 8, 18.34 - 4)):
        ring = 0x1000_0000 + np.arange(lines) * stride
        h200.run(ring, space="const")
        result = h200.run(np.tile(ring, 2), space="const")
        assert result["cycles"] / (2 * lines) == pytest.approx(expected, abs=0.5)


def test_loads_bypass_l1_when_told_to(h200: Bench) -> None:
    """chase.csv: ld.cg never hits L1 (280), ld.ca does the second time (32)."""
    h200.core.flush()
    h200.run([BASE], op=LOAD)
    assert h200.run([BASE], op=LOAD)["cycles"] == 32
    assert h200.run([BASE], op=LOAD, cache_op=CG)["cycles"] > 250
