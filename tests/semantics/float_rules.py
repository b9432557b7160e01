"""Runs one PTX form on columns of operand bits, with either builder, for tests of floating-point semantics."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from warpsight.engine.handlers import handler_key, handlers
from warpsight.isa import ir
from warpsight.lanes.numpy_builder import NumpyBuilder
from warpsight.lanes.types import LANES, PRED, LaneType
from warpsight.semantics import Resolved, resolve

Bits = npt.NDArray[np.uint64]
BUILDERS = ("numpy", "llvm")
ROW = 256  # bytes: 32 lanes of 8
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)


@lru_cache(maxsize=4096)
def form(spelling: str, dst: tuple[str, ...], src: tuple[str, ...]) -> Resolved:
    """The form of `spelling` on registers of the given types; two destinations are written `d|p`."""
    opcode, *modifiers = spelling.split(".")
    to: list[ir.Operand] = [ir.Reg(f"%d{i}", t) for i, t in enumerate(dst)]
    first = ir.Pair(to[0], to[1]) if len(to) == 2 else to[0]
    return resolve(ir.Instruction(opcode, tuple(modifiers), (first, *(ir.Reg(f"%s{i}", t) for i, t in enumerate(src))), None, 1))


def run(builder: str, spelling: str, dst: Sequence[str], src: Sequence[str], columns: Sequence[Bits]) -> list[Bits]:
    """Columns of results. Operands are bits in the low end of uint64; predicates are 0 or 1."""
    found = form(spelling, tuple(dst), tuple(src))
    return _interpreted(found, dst, columns) if builder == "numpy" else _compiled(found, dst, src, columns)


def _unsigned(type: LaneType) -> LaneType:
    return LaneType("u", type.bits)


def _interpreted(found: Resolved, dst: Sequence[str], columns: Sequence[Bits]) -> list[Bits]:
    assert found.form.emit is not None
    b = NumpyBuilder(lanes=len(columns[0]))
    values = []
    for type, column in zip(found.form.src, columns, strict=True):
        if type == PRED:
            values.append(b.value(PRED, column != 0))
        else:
            values.append(b.value(_unsigned(type), column.astype(f"u{type.bits // 8}")).bits(type))
    results = list(found.form.emit(b, values))[: len(dst)]
    return [
        r.handle.astype(np.uint64) if r.type == PRED else _extended(b, r.bits(_unsigned(r.type)), r.type, t)
        for r, t in zip(results, dst, strict=True)
    ]


def _extended(b: NumpyBuilder, bits: object, type: LaneType, register: str) -> Bits:
    """A result in a register that may be wider."""
    handle = bits.handle  # type: ignore[attr-defined]
    width = int(register[1:])
    wide = handle.view(f"i{type.bits // 8}").astype(np.int64).view(np.uint64) if type.signed else handle.astype(np.uint64)
    return wide & np.uint64((1 << width) - 1) if width < 64 else wide


def _compiled(found: Resolved, dst: Sequence[str], src: Sequence[str], columns: Sequence[Bits]) -> list[Bits]:
    key = handler_key(found.form, found.dst, found.src)
    function = _FUNCTION(handlers().compile([(key, found.form)])[key])
    count, slots = len(columns[0]), len(found.dst) + len(columns)
    store = np.zeros(ROW * slots + 64, np.uint8)
    start = -store.ctypes.data % 64
    regs = store[start : start + ROW * slots].reshape(slots, ROW)
    pool = np.arange(0, ROW * slots, ROW, dtype=np.int64)
    results: list[list[Bits]] = [[] for _ in dst]
    for at in range(0, count, LANES):
        for slot, (register, column) in enumerate(zip(src, columns, strict=True), len(found.dst)):
            part = np.zeros(LANES, np.uint64)
            part[: len(column[at : at + LANES])] = column[at : at + LANES]
            if register == "pred":
                regs[slot, :4] = np.packbits(part.astype(bool), bitorder="little")
            else:
                size = int(register[1:]) // 8
                regs[slot, : LANES * size] = part.astype(f"u{size}").view(np.uint8)
        function(regs.ctypes.data, pool.ctypes.data, 0xFFFFFFFF, None)
        for slot, register in enumerate(dst):
            if register == "pred":
                results[slot].append(np.unpackbits(regs[slot, :4].copy(), bitorder="little").astype(np.uint64))
            else:
                size = int(register[1:]) // 8
                results[slot].append(regs[slot, : LANES * size].copy().view(f"u{size}").astype(np.uint64))
    return [np.concatenate(r)[:count] for r in results]


def pairs(a: Sequence[int], b: Sequence[int]) -> list[Bits]:
    x, y = np.array(a, np.uint64), np.array(b, np.uint64)
    return [np.repeat(x, len(y)), np.tile(y, len(x))]


def triples(a: Sequence[int]) -> list[Bits]:
    x = np.array(a, np.uint64)
    n = len(x)
    return [np.repeat(x, n * n), np.tile(np.repeat(x, n), n), np.tile(x, n * n)]


def show(spelling: str, columns: Sequence[Bits], got: Bits, want: Bits) -> str:
    """The first differences, for a failing test; "" if there are none."""
    wrong = np.flatnonzero(got != want)
    lines = [
        f"{spelling} {', '.join(hex(int(c[i])) for c in columns)}: got {int(got[i]):#x}, expected {int(want[i]):#x}" for i in wrong[:5]
    ]
    return "\n".join([f"{len(wrong)} of {len(got)} differ", *lines]) if lines else ""
