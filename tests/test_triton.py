"""Kernels that Triton compiled without a GPU give what NumPy gives.

The fast tests run the PTX in tests/data/triton, the slow ones compile it with the Triton that is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import warpsight as ws

SHIPPED = Path(__file__).parent / "data/triton"
SCRATCH = (np.uint64(0), np.uint64(0))  # the last two parameters of every Triton kernel: global and profiler scratch, unused by ours


class Binary(NamedTuple):
    """PTX and how to launch it; the shipped kernels' numbers are Triton 3.9's metadata for four warps."""

    ptx: str
    threads: int
    shared: int


def shipped(name: str, shared: int) -> Binary:
    return Binary((SHIPPED / f"{name}.ptx").read_text(), 128, shared)


def compiled(name: str, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Binary:
    pytest.importorskip("triton", reason="pip install -e '.[triton]'")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache))
    from .triton_sources import compile_ptx

    return Binary(*compile_ptx(name))


def add(device: ws.Device, binary: Binary) -> None:
    n = 2500  # neither a multiple of the block of 1024 nor of a warp
    random = np.random.default_rng(1)
    x, y = (random.standard_normal(n, np.float32) for _ in range(2))
    out = device.array(np.full(n + 32, -7, np.float32))
    arguments = [device.array(x), device.array(y), out, np.int32(n), *SCRATCH]
    device.load(binary.ptx)["vector_add"].launch(3, binary.threads, arguments, shared=binary.shared)
    np.testing.assert_array_equal(out.numpy()[:n], x + y)
    np.testing.assert_array_equal(out.numpy()[n:], -7)


def softmax(device: ws.Device, binary: Binary) -> None:
    rows, columns, stride = 5, 781, 800
    x = np.random.default_rng(2).standard_normal((rows, stride), np.float32) * 20
    out = device.array(np.full((rows, stride), -7, np.float32))
    arguments = [out, device.array(x), np.int32(stride), np.int32(stride), np.int32(columns), *SCRATCH]
    device.load(binary.ptx)["row_softmax"].launch(rows, binary.threads, arguments, shared=binary.shared)
    weights = np.exp(x[:, :columns].astype(np.float64) - x[:, :columns].max(axis=1, keepdims=True))
    # The argument of ex2 is at most 256, rounded three times to 24 bits: 2e-5. ex2.approx (2^-22.5) and div.full (2 ulp) are less.
    np.testing.assert_allclose(out.numpy()[:, :columns], weights / weights.sum(axis=1, keepdims=True), rtol=2e-5, atol=1e-37)
    np.testing.assert_array_equal(out.numpy()[:, columns:], -7)


@pytest.fixture(params=[False, True], ids=["functional", "timing"])
def device(request: pytest.FixtureRequest) -> ws.Device:
    return ws.Device("h200", timing=request.param)


def test_vector_add(device: ws.Device) -> None:
    add(device, shipped("vector_add", 0))


def test_row_softmax(device: ws.Device) -> None:
    softmax(device, shipped("row_softmax", 16))


@pytest.mark.slow
def test_vector_add_compiled_now(device: ws.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    add(device, compiled("vector_add", monkeypatch, tmp_path))


@pytest.mark.slow
def test_row_softmax_compiled_now(device: ws.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    softmax(device, compiled("row_softmax", monkeypatch, tmp_path))
