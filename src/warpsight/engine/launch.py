"""From a parsed kernel and its arguments to a result: prepares (lowers, compiles) a kernel once, runs it, turns faults into errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arguments import pack
from ..errors import InputError
from ..isa import ir
from ..launch import Dim3, Resources, Shape, check, dim3, occupancy, threads_of
from ..report.result import LaunchResult, Lines
from . import faults
from .lower.layout import offsets_of

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
    """A kernel ready to run on one device. `program` is a _core.Program, `interpret` executes its records when it has no compiled
    handlers.
    """

    image: ProgramImage
    program: Any
    interpret: Callable[..., None] | None
    resources: Resources


def prepare(module: Module, entry: ir.Kernel) -> Prepared:
    """Lowers and compiles a kernel. Raises UnsupportedInstruction."""
    from .handlers import handlers  # with llvmlite, which `import warpsight` need not wait for
    from .lower import LowerOptions, lower

    device = module.device
    image = lower(entry, module.ptx, LowerOptions(module.addresses.__getitem__, device.model.integer("sm.reserved_shared")))
    compiled = handlers().compile(image.wanted().items()) if device.interpreter == "llvm" else {}
    interpret = image.interpreter() if device.interpreter == "numpy" else None
    return Prepared(image, image.bind(compiled), interpret, _resources(device, entry, image))


def _resources(device: Device, entry: ir.Kernel, image: ProgramImage) -> Resources:
    """Registers are an estimate of what ptxas would allocate; where a directive holds ptxas to fewer, it would spill instead."""
    sizes, directives = image.sizes, entry.directives
    registers = sizes.registers
    if "maxnreg" in directives:
        registers = min(registers, directives["maxnreg"][0])
    most = directives.get("reqntid") or directives.get("maxntid")
    if most:
        warps = -(-threads_of(dim3(most, ".maxntid")) // device.model.integer("device.warp_size"))
        unit = device.model.integer("device.register_allocation_unit")
        a_warp = device.model.integer("device.max_registers_per_block") // warps // unit * unit
        registers = min(registers, a_warp // device.model.integer("device.warp_size"))
    params = offsets_of(entry.params)[1]
    return Resources(registers, sizes.static_shared, sizes.local_bytes, params, sizes.barriers, directives)


def launch(
    module: Module, entry: ir.Kernel, prepared: Prepared, grid: Shape, block: Shape, args: Sequence[Any], options: Options
) -> LaunchResult:
    """Runs a prepared kernel to its end. Raises as Kernel.launch says."""
    device = module.device
    if options.samples and not device.timing:
        raise InputError("samples need a device with timing")
    run = _Run(module, entry, prepared, dim3(grid, "grid"), dim3(block, "block"), options)
    check(entry.name, device.model, prepared.resources, run.grid, run.block, options.shared)
    params = pack(entry, args, device)
    reserved = device.model.integer("sm.reserved_shared")
    machine = _core.Machine(prepared.program, device.memory, run.grid, run.block, options.shared, params, reserved)
    if prepared.interpret is not None:
        machine.interpret_with(prepared.interpret)
    return run.functional(machine)


class _Run:
    """One launch on its way."""

    def __init__(self, module: Module, entry: ir.Kernel, prepared: Prepared, grid: Dim3, block: Dim3, options: Options) -> None:
        self.device, self.entry, self.prepared, self.options = module.device, entry, prepared, options
        self.grid, self.block = grid, block
        self.file = entry.file
        self.stopped = ""  # which budget ended the kernel

    def functional(self, machine: Any) -> LaunchResult:
        fit = self._occupancy()
        if self.options.lines:
            machine.count_records()
        start = time.perf_counter()
        resident = fit.ctas * self.device.model.integer("device.sms")
        finished = self._guarded(machine, lambda: machine.run(resident, self.options.budget_instructions or 0, self._poll(start)))
        if not finished:
            raise self._timeout(machine, machine.executed)
        lines = self._lines({"executions": np.asarray(machine.per_record)}) if self.options.lines else None
        return self._result(machine.executed, machine.thread_executed, time.perf_counter() - start, lines=lines)

    def _guarded(self, machine: Any, run: Callable[[], Any]) -> Any:
        """Calls run(); a fault in the kernel comes out as the error that says all about it."""
        try:
            return run()
        except _core.KernelFault as fault:
            image, sizes = self.prepared.image, self.prepared.image.sizes
            shared = self.device.model.integer("sm.reserved_shared") + sizes.static_shared + self.options.shared
            raise faults.kernel_error(
                fault.args[0], self.entry.name, self.file, image, self.device.memory, machine.places(), shared
            ) from None

    def _poll(self, start: float) -> Callable[[int, int], bool]:
        """What the core calls now and then: reports progress, stops the kernel when its time is over."""
        seconds, progress, total = self.options.budget_seconds, self.options.progress, self.grid[0] * self.grid[1] * self.grid[2]

        def poll(executed: int, ctas_done: int) -> bool:
            if progress is not None:
                progress(executed, ctas_done, total)
            if seconds is not None and time.perf_counter() - start > seconds:
                self.stopped = f"its budget of {seconds:g} seconds is used up"
                return False
            return True

        return poll

    def _timeout(self, machine: Any, executed: int) -> Exception:
        why = self.stopped or f"its budget of {self.options.budget_instructions:,} instructions is used up"
        return faults.timeout_error(self.entry.name, self.file, self.prepared.image, machine.places(), executed, why)

    def _occupancy(self) -> Any:
        return occupancy(self.device.model, self.prepared.resources, threads_of(self.block), self.options.shared)

    def _lines(self, counts: dict[str, Any]) -> Lines:
        image = self.prepared.image
        records = range(len(image.records))
        sources = [f"{loc.file}:{loc.line}" if (loc := image.source(i)) else "" for i in records]
        return Lines([image.text(i) for i in records], np.array([image.ptx_line(i) for i in records]), sources, counts)

    def _result(self, warp_instructions: int, thread_instructions: int, seconds: float, **timed: Any) -> LaunchResult:
        fit, needs = self._occupancy(), self.prepared.resources
        return LaunchResult(
            kernel=self.entry.name,
            gpu=self.device.name,
            grid=self.grid,
            block=self.block,
            registers=needs.registers,
            shared_bytes=needs.static_shared + self.options.shared,
            ctas_per_sm=fit.ctas,
            occupancy_limit=fit.limit,
            warp_instructions=warp_instructions,
            thread_instructions=thread_instructions,
            host_seconds=seconds,
            **timed,
        )
