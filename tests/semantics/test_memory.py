"""Loads, stores and atomics on a warp's memory, against a model in plain Python: lanes one after the other in ascending order."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.lanes.bench import GLOBAL_BYTES, ROW, SHARED_BYTES, Bench, Outcome, natural_key
from warpsight.lanes.types import LANES
from warpsight.semantics import Form, forms

FORMS: dict[str, Form] = {}
for _form in forms():
    if _form.memory is not None and _form.src[0].bits == 64:
        FORMS[_form.name.partition(":")[0]] = _form
SHARED_WINDOW, RESERVED = 0x6000_0100_0000, 1024
MASKS = (0xFFFFFFFF, 0x00010011)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def run(bench: Bench, name: str, addresses: Any, *values: Any, mask: int = 0xFFFFFFFF) -> Outcome:
    """The form with addresses and, behind them, value operands; destinations come first in the register slots. Compiled."""
    form = FORMS[name]
    first = len(form.dst)

    def setup(regs: Any) -> None:
        regs[:] = 0xEE
        for slot, data in enumerate([addresses, np.zeros(LANES, np.int64), *values], first):
            raw = np.ascontiguousarray(data).view(np.uint8)
            regs[slot * ROW : slot * ROW + raw.size] = raw

    pool = [slot * ROW for slot in range(first + len(form.src))]
    return bench.run(form, natural_key(form), pool, mask, setup, True)


def lanes(outcome: Outcome, slot: int, dtype: str) -> list[int]:
    return np.frombuffer(outcome.regs, dtype, LANES, slot * ROW).tolist()


def words(data: bytes, dtype: str) -> list[int]:
    return np.frombuffer(data, dtype).tolist()


def wrap32(v: int) -> int:
    return v & 0xFFFFFFFF


ATOMICS: dict[str, tuple[str, Callable[[int, int], int]]] = {
    "add.u32": ("u4", lambda old, x: wrap32(old + x)),
    "add.u64": ("u8", lambda old, x: (old + x) & (2**64 - 1)),
    "min.s32": ("i4", min), "max.s64": ("i8", max), "min.u64": ("u8", min), "max.u32": ("u4", max),
    "and.b32": ("u4", lambda old, x: old & x), "or.b64": ("u8", lambda old, x: old | x), "xor.b32": ("u4", lambda old, x: old ^ x),
    "exch.b32": ("u4", lambda old, x: x), "exch.b64": ("u8", lambda old, x: x),
    "inc.u32": ("u4", lambda old, x: 0 if old >= x else old + 1),
    "dec.u32": ("u4", lambda old, x: x if old == 0 or old > x else old - 1),
}  # fmt: skip


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("space", ["global", "shared", ""])
@pytest.mark.parametrize("name", sorted(ATOMICS))
def test_atomics_take_turns(bench: Bench, name: str, space: str, mask: int) -> None:
    dtype, function = ATOMICS[name]
    size = int(dtype[1])
    rng = np.random.default_rng(11)
    places = rng.integers(0, 5, LANES)
    large, small = rng.integers(0, 1 << 62, LANES), rng.integers(0, 9, LANES)
    values = np.where(rng.integers(0, 2, LANES) == 0, large, small).astype(dtype)
    start = RESERVED if space == "shared" else bench.address
    addresses = np.uint64(start) + places.astype(np.uint64) * np.uint64(size)
    outcome = run(bench, ".".join(filter(None, ("atom", space, name))), addresses, values, mask=mask)
    memory = words((bench.shared_fill if space == "shared" else bench.fill).tobytes(), dtype)
    old = words(b"\xee" * size * LANES, dtype)
    for lane in range(LANES):
        if mask >> lane & 1:
            old[lane] = memory[places[lane]]
            memory[places[lane]] = function(old[lane], int(values[lane]))
    assert lanes(outcome, 0, dtype) == old
    assert words(outcome.shared if space == "shared" else outcome.memory, dtype) == memory


def test_compare_and_swap(bench: Bench) -> None:
    """All lanes swap the same word: only the first finds what it expects, and the lane that expects the new value finds that."""
    initial = struct.unpack_from("<I", bench.fill)[0]
    expected, new = np.full(LANES, initial, np.uint32), np.arange(100, 132, dtype=np.uint32)
    expected[7] = 100
    outcome = run(bench, "atom.global.cas.b32", np.full(LANES, bench.address, np.uint64), expected, new)
    assert lanes(outcome, 0, "u4") == [initial] + [100] * 7 + [107] * 24
    assert words(outcome.memory, "u4")[0] == 107


def test_float_addition_flushes_subnormals_in_global_memory_only(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """PTX ISA, atom: "atom.add.f32 on global memory flushes subnormal inputs and results to sign-preserving zero", on shared memory not."""
    monkeypatch.setattr(bench, "fill", np.zeros(GLOBAL_BYTES, np.uint8))
    monkeypatch.setattr(bench, "shared_fill", np.zeros(SHARED_BYTES, np.uint8))
    tiny = np.full(LANES, 3, np.uint32)
    in_global, in_shared = np.full(LANES, bench.address, np.uint64), np.full(LANES, RESERVED, np.uint64)
    assert words(run(bench, "atom.global.add.f32", in_global, tiny).memory, "u4")[0] == 0
    assert words(run(bench, "atom.add.f32", in_global, tiny).memory, "u4")[0] == 0
    assert words(run(bench, "atom.shared.add.f32", in_shared, tiny).shared, "u4")[0] == 3 * LANES
    assert words(run(bench, "atom.add.f32", in_shared + np.uint64(SHARED_WINDOW), tiny).shared, "u4")[0] == 3 * LANES


def test_vector_reduction(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "fill", np.zeros(GLOBAL_BYTES, np.uint8))
    values = [np.full(LANES, v, np.float32) for v in (1.0, 2.0, 0.5, -1.0)]
    places = np.uint64(bench.address) + (np.arange(LANES, dtype=np.uint64) % np.uint64(2)) * np.uint64(16)
    outcome = run(bench, "red.global.add.v4.f32", places, *values)
    assert words(outcome.memory, "f4")[:8] == [16.0, 32.0, 8.0, -16.0] * 2


@pytest.mark.parametrize(("name", "dtype", "count"), [
    ("ld.global.u8", "u1", 1), ("ld.global.b16", "u2", 1), ("ld.global.f32", "u4", 1), ("ld.global.v2.b32", "u4", 2),
    ("ld.global.v4.f32", "u4", 4), ("ld.global.v2.b64", "u8", 2), ("ld.global.v8.b32", "u4", 8), ("ld.global.v4.u8", "u1", 4),
    ("ld.f64", "u8", 1),
    ("ld.const.b64", "u8", 1),
])  # fmt: skip
def test_loads(bench: Bench, name: str, dtype: str, count: int) -> None:
    size = int(dtype[1])
    places = np.random.default_rng(2).integers(0, 20, LANES)
    outcome = run(bench, name, np.uint64(bench.address) + places.astype(np.uint64) * np.uint64(size * count))
    memory = words(bench.fill.tobytes(), dtype)
    for e in range(count):
        assert lanes(outcome, e, dtype) == [memory[p * count + e] for p in places]


@pytest.mark.parametrize("starts", [(0, 0), (256, 256), (64, 1024), (2048, 0), (4096 - 256, 16)])
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize("access", [("ld.shared.f32", "u4", 1), ("ld.shared.v4.f32", "u4", 4), ("ld.shared.b64", "u8", 1)])
def test_halves_of_a_warp_load_from_two_stretches(bench: Bench, access: tuple[str, str, int], step: int, starts: tuple[int, int]) -> None:
    """As tiles of 16 x 16 threads do: lanes 0-15 from one place on, lanes 16-31 from another, or one place for each half."""
    name, dtype, count = access
    size = int(dtype[1]) * count
    offsets = np.array([starts[lane // 16] + lane % 16 * size * step for lane in range(LANES)])
    outcome = run(bench, name, (RESERVED + offsets).astype(np.uint64))
    memory = words(bench.shared_fill.tobytes(), dtype)
    for e in range(count):
        assert lanes(outcome, e, dtype) == [memory[int(at) // int(dtype[1]) + e] for at in offsets]


def test_halves_outside_or_misaligned_are_refused(bench: Bench) -> None:
    for second in (SHARED_BYTES - 48, 2, 1 << 40):
        offsets = np.array([(0, second)[lane // 16] + lane % 16 * 4 for lane in range(LANES)])
        assert run(bench, "ld.shared.f32", (RESERVED + offsets).astype(np.uint64)).faulted, second


def test_local_memory_is_every_lanes_own(bench: Bench) -> None:
    values = np.arange(LANES, dtype=np.uint32) + 7
    outcome = run(bench, "st.local.b32", np.full(LANES, 8, np.uint64), values)
    assert np.frombuffer(outcome.local, np.uint32).reshape(-1, LANES, 2)[1, :, 0].tolist() == values.tolist()


def test_stores_of_several_lanes_to_one_place_leave_one_of_them(bench: Bench) -> None:
    values = [np.arange(LANES, dtype=np.uint32) + k * 100 for k in (1, 2)]
    outcome = run(bench, "st.global.v2.b32", np.full(LANES, bench.address + 8, np.uint64), *values, mask=0x00FF00F0)
    first, second = words(outcome.memory, "u4")[2:4]
    lane = first - 100
    assert 0x00FF00F0 >> lane & 1 and second == 200 + lane
    assert words(outcome.memory, "u4")[:2] == words(bench.fill.tobytes(), "u4")[:2]


def test_a_refused_access_touches_nothing(bench: Bench) -> None:
    outside = np.full(LANES, bench.address, np.uint64)
    outside[31] += np.uint64(1 << 40)
    for name, values in (("st.global.b32", 1), ("atom.global.add.u32", 1), ("ld.global.b32", 0)):
        outcome = run(bench, name, outside, *[np.ones(LANES, np.uint32)] * values)
        assert outcome.faulted and outcome.memory == bench.fill.tobytes(), name
    misaligned = np.full(LANES, bench.address + 2, np.uint64)
    assert run(bench, "atom.global.add.u32", misaligned, np.ones(LANES, np.uint32)).faulted


def test_the_end_of_an_allocation(bench: Bench) -> None:
    """The last stretch that fits is written; one that runs 4 bytes over is refused as a whole, scattered lanes likewise."""
    values = np.arange(LANES, dtype=np.uint32)
    end = bench.address + GLOBAL_BYTES
    fits = run(bench, "st.global.b32", np.uint64(end - 128) + 4 * np.arange(LANES, dtype=np.uint64), values)
    assert not fits.faulted and words(fits.memory, "u4")[-LANES:] == values.tolist()
    over = np.uint64(end - 124) + 4 * np.arange(LANES, dtype=np.uint64)
    for addresses in (over, over[::-1].copy()):
        outcome = run(bench, "st.global.b32", addresses, values)
        assert outcome.faulted and outcome.memory == bench.fill.tobytes()
        assert not run(bench, "st.global.b32", addresses, values, mask=0x7FFFFFFF if addresses is over else 0xFFFFFFFE).faulted
    assert run(bench, "ld.global.b32", np.full(LANES, end, np.uint64)).faulted


def test_lanes_in_two_allocations(bench: Bench) -> None:
    other = bench.memory.allocate(256)
    bench.memory.write(other, np.full(256, 0xAB, np.uint8))
    addresses = np.where(np.arange(LANES) % 2 == 0, bench.address, other).astype(np.uint64) + np.uint64(8)
    outcome = run(bench, "ld.global.b32", addresses)
    bench.memory.release(other)
    assert lanes(outcome, 0, "u4") == [words(bench.fill.tobytes(), "u4")[2], 0xABABABAB] * 16


def test_scattered_stores_keep_lanes_and_elements_apart(bench: Bench) -> None:
    values = [np.arange(LANES, dtype=np.uint32) + 100 * k for k in range(1, 5)]
    order = np.random.default_rng(3).permutation(LANES)
    outcome = run(bench, "st.global.v4.b32", np.uint64(bench.address) + 16 * order.astype(np.uint64), *values, mask=0xFFFFFFFE)
    got = np.frombuffer(outcome.memory, np.uint32)[: 4 * LANES].reshape(LANES, 4)
    want = np.frombuffer(bench.fill.tobytes(), np.uint32)[: 4 * LANES].reshape(LANES, 4).copy()
    want[order[1:]] = np.stack(values, 1)[1:]
    assert np.array_equal(got, want)
