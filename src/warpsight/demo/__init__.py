"""`warpsight demo`: LeNet-5 reads handwritten digits on a simulated GPU."""

from __future__ import annotations

import json as json_module
import time

import numpy as np
from rich.console import Console
from rich.progress import track

import warpsight as ws
from warpsight.report.tables import launches_table, render

from . import digits, show
from .lenet import STEPS, LeNet
from .reference import forward

# Float32 against float64: at worst 400 roundings of 2^-24 each on a logit of order 10, and a probability moves at most a quarter of that.
TOLERANCE = 1e-4


def main(gpu: str = "h200", functional: bool = False, json: bool = False) -> int:
    """Runs the batch of digits and prints what LeNet says, the account of each kernel and the agreement with NumPy.

    `gpu`: name or path of a GPU file. `functional`: results only, no account. `json`: one JSON object instead of tables.
    Returns 0, or 1 when the simulated probabilities differ from NumPy's by more than float32 rounding explains.
    """
    console = Console(soft_wrap=True)
    images, truth = digits.load_digits()
    inputs, weights = digits.network_input(images), digits.load_weights()
    device = ws.Device(gpu, timing=not functional)
    network = LeNet(device, weights)

    start = time.perf_counter()
    quiet = json or not console.is_terminal
    steps = list(track(network.run(inputs), f"LeNet-5 on {device.name}", total=STEPS, console=console, transient=True, disable=quiet))
    seconds = time.perf_counter() - start

    assert network.probabilities is not None
    probabilities, expected = network.probabilities.numpy(), forward(weights, inputs)
    error = np.abs(probabilities - expected)
    worst, relative = float(error.max()), float((error / expected).max())
    says = probabilities.argmax(axis=1)
    results = [step.result for step in steps]
    instructions = sum(result.warp_instructions for result in results)
    agrees = worst <= TOLERANCE  # false for NaN, too

    if json:
        report = {
            "gpu": device.name,
            "functional": functional,
            "digits": [
                {"says": int(s), "probability": float(p[s]), "truth": int(t)} for s, p, t in zip(says, probabilities, truth, strict=True)
            ],
            "kernels": [{"layer": layer, **result.to_dict()} for layer, result in steps],
            "max_abs_error": worst,
            "max_rel_error": relative,
            "agrees": agrees,
            "warp_instructions": instructions,
            "seconds": seconds,
        }
        print(json_module.dumps(report))
        return 0 if agrees else 1

    captions = [show.caption(int(s), float(p[s]), int(t)) for s, p, t in zip(says, probabilities, truth, strict=True)]
    print(show.gallery(images, captions, min(console.width, 120)), end="\n\n")
    if not functional:
        print(render(launches_table(results, f"LeNet-5, {len(images)} digits, on {device.name}")))
    print(f"right: {int((says == truth).sum())} of {len(truth)} digits")
    verdict = "agree" if agrees else "DISAGREE"
    print(f"NumPy (float64): probabilities {verdict}, largest difference {worst:.1e} absolute, {relative:.1e} relative")
    print(f"simulated {instructions:,} warp instructions in {seconds:.2f} s ({instructions / seconds / 1e6:.2f} M/s, compilation included)")
    if not functional:
        total = sum(result.time_us or 0 for result in results)
        print(f"{device.name} would take {total:.1f} us for the {len(results)} kernels")
    return 0 if agrees else 1
