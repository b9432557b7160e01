"""Handlers: operand kinds, masks, the cache of object code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.lanes.bench import GLOBAL_BYTES, ROW, Bench
from warpsight.engine.handlers import HandlerKey, Handlers, handler_key
from warpsight.engine.object_cache import ObjectCache
from warpsight.isa.ir import Blank, Imm, Neg, Reg, Special
from warpsight.lanes.types import LANES
from warpsight.semantics import Form, forms

FORMS = {f.name.partition(":")[0]: f for f in forms() if f.emit is not None}
LANE = np.arange(LANES, dtype=np.int64)


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def both(
    bench: Bench, form: Form, dst: Sequence[str], src: Sequence[str], pool: Sequence[int], rows: dict[int, Any], mask: int = 0xFFFFFFFF
) -> bytes:
    """Runs a form with both builders; returns the registers, which must be the same. `rows`: byte offset -> array."""

    def setup(regs: Any) -> None:
        regs[:] = 0x77
        for at, data in rows.items():
            raw = np.ascontiguousarray(data).view(np.uint8)
            regs[at : at + raw.size] = raw

    key = HandlerKey(form.name, tuple(dst), tuple(src))
    compiled, interpreted = (bench.run(form, key, pool, mask, setup, c) for c in (True, False))
    assert compiled == interpreted
    return compiled.regs


def at(regs: bytes, offset: int, dtype: str) -> Any:
    return np.frombuffer(regs, dtype, LANES, offset)


def test_immediate_is_read_at_run_time(bench: Bench) -> None:
    for value in (5, -3, 2**31):
        regs = both(bench, FORMS["add.s32"], ["r32"], ["r32", "i"], [0, ROW, value], {ROW: LANE.astype(np.int32)})
        assert at(regs, 0, "i4").tolist() == (LANE + value).astype(np.int32).tolist()


def test_64_bit_immediate(bench: Bench) -> None:
    regs = both(bench, FORMS["add.s64"], ["r64"], ["r64", "i"], [0, ROW, -(2**62) - 9], {ROW: LANE})
    assert at(regs, 0, "i8").tolist() == [-(2**62) - 9 + i for i in range(LANES)]


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x0000FFFE, 0x80000000])
def test_lanes_outside_the_mask_keep_their_values(bench: Bench, mask: int) -> None:
    regs = both(bench, FORMS["add.s64"], ["r64"], ["r64", "i"], [0, ROW, 1], {ROW: LANE}, mask)
    want = [i + 1 if mask >> i & 1 else 0x7777777777777777 for i in range(LANES)]
    assert at(regs, 0, "u8").tolist() == want
    regs = both(bench, FORMS["setp.ge.s32"], ["p", "_"], ["r32", "i"], [0, 0, ROW, 16], {ROW: LANE.astype(np.int32)}, mask)
    assert at(regs, 0, "u4")[0] == (0xFFFF0000 & mask) | (0x77777777 & ~mask)


def test_negated_predicate(bench: Bench) -> None:
    rows = {ROW: np.array([0x0000FFFF], np.uint32), 2 * ROW: LANE.astype(np.int32)}
    regs = both(bench, FORMS["selp.b32"], ["r32"], ["r32", "i", "!p"], [0, 2 * ROW, 99, ROW], rows)
    assert at(regs, 0, "i4").tolist() == [99] * 16 + list(range(16, 32))


@pytest.mark.parametrize(("name", "kind", "dtype", "expected"), [
    ("ld.global.s8", "r32", "i4", -1),  # PTX ISA, "Relaxed type-checking for destination operands": by the type's signedness
    ("ld.global.u8", "r32", "u4", 0xFF),
    ("ld.global.s16", "r64", "i8", -1),
    ("ld.global.b16", "r64", "u8", 0xFFFF),
    ("ld.global.s8", "r16", "i2", -1),
])  # fmt: skip
def test_wider_destination_is_extended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, kind: str, dtype: str, expected: int
) -> None:
    form = next(f for f in forms() if f.name.startswith(f"{name}:") and f.src[0].bits == 64)
    key = HandlerKey(form.name, (kind,), ("r64", "i"))

    def setup(regs: Any) -> None:
        regs[:] = 0x33
        regs[ROW : ROW + 256] = np.full(LANES, bench.address, np.uint64).view(np.uint8)

    monkeypatch.setattr(bench, "fill", np.full(GLOBAL_BYTES, 0xFF, np.uint8))
    outcomes = [bench.run(form, key, [0, ROW, 0], 0xFFFFFFFF, setup, c) for c in (True, False)]
    assert outcomes[0] == outcomes[1]
    assert at(outcomes[0].regs, 0, dtype).tolist() == [expected] * LANES


def test_wider_source_is_truncated(bench: Bench) -> None:
    form = next(f for f in forms() if f.name.startswith("st.global.b8:") and f.src[0].bits == 64)
    values = np.array([0x0102030405060700 + i for i in range(LANES)], np.uint64)

    def setup(regs: Any) -> None:
        regs[:] = 0
        regs[0:256] = (bench.address + LANE.astype(np.uint64)).view(np.uint8)
        regs[ROW : ROW + 256] = values.view(np.uint8)

    for compiled in (True, False):
        outcome = bench.run(form, HandlerKey(form.name, (), ("r64", "i", "r64")), [0, 0, ROW], 0xFFFFFFFF, setup, compiled)
        assert outcome.memory[:LANES] == bytes(range(LANES))


def test_special_registers(bench: Bench) -> None:
    expected = {"%laneid": LANE, "%tid.x": LANE, "%ntid.x": LANE * 0 + 32, "%nctaid.x": LANE * 0 + 3, "%tid.w": LANE * 0,
                "%cluster_nctarank": LANE * 0 + 1, "%lanemask_lt": (1 << LANE) - 1, "%lanemask_ge": 0xFFFFFFFF & -(1 << LANE),
                "%reserved_smem_offset_end": LANE * 0 + 1024,
                "%total_smem_size": LANE * 0 + 4096}  # fmt: skip
    for name, want in expected.items():
        regs = both(bench, FORMS["mov.u32"], ["r32"], [name], [0, 0], {})
        assert at(regs, 0, "u4").tolist() == want.astype(np.uint32).tolist(), name
    assert at(both(bench, FORMS["mov.u64"], ["r64"], ["%tid.x"], [0, 0], {}), 0, "u8").tolist() == LANE.tolist()


def test_keys_from_operands() -> None:
    form = FORMS["selp.b32"]
    key = handler_key(form, (Blank(),), (Reg("a", "f32"), Imm("int", 3), Neg(Reg("p", "pred"))))
    assert (key.dst, key.src) == (("_",), ("r32", "i", "!p"))
    assert handler_key(FORMS["mov.u32"], (Reg("a", "b32"),), (Special("%tid.x"),)).src == ("%tid.x",)


# The cache


def some_forms() -> list[tuple[HandlerKey, Form]]:
    names = ("add.s32", "sub.s32", "mul.lo.s32")
    return [(HandlerKey(FORMS[n].name, ("r32",), ("r32", "r32")), FORMS[n]) for n in names]


class CountingJit:
    """The process's Jit, counting compilations."""

    def __init__(self) -> None:
        from warpsight.lanes.jit import jit

        self.real, self.compiled = jit(), 0
        self.native_half, self.fingerprint, self.link = self.real.native_half, self.real.fingerprint, self.real.link

    def compile(self, text: str) -> bytes:
        self.compiled += 1
        return self.real.compile(text)


