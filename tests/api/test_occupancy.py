"""How many CTAs an SM holds, against figures worked out by hand from the CUDA occupancy rules for compute capability 9.0."""

from __future__ import annotations

import numpy as np
import pytest

from warpsight import _core
from warpsight.model.files import load_gpu

H200 = load_gpu("h200").flat()


def occupancy(threads: int, registers: int, static: int, dynamic: int) -> tuple[int, str]:
    sizes = {"frame_bytes": 64, "stack_bytes": 64, "registers": registers, "barriers": 1, "local_bytes": 0, "static_shared": static}
    nothing = [np.zeros(n, t) for n, t in ((64, np.uint8), (1, np.int64), (1, np.uint16), (1, np.uint32))]
    found: tuple[int, str] = _core.occupancy(H200, _core.Program("k", *nothing, [""], sizes), threads, dynamic)
    return found


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "ctas", "limit"),
    [
        (256, 32, 0, 8, "warps"),  # 2048 threads / 256
        (32, 16, 0, 32, "CTAs"),
        (64, 32, 0, 32, "warps"),  # both bounds are 32: warps first
        (256, 128, 0, 2, "registers"),  # 8 warps x 4096 = 32768 of 65536
        (1024, 64, 0, 1, "registers"),  # 32 warps x 2048 = 65536: exactly one
        (1024, 65, 0, 0, "registers"),  # 65 x 32 = 2080, in units of 256: 2304 a warp
        (96, 33, 0, 17, "registers"),  # 33 x 32 = 1056 -> 1280 a warp, 3840 a CTA
        (128, 16, 100 << 10, 2, "shared memory"),  # 101 KiB with the reserved one, of 228 KiB
        (128, 16, 232448, 1, "shared memory"),  # 227 KiB, the most a CTA can have
        (128, 16, 113 << 10, 2, "shared memory"),  # 114 KiB each: exactly two
        (128, 16, (113 << 10) + 1, 1, "shared memory"),  # a byte more takes another unit of 128
    ],
)
def test_ctas_of_an_h200_sm(threads: int, registers: int, shared: int, ctas: int, limit: str) -> None:
    assert occupancy(threads, registers, 0, shared) == (ctas, limit)


def test_static_and_dynamic_shared_memory_count_alike() -> None:
    assert occupancy(128, 16, 60000, 40000) == occupancy(128, 16, 0, 100000)
