"""The operands of an instruction, token by token: every form the manual allows, and exact errors (PTX ISA chapter 6)."""

from __future__ import annotations

from ..ir import Mem, Minus, Neg, Operand, Pair, Part, Reg, Sym, Tuple_, Vec
from .constants import parse_constant, parse_integer, starts_constant
from .lexer import Cursor, Token
from .scopes import Names


class OperandParser:
    """Reads operands at a cursor. `opcode` decides what `(` and `name[1]` mean."""

    __slots__ = ("cursor", "names", "opcode")

    def __init__(self, cursor: Cursor, names: Names, opcode: str) -> None:
        self.cursor, self.names, self.opcode = cursor, names, opcode

    def list_until(self, end: str) -> tuple[Operand, ...]:
        """Operands separated by commas, up to and with the token `end`."""
        found: list[Operand] = []
        if not self.cursor.accept(end):
            while True:
                found.append(self.operand())
                if self.cursor.expect(",", end).text == end:
                    break
        return tuple(found)

    def operand(self) -> Operand:
        first = self._primary()
        if not self.cursor.accept("|"):
            return first
        return Pair(first, self._primary())

    def _primary(self) -> Operand:
        cursor = self.cursor
        token = cursor.token
        if token.text == "[":
            return self._address()
        if token.text == "{" or (token.text == "(" and self.opcode == "call"):
            cursor.nest()
            cursor.next()
            elements = self.list_until("}" if token.text == "{" else ")")
            cursor.depth -= 1
            return Vec(elements) if token.text == "{" else Tuple_(elements)
        if token.kind == "name" and token.text != "WARP_SZ":
            return self._named(cursor.next())
        if token.text in ("!", "-"):
            return self._negated(token)
        if starts_constant(token):
            return parse_constant(cursor)
        cursor.fail("expected an operand")

    def _negated(self, sign: Token) -> Operand:
        """`!p`, `-%r1`, or a constant that begins with the sign."""
        cursor = self.cursor
        start = sign.end
        following = Cursor(cursor.source, start, cursor.end).token
        if following.kind != "name" or following.text == "WARP_SZ":
            return parse_constant(cursor)
        cursor.next()
        operand = self._named(cursor.next())
        if isinstance(operand, Part) and sign.text == "-":
            return Part(operand.operand, f"-{operand.selector}")
        if not isinstance(operand, Reg) or (operand.type == "pred") != (sign.text == "!"):
            kind = "predicate" if sign.text == "!" else "data"
            cursor.fail(f"{sign.text!r} needs a {kind} register", following.start)
        return Neg(operand) if sign.text == "!" else Minus(operand)

    def _named(self, name: Token) -> Operand:
        cursor = self.cursor
        part = cursor.token
        if part.kind == "dotted" and part.start == name.end:
            return self._part(name, cursor.next())
        found = self.names.resolve(name.text, name.start)
        if not isinstance(found, Sym):
            return found
        if cursor.token.text == "[" and not cursor.depth:
            return self._element(found)
        return Sym(found.name, found.offset + self._offset())

    def _part(self, name: Token, part: Token) -> Operand:
        selector = part.text[1:]
        found = self.names.component(name.text, selector)
        if found is not None:
            return found
        whole = self.names.resolve(name.text, name.start)
        if isinstance(whole, Reg) and selector[0] in "bh" and selector[1:] and not selector[1:].strip("0123456789"):
            return Part(whole, selector)
        self.cursor.fail(f"'{name.text}' has no part '{part.text}'", part.start)

    def _element(self, array: Sym) -> Operand:
        """`name[3]`: the address of an element in mov and the like, the element in memory elsewhere."""
        cursor = self.cursor
        cursor.next()
        index = parse_integer(cursor, "an index")
        cursor.expect("]")
        offset = array.offset + index * self.names.element_bytes(array.name)
        return Sym(array.name, offset) if self.opcode in ("mov", "cvta") else Mem(Sym(array.name), offset)

    def _offset(self) -> int:
        """`+4`, `+-4` behind a name."""
        return parse_integer(self.cursor, "an offset") if self.cursor.accept("+") else 0

    def _address(self) -> Operand:
        """`[base+offset]`, `[17]`, or the compound `[base, {x, y}]` of tex, tld4, sust, tensor copies."""
        cursor = self.cursor
        cursor.nest()
        cursor.expect("[")
        elements: list[Operand] = []
        while True:
            elements.append(self._address_part())
            if cursor.expect(",", "]").text == "]":
                break
        cursor.depth -= 1
        first = elements[0]
        if len(elements) > 1:
            return Tuple_(tuple(elements), bracketed=True)
        if isinstance(first, Sym):
            return Mem(Sym(first.name), first.offset)
        if isinstance(first, Reg):
            return Mem(first)
        return first if isinstance(first, (Mem, Tuple_)) else Tuple_((first,), bracketed=True)

    def _address_part(self) -> Operand:
        cursor = self.cursor
        token = cursor.token
        if token.kind == "name" and token.text != "WARP_SZ":
            found = self._named(cursor.next())
            if not isinstance(found, (Reg, Sym, Vec)):
                cursor.fail(f"{token.text!r} is no address", token.start)
            if not isinstance(found, Reg):
                return found
            offset = self._offset()
            return Mem(found, offset) if offset else found
        if token.text == "{":
            return self._primary()
        return Mem(None, parse_integer(cursor, "an address"))
