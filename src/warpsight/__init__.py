"""warpsight: runs CUDA kernels without a GPU and accounts for every cycle.

import warpsight as ws
gpu = ws.Device("h200")
mod = gpu.load("kernels.ptx")
x, y = gpu.array(host), gpu.empty(shape, "float32")
result = mod["saxpy"].launch(grid, block, [x, y, np.float32(1.5), np.int32(n)])
print(result.table()); y.numpy()
"""

from . import errors
from .array import DeviceArray
from .device import Device
from .errors import (
    ConfigError,
    DeadlockError,
    InputError,
    KernelError,
    KernelNotFound,
    KernelTimeout,
    LaunchError,
    LoadError,
    MemoryFault,
    PtxSyntaxError,
    TrapError,
    UnsupportedInstruction,
    WarpsightError,
)
from .model.files import GpuModel, gpu_names, load_gpu
from .module import Kernel, Module, ModuleVariable
from .report.counters import Counters
from .report.result import LaunchResult, Lines, Samples

__all__ = [
    "ConfigError",
    "Counters",
    "DeadlockError",
    "Device",
    "DeviceArray",
    "GpuModel",
    "InputError",
    "Kernel",
    "KernelError",
    "KernelNotFound",
    "KernelTimeout",
    "LaunchError",
    "LaunchResult",
    "Lines",
    "LoadError",
    "MemoryFault",
    "Module",
    "ModuleVariable",
    "PtxSyntaxError",
    "Samples",
    "TrapError",
    "UnsupportedInstruction",
    "WarpsightError",
    "errors",
    "gpu_names",
    "load_gpu",
]
