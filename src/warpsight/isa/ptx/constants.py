"""Literals and constant expressions: 64-bit integers with C's operators, and doubles (PTX ISA 4.5).

Evaluated as ptxas 13.0 does, which was asked where the manual says little: `|`, `&` and `^` of signed values are signed, shift counts are
taken modulo 64, integers and floats do not mix.
"""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Callable

from ..ir import Imm
from .lexer import Cursor, Token

WARP_SZ = 32
_MASK64 = (1 << 64) - 1

# Binary operators by precedence, loosest first.
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)  # fmt: skip
_FRACTION = re.compile(r"\.\d+(?:[eE][+-]?\d+)?")  # `.5`; the lexer sees a dotted word
_FRACTION_WORD = re.compile(r"\.\d+(?:[eE]\d*)?")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def integer(value: int, unsigned: bool) -> Imm:
    """A 64-bit integer constant: `value` wrapped into .u64 or .s64."""
    value &= _MASK64
    return Imm("int", value if unsigned or value < 1 << 63 else value - (1 << 64), unsigned=unsigned)


def double(value: float) -> Imm:
    return Imm("float", value, bits64=int.from_bytes(struct.pack("<d", value), "little"))


def float_bits(text: str) -> Imm:
    """`0f3F800000` (binary32) or `0d3FF0000000000000` (binary64), with all its digits."""
    data = bytes.fromhex(text[2:])
    bits = int.from_bytes(data, "big")
    if text[1] in "fF":
        return Imm("float", struct.unpack(">f", data)[0], bits32=bits)
    return Imm("float", struct.unpack(">d", data)[0], bits64=bits)


def literal(token: Token, cursor: Cursor) -> Imm:
    """The value of a number token."""
    text = token.text
    kind = text[1:2].lower() if text[0] == "0" else ""
    if kind == "f" or kind == "d":
        return float_bits(text)
    digits = text.rstrip("U")
    if kind == "x" or kind == "b":
        value = int(digits, 0)
    elif "." in text or "e" in text or "E" in text:
        return double(float(text))
    elif digits[0] == "0" and len(digits) > 1:
        if digits.strip("01234567"):
            cursor.fail(f"{text!r} is no octal number", token.start)
        value = int(digits, 8)
    else:
        value = int(digits) if len(digits) <= 20 else _MASK64 + 1
    if value > _MASK64:
        cursor.fail(f"{text!r} does not fit in 64 bits", token.start)
    return Imm("int", value, unsigned=text[-1] == "U" or value >= 1 << 63)


def starts_constant(token: Token) -> bool:
    return token.kind == "number" or _FRACTION_WORD.fullmatch(token.text) is not None or token.text in ("-", "+", "~", "!", "(", "WARP_SZ")


def parse_constant(cursor: Cursor) -> Imm:
    """A constant expression. Integers are wrapped to 64 bits as the manual's evaluation rules say."""
    start = cursor.token.start
    condition = _binary(cursor, 0)
    if not cursor.accept("?"):
        return condition
    cursor.nest()
    yes = parse_constant(cursor)
    cursor.expect(":")
    no = parse_constant(cursor)
    cursor.depth -= 1
    if yes.kind != no.kind or condition.kind == "float":
        cursor.fail("'?:' needs an integer before '?' and two values of one kind", start)
    chosen = yes if condition.value else no
    return chosen if chosen.kind == "float" else integer(int(chosen.value), yes.unsigned or no.unsigned)


def parse_integer(cursor: Cursor, what: str) -> int:
    """A constant expression that must be an integer."""
    start = cursor.token.start
    if not starts_constant(cursor.token):
        cursor.fail(f"expected {what}")
    value = parse_constant(cursor)
    if value.kind != "int":
        cursor.fail(f"{what} must be an integer", start)
    return int(value.value)


def _operator(cursor: Cursor) -> str:
    """The operator at the cursor. After an operand `%3` can only be the remainder by 3, though it reads like a name."""
    token = cursor.token
    if token.kind == "name" and token.text[0] == "%":
        return "%"
    return token.text if token.kind == "punctuation" else ""


