"""Helpers of the lowering tests: kernels from a few lines of PTX, lowered with chosen passes, and run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from warpsight import _core
from warpsight.engine.handlers import Handlers, handlers
from warpsight.engine.lower import ALL_PASSES, LowerOptions, lower
from warpsight.engine.program import ProgramImage
from warpsight.isa.ptx import PtxModule
from warpsight.isa.ptx.timing import classes

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .b64 %rd<40>;\n"
RESERVED_SHARED = 1024


def kernel_text(body: str, params: str = ".param .u64 x, .param .u64 y, .param .u32 n", before: str = "") -> str:
    return f"{HEAD}{before}\n.visible .entry k({params})\n{{\n{REGISTERS}{body}\n}}\n"


def image(text: str, passes: frozenset[str] = ALL_PASSES, name: str = "k") -> ProgramImage:
    module = PtxModule.from_text(text)
    return lower(module.kernel(name), module, LowerOptions(lambda variable: 0x7000_0000_0000, RESERVED_SHARED, passes))


def slots(program: ProgramImage) -> list[str]:
    """Operation classes of the whole program, in order."""
    return [c for record in program.records for c in classes(program.timing[record["timing"]])]


def texts(program: ProgramImage) -> list[str]:
    """Form names of the records, up to the types."""
    return [entry[0].name.partition(":")[0] if entry else "" for entry in program.handlers]


def run(
    text: str,
    arrays: Sequence[npt.NDArray[np.generic]],
    scalars: bytes = b"",
    *,
    passes: frozenset[str] = ALL_PASSES,
    grid: int = 1,
    block: int = 32,
    compiled: Handlers | None = None,
) -> list[npt.NDArray[np.generic]]:
    """What the kernel `k` leaves in the arrays, whose addresses are its first parameters; `scalars` are the bytes of the others."""
    program = image(text, passes)
    memory = _core.Memory(1 << 30)
    addresses = []
    for array in arrays:
        addresses.append(memory.allocate(array.nbytes))
        memory.write(addresses[-1], np.ascontiguousarray(array).view(np.uint8).reshape(-1))
    bound = program.bind((compiled or handlers()).compile(program.wanted().items()))
    params = b"".join(a.to_bytes(8, "little") for a in addresses) + scalars
    machine = _core.Machine(bound, memory, (grid, 1, 1), (block, 1, 1), 0, params, RESERVED_SHARED)
    assert machine.run(8, 10_000_000)
    return [np.frombuffer(memory.read(a, array.nbytes), array.dtype).reshape(array.shape) for a, array in zip(addresses, arrays)]
