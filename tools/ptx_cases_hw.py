"""Runs the kernels of tests/ptx on the GPU of this machine through the CUDA driver (ctypes; no toolkit needed) and prints what differs
from the comments in front of them.

    python -m tools.ptx_cases_hw [--only REGEX] [--jobs N]

Each case has a process of its own: an error ends a CUDA context, and a kernel that hangs is stopped after a while. The exit status is 1
when something differs.
"""

from __future__ import annotations

import argparse
import ctypes
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from tests.ptx.case import Case, all_cases

TIMEOUT_S = 60
# CUresult values (cuda.h) that a launch may end with, by the error that warpsight raises.
CODES = {"TrapError": (719,), "MemoryFault": (700, 716, 717, 718, 719)}


class CudaError(Exception):
    def __init__(self, function: str, code: int) -> None:
        self.code = code
        super().__init__(f"{function}: error {code}")


class Gpu:
    """Device 0 with its primary context."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name: str, *args: object) -> None:
        code = getattr(self.cuda, name)(*args)
        if code:
            raise CudaError(name, code)

    def upload(self, data: np.ndarray[Any, Any]) -> ctypes.c_uint64:
        address, size = ctypes.c_uint64(), ctypes.c_size_t(data.nbytes)
        self.call("cuMemAlloc_v2", ctypes.byref(address), size)
        self.call("cuMemcpyHtoD_v2", address, data.ctypes.data_as(ctypes.c_void_p), size)
        return address

    def launch(self, case: Case, values: list[Any]) -> None:
        """Raises CudaError for what goes wrong from loading to the kernel's end. `values`: addresses, or what is passed by value."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), case.file.read_bytes() + b"\0")
        self.call("cuModuleGetFunction", ctypes.byref(function), module, case.kernel.encode())
        if case.shared > 48 * 1024:
            self.call("cuFuncSetAttribute", function, 8, case.shared)  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        held = [value if isinstance(value, ctypes.c_uint64) else _buffer(value) for value in values]
        params = (ctypes.c_void_p * max(1, len(held)))(*[ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in held])
        self.call("cuLaunchKernel", function, *case.grid, *case.block, case.shared, None, params, None)
        self.call("cuCtxSynchronize")


def _buffer(value: Any) -> ctypes.Array[ctypes.c_char]:
    data = value if isinstance(value, bytes) else np.asarray(value).tobytes()
    return ctypes.create_string_buffer(data, len(data))


def run(case: Case) -> list[str]:
    """What differs, one line each."""
    gpu = Gpu()
    before = case.arguments()
    buffers = {name: gpu.upload(np.ascontiguousarray(value)) for name, value in before.items() if isinstance(value, np.ndarray)}
    try:
        gpu.launch(case, [buffers.get(name, value) for name, value in before.items()])
    except CudaError as error:
        expected = bool(case.error) and error.code in CODES[case.error]
        return [] if expected else [f"{error}, expected {case.error or 'success'}"]
    if case.error:
        return [f"ended without an error, expected {case.error}"]
    after = {}
    for name, address in buffers.items():
        after[name] = np.empty_like(before[name])
        gpu.call("cuMemcpyDtoH_v2", after[name].ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(after[name].nbytes))
    return list(case.differences(before, after))


def run_apart(name: str) -> list[str]:
    command = [sys.executable, "-m", "tools.ptx_cases_hw", "--case", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return [f"did not end in {TIMEOUT_S} s"]
    return done.stdout.splitlines() + ([] if done.returncode == 0 else [done.stderr.strip() or f"exit status {done.returncode}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases (FILE:KERNEL) in which this regular expression occurs")
    parser.add_argument("--jobs", type=int, default=8, help="processes at a time")
    parser.add_argument("--case", help="run this one here, and nothing else")
    options = parser.parse_args()
    cases = {case.name: case for case in all_cases() if re.search(options.only, case.name)}
    if options.case:
        print("\n".join(run(cases[options.case])), end="")
        return 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = dict(zip(cases, pool.map(run_apart, cases), strict=True))
    wrong = {name: lines for name, lines in results.items() if lines}
    for name, lines in wrong.items():
        print(f"{name}\n    " + "\n    ".join(lines))
    print(f"{len(cases)} cases, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
