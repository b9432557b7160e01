"""IR back to PTX text, for messages, listings and tests. Reading a printed instruction gives the instruction."""

from __future__ import annotations

from ..ir import (
    Blank,
    Guard,
    Imm,
    Instruction,
    Mem,
    Minus,
    Neg,
    Operand,
    Pair,
    Part,
    Reg,
    Special,
    Sym,
    Tuple_,
    Vec,
)  # fmt: skip


def print_instruction(instruction: Instruction) -> str:
    """`@!%p1 ld.global.f32 %f1, [%rd1+4];` in one line, without indentation."""
    guard = f"{print_guard(instruction.guard)} " if instruction.guard else ""
    operands = ", ".join(print_operand(operand) for operand in instruction.operands)
    return f"{guard}{instruction.spelling}{' ' if operands else ''}{operands};"


def print_guard(guard: Guard) -> str:
    return f"@{'!' if guard.negate else ''}{guard.reg.name}"


def print_operand(operand: Operand) -> str:
    match operand:
        case Reg(name=name) | Special(name=name):
            return name
        case Imm():
            return _literal(operand)
        case Sym(name=name, offset=offset):
            return name + _plus(offset)
        case Mem(base=None, offset=offset):
            return f"[{offset}]"
        case Mem(base=base, offset=offset):
            assert base is not None
            return f"[{print_operand(base)}{_plus(offset)}]"
        case Vec(elements=elements):
            return "{" + ", ".join(map(print_operand, elements)) + "}"
        case Pair(first=first, second=second):
            return f"{print_operand(first)}|{print_operand(second)}"
        case Neg(operand=register):
            return f"!{register.name}"
        case Minus(operand=register):
            return f"-{register.name}"
        case Part(operand=register, selector=selector):
            sign = "-" if selector.startswith("-") else ""
            return f"{sign}{register.name}.{selector.removeprefix('-')}"
        case Blank():
            return "_"
        case Tuple_(elements=elements, bracketed=True):
            parts = [print_operand(e)[1:-1] if isinstance(e, Mem) else print_operand(e) for e in elements]
            return "[" + ", ".join(parts) + "]"
        case Tuple_(elements=elements):
            return "(" + ", ".join(map(print_operand, elements)) + ")"


def _plus(offset: int) -> str:
    return f"+{offset}" if offset else ""


def _literal(value: Imm) -> str:
    if value.bits32 is not None:
        return f"0f{value.bits32:08X}"
    if value.bits64 is not None:
        return f"0d{value.bits64:016X}"
    return f"{value.value}{'U' if value.unsigned and int(value.value) < 1 << 63 else ''}"
