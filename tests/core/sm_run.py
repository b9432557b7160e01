"""Runs hand-made programs on the timing core and tells when what issued."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.core.timed_code import TimedCode, config
from warpsight import _core

# Instruction fetch out of the way: everything fits L0 and arrives at once.
FAST_FETCH = {
    "icache__l0_bytes": 1 << 20,
    "icache__l1_bytes": 1 << 20,
    "icache__second_bytes": 1 << 20,
    "icache__l1_latency": 1,
    "icache__second_latency": 1,
}


@dataclass(frozen=True)
class Issue:
    """An instruction that executed: cycle, CTA, warp (of its CTA) and SM, and the record's index."""

    cycle: int
    cta: int
    warp: int
    sm: int
    record: int


def trace(code: TimedCode) -> list[Issue]:
    """Makes every instruction of the program that has no function of its own note when it executes; the list fills as machines run."""
    seen: list[Issue] = []

    def note(record: int) -> Callable[[Any, int, Any], None]:
        inner = code.run.get(record)

        def run(regs: Any, mask: int, context: Any) -> None:
            special = context.special
            seen.append(Issue(special("clock"), special("ctaid_x"), special("warp_in_cta"), special("smid"), record))
            if inner is not None:
                inner(regs, mask, context)

        return run

    for record in range(len(code.records)):
        code.run[record] = note(record)
    return seen


def fixed(gpu: str = "mini", **overrides: Any) -> dict[str, Any]:
    """A GPU with fixed memory latencies and instructions always at hand."""
    return config(gpu, core__memory="fixed", **{**FAST_FETCH, **overrides})


def launch(
    code: TimedCode, flat: dict[str, Any], *, grid: int = 1, block: int = 32, machine: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """One launch on a fresh GPU."""
    result: dict[str, Any] = _core.Gpu(flat).launch(code.machine(_core.Memory(1 << 20), grid, block, **(machine or {})), **options)
    return result


def cycles_by_step(build: Callable[[TimedCode, int], None], flat: dict[str, Any], steps: int = 64, **options: Any) -> float:
    """Cycles that one more step costs: the difference between programs of `steps` and 2 * `steps`, so that starting costs cancel."""
    cycles = []
    for n in (steps, 2 * steps):
        code = TimedCode()
        build(code, n)
        code.exit()
        cycles.append(launch(code, flat, **options)["cycles"])
    return (cycles[1] - cycles[0]) / steps
