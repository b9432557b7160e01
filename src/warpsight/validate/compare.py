"""Comparisons with the hardware: outputs bit for bit or within a tolerance, cycles as errors and correlation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..isa.ir import Instruction

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """`bits_equal`: all bytes are the hardware's. `within`: bits equal, or inside the tolerance. `error`: relative L2 over the samples;
    `why`: what
    is outside the tolerance."""

    name: str
    bits_equal: bool
    within: bool
    error: float
    why: str


def check_output(name: str, got: Array, expected: Mapping[str, Any]) -> OutputCheck:
    """The reference holds a digest, 32 samples and moments of an output, so the tolerance is applied to each of those."""
    bits_equal = hashlib.sha256(np.ascontiguousarray(got).tobytes()).hexdigest() == expected["sha256"]
    values = got.astype(np.float64).reshape(-1)
    index, reference = (np.array(column) for column in zip(*expected["samples"], strict=True))
    error = _relative_l2(values[index.astype(np.int64)], reference.astype(np.float64))
    if bits_equal:
        return OutputCheck(name, True, True, error, "")
    tolerance = float(expected["tolerance_rel_l2"])
    why = "bits differ" if expected["exact"] else _outside(values, expected, error, tolerance)
    return OutputCheck(name, False, not why, error, why)


def _relative_l2(got: npt.NDArray[np.float64], reference: npt.NDArray[np.float64]) -> float:
    norm = float(np.linalg.norm(reference))
    difference = float(np.linalg.norm(got - reference))
    return difference / norm if norm else difference


def _outside(values: npt.NDArray[np.float64], expected: Mapping[str, Any], error: float, tolerance: float) -> str:
    """The first figure that is outside the tolerance; "" if none is."""
    finite = values[np.isfinite(values)]
    if len(values) - len(finite) != expected["nonfinite"]:
        return f"{len(values) - len(finite)} values are not finite, {expected['nonfinite']} on hardware"
    if not error <= tolerance:
        return f"relative L2 error of the samples is {error:.2e}, tolerance {tolerance:g}"
    scale = max(abs(expected["min"]), abs(expected["max"]))
    figures = (
        ("sum", float(finite.sum()), expected["abs_sum"]),
        ("abs_sum", float(np.abs(finite).sum()), expected["abs_sum"]),
        ("sq_sum", float((finite**2).sum()), 2 * expected["sq_sum"]),
        ("min", float(finite.min()), scale),
        ("max", float(finite.max()), scale),
    )
    for figure, value, unit in figures:
        if not abs(value - expected[figure]) <= tolerance * unit:
            return f"{figure} is {value:.9g}, {expected[figure]:.9g} on hardware"
    return ""


def freedom(instructions: Iterable[Instruction]) -> str:
    """Why a kernel's bits are not fixed by its PTX; "" if they are.

    Approximate instructions are specified by an error bound only. mul and add without a rounding modifier may be contracted to fma (PTX
    ISA, add: "may be optimized aggressively"), which ptxas does and warpsight does not.
    """
    spellings = {i.spelling for i in instructions}
    approximate = sorted(s for s in spellings if ".approx" in s or ".full" in s)
    if approximate:
        return f"approximate: {', '.join(approximate)}"
    for kind in ("f32", "f64", "f16", "f16x2"):
        if {f"mul.{kind}", f"mul.ftz.{kind}"} & spellings and {
            f"{op}{ftz}.{kind}" for op in ("add", "sub") for ftz in ("", ".ftz")
        } & spellings:
            return f"contractable: mul.{kind} with add.{kind}"
    return ""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Of simulated against measured cycles, over launches. All None with fewer than two launches, except `mape` and `ratio`, which need
    one.
    """

    mape: float | None
    ratio: float | None  # geometric mean of simulated / measured
    pearson: float | None  # of the logarithms


def accuracy(simulated: Sequence[float], measured: Sequence[float]) -> Accuracy:
    if not simulated:
        return Accuracy(None, None, None)
    s, m = np.asarray(simulated, np.float64), np.asarray(measured, np.float64)
    logs, logm = np.log(s), np.log(m)
    spread = len(s) > 1 and logs.std() > 0 and logm.std() > 0
    pearson = float(np.corrcoef(logs, logm)[0, 1]) if spread else None
    return Accuracy(float(np.mean(np.abs(s - m) / m)), float(np.exp(np.mean(logs - logm))), pearson)
