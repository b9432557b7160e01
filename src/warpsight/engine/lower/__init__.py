"""Lowering: a parsed kernel to a program. `lower` is the way in; every pass is a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import ALL_PASSES, PASSES, LowerOptions

if TYPE_CHECKING:
    from ...isa.ir import Kernel
    from ...isa.ptx import PtxModule
    from ..program import ProgramImage


def lower(kernel: Kernel, module: PtxModule, options: LowerOptions) -> ProgramImage:
    """The program of an entry with all device functions it calls. Raises UnsupportedInstruction."""
    from .pipeline import lower_entry  # loads llvmlite, which `import warpsight` need not wait for

    return lower_entry(kernel, module, options)


__all__ = ["ALL_PASSES", "PASSES", "LowerOptions", "lower"]
