"""Instructions that ptxas joins into one, where PTX itself has that one: mad.wide, mad, lop3, setp with a boolean operation.

What it joins without a PTX instruction for it is a matter of price only (`price.py`). Patterns as ptxas 13.0 -arch=sm_90 makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...isa.ir import Imm, Operand, Reg
from ...semantics import Kind
from .block import Function, Op, bits
from .defs import Definitions, Place
from .simplify import remove_dead

_ADD64, _ADD32 = ("s64", "u64"), ("s32", "u32")
_LOGIC = ("and", "or", "xor", "not", "lop3")
# Truth tables of the three inputs of lop3 (PTX ISA, lop3: immLut).
_INPUTS = (0xF0, 0xCC, 0xAA)


def fuse(function: Function) -> None:
    """Joins pairs until there are none; the first of a pair goes away when nothing else reads it."""
    for join in (_extended, _wide, _multiply_add, _compare, _logic, _logic):
        defs = Definitions(function)
        readers = _readers(function)
        for block in function.blocks:
            for position, op in enumerate(block.ops):
                if op.kind == Kind.ALU and op.form.pure:
                    join(op, (block, position), defs, readers)
        remove_dead(function)


Readers = dict[str, list[Op]]


def _readers(function: Function) -> Readers:
    found: Readers = {}
    for op in function.ops():
        for name in op.uses():
            found.setdefault(name, []).append(op)
    return found


def _sources(op: Op, place: Place, defs: Definitions, accepts: Callable[[Op], bool]) -> Iterator[tuple[int, Op]]:
    """(index, operation) of the sources whose one definition is accepted and could as well be computed at `place`."""
    for i, source in enumerate(op.src):
        if not isinstance(source, Reg):
            continue
        definition = defs.reaches(source.name, place)
        if definition is None or not definition.plain or not accepts(definition):
            continue
        at = defs.place_of(source.name, place)
        if all(defs.same_value(s, at, place) for s in definition.src):
            yield i, definition


def _all_join(definition: Op, readers: Readers, joins: Callable[[Op], bool]) -> bool:
    """Whether every reader of a result joins with it (or has done so), so that the operation itself goes away."""
    return all(joins(op) or name not in op.uses() for name in definition.defs() for op in readers.get(name, ()))


def _is(op: Op, opcode: str, *types: str) -> bool:
    """A two- or three-operand integer operation of one of the types, without further modifiers."""
    return op.opcode == opcode and len(op.modifiers) == 1 and op.modifiers[0] in types


def _extended(op: Op, place: Place, defs: Definitions, readers: Readers) -> None:
    """Products of 32-bit values that were extended to 64 bits: mul.wide."""
    by_shift = op.opcode == "shl" and op.modifiers == ("b64",) and isinstance(op.src[1], Imm) and 0 <= int(op.src[1].value) < 31
    if not by_shift and not (op.opcode == "mul" and op.modifiers in (("lo", "s64"), ("lo", "u64"))):
        return
    found = dict(_sources(op, place, defs, lambda d: d.opcode == "cvt" and d.modifiers in (("s64", "s32"), ("u64", "u32"))))
    if 0 not in found or (not by_shift and (1 not in found or found[0].modifiers != found[1].modifiers)):
        return
    if not all(definition in place[0].ops for definition in found.values()):  # ptxas looks no further than the block
        return
    second = bits(1 << int(op.src[1].value)) if by_shift and isinstance(op.src[1], Imm) else found[1].src[0]
    op.reform("mul", ("wide", found[0].modifiers[1]), op.dst, [found[0].src[0], second])


def _wide(op: Op, place: Place, defs: Definitions, readers: Readers) -> None:
    """mul.wide, or a 64-bit product, + add of 64 bits: IMAD.WIDE with the sum."""
    if not _is(op, "add", *_ADD64):
        return

    def accepts(d: Op) -> bool:
        return (
            d.opcode == "mul"
            and d.modifiers in (("wide", "s32"), ("wide", "u32"))
            and _all_join(d, readers, lambda r: _is(r, "add", *_ADD64))
        )

    def accepts_full(d: Op) -> bool:
        return d.opcode == "mul" and d.modifiers in (("lo", "s64"), ("lo", "u64")) and _all_join(d, readers, lambda r: r is op)

    for i, product in (*_sources(op, place, defs, accepts), *_sources(op, place, defs, accepts_full)):
        op.reform("mad", product.modifiers, op.dst, [*product.src, op.src[1 - i]])
        return


def _multiply_add(op: Op, place: Place, defs: Definitions, readers: Readers) -> None:
    """shl or mul + add of 32 bits: LEA, IMAD."""
    if not _is(op, "add", *_ADD32):
        return

    def accepts(d: Op) -> bool:
        shift = d.opcode == "shl" and d.modifiers == ("b32",) and isinstance(d.src[1], Imm) and 0 <= int(d.src[1].value) < 32
        multiply = d.opcode == "mul" and d.modifiers in (("lo", "s32"), ("lo", "u32"))
        return (shift or multiply) and _all_join(d, readers, lambda r: _is(r, "add", *_ADD32))

    for i, product in _sources(op, place, defs, accepts):
        a, b = product.src
        factor = bits(1 << int(b.value)) if product.opcode == "shl" and isinstance(b, Imm) else b
        op.reform("mad", ("lo", op.modifiers[0]), op.dst, [a, factor, op.src[1 - i]])
        return


def _compare(op: Op, place: Place, defs: Definitions, readers: Readers) -> None:
    """setp + and.pred, or.pred: one setp with the operation."""
    if op.opcode not in ("and", "or", "xor") or op.modifiers != ("pred",):
        return

    def accepts(d: Op) -> bool:
        return (
            d.opcode == "setp" and len(d.src) == 2 and not isinstance(d.dst[1], Reg) and sum(len(readers.get(n, ())) for n in d.defs()) == 1
        )

    candidates = list(_sources(op, place, defs, accepts))
    if candidates:
        i, compare = candidates[-1]
        modifiers = (compare.modifiers[0], op.opcode, *compare.modifiers[1:])
        op.reform("setp", modifiers, op.dst, [*compare.src, op.src[1 - i]])


def _table(op: Op, inputs: list[Operand], operands: list[Operand]) -> int | None:
    """The truth table of a logic operation over `inputs`, given which of them its operands are. None if an operand is not among them."""
    try:
        columns = [_INPUTS[inputs.index(o)] for o in operands]
    except ValueError:
        return None
    return _apply(op, columns)


def _apply(op: Op, columns: list[int]) -> int:
    match op.opcode:
        case "and":
            return columns[0] & columns[1]
        case "or":
            return columns[0] | columns[1]
        case "xor":
            return columns[0] ^ columns[1]
        case "not":
            return ~columns[0] & 0xFF
    table = _lut_of(op)
    result = 0
    for row in range(8):
        index = sum((column >> row & 1) << shift for column, shift in zip(columns, (2, 1, 0)))
        result |= (table >> index & 1) << row
    return result


def _lut_of(op: Op) -> int:
    """The immediate table of a lop3, which is part of its form."""
    return int(op.form.name.partition(":")[0].rpartition(".")[2], 0)


def _is_logic(op: Op) -> bool:
    if op.opcode == "lop3":
        return op.modifiers == ("b32",)
    return op.opcode in _LOGIC and op.modifiers == ("b32",)


def _logic(op: Op, place: Place, defs: Definitions, readers: Readers) -> None:
    """Two logic operations over at most three inputs: LOP3."""
    if not _is_logic(op):
        return

    def accepts(d: Op) -> bool:
        return _is_logic(d) and sum(len(readers.get(n, ())) for n in d.defs()) == 1

    for i, inner in _sources(op, place, defs, accepts):
        outer_operands = [s for k, s in enumerate(op.src[: _inputs(op)]) if k != i]
        inputs = list(dict.fromkeys([*inner.src[: _inputs(inner)], *outer_operands]))
        if len(inputs) > 3 or sum(isinstance(o, Imm) for o in inputs) > 1:
            continue
        inner_table = _table(inner, inputs, inner.src[: _inputs(inner)])
        assert inner_table is not None
        columns = [inner_table if k == i else _INPUTS[inputs.index(s)] for k, s in enumerate(op.src[: _inputs(op)])]
        table = _apply(op, columns)
        while len(inputs) < 3:
            inputs.append(bits(0))
        op.reform("lop3", ("b32",), op.dst, [*inputs, Imm("int", table)])
        return


def _inputs(op: Op) -> int:
    return {"not": 1, "lop3": 3}.get(op.opcode, 2)
