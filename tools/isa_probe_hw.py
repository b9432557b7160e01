"""Runs every case of isa_probe.py on the GPU of this machine through the CUDA driver (ctypes; no toolkit needed) and writes the results.

    python -m tools.isa_probe_hw OUT.npz

OUT holds `names` and `results` (cases, N, 2) uint64. A case that the driver refuses is listed on standard error and left out.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from tools import isa_probe


def main(out: str) -> int:
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *args: object) -> None:
        rc = getattr(cuda, name)(*args)
        if rc:
            raise RuntimeError(f"{name}: error {rc}")

    call("cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    d_in, d_out = ctypes.c_uint64(), ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(d_in), ctypes.c_size_t(isa_probe.N * 32))
    call("cuMemAlloc_v2", ctypes.byref(d_out), ctypes.c_size_t(isa_probe.N * 16))
    names, results = [], []
    for case in isa_probe.cases():
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            call("cuModuleLoadData", ctypes.byref(module), isa_probe.ptx(case).encode() + b"\0")
            call("cuModuleGetFunction", ctypes.byref(function), module, b"probe")
        except RuntimeError as e:
            print(f"refused: {case.name}: {e}", file=sys.stderr)
            continue
        data = np.ascontiguousarray(isa_probe.inputs(case))
        got = np.zeros((isa_probe.N, 2), np.uint64)
        call("cuMemcpyHtoD_v2", d_in, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        call("cuMemcpyHtoD_v2", d_out, got.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(got.nbytes))
        params = (ctypes.c_void_p * 2)(ctypes.cast(ctypes.byref(d_in), ctypes.c_void_p), ctypes.cast(ctypes.byref(d_out), ctypes.c_void_p))
        call("cuLaunchKernel", function, isa_probe.N // 64, 1, 1, 64, 1, 1, 0, None, params, None)
        call("cuCtxSynchronize")
        call("cuMemcpyDtoH_v2", got.ctypes.data_as(ctypes.c_void_p), d_out, ctypes.c_size_t(got.nbytes))
        call("cuModuleUnload", module)
        names.append(case.name)
        results.append(got)
    np.savez_compressed(out, names=np.array(names), results=np.array(results))
    print(f"{len(names)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
