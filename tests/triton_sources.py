"""Triton kernels of our own, and how to turn them into PTX without a GPU. Imported only where Triton is installed."""

from __future__ import annotations

from typing import Any, NamedTuple

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SM90 = GPUTarget("cuda", 90, 32)


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < n
    total = tl.load(x_ptr + index, mask=inside) + tl.load(y_ptr + index, mask=inside)
    tl.store(out_ptr + index, total, mask=inside)


@triton.jit
def row_softmax(out_ptr, x_ptr, x_stride, out_stride, columns, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    logits = tl.load(x_ptr + row * x_stride + column, mask=inside, other=-float("inf"))
    weights = tl.exp(logits - tl.max(logits, axis=0))
    tl.store(out_ptr + row * out_stride + column, weights / tl.sum(weights, axis=0), mask=inside)


# name -> (kernel, signature, constants): one entry per PTX file under tests/data/triton.
KERNELS: dict[str, tuple[Any, dict[str, str], dict[str, int]]] = {
    "vector_add": (vector_add, {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 1024}),
    "row_softmax": (
        row_softmax,
        {"out_ptr": "*fp32", "x_ptr": "*fp32", "x_stride": "i32", "out_stride": "i32", "columns": "i32", "BLOCK": "constexpr"},
        {"BLOCK": 1024},
    ),
}


class Compiled(NamedTuple):
    ptx: str
    threads: int  # a CTA
    shared: int  # dynamic shared memory, bytes


def compile_ptx(name: str) -> Compiled:
    """Compiles a kernel for sm_90."""
    kernel, signature, constants = KERNELS[name]
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=SM90, options={"num_warps": 4})
    return Compiled(compiled.asm["ptx"], 32 * compiled.metadata.num_warps, compiled.metadata.shared)
