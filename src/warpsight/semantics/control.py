"""Control flow (PTX ISA, "Control Flow Instructions" and "Miscellaneous Instructions"), and what this version does not execute.

The engine executes these itself; lowering reads labels and call operands from the instruction.
"""

from __future__ import annotations

from .form import Kind
from .registry import control, reject

control("bra", "uni~uni?", "*", kind=Kind.BRANCH)
control("brx", "idx~idx uni~uni?", "u32, -", kind=Kind.BRANCH_INDEXED)
control("call", "uni~uni?", "*", kind=Kind.CALL)
control("ret", "uni~uni?", "", kind=Kind.RETURN)
control("exit", kind=Kind.EXIT)
control("trap", kind=Kind.TRAP)
control("brkpt", kind=Kind.BREAKPOINT)
control("nanosleep", "type=u32", "type", kind=Kind.SLEEP)
control("pmevent", "mask~mask?", "-", kind=Kind.NOP)
control("griddepcontrol", "what~launch_dependents|wait", kind=Kind.NOP)

reject("tensor-core instructions come in a later version", "wmma", "mma", "wgmma", "tcgen05", "ldmatrix", "stmatrix", "movmatrix")
reject("asynchronous copies and their barriers come in a later version", "cp", "mbarrier", "tensormap", "multimem")
reject("clusters come in a later version", "mapa", "getctarank", "clusterlaunchcontrol")
reject("textures and surfaces come in a later version", "tex", "tld4", "txq", "istypep", "suld", "sust", "sured", "suq")
reject("dynamic stack allocation is not supported", "alloca", "stacksave", "stackrestore")
reject("register redistribution between warps is not supported", "setmaxnreg")
reject(
    "video instructions come in a later version",
    *("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vmad", "vset"),
    *(f"v{name}{width}" for name in ("add", "sub", "avrg", "absdiff", "min", "max", "set") for width in (2, 4)),
)