def _binary(cursor: Cursor, level: int) -> Imm:
    if level == len(_LEVELS):
        return _unary(cursor)
    left = _binary(cursor, level + 1)
    while (op := _operator(cursor)) in _LEVELS[level]:
        start = cursor.token.start
        cursor.seek(start + len(op))
        left = _apply(cursor, start, op, left, _binary(cursor, level + 1))
    return left


def _unary(cursor: Cursor) -> Imm:
    token = cursor.token
    if token.kind == "number":
        return literal(cursor.next(), cursor)
    if token.kind == "dotted" and (fraction := _FRACTION.match(cursor.source.code, token.start, cursor.end)):
        cursor.seek(fraction.end())
        return double(float(fraction[0]))
    if token.text == "WARP_SZ":
        cursor.next()
        return Imm("int", WARP_SZ)
    if token.kind != "punctuation" or token.text not in "+-~!(":
        cursor.fail("expected a constant")
    cursor.nest()
    cursor.next()
    if token.text == "(":
        value = _parenthesised(cursor)
    else:
        value = _negate(_unary(cursor)) if token.text == "-" else _unary(cursor)
        if token.text in "!~" and value.kind != "int":
            cursor.fail(f"{token.text!r} needs an integer", token.start)
        if token.text == "!":
            value = Imm("int", int(not value.value))
        elif token.text == "~":
            value = integer(~int(value.value), True)
    cursor.depth -= 1
    return value


def _parenthesised(cursor: Cursor) -> Imm:
    if cursor.token.text in (".s64", ".u64"):  # a cast
        unsigned = cursor.next().text == ".u64"
        cursor.expect(")")
        start = cursor.token.start
        value = _unary(cursor)
        if value.kind != "int":
            cursor.fail("only integers can be cast", start)
        return integer(int(value.value), unsigned)
    value = parse_constant(cursor)
    cursor.expect(")")
    return value


def _negate(value: Imm) -> Imm:
    if value.kind == "int":
        return integer(-int(value.value), value.unsigned)
    if value.bits32 is not None:
        return Imm("float", -value.value, bits32=value.bits32 ^ 1 << 31)
    return double(-value.value)


def _apply(cursor: Cursor, start: int, op: str, a: Imm, b: Imm) -> Imm:
    if a.kind != b.kind:
        cursor.fail(f"{op!r} between an integer and a float", start)
    if a.kind == "float":
        return _apply_float(cursor, start, op, float(a.value), float(b.value))
    if op in ("&&", "||"):
        return Imm("int", int(bool(a.value) and bool(b.value)) if op == "&&" else int(bool(a.value) or bool(b.value)))
    x, y, unsigned = int(a.value), int(b.value), a.unsigned or b.unsigned
    if op in _COMPARISONS:
        if unsigned:
            x, y = x & _MASK64, y & _MASK64
        return Imm("int", int(_COMPARISONS[op](x, y)))
    if op in ("<<", ">>"):
        count = y & 63
        return integer(x << count if op == "<<" else x >> count, a.unsigned)
    if op in _ARITHMETIC:
        return integer(_ARITHMETIC[op](x, y), unsigned)
    if y == 0:
        cursor.fail("division by zero in a constant expression", start)
    if op == "%":  # by the manual operands count as .u64, the result as .s64
        return integer((x & _MASK64) % (y & _MASK64), False)
    if unsigned:
        return integer((x & _MASK64) // (y & _MASK64), True)
    quotient = abs(x) // abs(y)
    return integer(quotient if (x < 0) == (y < 0) else -quotient, False)


def _apply_float(cursor: Cursor, start: int, op: str, x: float, y: float) -> Imm:
    if op in _COMPARISONS:
        return Imm("int", int(_COMPARISONS[op](x, y)))
    if op == "/" and y == 0:
        cursor.fail("division by zero in a constant expression", start)
    result = {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else 0.0}.get(op)
    if result is None:
        cursor.fail(f"{op!r} needs integers", start)
    return double(result)
