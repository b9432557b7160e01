"""Moves, constants and addresses: what an assembler works out before it chooses instructions.

Copy propagation, constant folding, address folding (`add` into `[base+offset]`), common subexpressions, dead code. Values are followed
through registers written once and, inside a block, through any.
"""

from __future__ import annotations

from ...isa.ir import Imm, Mem, Neg, Operand, Reg, Special
from ...lanes.builder import Value
from ...lanes.numpy_builder import NumpyBuilder
from ...lanes.types import PRED, LaneType
from ...semantics import Kind
from ...semantics.registry import TYPES
from .block import Block, Function, Op, bits, is_invariant
from .defs import Definitions, Place
from .liveness import liveness

_OFFSET_LIMIT = 1 << 23  # of an address, signed: 24 bits in the encoding (measured: ptxas folds no larger ones)
_ROUNDS = 4


def simplify(function: Function) -> None:
    for _ in range(_ROUNDS):
        changed = _propagate(function)
        changed |= _share(function)
        changed |= remove_dead(function)
        if not changed:
            break


# Copies, constants and addresses


def _propagate(function: Function) -> bool:
    defs = Definitions(function)
    changed = False
    for block in function.blocks:
        for position, op in enumerate(block.all_ops()):
            place = (block, position)
            for i, source in enumerate(op.src if op.kind not in (Kind.CALL, Kind.RETURN) else ()):  # those read places of the frame
                value = _copied(defs, op, i, source, place)
                if value is not None:
                    op.src[i] = value
                    changed = True
            if op.guard is not None:
                value = _copied(defs, op, -1, op.guard.reg, place)
                if isinstance(value, Reg):
                    op.guard = type(op.guard)(value, op.guard.negate)
                    changed = True
            if op.form.memory is not None:
                changed |= _fold_address(defs, op, place)
            elif op.kind == Kind.ALU:
                changed |= _to_move(op) or _fold(op) or _reassociate(defs, op, place)
    return changed


def _copied(defs: Definitions, op: Op, index: int, source: Operand, place: Place) -> Operand | None:
    """What the register `source` was copied from, where that can stand in its place."""
    negated = isinstance(source, Neg)
    register = source.operand if isinstance(source, Neg) else source
    if not isinstance(register, Reg):
        return None
    definition = defs.reaches(register.name, place)
    if definition is None or definition.opcode != "mov" or len(definition.src) != 1 or len(definition.dst) != 1 or not definition.plain:
        return None
    value = definition.src[0]
    if isinstance(value, Reg):
        if _bits(value) != _bits(register) or not defs.same_value(value, defs.place_of(register.name, place), place):
            return None
        return Neg(value) if negated else value
    if isinstance(value, Neg) and negated:
        return value.operand if defs.same_value(value, defs.place_of(register.name, place), place) else None
    if isinstance(value, Imm) and not negated and _takes_literal(op, index, value):
        return value
    return None


def _takes_literal(op: Op, index: int, value: Imm) -> bool:
    """Literals are operands of arithmetic and addresses; data of stores and atomics must be in registers, but for zero."""
    if index < 0 or op.form.src[index] is PRED:
        return False
    if op.form.memory is not None:
        return index == 0 or value.value == 0
    return op.kind in (Kind.ALU, Kind.SYNC_ALU, Kind.BARRIER, Kind.WARP_SYNC)


def _bits(register: Reg) -> int:
    return TYPES[register.type].bits


def _fold_address(defs: Definitions, op: Op, place: Place) -> bool:
    base, offset = op.src[0], op.src[1]
    if not isinstance(base, Reg) or not isinstance(offset, Imm):
        return False
    definition = defs.reaches(base.name, place)
    if definition is None or definition.opcode not in ("add", "sub") or len(definition.src) != 2 or not definition.plain:
        return False
    a, b = definition.src
    if isinstance(a, Imm) and definition.opcode == "add":
        a, b = b, a
    if not isinstance(a, Reg) or not isinstance(b, Imm) or _bits(a) != _bits(base) or definition.form.dst[0].bits != _bits(base):
        return False
    width = _bits(base)
    step = _signed(int(b.value), width)
    total = int(offset.value) + (step if definition.opcode == "add" else -step)
    if abs(total) >= _OFFSET_LIMIT or not defs.same_value(a, defs.place_of(base.name, place), place):
        return False
    op.src[0], op.src[1] = a, bits(total)
    return True


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


_NEUTRAL = {"add": 0, "sub": 0, "or": 0, "xor": 0, "shl": 0, "shr": 0}  # literal second operands that leave the first as it is


def _to_move(op: Op) -> bool:
    """Operations that only copy: conversions of addresses that are the same in both spaces, and neutral operands."""
    if op.opcode == "cvta" and op.modifiers[-2].partition("::")[0] in ("global", "const"):
        pass
    elif op.opcode in _NEUTRAL and len(op.src) == 2 and len(op.dst) == 1 and op.form.dst[0].is_int and isinstance(op.src[1], Imm):
        if op.src[1].value != _NEUTRAL[op.opcode]:
            return False
    else:
        return False
    if not isinstance(op.dst[0], Reg) or (isinstance(op.src[0], Reg) and _bits(op.src[0]) != _bits(op.dst[0])):
        return False
    op.reform("mov", (f"b{_bits(op.dst[0])}",), op.dst, op.src[:1])
    return True


