"""What a GPU admits: launch shapes and limits, checked as the real driver would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .errors import LaunchError
from .model.files import GpuModel

Dim3 = tuple[int, int, int]
Shape = int | Sequence[int]
_AXES = "xyz"


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel needs of an SM. `registers`: 32-bit ones a thread; `static_shared`, `local_bytes` (a thread), `param_bytes` in
    bytes.
    """

    registers: int
    static_shared: int
    local_bytes: int
    param_bytes: int
    barriers: int
    directives: Mapping[str, tuple[int, ...]]


def dim3(value: Shape, what: str) -> Dim3:
    """(x, y, z) of a grid or block given as a number or up to three numbers. Raises LaunchError."""
    sizes = (value,) if isinstance(value, (int, np.integer)) else tuple(value) if isinstance(value, Sequence) else None
    if sizes is None or not 1 <= len(sizes) <= 3 or any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) for n in sizes):
        raise LaunchError(f"{what} must be one to three whole numbers, got {value!r}")
    x, y, z = (*(int(n) for n in sizes), 1, 1)[:3]
    return x, y, z


def threads_of(block: Dim3) -> int:
    return block[0] * block[1] * block[2]


def check(kernel: str, gpu: GpuModel, needs: Resources, grid: Dim3, block: Dim3, dynamic_shared: int) -> None:
    """Raises LaunchError for a launch that the GPU would refuse; names the limit and the GPU file's key."""

    def at_most(value: int, key: str, what: str) -> None:
        limit = gpu.integer(key)
        if value > limit:
            raise LaunchError(f"kernel '{kernel}': {what} is {value}, more than the {limit} that {gpu.name} admits ({key})")

    for what, size, key in (("grid", grid, "device.max_grid_dim"), ("block", block, "device.max_block_dim")):
        for axis, n, limit in zip(_AXES, size, gpu.integers(key), strict=True):
            if not 1 <= n <= limit:
                raise LaunchError(f"kernel '{kernel}': {what} {axis} is {n}, outside 1 to {limit} ({key} of {gpu.name})")
    threads = threads_of(block)
    at_most(threads, "device.max_threads_per_block", f"block {_x(block)}, in threads,")
    _check_directives(kernel, needs.directives, block)
    at_most(needs.static_shared, "device.shared_per_block", "static shared memory in bytes")
    if dynamic_shared < 0:
        raise LaunchError(f"kernel '{kernel}': dynamic shared memory is {dynamic_shared} bytes")
    total = needs.static_shared + dynamic_shared
    at_most(total, "device.shared_per_block_optin", f"shared memory in bytes ({needs.static_shared} static + {dynamic_shared} dynamic)")
    at_most(_registers(gpu, needs, threads), "device.max_registers_per_block", f"registers of a block ({needs.registers} a thread)")
    at_most(needs.local_bytes, "device.max_local_per_thread", "local memory of a thread in bytes")
    at_most(needs.param_bytes, "device.max_param_bytes", "size of the parameters in bytes")
    at_most(needs.barriers, "device.barriers_per_block", "number of barriers")


def _check_directives(kernel: str, directives: Mapping[str, tuple[int, ...]], block: Dim3) -> None:
    """.maxntid and .reqntid (PTX ISA 11.4): the launch fails when the block is larger, or other than asked."""
    most, exact = directives.get("maxntid"), directives.get("reqntid")
    if most and threads_of(block) > threads_of(dim3(most, ".maxntid")):
        raise LaunchError(f"kernel '{kernel}': block {_x(block)} is larger than its .maxntid {_x(dim3(most, '.maxntid'))}")
    if exact and block != dim3(exact, ".reqntid"):
        raise LaunchError(f"kernel '{kernel}': block {_x(block)} is not its .reqntid {_x(dim3(exact, '.reqntid'))}")


def _registers(gpu: GpuModel, needs: Resources, threads: int) -> int:
    """Registers a CTA occupies: allocated by warps, in units."""
    a_warp = _round_up(needs.registers * gpu.integer("device.warp_size"), gpu.integer("device.register_allocation_unit"))
    return a_warp * -(-threads // gpu.integer("device.warp_size"))


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _x(size: Dim3) -> str:
    return "x".join(map(str, size))
