"""Hand-made programs for the timing core: instructions by operation class and registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.core.machine_code import _LAYOUT, KINDS, NO_GUARD, ROW
from warpsight import _core
from warpsight.model.files import load_gpu

PREDICATE = 0x8000
FRAME, STACK = 4096, 4096
FIRST_PREDICATE = FRAME - 128  # byte offset of predicate 0 in the frame

# The classes that tests use: pipe, latency, interval. `half` is a pipe that takes an instruction every other cycle.
OPS = {
    "add": ("alu", 4, 1), "half": ("alu", 4, 2), "fma": ("fma", 4, 2), "imad": ("fmaheavy", 4, 2), "mufu": ("xu", 18, 8),
    "bra": ("cbu", 10, 1), "exit": ("cbu", 1, 1), "bar": ("adu", 1, 1), "ld": ("lg", 30, 1), "lds": ("mio", 20, 1),
    "fence": ("adu", 1, 1), "sleep": ("cbu", 1, 1),
}  # fmt: skip


def config(gpu: str = "mini", ops: dict[str, tuple[str, int, int]] | None = None, **overrides: Any) -> dict[str, Any]:
    """A GPU's flat model with this file's classes. Overrides are keys with __ for the dot: core__memory="fixed"."""
    flat = load_gpu(gpu).flat()
    rows = OPS if ops is None else ops
    flat = {key: value for key, value in flat.items() if not key.startswith("op.")}
    flat["op"] = list(rows)
    for name, (pipe, latency, interval) in rows.items():
        flat[f"op.{name}.pipe"], flat[f"op.{name}.latency"], flat[f"op.{name}.interval"] = pipe, latency, interval
    for key, value in overrides.items():
        assert key.replace("__", ".") in flat, key
        flat[key.replace("__", ".")] = value
    return flat


@dataclass
class TimedCode:
    """`op("fma", reads=[1, 2], writes=[3])` appends an instruction; registers are 32-bit units, predicates `PREDICATE | n`."""

    records: list[bytes] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    timing: list[str] = field(default_factory=list)
    run: dict[int, Callable[[Any, int, Any], None]] = field(default_factory=dict)
    address: int = 0

    def op(
        self, timing: str, *operands: int, reads: Sequence[int] = (), writes: Sequence[int] = (), kind: str = "alu",
        guard: int = NO_GUARD, run: Callable[[Any, int, Any], None] | None = None, target: int = 0, aux: int = 0, sub: int = 0,
        space: int = 0, op: int = 0, nbytes: int = 0, slots: int = 1,
    ) -> int:  # fmt: skip
        """`guard`: number of a predicate. `slots`: issue slots of the timing entry, for the code's layout. Returns the record's index."""
        index = len(self.records)
        first, first_use = len(self.operands), len(self.uses)
        self.operands.extend(operands)
        reads = [*reads, PREDICATE | guard] if guard != NO_GUARD else list(reads)
        self.uses.extend([*reads, *writes])
        if timing not in self.timing:
            self.timing.append(timing)
        offset = FIRST_PREDICATE + 4 * guard if guard != NO_GUARD else NO_GUARD
        self.records.append(_LAYOUT.pack(
            0, first, offset, target, aux, first_use, self.address, index + 1, self.timing.index(timing), len(operands), KINDS[kind],
            0, len(reads), len(writes), sub, space, op, 0, nbytes, 0, nbytes,
        ))  # fmt: skip
        self.address += 16 * slots
        if run:
            self.run[index] = run
        return index

    def exit(self) -> None:
        self.op("exit", kind="exit")

    def load(
        self, address: Callable[[Any], Any], reads: Sequence[int] = (), writes: Sequence[int] = (), timing: str = "ld", space: int = 0
    ) -> int:
        """`address(context)` gives the 32 lane addresses of 4-byte words."""

        def run(regs: Any, mask: int, context: Any) -> None:
            context.load(space, np.asarray(address(context), np.uint64), mask, 4, 1)

        return self.op(timing, reads=reads, writes=writes, kind="memory", run=run, space=space, op=1, nbytes=4)

    def store(self, address: Callable[[Any], Any], reads: Sequence[int] = (), timing: str = "ld", space: int = 0) -> int:
        def run(regs: Any, mask: int, context: Any) -> None:
            context.store(space, np.asarray(address(context), np.uint64), mask, 4, 1, np.zeros(128, np.uint8))

        return self.op(timing, reads=reads, kind="memory", run=run, space=space, op=2, nbytes=4)

    def machine(self, memory: Any, grid: int = 1, block: int = 32, *, registers: int = 16, shared: int = 0, dynamic: int = 0) -> Any:
        sizes = {
            "frame_bytes": FRAME, "stack_bytes": STACK, "registers": registers, "barriers": 1, "local_bytes": 0, "static_shared": shared,
        }  # fmt: skip
        program = _core.Program(
            "test", np.frombuffer(b"".join(self.records), np.uint8), np.array(self.operands or [0], np.int64),
            np.array(self.uses or [0], np.uint16), np.zeros(1, np.uint32), self.timing, sizes,
        )  # fmt: skip
        machine = _core.Machine(program, memory, (grid, 1, 1), (block, 1, 1), dynamic, b"", 0)
        if self.run:

            def interpret(record: int, regs: Any, mask: int, context: Any) -> None:
                if record in self.run:
                    self.run[record](regs, mask, context)

            machine.interpret_with(interpret)
        return machine


def set_predicate(regs: Any, number: int, bits: int) -> None:
    """Gives predicate `number` of the frame the lane bits."""
    offset = FIRST_PREDICATE + 4 * number
    regs[offset : offset + 4].view(np.uint32)[0] = bits


def counter(result: dict[str, Any], name: str) -> float:
    return float(result["counters"][name + ".sum"])


assert STACK % ROW == 0