def _fold(op: Op) -> bool:
    """Integer operations on literals are done now, by the instruction's own meaning."""
    if op.opcode == "mov" or not op.form.pure or len(op.dst) != 1 or not op.src or not isinstance(op.dst[0], Reg):
        return False
    if not op.form.dst[0].is_int or not all(isinstance(s, Imm) for s in op.src) or op.form.emit is None:
        return False
    if any(t.is_float for t in op.form.src) or op.form.dst[0].bits > 64:
        return False
    b = NumpyBuilder(1)
    values = [_constant(b, s, type) for s, type in zip(op.src, op.form.src)]
    result = op.form.emit(b, values)[0]
    wide = b.resize(result, LaneType("b", _bits(op.dst[0])))
    op.reform("mov", (f"b{_bits(op.dst[0])}",), op.dst, [bits(int(wide.handle[0]))])
    return True


def _reassociate(defs: Definitions, op: Op, place: Place) -> bool:
    """(x + i) + j is x + (i + j)."""
    if op.opcode != "add" or len(op.modifiers) != 1 or not op.form.dst[0].is_int or op.form.dst[0].bits < 32:
        return False
    if not isinstance(op.src[0], Reg) or not isinstance(op.src[1], Imm):
        return False
    inner = defs.reaches(op.src[0].name, place)
    if inner is None or inner.opcode != "add" or inner.modifiers != op.modifiers or not inner.plain or not isinstance(inner.src[1], Imm):
        return False
    if not defs.same_value(inner.src[0], defs.place_of(op.src[0].name, place), place):
        return False
    op.src = [inner.src[0], bits(int(inner.src[1].value) + int(op.src[1].value))]
    return True


def _constant(b: NumpyBuilder, literal: Operand, type: LaneType) -> Value:
    assert isinstance(literal, Imm)
    if type is PRED:
        return b.const(PRED, int(literal.value) & 1)
    return b.bitcast(b.const(LaneType("b", type.bits), literal.value), type)


# Common subexpressions


def _share(function: Function) -> bool:
    """A pure operation whose value a dominating one has computed becomes a copy of that."""
    defs = Definitions(function)
    known: dict[tuple[object, ...], list[tuple[Block, Reg]]] = {}
    changed = False
    for block in function.blocks:
        for op in block.ops:
            if not op.plain or (op.opcode == "mov" and not isinstance(op.src[0], Special)) or len(op.dst) != 1:
                continue
            result = op.dst[0]
            if not isinstance(result, Reg) or result.name not in defs.once or not all(_is_stable(defs, s) for s in op.src):
                continue
            key = (op.form.name, result.type == "pred", *map(_key, op.src))
            earlier = next((reg for where, reg in known.get(key, ()) if defs.dominates(where, block) and _bits(reg) == _bits(result)), None)
            if earlier is None:
                known.setdefault(key, []).append((block, result))
                continue
            op.reform("mov", ("pred" if result.type == "pred" else f"b{_bits(result)}",), op.dst, [earlier])
            changed = True
    return changed


def _is_stable(defs: Definitions, operand: Operand) -> bool:
    if isinstance(operand, Neg):
        operand = operand.operand
    return operand.name in defs.once if isinstance(operand, Reg) else is_invariant(operand)


def _key(operand: Operand) -> object:
    if isinstance(operand, Imm):
        return operand.value
    return (type(operand).__name__, operand.operand.name if isinstance(operand, Neg) else operand.name)  # type: ignore[union-attr]


# Dead code


def remove_dead(function: Function) -> bool:
    """Removes operations without effects whose results nobody reads, and copies of a register to itself."""
    removed = False
    live = liveness(function)
    fixed = live.mask(name for name in function.fixed if name in live.index)
    for block in function.blocks:
        after = live.out_of[block]
        if block.branch is not None:
            after = live.before(block.branch, after)
        kept: list[Op] = []
        for op in reversed(block.ops):
            written = live.mask(op.defs())
            dead = op.form.pure and op.kind == Kind.ALU and not written & (after | fixed)
            if dead or (op.opcode == "mov" and op.dst == op.src):
                removed = True
                continue
            if op.opcode == "atom" and op.modifiers[-1] != "b128" and not written & (after | fixed) and isinstance(op.dst[0], Reg):
                removed |= _without_result(op)
            kept.append(op)
            after = live.before(op, after)
        block.ops = kept[::-1]
    return removed


def _without_result(op: Op) -> bool:
    """An atomic whose result nobody reads is a reduction."""
    operation = next((m for m in op.modifiers if m in ("add", "min", "max", "and", "or", "xor", "inc", "dec")), None)
    if operation is None:
        return False
    base, offset = op.src[0], op.src[1]
    assert isinstance(offset, Imm), "an address has a literal offset"
    address = Mem(base if isinstance(base, Reg) else None, int(offset.value))
    op.reform("red", op.modifiers, [], [address, *op.src[2:]])
    op.src[:2] = [base, offset]
    return True
