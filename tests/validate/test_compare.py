"""When an output counts as the hardware's, and the accuracy figures."""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pytest

from warpsight.isa.ir import Instruction
from warpsight.validate.compare import accuracy, check_output, freedom

HOST = np.linspace(-1, 2, 1000).astype(np.float32)


def expected(values: np.ndarray[Any, Any], tolerance: float = 1e-5, exact: bool = False) -> dict[str, Any]:
    doubles = values.astype(np.float64)
    return {
        "tolerance_rel_l2": tolerance,
        "exact": exact,
        "sha256": hashlib.sha256(values.tobytes()).hexdigest(),
        "sum": doubles.sum(),
        "abs_sum": abs(doubles).sum(),
        "sq_sum": (doubles**2).sum(),
        "min": doubles.min(),
        "max": doubles.max(),
        "nonfinite": 0,
        "samples": [[i, doubles[i]] for i in range(0, 1000, 37)],
    }


def changed(index: int, value: float) -> np.ndarray[Any, Any]:
    other = HOST.copy()
    other[index] = value
    return other


def test_equal_bits() -> None:
    check = check_output("y", HOST.copy(), expected(HOST))
    assert check.bits_equal and check.within and check.error == 0


def test_rounding_is_within_a_tolerance_but_not_equal() -> None:
    check = check_output("y", np.nextafter(HOST, np.float32(9)), expected(HOST))
    assert not check.bits_equal and check.within and 0 < check.error < 1e-6
    strict = check_output("y", np.nextafter(HOST, np.float32(9)), expected(HOST, 0, exact=True))
    assert not strict.within and strict.why == "bits differ"


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (changed(37, 1.5), "samples"),
        (changed(1, 1.5), "sum"),
        (changed(1, math.nan), "not finite"),
        (changed(37, math.inf), "not finite"),
        (changed(1, -1.5), "sum"),
        (np.zeros(1000, np.float32), "samples"),
    ],
)
def test_a_single_wrong_value_is_outside(other: np.ndarray[Any, Any], word: str) -> None:
    check = check_output("y", other, expected(HOST))
    assert not check.within and word in check.why


def test_swapped_values_between_samples_show_only_in_the_bits() -> None:
    """What a digest, moments and samples cannot show; this is why bits must be equal where the hardware repeats them."""
    other = HOST.copy()
    other[[1, 2]] = other[[2, 1]]
    check = check_output("y", other, expected(HOST))
    assert check.within and not check.bits_equal


def instruction(text: str) -> Instruction:
    opcode, *modifiers = text.split(".")
    return Instruction(opcode, tuple(modifiers), (), None, 1)


def test_freedom_of_bits() -> None:
    assert freedom(map(instruction, ["fma.rn.f32", "add.rn.f32", "mul.f32", "div.rn.f32"])) == ""
    assert freedom(map(instruction, ["mul.f32", "add.f64"])) == ""
    assert "ex2.approx.ftz.f32" in freedom(map(instruction, ["mul.f32", "ex2.approx.ftz.f32"]))
    assert "contractable" in freedom(map(instruction, ["mul.f32", "add.f32"]))
    assert "contractable" in freedom(map(instruction, ["mul.ftz.f32", "sub.ftz.f32"]))


def test_accuracy_figures() -> None:
    simulated, measured = [110.0, 180.0, 4000.0], [100.0, 200.0, 4000.0]
    found = accuracy(simulated, measured)
    assert found.mape == pytest.approx((0.1 + 0.1 + 0) / 3)
    assert found.ratio == pytest.approx((1.1 * 0.9) ** (1 / 3))
    x, y = np.log(simulated), np.log(measured)
    covariance = ((x - x.mean()) * (y - y.mean())).sum()
    assert found.pearson == pytest.approx(covariance / math.sqrt(((x - x.mean()) ** 2).sum() * ((y - y.mean()) ** 2).sum()))


def test_accuracy_without_launches() -> None:
    assert accuracy([], []) == accuracy([], []) and accuracy([], []).mape is None
    assert accuracy([5], [5]).mape == 0 and accuracy([5], [5]).pearson is None
