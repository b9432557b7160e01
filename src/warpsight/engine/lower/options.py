"""What a lowering is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# Every pass that can be switched off, in the order in which they run.
PASSES = ("order", "unroll", "simplify", "fuse", "predicate", "vectorize", "coalesce", "price", "schedule")
ALL_PASSES = frozenset(PASSES)


@dataclass(frozen=True)
class LowerOptions:
    """`address_of(name)` gives the device address of a .global or .const variable of the module. `reserved_shared`: first byte of shared
    memory that a CTA may use (sm.reserved_shared of the GPU). `passes`: those to run, see `PASSES`; what a kernel computes does not
    depend on them.
    """

    address_of: Callable[[str], int]
    reserved_shared: int = 1024
    passes: frozenset[str] = ALL_PASSES

    def __post_init__(self) -> None:
        unknown = self.passes - ALL_PASSES
        assert not unknown, f"unknown passes {sorted(unknown)}"
