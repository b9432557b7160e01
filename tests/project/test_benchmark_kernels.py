"""The benchmarks' kernels compute what they are named after."""

from __future__ import annotations

import numpy as np
import pytest

import warpsight as ws
from benchmarks.case import KERNELS


@pytest.fixture
def device() -> ws.Device:
    return ws.Device("mini", timing=False)


def test_sgemm(device: ws.Device) -> None:
    n = 48
    a, b = np.random.default_rng(1).standard_normal((2, n, n), np.float32)
    c = device.empty((n, n), np.float32)
    device.load(KERNELS / "sgemm.ptx")["sgemm_tiled"].launch((3, 3), (16, 16), [device.array(a), device.array(b), c, np.int32(n)])
    np.testing.assert_allclose(c.numpy(), a.astype(np.float64) @ b, atol=1e-5)


def test_saxpy(device: ws.Device) -> None:
    n = 1000  # the last block is not full
    x, y = np.random.default_rng(2).standard_normal((2, n), np.float32)
    out = device.array(np.append(y, np.float32(-7)))
    device.load(KERNELS / "saxpy.ptx")["saxpy"].launch(4, 256, [device.array(x), out, np.float32(0.75), np.int32(n)])
    np.testing.assert_allclose(out.numpy()[:n], 0.75 * x + y, rtol=1e-6, atol=1e-7)
    assert out.numpy()[n] == -7


def test_mandelbrot(device: ws.Device) -> None:
    """Size 30 puts pixels on multiples of 0.1: c = 0 and c = -1 never leave, others do after as many steps as complex arithmetic says."""
    size, limit = 30, 50
    out = device.array(np.full((size, size), -1, np.int32))
    device.load(KERNELS / "mandelbrot.ptx")["mandelbrot"].launch((2, 2), (16, 16), [out, np.int32(size), np.int32(limit)])
    counts = out.numpy()
    real_axis = counts[15]
    assert real_axis[20] == limit  # c = 0
    assert real_axis[10] == limit  # c = -1
    assert counts[0, 0] == 1  # |c| = 2.5: out after one step
    z, c, steps = 0j, complex(-2 + 28 * 0.1, 0), 0  # c = 0.8, on the axis, outside
    while abs(z) <= 2:
        z, steps = z * z + c, steps + 1
    assert real_axis[28] == steps
