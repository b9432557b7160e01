"""A simulated GPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .array import DeviceArray, Host, dtype_of, shape_of
from .errors import InputError
from .model.files import GpuModel, load_gpu
from .module import Module, open_module

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import DTypeLike

Interpreter = Literal["llvm", "numpy"]


class Device:
    """One GPU with its memory. `Device("h200")` counts cycles; `Device("h200", timing=False)` only computes, many times faster.

    `gpu`: a bundled name (`warpsight gpus`) or the path of a TOML file. `interpreter`: "llvm" compiles instructions to machine code,
    "numpy" is the slow reference that needs no compiler. `overrides`: changes of single keys of the GPU file, `{"core.issue_policy":
    "gto"}` or `["core.issue_policy=gto"]`. Raises ConfigError.
    """

    def __init__(
        self,
        gpu: str | Path = "h200",
        *,
        timing: bool = True,
        interpreter: Interpreter = "llvm",
        overrides: Mapping[str, Any] | Iterable[str] = (),
    ) -> None:
        from . import _core

        if interpreter not in ("llvm", "numpy"):
            raise InputError(f"interpreter must be 'llvm' or 'numpy', got {interpreter!r}")
        self.model: GpuModel = load_gpu(gpu, overrides)
        self.timing, self.interpreter = timing, interpreter
        try:
            self.memory: Any = _core.Memory(self.model.integer("device.memory_bytes"))
        except RuntimeError as error:
            raise InputError(f"{error}; a smaller device.memory_bytes may do") from error
        self.timing_core: Any = None  # made by the first timed launch (engine/launch.py); keeps its caches' contents between launches

    @property
    def name(self) -> str:
        return self.model.name

    def load(self, source: str | bytes | Path) -> Module:
        """Loads PTX: a path, its text, or bytes. Raises LoadError, PtxSyntaxError. Kernels are parsed when they are asked for."""
        return Module(self, open_module(source))

    def array(self, data: Any) -> DeviceArray:
        """A copy of a NumPy array (or what `numpy.asarray` takes) in device memory. Raises InputError when memory is full."""
        host: Host = np.asarray(data)
        array = self.empty(host.shape, host.dtype)
        array.write(host)
        return array

    def empty(self, shape: int | Sequence[int], dtype: DTypeLike = np.float32) -> DeviceArray:
        """An array whose contents mean nothing until written. Raises InputError when memory is full."""
        return DeviceArray(self, shape_of(shape), dtype_of(dtype))

    def synchronize(self) -> None:
        """Does nothing: a launch returns when its kernel has ended. Here so that host code reads as it would for a real device."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.timing_core = None

    def __repr__(self) -> str:
        return f"<warpsight device {self.name}, {'timing' if self.timing else 'functional'}>"

    def _allocate(self, nbytes: int, align: int, name: str, read_only: bool = False) -> int:
        try:
            return int(self.memory.allocate(nbytes, align, name, read_only))
        except MemoryError:
            what = f"variable '{name}'" if name else "the array"
            free = self.memory.bytes - self.memory.used
            raise InputError(f"{self.name} is out of memory: {what} needs {nbytes} bytes, {free} of {self.memory.bytes} are free") from None
