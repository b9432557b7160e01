"""A form: one way an opcode can be spelt (opcode, modifiers, types), with what it reads, writes and means.

`semantics.resolve(instruction)` gives the form and the instruction's operands flattened to match it. Lowering turns the operands into rows
and immediates; `engine/handlers.py` compiles `emit` once per form and operand kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..isa.ir import Operand
from ..lanes.builder import Builder, Value
from ..lanes.types import LaneType


class Kind(IntEnum):
    """What the engine does besides calling the handler; same numbers as `Kind` in core/exec/record.h."""

    ALU = 0
    MEMORY = 1
    BRANCH = 2
    BRANCH_INDEXED = 3
    CALL = 4
    CALL_INDIRECT = 5
    RETURN = 6
    EXIT = 7
    TRAP = 8
    BREAKPOINT = 9
    BARRIER = 10
    WARP_SYNC = 11
    SYNC_ALU = 12
    FENCE = 13
    SLEEP = 14
    NOP = 15


@dataclass(frozen=True, slots=True)
class MemoryInfo:
    """Of a MEMORY form. `space` as in `Builder.load`; `op`: load store atomic reduction prefetch; `element_bytes` x `elements` a lane.

    `cache_op`: ca cg cs lu cv nc wb wt volatile relaxed acquire release (names of CacheOp in record.h); `scope`: cta cluster gpu sys.
    """

    space: str
    op: str
    element_bytes: int
    elements: int = 1
    cache_op: str = "ca"
    scope: str = "cta"


@dataclass(frozen=True, slots=True)
class Form:
    """`name` identifies the meaning (canonical spelling, cache key). `emit(builder, sources) -> destinations`, None for pure control.

    `dst` and `src` are the types of the flattened operands: vectors and pairs are spread out; an address `[base+offset]` is two sources,
    the base (U64, or U32 for 32-bit shared/local/param addresses, chosen by the register) and the offset (an immediate, S64); memory forms
    add them. `sync_mask`: index in `src` of the member mask of a SYNC_ALU/WARP_SYNC form. `sub` and `scope`: see record.h.
    `whole_warp`: waits until all lanes of the warp that have not exited are there (`.aligned` instructions of the warp).
    `writes_pred`/types PRED are predicates. `pure`: no effect besides its destinations (may be removed when unused, moved, computed twice).
    """

    name: str
    kind: Kind
    dst: tuple[LaneType, ...]
    src: tuple[LaneType, ...]
    emit: Callable[[Builder, Sequence[Value]], Sequence[Value]] | None
    memory: MemoryInfo | None = None
    sync_mask: int | None = None
    sub: int = 0
    scope: str = "cta"
    pure: bool = True
    whole_warp: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """An instruction's form with its operands in the form's order. A destination may be ir.Blank (sink)."""

    form: Form
    dst: tuple[Operand, ...]
    src: tuple[Operand, ...]
