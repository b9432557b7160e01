"""Hand-made programs for the functional machine: records by field name, and an interpreter in plain Python for what they compute.

Tests of the engine's control flow use these instead of PTX, so that they depend on nothing but core/exec.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from warpsight import _core

KINDS = {
    name: i
    for i, name in enumerate(
        [
            "alu",
            "memory",
            "branch",
            "brx",
            "call",
            "calli",
            "ret",
            "exit",
            "trap",
            "brkpt",
            "barrier",
            "warpsync",
            "syncalu",
            "fence",
            "sleep",
            "nop",
        ]
    )
}
NO_GUARD = -1
ROW = 128

# handler operands guard target aux uses address line timing n_operands kind flags n_reads n_writes sub space op cache bytes scope element
_LAYOUT = struct.Struct("<QIiIIIIIHHBBBBBBBBBBB13x")


@dataclass
class Code:
    """`emit("alu", run=f)`: f(regs, mask, context) is called when the record executes; regs is the frame's bytes."""

    records: list[bytes] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    run: dict[int, Callable[[Any, int, Any], None]] = field(default_factory=dict)

    def emit(
        self,
        kind: str,
        *operands: int,
        run: Callable[[Any, int, Any], None] | None = None,
        guard: int = NO_GUARD,
        flags: int = 0,
        target: int = 0,
        aux: int = 0,
        sub: int = 0,
        space: int = 0,
        op: int = 0,
        cache: int = 0,
        nbytes: int = 0,
    ) -> int:
        index = len(self.records)
        first = len(self.operands)
        self.operands.extend(operands)
        self.records.append(
            _LAYOUT.pack(
                0,
                first,
                guard,
                target,
                aux,
                0,
                16 * index,
                index,
                0,
                len(operands),
                KINDS[kind],
                flags,
                0,
                0,
                sub,
                space,
                op,
                cache,
                nbytes,
                0,
                nbytes,
            )
        )
        if run:
            self.run[index] = run
        return index

    def patch_target(self, index: int, target: int) -> None:
        r = bytearray(self.records[index])
        struct.pack_into("<I", r, 16, target)
        self.records[index] = bytes(r)

    def machine(
        self,
        memory: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        *,
        frame: int = 1024,
        stack: int = 2048,
        shared: int = 0,
        local: int = 0,
        params: bytes = b"",
    ) -> Any:
        sizes = {"frame_bytes": frame, "stack_bytes": stack, "registers": 16, "barriers": 1, "local_bytes": local, "static_shared": shared}
        program = _core.Program(
            "test",
            np.frombuffer(b"".join(self.records), np.uint8),
            np.array(self.operands or [0], np.int64),
            np.zeros(1, np.uint16),
            np.array(self.table or [0], np.uint32),
            [""],
            sizes,
        )
        m = _core.Machine(program, memory, grid, block, 0, params, 0)

        def interpret(record: int, regs: Any, mask: int, context: Any) -> None:
            if record in self.run:
                self.run[record](regs, mask, context)

        m.interpret_with(interpret)
        return m


def row(regs: Any, offset: int) -> Any:
    """The 32 lanes (uint32) of the register row at a byte offset."""
    return regs[offset : offset + ROW].view(np.uint32)


def lanes(mask: int) -> Any:
    return np.array([bool(mask >> i & 1) for i in range(32)])


def set_pred(regs: Any, offset: int, bits: Any, mask: int) -> None:
    p = regs[offset : offset + 4].view(np.uint32)
    value = sum(1 << i for i in range(32) if bits[i])
    p[0] = (int(p[0]) & ~mask & 0xFFFFFFFF) | (value & mask)
