"""One measurement of one benchmark case, in a process of its own so that its peak memory is its own. Prints one JSON object.

Usage: python -m benchmarks.case NAME [--profile SAMPLER.so]
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import warpsight as ws

KERNELS = Path(__file__).resolve().parent / "kernels"
Launch = Callable[[], int]  # runs the work once, returns its warp instructions
LEAST_SECONDS = 1.0  # of measured work, CPU time of the one thread that does it; short cases repeat


class Case(NamedTuple):
    """`prepare(timing, small)` sets a device up and returns the work; a small one compiles the handlers without doing much."""

    prepare: Callable[[bool, bool], Launch]
    timing: bool


def sgemm_tiled(timing: bool, small: bool) -> Launch:
    n = 32 if small else 512
    device = ws.Device("h200", timing=timing)
    kernel = device.load(KERNELS / "sgemm.ptx")["sgemm_tiled"]
    random = np.random.default_rng(1)
    a, b, c = (device.array(random.random((n, n), np.float32)) for _ in range(3))
    return lambda: kernel.launch((n // 16, n // 16), (16, 16), [a, b, c, np.int32(n)]).warp_instructions


def saxpy(timing: bool, small: bool) -> Launch:
    n = 1024 if small else 1 << 22
    device = ws.Device("h200", timing=timing)
    kernel = device.load(KERNELS / "saxpy.ptx")["saxpy"]
    x, y = (device.array(np.ones(n, np.float32)) for _ in range(2))
    return lambda: kernel.launch(n // 256, 256, [x, y, np.float32(0.5), np.int32(n)]).warp_instructions


def mandelbrot(timing: bool, small: bool) -> Launch:
    size = 32 if small else 512
    device = ws.Device("h200", timing=timing)
    kernel = device.load(KERNELS / "mandelbrot.ptx")["mandelbrot"]
    iterations = device.empty((size, size), np.int32)
    return lambda: kernel.launch((size // 16, size // 16), (16, 16), [iterations, np.int32(size), np.int32(256)]).warp_instructions


def lenet(timing: bool, small: bool) -> Launch:
    from warpsight.demo import digits
    from warpsight.demo.lenet import LeNet

    images = digits.network_input(digits.load_digits()[0][: 1 if small else None])
    network = LeNet(ws.Device("h200", timing=timing), digits.load_weights())
    return lambda: sum(step.result.warp_instructions for step in network.run(images))


CASES = {
    f"{work.__name__}{size}_{'timing' if timing else 'functional'}": Case(work, timing)
    for work, size in ((sgemm_tiled, "_512"), (saxpy, "_n4194304"), (mandelbrot, "_512"), (lenet, ""))
    for timing in (True, False)
}


def measure(name: str, sampler: str | None = None) -> dict[str, Any]:
    """{"warp_instructions", "seconds", "peak_mb"} of a case; with a sampler's path also "components": name -> share of CPU time."""
    case = CASES[name]
    case.prepare(case.timing, True)()
    work = case.prepare(case.timing, False)
    profile = None
    if sampler:
        from .profiling import Profile

        profile = Profile(sampler)
        profile.start()
    instructions, start = 0, time.process_time()
    while True:
        instructions += work()
        seconds = time.process_time() - start
        if seconds >= LEAST_SECONDS:
            break
    report = {"warp_instructions": instructions, "seconds": seconds, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    return report if profile is None else {**report, "components": profile.stop()}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("name", choices=CASES)
    options.add_argument("--profile", metavar="SAMPLER.so")
    chosen = options.parse_args()
    print(json.dumps(measure(chosen.name, chosen.profile)))


if __name__ == "__main__":
    main()
