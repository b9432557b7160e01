"""Every PTX form of tools/isa_probe.py gives the bits that an H200 gave (tests/data/isa_h200.npz).

Whole kernels run through the front end, the lowering and the compiled handlers, so a difference may come from any of them.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpsight as ws
from tools import isa_probe

ROOT = Path(__file__).resolve().parents[2]

DATA = np.load(ROOT / "tests" / "data" / "isa_h200.npz")
EXPECTED = dict(zip(DATA["names"].tolist(), DATA["results"], strict=True))
CASES = [c for c in isa_probe.cases() if c.name in EXPECTED]
BY_OPCODE: dict[str, list[isa_probe.Case]] = defaultdict(list)
for _case in CASES:
    BY_OPCODE[_case.name.split(".")[0].split(" ")[0]].append(_case)

# Relative error that the PTX manual allows an approximation, where its bits are not the hardware's yet.
TOLERANCE = {"f16": 2.0**-9, "bf16": 2.0**-6, "f32": 2.0**-20, "f64": 2.0**-19}
TINY = {"f16": 2.0**-23, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}  # absolute, for results near zero


@lru_cache(maxsize=1)
def module() -> tuple[Any, Any]:
    """One module with a kernel per case; kernels are parsed when they are used."""
    head, bodies = "", []
    for i, case in enumerate(CASES):
        lines = isa_probe.ptx(case, f"probe{i}").split("\n")
        head = "\n".join(lines[:3])
        bodies.append("\n".join(lines[3:]))
    gpu = ws.Device("mini", timing=False)
    return gpu, gpu.load(head + "\n" + "\n".join(bodies))


def run(case: isa_probe.Case) -> np.ndarray:
    gpu, mod = module()
    data, out = gpu.array(isa_probe.inputs(case)), gpu.array(np.zeros((isa_probe.N, 2), np.uint64))
    mod[f"probe{CASES.index(case)}"].launch(isa_probe.N // 64, 64, [data, out])
    result = out.numpy()
    data.free()
    out.free()
    return result


def as_float(bits: np.ndarray, kind: str) -> np.ndarray:
    if kind.endswith("x2"):
        low, high = bits & np.uint64(0xFFFF), bits >> np.uint64(16) & np.uint64(0xFFFF)
        return np.stack([as_float(low, kind[:-2]), as_float(high, kind[:-2])], -1)
    bits = bits & np.uint64((1 << {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}[kind]) - 1)
    if kind == "bf16":
        return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    unsigned = {"f16": np.uint16, "f32": np.uint32, "f64": np.uint64}[kind]
    return bits.astype(unsigned).view({"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]).astype(np.float64)


@np.errstate(invalid="ignore")  # signalling NaNs among the inputs
def close(got: np.ndarray, want: np.ndarray, case: isa_probe.Case) -> np.ndarray:
    kind = case.dst[0]
    g, w = as_float(got[:, 0], kind), as_float(want[:, 0], kind)
    scalar = kind.removesuffix("x2")
    tolerance = 2.0**-10 if case.name.startswith("tanh.approx.f32") else TOLERANCE[scalar]
    if case.name.startswith(("sin", "cos")):  # the manual's bound is absolute, and only in [-pi, pi]
        x = as_float(isa_probe.inputs(case)[:, 0], case.src[0])
        return (np.abs(x) > np.pi) | (np.abs(g - w) <= 2.0**-20) | (np.isnan(g) & np.isnan(w))
    with np.errstate(all="ignore"):
        near = np.abs(g - w) <= tolerance * np.abs(w) + (2.0**-20 if case.name.startswith("lg2") else TINY[scalar])
    same = (g == w) | (np.isnan(g) & np.isnan(w)) | near
    return same if same.ndim == 1 else same.all(-1)


@pytest.mark.parametrize("opcode", sorted(BY_OPCODE))
def test_bits_equal_the_hardwares(opcode: str) -> None:
    wrong = []
    for case in BY_OPCODE[opcode]:
        want, got = EXPECTED[case.name], run(case)
        ok = close(got, want, case) if case.approx else (got == want).all(-1)
        if opcode == "fns":  # the manual gives no result for a base past the last bit
            ok |= isa_probe.inputs(case)[:, 1].astype(np.uint32) > 31
        if not ok.all():
            i = int(np.argmin(ok))
            operands = ", ".join(hex(int(v)) for v in isa_probe.inputs(case)[i, : len(case.src)])
            wrong.append(
                f"{case.name}: {np.count_nonzero(~ok)} of {isa_probe.N} differ; first: thread {i}, operands {operands}: got "
                f"{[hex(int(v)) for v in got[i]]}, hardware {[hex(int(v)) for v in want[i]]}"
            )
    assert not wrong, f"{len(wrong)} of {len(BY_OPCODE[opcode])} forms:\n" + "\n".join(wrong)
