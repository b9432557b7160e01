"""A loaded module: its kernels, and its variables in device memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .array import DeviceMemory, Host
from .engine import launch as engine
from .errors import InputError, LoadError
from .isa import ir
from .isa.ptx import PtxModule
from .model.schema import near

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .device import Device
    from .launch import Shape
    from .report.result import LaunchResult

_DEVICE_SPACES = ("global", "const")


def open_module(source: str | bytes | Path) -> PtxModule:
    """PTX from a path, from its text (a str with a line break) or from bytes. Raises LoadError, PtxSyntaxError."""
    if isinstance(source, bytes):
        return PtxModule.from_bytes(source)
    if isinstance(source, str) and "\n" in source:
        return PtxModule.from_text(source)
    return PtxModule.from_path(source)


class Module:
    """`module["kernel"]` is a kernel, `module.variable("name")` a .global or .const variable. Made by `Device.load`."""

    def __init__(self, device: Device, ptx: PtxModule) -> None:
        self.device, self.ptx = device, ptx
        self._kernels: dict[str, Kernel] = {}
        placed = {name: v for name, v in ptx.variables.items() if v.space in _DEVICE_SPACES}
        _check_variables(ptx, placed, device)
        self.addresses = {name: device._allocate(v.size, v.align, name, read_only=v.space == "const") for name, v in placed.items()}
        self._release = weakref.finalize(self, _release_all, device.memory, tuple(self.addresses.values()))
        self._release.atexit = False
        for name, variable in placed.items():
            self._initialise(name, variable)

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, in the order of the text."""
        return self.ptx.kernel_names

    def __getitem__(self, name: str) -> Kernel:
        """Raises KernelNotFound with the nearest names."""
        if name not in self._kernels:
            self._kernels[name] = Kernel(self, self.ptx.kernel(name))
        return self._kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __contains__(self, name: object) -> bool:
        return name in self.kernels

    def variable(self, name: str) -> ModuleVariable:
        """Raises InputError with the nearest names."""
        if name not in self.addresses:
            raise InputError(f"the module has no .global or .const variable '{name}'{near(name, self.addresses)}")
        return ModuleVariable(self, self.ptx.variables[name])

    def _initialise(self, name: str, variable: ir.Variable) -> None:
        data = bytearray(variable.init or b"")
        for offset, symbol, addend, width, _generic in variable.relocs:  # global addresses are their own generic addresses
            if symbol not in self.addresses:
                raise LoadError(
                    f"variable '{name}' (PTX line {variable.line}) holds the address of '{symbol}', which is no .global or .const variable"
                )
            address = self.addresses[symbol] + addend & (1 << 8 * width) - 1
            data[offset : offset + width] = address.to_bytes(width, "little")
        if data:
            self.device.memory.write(self.addresses[name], np.frombuffer(bytes(data), np.uint8))


class ModuleVariable(DeviceMemory):
    """A .global or .const variable of a module."""

    def __init__(self, module: Module, declared: ir.Variable) -> None:
        super().__init__(module.device, module.addresses[declared.name], declared.size, f"variable '{declared.name}'")
        self.module, self.name, self.type, self.count = module, declared.name, declared.type, declared.count

    def write(self, data: Host) -> None:
        """Replaces the contents, also of .const variables. Raises InputError if the sizes differ."""
        self._copy_in(np.asarray(data))

    def read(self, dtype: DTypeLike | None = None) -> Host:
        """A copy of the contents, as 1-D array of `dtype`; without it, of the declared type (.b types as unsigned integers)."""
        data = self._copy_out()
        chosen = np.dtype(dtype) if dtype is not None else _dtype_of(self.type)
        if data.nbytes % chosen.itemsize:
            raise InputError(f"{self._what} has {self.nbytes} bytes, no whole number of {chosen}")
        return data.view(chosen)


class Kernel:
    """A kernel of a module."""

    def __init__(self, module: Module, entry: ir.Kernel) -> None:
        self.module, self.entry = module, entry
        self._prepared: engine.Prepared | None = None

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def params(self) -> Sequence[ir.Variable]:
        return self.entry.params

    def prepare(self) -> engine.Prepared:
        """Lowers and compiles the kernel, unless that was done; the first launch does it otherwise. Raises UnsupportedInstruction."""
        if self._prepared is None:
            self._prepared = engine.prepare(self.module, self.entry)
        return self._prepared

    def launch(
        self,
        grid: Shape,
        block: Shape,
        args: Sequence[Any] = (),
        shared: int = 0,
        *,
        samples: int = 0,
        lines: bool = False,
        budget_instructions: int | None = None,
        budget_seconds: float | None = None,
        cold: bool = False,
        progress: engine.ProgressHook | None = None,
    ) -> LaunchResult:
        """Runs the kernel to its end and returns the account of it.

        `grid`, `block`: a number or up to three. `shared`: bytes of dynamic shared memory. `samples`: cycles between samples of the time
        series, 0 for none; `lines`: counts by instruction; both need timing. `budget_instructions` (warp instructions) and
        `budget_seconds` stop a kernel that does not end. `cold`: caches start empty. `progress(warp instructions, CTAs done, CTAs)` is
        called now and then.

        Raises LaunchError (refused, nothing ran), UnsupportedInstruction, MemoryFault, TrapError, DeadlockError, KernelTimeout;
        KeyboardInterrupt on Ctrl-C, after which the device can be used on.
        """
        options = engine.Options(shared, samples, lines, budget_instructions, budget_seconds, cold, progress)
        return engine.launch(self.module, self.entry, self.prepare(), grid, block, args, options)


def _check_variables(ptx: PtxModule, variables: dict[str, ir.Variable], device: Device) -> None:
    for name, variable in variables.items():
        if variable.extern:
            raise LoadError(f"variable '{name}' (PTX line {variable.line}) is .extern: no module defines it")
    const = sum(v.size for v in variables.values() if v.space == "const")
    limit = device.model.integer("device.const_bytes")
    if const > limit:
        name = ptx.path or "module"
        raise LoadError(f"{name}: .const variables take {const} bytes, {device.model.name} has {limit} (device.const_bytes)")


def _release_all(memory: Any, addresses: tuple[int, ...]) -> None:
    for address in addresses:
        memory.release(address)


def _dtype_of(ptx_type: str) -> np.dtype[Any]:
    """The NumPy type of a PTX memory type; opaque and wide ones read as bytes."""
    known = {"u": "u", "s": "i", "b": "u", "f": "f"}
    bits = ptx_type[1:]
    return np.dtype(f"{known[ptx_type[0]]}{int(bits) // 8}") if bits.isdigit() and bits in ("8", "16", "32", "64") else np.dtype(np.uint8)
