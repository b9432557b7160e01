"""The instruction form that every front end produces and every later stage reads.

A front end (isa/ptx, later isa/sass) turns text into `Kernel` objects; nothing here knows what an instruction means.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class SourceLoc:
    """A position in the user's source (from .loc): file name, line and column, counted from 1."""

    file: str
    line: int
    column: int = 0
    inlined_at: SourceLoc | None = None


@dataclass(frozen=True, slots=True)
class Reg:
    """A declared register. `type` is the PTX type without dot: "pred", "b32", "f64"..."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Imm:
    """A literal. `kind` is "int" (value: Python int, not yet wrapped) or "float".

    A float literal keeps its exact bits: `bits32` is set for 0f literals, `bits64` for 0d and decimal ones.
    """

    kind: str
    value: int | float
    bits32: int | None = None
    bits64: int | None = None
    unsigned: bool = False


@dataclass(frozen=True, slots=True)
class Sym:
    """A name of a variable, function or label, with a byte offset (`sym+8`)."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """A special register, with its component: name "%tid.x", "%clock64", "%lanemask_lt"."""

    name: str


@dataclass(frozen=True, slots=True)
class Mem:
    """An address operand `[base+offset]`. base None: an absolute address."""

    base: Reg | Sym | None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vec:
    """A vector operand `{a, b, c}`."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two operands joined by '|': `p|q`, `%r1|%p1`."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Neg:
    """A predicate source operand with '!'."""

    operand: Reg


@dataclass(frozen=True, slots=True)
class Minus:
    """A negated register source operand, `-%r1` (video instructions only: vadd, vmad...)."""

    operand: Reg


@dataclass(frozen=True, slots=True)
class Part:
    """A byte or half-word of a register in a video instruction: `%r1.b0`, `%r1.h1`, `%r1.b3210`; selector "b0", "h1", "b3210"."""

    operand: Reg
    selector: str


@dataclass(frozen=True, slots=True)
class Blank:
    """The sink operand `_`."""


@dataclass(frozen=True, slots=True)
class Tuple_:
    """A parenthesised operand list, as in call; also the compound address of tex: `[tex, {x, y}]` (bracketed True)."""

    elements: tuple[Operand, ...]
    bracketed: bool = False


Operand: TypeAlias = Reg | Imm | Sym | Special | Mem | Vec | Pair | Neg | Minus | Part | Blank | Tuple_


@dataclass(frozen=True, slots=True)
class Guard:
    """`@p` or `@!p`."""

    reg: Reg
    negate: bool = False


@dataclass(slots=True)
class Instruction:
    """One instruction. `opcode` "mad", `modifiers` ("lo", "s32") in written order; spelling "mad.lo.s32".

    Modifiers keep '::' parts ("shared::cta"). `line` is the 1-based line in the PTX file; `loc` the .loc in force.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    loc: SourceLoc | None = None

    @property
    def spelling(self) -> str:
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class BranchTargets:
    """`name: .branchtargets L0, L1;` for brx.idx, and .calltargets for indirect calls."""

    name: str
    targets: tuple[str, ...]
    kind: str = "branchtargets"


@dataclass(slots=True)
class Variable:
    """A .global/.const/.shared/.local/.param variable, or a function's parameter in a register (space "reg").

    `size` in bytes (0: unsized extern array, its size comes at launch), `align` in bytes, `count` values of `type` in all. `init`: bytes of
    the initialiser with zeroes where a relocation goes; `relocs`: (byte offset, symbol, addend, width in bytes, generic) for addresses of
    other variables or functions; a width below the size of an address takes its lowest bytes.
    """

    name: str
    space: str
    type: str
    size: int
    align: int
    count: int = 1
    extern: bool = False
    visible: bool = False
    weak: bool = False
    init: bytes | None = None
    relocs: tuple[tuple[int, str, int, int, bool], ...] = ()
    line: int = 0
    ptr_space: str | None = None
    attributes: tuple[str, ...] = ()  # of .attribute(...), as written: "managed", "unified(19,95)"


@dataclass(frozen=True, slots=True)
class Prototype:
    """`name: .callprototype (returns) _ (params);`, the signature of an indirect call."""

    name: str
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...] = ()


@dataclass(slots=True)
class Kernel:
    """A .entry or .func with its parsed body.

    `params` in order; for a .func also `returns`. `directives` holds maxntid, reqntid, minnctapersm, maxnreg, noreturn ... as int tuples.
    `registers` maps a register's name to its Reg, for the registers that the body names. A register, variable or label of an inner scope
    `{ }` is renamed to be unique: "name@3" is the one of the third scope. An element of a vector register is a Reg "v.x".
    """

    name: str
    params: list[Variable]
    body: list[Instruction | Label | BranchTargets]
    registers: dict[str, Reg]
    variables: list[Variable] = field(default_factory=list)
    returns: list[Variable] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    is_entry: bool = True
    file: str = ""
    line: int = 0
    prototypes: dict[str, Prototype] = field(default_factory=dict)