def table(folder: Path, most_bytes: int = 1 << 20) -> tuple[Handlers, CountingJit]:
    counting = CountingJit()
    return Handlers(counting, ObjectCache("test", folder, most_bytes)), counting  # type: ignore[arg-type]


def test_everything_missing_is_compiled_at_once_and_only_once(tmp_path: Path) -> None:
    handlers, counting = table(tmp_path)
    first = handlers.compile(some_forms())
    assert handlers.compile(some_forms()) == first
    assert counting.compiled == 1 and len(set(first.values())) == 3


def test_the_next_process_finds_the_code(tmp_path: Path) -> None:
    table(tmp_path)[0].compile(some_forms())
    handlers, counting = table(tmp_path)
    assert set(handlers.compile(some_forms()[:2])) == {k for k, _ in some_forms()[:2]}
    assert counting.compiled == 0


@pytest.mark.parametrize("damage", ["truncate", "flip", "header", "empty"])
def test_a_damaged_file_is_compiled_again(tmp_path: Path, damage: str) -> None:
    table(tmp_path)[0].compile(some_forms())
    (path,) = tmp_path.glob("*/*.o")
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[-40] ^= 0xFF
    path.write_bytes(bytes({"truncate": data[:-10], "flip": data, "header": b"\x00garbage\n" + data, "empty": b""}[damage]))
    handlers, counting = table(tmp_path)
    handlers.compile(some_forms())
    assert counting.compiled == 1
    handlers, counting = table(tmp_path)
    handlers.compile(some_forms())
    assert counting.compiled == 0


def test_the_cache_stays_within_its_size(tmp_path: Path) -> None:
    for key, form in some_forms():
        table(tmp_path, most_bytes=3000)[0].compile([(key, form)])
    assert sum(p.stat().st_size for p in tmp_path.glob("*/*.o")) <= 3000
    assert not list(tmp_path.glob("*/*.new"))


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    handlers, counting = table(blocked)
    assert len(handlers.compile(some_forms())) == 3
    assert counting.compiled == 1


def test_the_folder_comes_from_the_environment(tmp_path: Path) -> None:
    code = "from warpsight.engine.object_cache import cache_folder; print(cache_folder())"
    environment = {**os.environ, "WARPSIGHT_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path)

