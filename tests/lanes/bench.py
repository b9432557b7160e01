"""A warp to run single forms on, with both builders: registers, a context, memory of every space.

The bench calls a compiled handler or the NumPy interpreter inside a real machine (one CTA of one warp), so that both see the same context
and the same memory checks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from warpsight import _core
from warpsight.engine.handlers import HandlerKey, handlers, interpret
from warpsight.lanes.types import LANES, PRED, LaneType
from warpsight.semantics import Form

ROW = 512  # bytes of a row slot: enough for 32 x 16 bytes
SLOTS = 24
GLOBAL_BYTES, SHARED_BYTES, LOCAL_BYTES, PARAM_BYTES = 4096, 4096, 64, 256
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)


def natural_kind(type: LaneType) -> str:
    return "p" if type is PRED else f"r{type.bits}"


def natural_key(form: Form) -> HandlerKey:
    """Every operand in a register of its own width."""
    return HandlerKey(form.name, tuple(map(natural_kind, form.dst)), tuple(map(natural_kind, form.src)))


@dataclass
class Outcome:
    regs: bytes
    memory: bytes
    shared: bytes
    local: bytes
    faulted: bool


class Bench:
    """`run` executes one form; `address` is where its global memory starts, `fill` and `shared_fill` are what memory holds at first."""

    def __init__(self) -> None:
        self.memory = _core.Memory(1 << 30)
        self.address = self.memory.allocate(GLOBAL_BYTES)
        self.fill = pattern(GLOBAL_BYTES, 3)  # what global memory holds before the instruction
        self.shared_fill = pattern(SHARED_BYTES, 5)

    def inside(self, body: Callable[[Any, Any], None]) -> None:
        """Calls body(regs, context) in a warp that executes one instruction."""
        records = np.zeros(2 * 64, np.uint8)
        for index, kind in enumerate((0, 7)):  # Alu, Exit
            records[64 * index + 12 : 64 * index + 16] = np.frombuffer(np.int32(-1).tobytes(), np.uint8)  # no guard
            records[64 * index + 40] = kind
        sizes = {"frame_bytes": ROW * SLOTS, "stack_bytes": ROW * SLOTS, "registers": 16, "barriers": 0, "local_bytes": LOCAL_BYTES}
        sizes["static_shared"] = SHARED_BYTES
        program = _core.Program("bench", records, np.zeros(1, np.int64), np.zeros(1, np.uint16), np.zeros(1, np.uint32), [""], sizes)
        params = bytes(i * 7 & 0xFF for i in range(PARAM_BYTES))
        machine = _core.Machine(program, self.memory, (3, 1, 1), (32, 1, 1), 0, params, 1024)
        machine.interpret_with(lambda record, regs, mask, context: body(regs, context) if record == 0 else None)
        machine.run(1)

    def run(self, form: Form, key: HandlerKey, pool: Sequence[int], mask: int, setup: Callable[[Any], None], compiled: bool) -> Outcome:
        """Registers and memory after one instruction. `setup(regs)` fills the registers, memory is filled with a pattern."""
        address = handlers().compile([(key, form)])[key] if compiled else 0
        operands = np.array([*pool, 0], np.int64)
        found: list[Outcome] = []

        def body(regs: Any, context: Any) -> None:
            if found:
                return  # of the other CTAs
            setup(regs)
            self.memory.write(self.address, self.fill)
            shared = self._slice(context, 1, 1024, SHARED_BYTES, self.shared_fill)
            local = self._local(context, pattern(LOCAL_BYTES * LANES, 9))
            if compiled:
                _FUNCTION(address)(regs.ctypes.data, operands.ctypes.data, mask, context.address)
            else:
                interpret(form, key, regs, operands, mask, context)
            faulted = bool(context.faulted)
            _clear_fault(context)
            found.append(Outcome(regs.tobytes(), self.memory.read(self.address, GLOBAL_BYTES), shared(), local(), faulted))

        self.inside(body)
        return found[0]

    def _slice(self, context: Any, space: int, start: int, size: int, data: Any) -> Callable[[], bytes]:
        at = np.uint64(start) + np.arange(size // 8, dtype=np.uint64).reshape(-1, LANES) * np.uint64(8)
        for row in at:
            first = int(row[0]) - start
            context.store(space, np.ascontiguousarray(row), 0xFFFFFFFF, 8, 1, np.ascontiguousarray(data[first : first + LANES * 8]))
        return lambda: b"".join(context.load(space, np.ascontiguousarray(row), 0xFFFFFFFF, 8, 1).tobytes() for row in at)

    def _local(self, context: Any, data: Any) -> Callable[[], bytes]:
        rows = [np.full(LANES, offset, np.uint64) for offset in range(0, LOCAL_BYTES, 8)]
        for i, row in enumerate(rows):
            context.store(2, row, 0xFFFFFFFF, 8, 1, np.ascontiguousarray(data[i * LANES * 8 : (i + 1) * LANES * 8]))
        return lambda: b"".join(context.load(2, row, 0xFFFFFFFF, 8, 1).tobytes() for row in rows)


def pattern(size: int, step: int) -> Any:
    """Bytes that differ from place to place."""
    return (np.arange(size, dtype=np.uint32) * np.uint32(2654435761 * step & 0xFFFFFFFF) >> np.uint32(24)).astype(np.uint8)


def _clear_fault(context: Any) -> None:
    fields = _core.context_fields()
    scratch = ctypes.c_uint64.from_address(context.address + fields["scratch"][0]).value
    ctypes.c_uint32.from_address(scratch + fields["scratch_fields"]["fault"]).value = 0
