"""Small modules around a piece of PTX."""

from __future__ import annotations

from pathlib import Path

from warpsight.isa import ir
from warpsight.isa.ptx import PtxModule

SAMPLE = Path(__file__).with_name("sample.ptx")

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %rd<16>; .reg .f32 %f<16>; .reg .f64 %d<8>;"


def module(text: str) -> PtxModule:
    return PtxModule.from_text(HEAD + text, "test.ptx")


def kernel(statements: str, outside: str = "", registers: str = REGISTERS) -> ir.Kernel:
    """A kernel `k` with the parameters `P` and `Q`; its first statement is on line 7 + the lines of `outside`."""
    return module(f"{outside}\n.entry k(.param .u64 P, .param .u32 Q)\n{{ {registers}\n{statements}\n}}\n").kernel("k")


def one(statement: str, outside: str = "") -> ir.Instruction:
    """The last instruction of the kernel `statement`."""
    found = [item for item in kernel(statement, outside).body if isinstance(item, ir.Instruction)]
    return found[-1]


def operand(text: str, outside: str = "", opcode: str = "mov.b32") -> ir.Operand:
    """The only operand of an instruction."""
    (found,) = one(f"{opcode} {text};", outside).operands
    return found
