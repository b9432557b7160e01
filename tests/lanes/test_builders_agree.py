"""For every form of the registry, machine code and the NumPy oracle give the same bits in registers and memory."""

from __future__ import annotations

import itertools
import zlib
from typing import Any

import numpy as np
import pytest

from tests.lanes.bench import ROW, Bench, natural_key
from warpsight.engine.handlers import HandlerKey, handlers
from warpsight.lanes.types import LANES, PRED, LaneType
from warpsight.semantics import Form, forms

FORMS = [f for f in forms() if f.emit is not None]
FAMILIES = {name: list(group) for name, group in itertools.groupby(FORMS, lambda f: f.name.partition(".")[0].partition(":")[0])}
EDGES = {
    8: (0, 1, 0x7F, 0x80, 0xFF),
    16: (0, 1, 2, 31, 0x7FFF, 0x8000, 0x8001, 0xFFFF, 0x7C00, 0x3C00, 0x0400, 0x03FF, 0x7E01, 0x7F80, 0x3F80),
    32: (0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0x7F800000, 0xFF800000, 0x7FC00001, 0x3F800000, 0x00800000,
    0x007FFFFF,
         0x4B000001, 0x4F000000),
    64: (0, 1, 2, 63, 64, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 0x7FF0000000000000, 0x3FF0000000000000,
    0x0010000000000000,
         0x7FF8000000000001, 0x43E0000000000000),
}
MASKS = (0xFFFFFFFF, 0x80000001, 0x0F0F7F10, 0x00000100)
PER_FAMILY = 64  # forms of one opcode tried in one run; which ones changes with the opcode's name, not with time


def lanes_of(rng: np.random.Generator, type: LaneType) -> bytes:
    """32 lanes of random values, a third of them edge values, another third small."""
    if type is PRED:
        return rng.bytes(4)
    size = type.bits // 8
    if type.bits == 128:
        return rng.bytes(LANES * 16)
    out = bytearray()
    for choice in rng.integers(0, 3, LANES):
        if choice == 0:
            out += int(rng.choice(np.array(EDGES[type.bits], np.uint64))).to_bytes(size, "little")
        elif choice == 1:
            out += int(rng.integers(0, 70)).to_bytes(size, "little")
        else:
            out += rng.bytes(size)
    return bytes(out)


def addresses(rng: np.random.Generator, bench: Bench, form: Form, base: LaneType) -> Any:
    """Aligned lane addresses inside the space, with collisions between lanes."""
    assert form.memory is not None
    size = form.memory.element_bytes * form.memory.elements
    space = form.memory.space
    room = {"local": 64, "param": 256}.get(space, 2048)
    offsets = rng.integers(0, min(room // size, 12), LANES).astype(np.uint64) * np.uint64(size)
    start = {"shared": 1024, "local": 0, "param": 0}.get(space, bench.address)
    if space == "generic" and rng.integers(0, 2):
        return np.where(np.arange(LANES) % 2 == 0, offsets + np.uint64(start), offsets + np.uint64(0x6000_0100_0000 + 1024))
    return offsets + np.uint64(start)


def check(bench: Bench, form: Form, key: HandlerKey, rng: np.random.Generator, mask: int) -> None:
    """One random trial of a form."""
    count = len(form.dst) + len(form.src)
    filling = [lanes_of(rng, t) for t in (*form.dst, *form.src)]
    if form.memory is not None:
        base = next(i for i, t in enumerate(form.src) if form.src[i + 1].name == "s64") + len(form.dst)
        width = form.src[base - len(form.dst)].bits
        filling[base] = addresses(rng, bench, form, form.src[base - len(form.dst)]).astype(f"u{width // 8}").tobytes()
        filling[base + 1] = bytes(8 * LANES)

    def setup(regs: Any) -> None:
        regs[:] = 0x5A
        for slot, data in enumerate(filling):
            regs[slot * ROW : slot * ROW + len(data)] = np.frombuffer(data, np.uint8)

    pool = [slot * ROW for slot in range(count)]
    compiled = bench.run(form, key, pool, mask, setup, True)
    interpreted = bench.run(form, key, pool, mask, setup, False)
    assert compiled.faulted == interpreted.faulted
    if compiled.faulted:  # a 32-bit address of global memory; what the destination holds then is nobody's
        compiled.regs = interpreted.regs = b""
    if compiled != interpreted:
        a, b = (np.frombuffer(o.regs, np.uint8).reshape(-1, ROW) for o in (compiled, interpreted))
        slots = [i for i in range(len(a)) if not np.array_equal(a[i], b[i])]
        lines = [f"slot {i}: {bytes(a[i][:128]).hex()}\n   numpy: {bytes(b[i][:128]).hex()}" for i in slots]
        inputs = [f"in {i}: {d.hex()}" for i, d in enumerate(filling)]
        pytest.fail("\n".join([f"{form.name} mask {mask:#x}", *lines, *inputs]))


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_builders_agree(family: str, bench: Bench) -> None:
    chosen = FAMILIES[family]
    rng = np.random.default_rng(zlib.crc32(family.encode()))
    if len(chosen) > PER_FAMILY:
        chosen = [chosen[i] for i in sorted(rng.choice(len(chosen), PER_FAMILY, replace=False))]
    handlers().compile([(natural_key(f), f) for f in chosen])
    for form in chosen:
        for mask in MASKS:
            check(bench, form, natural_key(form), rng, mask)
