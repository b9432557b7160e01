"""From a parsed kernel and its arguments to a result: prepares (lowers, compiles) a kernel once, runs it, turns faults into errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arguments import pack
from ..errors import InputError
from ..isa import ir
from ..launch import Dim3, Occupancy, Resources, Shape, check, dim3, occupancy, threads_of
from ..report.result import LaunchResult, Lines
from . import faults

if TYPE_CHECKING:
    from ..device import Device
    from ..module import Module
    from .program import ProgramImage

ProgressHook = Callable[[int, int, int], None]  # (warp instructions, CTAs done, CTAs)


@dataclass(frozen=True, slots=True)
class Options:
    """Of one launch; see Kernel.launch."""

    shared: int = 0
    samples: int = 0
    lines: bool = False
    budget_instructions: int | None = None
    budget_seconds: float | None = None
    cold: bool = False
    progress: ProgressHook | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel ready to run on one device. `program` is a _core.Program; `interpreter` executes its records when there are no handlers."""

    image: ProgramImage
    program: Any
    interpreter: Callable[[int, Any, int, Any], None] | None
    resources: Resources


def prepare(module: Module, entry: ir.Kernel) -> Prepared:
    """Lowers and compiles a kernel. Raises UnsupportedInstruction."""
    from .lower import LowerOptions, lower

    device = module.device
    options = LowerOptions(module.addresses.__getitem__, device.model.integer("sm.reserved_shared"))
    image = lower(entry, module.ptx, options)
    raise NotImplementedError


def launch(module: Module, entry: ir.Kernel, prepared: Prepared, grid: Shape, block: Shape, args: Sequence[Any], options: Options) -> LaunchResult:
    """Runs a prepared kernel to its end. Raises as Kernel.launch says."""
    device = module.device
    if not device.timing and (options.samples or options.lines and device.interpreter == "numpy"):
        raise InputError("samples need a device with timing")
    shape = _Launch(dim3(grid, "grid"), dim3(block, "block"), options.shared)
    check(entry.name, device.model, prepared.resources, shape.grid, shape.block, shape.shared)
    params = pack(entry, args, device)
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class _Launch:
    grid: Dim3
    block: Dim3
    shared: int
