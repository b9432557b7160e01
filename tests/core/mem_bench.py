"""Warps that do nothing but access memory, for the tests of the memory side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from warpsight import _core
from warpsight.model.files import load_gpu

LOAD, STORE, ATOMIC, REDUCTION = 1, 2, 3, 4
CA, CG = 0, 1  # cache operators
ALL_LANES = 0xFFFFFFFF
BASE = 0x7000_0000_0000
LINE, SECTOR = 128, 32

Array = NDArray[Any]


class Bench:
    """A GPU model's memory side. `overrides`: {"l2.slices": 6}."""

    def __init__(self, gpu: str = "mini", **overrides: Any) -> None:
        model = load_gpu(gpu)
        self.config = {**model.flat(), **{key.replace("__", "."): value for key, value in overrides.items()}}
        self.sms = model.integer("device.sms")
        gpcs = min(8, self.sms // 2)
        self.core = _core.MemoryBench(self.config, model.real("device.sm_mhz"), [sm * gpcs // self.sms for sm in range(self.sms)])

    def run(
        self,
        addresses: ArrayLike,
        *,
        mask: ArrayLike = ALL_LANES,
        sm: ArrayLike = 0,
        warp: ArrayLike = 0,
        op: ArrayLike = LOAD,
        **options: Any,
    ) -> Any:
        """Accesses [n, 32] or, all lanes alike, [n]. Result: issued, completed, cycles, latency, counts (see MemoryBench.run)."""
        lanes = np.asarray(addresses, np.uint64)
        if lanes.ndim == 1:
            lanes = np.repeat(lanes[:, None], 32, axis=1)
        n = len(lanes)

        def each(value: ArrayLike, dtype: type) -> Array:
            return np.ascontiguousarray(np.broadcast_to(np.asarray(value, dtype), (n,)))

        result = self.core.run(
            np.ascontiguousarray(lanes), each(mask, np.uint32), each(sm, np.uint32), each(warp, np.uint32), each(op, np.uint8), **options
        )
        result["latency"] = result["completed"] - result["issued"]
        return result

    def total(self, counter: str) -> int:
        return int(self.core.counters()[counter].sum())

    def totals(self, *counters: str) -> list[int]:
        values = self.core.counters()
        return [int(values[name].sum()) for name in counters]


def rows(base: ArrayLike, stride: int = 4) -> Array:
    """Lane addresses [n, 32]: base + lane * stride."""
    return np.asarray(base, np.uint64)[:, None] + np.arange(32, dtype=np.uint64) * np.uint64(stride)


def steady(bench: Bench, addresses: Array, **options: Any) -> Any:
    """The same accesses twice; the result of the second time."""
    bench.run(addresses, **options)
    return bench.run(addresses, **options)
