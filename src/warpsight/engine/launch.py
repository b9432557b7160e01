"""From a parsed kernel and its arguments to a result: prepares (lowers, compiles) a kernel once, runs it, turns faults into errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..arguments import pack
from ..errors import ConfigError, InputError, KernelTimeout, LaunchError
from ..isa import ir
from ..launch import Dim3, Resources, Shape, check, dim3, threads_of
from ..report.counters import Counters
from ..report.result import LaunchResult, Lines, Samples
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
    """A kernel ready to run on one device. `program` is a _core.Program, `interpret` executes its records when it has no handlers.

    `fits`: (CTAs an SM holds, what bounds them) by (threads of a CTA, dynamic shared memory), filled as launches ask.
    """

    image: ProgramImage
    program: Any
    interpret: Callable[..., None] | None
    resources: Resources
    fits: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict)


def prepare(module: Module, entry: ir.Kernel) -> Prepared:
    """Lowers and compiles a kernel. Raises UnsupportedInstruction."""
    from .handlers import handlers  # with llvmlite, which `import warpsight` need not wait for
    from .lower import LowerOptions, lower

    device = module.device
    image = lower(entry, module.ptx, LowerOptions(module.addresses.__getitem__, device.model.integer("sm.reserved_shared")))
    image = replace(image, sizes=replace(image.sizes, registers=_registers(device, entry, image)))
    compiled = handlers().compile(image.wanted().items()) if device.interpreter == "llvm" else {}
    interpret = image.interpreter() if device.interpreter == "numpy" else None
    sizes, params = image.sizes, offsets_of(entry.params)[1]
    needs = Resources(sizes.registers, sizes.static_shared, sizes.local_bytes, params, sizes.barriers, entry.directives)
    return Prepared(image, image.bind(compiled), interpret, needs)


def _registers(device: Device, entry: ir.Kernel, image: ProgramImage) -> int:
    """The lowering's estimate of what ptxas would allocate; where it has fewer, it would spill instead."""
    directives = entry.directives
    registers = min(image.sizes.registers, device.model.integer("device.max_registers_per_thread"))
    if "maxnreg" in directives:
        registers = min(registers, directives["maxnreg"][0])
    most = directives.get("reqntid") or directives.get("maxntid")
    if most:
        warp, unit = device.model.integer("device.warp_size"), device.model.integer("device.register_allocation_unit")
        warps = -(-threads_of(dim3(most, ".maxntid")) // warp)
        registers = min(registers, device.model.integer("device.max_registers_per_block") // warps // unit * unit // warp)
    return registers


def launch(
    module: Module, entry: ir.Kernel, prepared: Prepared, grid: Shape, block: Shape, args: Sequence[Any], options: Options
) -> LaunchResult:
    """Runs a prepared kernel to its end. Raises as Kernel.launch says."""
    device = module.device
    if options.samples and not device.timing:
        raise InputError("samples need a device with timing")
    sizes = dim3(grid, "grid"), dim3(block, "block")
    check(entry.name, device.model, prepared.resources, *sizes, options.shared)
    params = pack(entry, args, device)
    run = _Run(module, entry, prepared, *sizes, options)
    reserved = device.model.integer("sm.reserved_shared")
    machine = _core.Machine(prepared.program, device.memory, run.grid, run.block, options.shared, params, reserved)
    if prepared.interpret is not None:
        machine.interpret_with(prepared.interpret)
    return run.timed(machine) if device.timing else run.functional(machine)


class _Run:
    """One launch on its way."""

    def __init__(self, module: Module, entry: ir.Kernel, prepared: Prepared, grid: Dim3, block: Dim3, options: Options) -> None:
        self.device, self.entry, self.prepared, self.options = module.device, entry, prepared, options
        self.grid, self.block = grid, block
        threads = threads_of(block)
        shape = threads, options.shared
        if shape not in prepared.fits:
            prepared.fits[shape] = _core.occupancy(self.device.model.flat(), prepared.program, *shape)
        self.ctas_per_sm, self.limit = prepared.fits[shape]
        if not self.ctas_per_sm:
            gpu = self.device.name
            raise LaunchError(f"kernel '{entry.name}': no SM of {gpu} can hold a block of {threads} threads, for lack of {self.limit}")
        self.start = time.perf_counter()
        self.out_of_time = False

    def functional(self, machine: Any) -> LaunchResult:
        if self.options.lines:
            machine.count_records()
        resident = self.ctas_per_sm * self.device.model.integer("device.sms")
        budget = self.options.budget_instructions or 0
        if not self._guarded(machine, lambda: machine.run(resident, budget, self._poll)):
            raise self._timeout(machine)
        lines = self._lines({"executions": np.asarray(machine.per_record)}) if self.options.lines else None
        return self._result(machine.executed, machine.thread_executed, lines=lines)

    def timed(self, machine: Any) -> LaunchResult:
        core, options = timing_core(self.device), self.options
        if options.cold:
            core.flush_caches()
        out = self._guarded(machine, lambda: self._launch(core, machine))
        if out["end"] != "finished":
            raise self._timeout(machine)
        by_unit = {name: values for name, (_, values) in out["units"].items()}
        single = {name: value for name, value in out["counters"].items() if name.removesuffix(".sum") not in by_unit}
        counters = Counters(by_unit, {name: kind for name, (kind, _) in out["units"].items()}, single)
        return self._result(
            int(counters["smsp__inst_executed.sum"]),
            int(counters["smsp__thread_inst_executed.sum"]),
            cycles=out["cycles"],
            time_us=out["time_us"],
            counters=counters,
            stalls=out["stalls"],
            samples=Samples(**out["samples"]) if options.samples else None,
            lines=self._lines(out["lines"]) if options.lines else None,
        )

    def _launch(self, core: Any, machine: Any) -> Any:
        options = self.options
        try:
            return core.launch(
                machine,
                samples=options.samples,
                lines=options.lines,
                budget_instructions=options.budget_instructions or 0,
                poll=lambda executed, ctas_done, cycle: self._poll(executed, ctas_done),
            )
        except ValueError as error:  # the program needs an operation class that the GPU file does not have
            raise ConfigError(f"{self.device.model.path}: {error}") from error

    def _guarded(self, machine: Any, run: Callable[[], Any]) -> Any:
        """Calls run(); a fault in the kernel comes out as the error that says all about it."""
        try:
            return run()
        except _core.KernelFault as fault:
            image = self.prepared.image
            shared = self.device.model.integer("sm.reserved_shared") + image.sizes.static_shared + self.options.shared
            raise faults.kernel_error(
                fault.args[0], self.entry.name, self.entry.file, image, self.device.memory, machine.places(), shared
            ) from None

    def _poll(self, executed: int, ctas_done: int) -> bool:
        """The core calls this now and then: reports progress, stops the kernel when its time is over."""
        if self.options.progress is not None:
            self.options.progress(executed, ctas_done, threads_of(self.grid))
        seconds = self.options.budget_seconds
        self.out_of_time = seconds is not None and time.perf_counter() - self.start > seconds
        return not self.out_of_time

    def _timeout(self, machine: Any) -> KernelTimeout:
        budget = f"{self.options.budget_seconds:g} seconds" if self.out_of_time else f"{self.options.budget_instructions:,} instructions"
        why = f"its budget of {budget} is used up"
        return faults.timeout_error(self.entry.name, self.entry.file, self.prepared.image, machine.places(), machine.executed, why)

    def _lines(self, counts: Mapping[str, Any]) -> Lines:
        image = self.prepared.image
        records = range(len(image.records))
        sources = [f"{loc.file}:{loc.line}" if (loc := image.source(i)) else "" for i in records]
        return Lines([image.text(i) for i in records], np.array([image.ptx_line(i) for i in records]), sources, counts)

    def _result(self, warp_instructions: int, thread_instructions: int, **timed: Any) -> LaunchResult:
        needs = self.prepared.resources
        return LaunchResult(
            kernel=self.entry.name,
            gpu=self.device.name,
            grid=self.grid,
            block=self.block,
            registers=needs.registers,
            shared_bytes=needs.static_shared + self.options.shared,
            ctas_per_sm=self.ctas_per_sm,
            occupancy_limit=self.limit,
            warp_instructions=warp_instructions,
            thread_instructions=thread_instructions,
            host_seconds=time.perf_counter() - self.start,
            **timed,
        )


def timing_core(device: Device) -> Any:
    """The device's _core.Gpu. It is made once, so that caches keep what earlier launches left in them. Raises ConfigError."""
    if device.timing_core is None:
        try:
            device.timing_core = _core.Gpu(device.model.flat())
        except ValueError as error:
            raise ConfigError(f"{device.model.path}: {error}") from error
    return device.timing_core
