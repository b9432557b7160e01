"""Programs as the C++ engine takes them: tables of records (core/exec/record.h) with what Python knows of each record beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..isa.ir import Instruction, SourceLoc
from ..isa.ptx.printer import print_instruction
from ..semantics import Form
from .handlers import HandlerKey, NumpyHandlers

# struct Record in core/exec/record.h, field by field.
RECORD = np.dtype(
    [
        ("handler", "u8"), ("operands", "u4"), ("guard", "i4"), ("target", "u4"), ("aux", "u4"), ("uses", "u4"), ("address", "u4"),
        ("line", "u4"),
        ("timing", "u2"), ("n_operands", "u2"), ("kind", "u1"), ("flags", "u1"), ("n_reads", "u1"), ("n_writes", "u1"), ("sub", "u1"),
        ("space", "u1"),
        ("memory_op", "u1"), ("cache_op", "u1"), ("bytes", "u1"), ("scope", "u1"), ("element_bytes", "u1"), ("reserved", "u1", (13,)),
    ]
)  # fmt: skip
assert RECORD.itemsize == 64

NO_GUARD = -1
GUARD_NEGATE, UNIFORM_BRANCH, VECTOR_ACCESS, WHOLE_WARP = 1, 2, 4, 8
PREDICATE_USE = 0x8000
SPACES = {name: i for i, name in enumerate(("global", "shared", "local", "const", "param", "generic"))}
MEMORY_OPS = {name: i for i, name in enumerate(("none", "load", "store", "atomic", "reduction", "prefetch"))}
CACHE_OPS = {
    name: i for i, name in enumerate(["ca", "cg", "cs", "lu", "cv", "nc", "wb", "wt", "volatile", "relaxed", "acquire", "release"])
}
SCOPES = {"": 0, "cta": 0, "cluster": 1, "gpu": 2, "sys": 3}


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a launch of the program needs; see struct Program in core/exec/machine.h. Bytes, but for `registers` (32-bit, a thread) and
    `barriers`.
    """

    frame_bytes: int
    stack_bytes: int
    registers: int
    barriers: int
    local_bytes: int
    static_shared: int

    def as_dict(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class ProgramImage:
    """A lowered kernel with the functions that it calls, without addresses of handlers.

    `records` as RECORD; `operands` int64 and `uses` uint16 are the pools it indexes, `branch_table` record indices. By record:
    `instructions` (the
    PTX instruction it comes from), `handlers` (form and key, None where the engine acts alone). `functions`: first record and name of each.
    """

    name: str
    records: npt.NDArray[np.void]
    operands: npt.NDArray[np.int64]
    uses: npt.NDArray[np.uint16]
    branch_table: npt.NDArray[np.uint32]
    timing: list[str]
    sizes: Sizes
    instructions: Sequence[Instruction]
    handlers: Sequence[tuple[Form, HandlerKey] | None]
    functions: Sequence[tuple[int, str]] = field(default_factory=tuple)

    def wanted(self) -> dict[HandlerKey, Form]:
        """The handlers to compile (`Handlers.compile(image.wanted().items())`)."""
        return {key: form for form, key in filter(None, self.handlers)}

    def bind(self, addresses: Mapping[HandlerKey, int]) -> Any:
        """The `_core.Program` that calls the handlers at `addresses`; with none, one for `interpreter()`."""
        from .. import _core

        records = self.records.copy()
        if addresses:
            records["handler"] = [addresses[entry[1]] if entry else 0 for entry in self.handlers]
        return _core.Program(
            self.name, records.view(np.uint8), self.operands, self.uses, self.branch_table, self.timing, self.sizes.as_dict()
        )  # fmt: skip

    def interpreter(self) -> NumpyHandlers:
        """Executes the records with the NumPy builder (`_core.Machine.interpret_with`)."""
        return NumpyHandlers(self.handlers, self.records["operands"].tolist(), self.operands)

    # What is known of a record

    def text(self, record: int) -> str:
        """The PTX instruction, as text."""
        return print_instruction(self.instructions[record])

    def ptx_line(self, record: int) -> int:
        return self.instructions[record].line

    def source(self, record: int) -> SourceLoc | None:
        return self.instructions[record].loc

    def function_of(self, record: int) -> str:
        return next(name for first, name in reversed(self.functions) if first <= record)
