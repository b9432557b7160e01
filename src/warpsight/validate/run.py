"""Runs the cases of a reference set on a simulated device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..array import DeviceArray
from ..device import Device
from ..errors import InputError, UnsupportedInstruction, WarpsightError
from ..isa.ir import Instruction
from ..module import Kernel, Module
from ..report.result import LaunchResult
from . import recipes
from .compare import OutputCheck, check_output, freedom
from .reference import Case

_SCALARS: dict[str, type[np.generic]] = {
    "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f32": np.float32, "f64": np.float64,
}  # fmt: skip
_LATER = {"tex": "texture objects", "tmap": "tensor maps"}  # parameters of cases that need what warpsight does not have yet

Progress = Callable[[str, int, int], None]  # (kernel, CTAs done, CTAs)


@dataclass(frozen=True, slots=True)
class LaunchReport:
    case: str
    index: int
    result: LaunchResult
    measured: Mapping[str, float]


@dataclass
class CaseReport:
    """`status`: pass, fail or unsupported. `why`: of a failure or what is unsupported; of a pass with other bits, what leaves them open."""

    name: str
    status: str = "pass"
    why: str = ""
    outputs: list[OutputCheck] = field(default_factory=list)
    launches: list[LaunchReport] = field(default_factory=list)

    @property
    def bits_equal(self) -> bool:
        return all(check.bits_equal for check in self.outputs)


def run_case(case: Case, folder: Path, device: Device, progress: Progress | None = None) -> CaseReport:
    """Runs a case's launches in order on the same memory and compares its outputs. Errors of the case become its status."""
    report = CaseReport(case.name)
    try:
        _run(case, folder, device, progress, report)
    except (UnsupportedInstruction, _Unsupported) as error:
        report.status, report.why = "unsupported", str(error)
    except WarpsightError as error:
        report.status, report.why = "fail", f"{type(error).__name__}: {error}"
    return report


class _Unsupported(Exception):
    """A case that needs something other than an instruction that warpsight does not have yet."""


def _run(case: Case, folder: Path, device: Device, progress: Progress | None, report: CaseReport) -> None:
    module = device.load(case.ptx)
    kernels = [module[launch.kernel] for launch in case.launches]
    for kernel in kernels:
        kernel.prepare()  # before any work: an unsupported instruction is found here
    for kind in (param[0] for launch in case.launches for param in launch.params):
        if kind in _LATER:
            raise _Unsupported(f"unsupported: {_LATER[kind]} as kernel arguments")
    buffers = {name: device.array(recipes.build(name, recipe, folder)) for name, recipe in case.buffers.items()}
    for symbol, name in case.module_globals.items():
        module.variable(symbol).write(buffers[name].numpy())
    for index, (kernel, launch) in enumerate(zip(kernels, case.launches, strict=True)):
        hook = (lambda inst, done, total, name=kernel.name: progress(name, done, total)) if progress else None
        args = [_argument(param, buffers) for param in launch.params]
        result = kernel.launch(launch.grid, launch.block, args, launch.shared, cold=True, progress=hook)
        report.launches.append(LaunchReport(case.name, index, result, launch.measured))
    report.outputs = [check_output(name, buffers[name].numpy(), expected) for name, expected in case.outputs.items()]
    _judge(case, module, kernels, report)


def _argument(param: list[Any], buffers: Mapping[str, DeviceArray]) -> Any:
    kind, value = param[0], param[1]
    if kind == "buf":
        if value not in buffers:
            raise InputError(f"parameter names the buffer '{value}', which the case does not have")
        return buffers[value]
    if kind not in _SCALARS:
        raise InputError(f"unknown kind of parameter '{kind}'")
    return _SCALARS[kind](value)


def _judge(case: Case, module: Module, kernels: list[Kernel], report: CaseReport) -> None:
    """Bits must be the hardware's where it repeats them, unless the PTX leaves them open; then, and where it does not, the tolerance
    holds.
    """
    outside = [check for check in report.outputs if not check.within]
    if outside:
        report.status = "fail"
        report.why = "; ".join(f"output '{check.name}': {check.why}" for check in outside)
    elif not report.bits_equal:
        reason = freedom(_instructions(kernels)) if case.repeatable else "the hardware's own bits vary"
        report.status = "pass" if reason else "fail"
        report.why = reason or "bits differ from the hardware's, which repeat, and every instruction's result is fixed by the manual"


def _instructions(kernels: list[Kernel]) -> list[Instruction]:
    return [item for kernel in kernels for item in kernel.entry.body if isinstance(item, Instruction)]
