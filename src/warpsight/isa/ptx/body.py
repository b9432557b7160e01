"""A function's body: statements to instructions, in one pass.

Nearly every statement of a compiler's output is an instruction whose operands are plain; those are cut up by regular expressions, and an
operand's text is looked up in a table of those seen in the scope. Whatever that does not recognise, good or bad, is read again token by
token (`operands.py`), which also finds the place of an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..ir import BranchTargets, Guard, Imm, Instruction, Kernel, Label, Mem, Neg, Operand, Pair, Prototype, Reg, SourceLoc, Sym, Vec
from .constants import float_bits, starts_constant
from .declarations import FunctionHead, parse_head_directives, parse_parameters, parse_pragma, parse_registers, parse_variables
from .lexer import IDENTIFIER, Cursor
from .operands import OperandParser
from .scopes import Names, Scope
from .source import Source
from .types import DECLARATION_WORDS

_SPELLING = r"[A-Za-z]\w*(?:(?:\.|::)\w+)*"
_INSTRUCTION = re.compile(rf"\s*(?:@\s*(!?)\s*({IDENTIFIER})\s+)?({_SPELLING})(?:\s+(?![\s:])|(?=[\[{{(;]))([^;]*);", re.ASCII)
_OPCODE = re.compile(rf"\s*({_SPELLING})", re.ASCII)
_FIRST = re.compile(r"\s*(\S)", re.ASCII)
_LABEL = re.compile(rf"\s*({IDENTIFIER})\s*:", re.ASCII)
_LOC = re.compile(
    r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:\s*,\s*function_name\s+[\w$%]+(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?(?=\s|;|$)",
    re.ASCII,
)
_TOP_LEVEL_COMMA = re.compile(r",(?![^\[{(]*[\]})])")  # wrong within nested brackets; the pieces then are no operands and fall through
_DECIMAL = r"-?(?:0|[1-9]\d{0,18})"
_PLAIN = re.compile(
    rf"""\s*(?:
      (?P<name> {IDENTIFIER} | _ ) (?:\.(?P<part> \w+))?
    | (?P<decimal> {_DECIMAL}) | 0[xX](?P<hex> [0-9a-fA-F]{{1,15}}) | (?P<float> 0[fF][0-9a-fA-F]{{8}} | 0[dD][0-9a-fA-F]{{16}})
    | \[ \s* (?P<base> {IDENTIFIER}) \s* (?: \+ \s* (?P<offset> {_DECIMAL}) \s* )? \]
    )\s*""",
    re.VERBOSE | re.ASCII,
)


class BodyParser:
    """Parses the body of `kernel` between the offsets `start` and `end` (its braces excluded).

    `symbols` maps the module's variables to the size of an element and its functions to 0; `files` is the table of `.file`.
    """

    def __init__(self, source: Source, start: int, end: int, kernel: Kernel, symbols: Mapping[str, int], files: Mapping[int, str]) -> None:
        self.source, self.position, self.end, self.kernel, self.files = source, start, end, kernel, files
        self.names = Names(source, symbols)
        self.names.registers = kernel.registers
        self.loc: SourceLoc | None = None
        self._spellings: dict[str, tuple[str, tuple[str, ...]]] = {}
        self._locs: dict[str, SourceLoc] = {}
        self._latest_loc: dict[tuple[int, int, int], SourceLoc] = {}

    def parse(self) -> None:
        code, end = self.source.code, self.end
        match_instruction = _INSTRUCTION.match
        body, spellings = self.kernel.body, self._spellings
        cache = self.names.scope.cache
        line, counted = self.source.line(self.position), self.position
        while True:
            position = self.position
            match = match_instruction(code, position, end)
            if match is None:
                if not self._other_statement():
                    break
                cache = self.names.scope.cache
                continue
            bang, guard_name, spelling, text = match.groups()
            text = text.replace(", ", ",")  # so that the table needs no entry with the blank
            pieces = text.split(",") if "{" not in text and "[" not in text else _TOP_LEVEL_COMMA.split(text)
            operands: tuple[Operand, ...] | None
            try:
                operands = tuple([cache[piece] for piece in pieces])
            except KeyError:
                operands = self._plain_operands(pieces, text)
            guard = self._guard(bang, guard_name) if guard_name else None
            if operands is None or (guard is None and guard_name):
                self._instruction_by_tokens()
                continue
            start = match.start(3)
            line += code.count("\n", counted, start)
            counted = start
            parts = spellings.get(spelling)
            if parts is None:
                opcode, *modifiers = spelling.split(".")
                parts = spellings[spelling] = (opcode, tuple(modifiers))
            body.append(Instruction(parts[0], parts[1], operands, guard, line, self.loc))
            self.position = match.end()
        self._finish()

    # The fast way: each of these gives None for what it does not know.

    def _plain_operands(self, pieces: list[str], text: str) -> tuple[Operand, ...] | None:
        if not text:
            return ()
        found = []
        for piece in pieces:
            operand = self._lookup(piece)
            if operand is None:
                return None
            found.append(operand)
        return tuple(found)

    def _lookup(self, piece: str) -> Operand | None:
        cache = self.names.scope.cache
        operand = cache.get(piece) or self.names.own(piece) or self.names.cached(piece) or self._plain(piece)
        if operand is not None:
            cache[piece] = operand
        return operand

    def _plain(self, piece: str) -> Operand | None:
        match = _PLAIN.fullmatch(piece)
        if match is None:
            return self._plain_group(piece.strip())
        name, part, decimal, hexadecimal, real, base, offset = match.groups()
        if name:
            return self.names.component(name, part) if part else self._name(name)
        if decimal:
            return Imm("int", int(decimal)) if -(1 << 63) <= int(decimal) < 1 << 63 else None
        if hexadecimal:
            return Imm("int", int(hexadecimal, 16))
        if real:
            return float_bits(real)
        operand = self._name(base)
        return Mem(operand, int(offset or 0)) if isinstance(operand, (Reg, Sym)) else None

    def _plain_group(self, piece: str) -> Operand | None:
        first = piece[:1]
        if first == "{" and piece[-1] == "}" and "|" not in piece:
            elements = self._plain_operands(piece[1:-1].split(","), piece[1:-1])
            return None if elements is None else Vec(elements)
        if first == "!":
            operand = self._lookup(piece[1:])
            return Neg(operand) if isinstance(operand, Reg) and operand.type == "pred" else None
        if "|" in piece and first not in "({[":
            pair = [self._lookup(half) for half in piece.split("|")]
            return Pair(pair[0], pair[1]) if len(pair) == 2 and pair[0] is not None and pair[1] is not None else None
        return None

    def _name(self, name: str) -> Operand | None:
        """A declared name. Others go the slow way once, which notes where they stand."""
        found = self.names.lookup(name)
        if found is None and name in self.names.scope.used:
            return Sym(name)
        return found

    def _guard(self, bang: str, name: str) -> Guard | None:
        guards = self.names.scope.guards
        guard = guards.get((bang, name))
        if guard is None:
            register = self.names.lookup(name)
            if not isinstance(register, Reg) or register.type != "pred":
                return None
            guard = guards[bang, name] = Guard(register, bool(bang))
        return guard

    # The exact way.

    def _instruction_by_tokens(self) -> None:
        cursor = Cursor(self.source, self.position, self.end)
        guard = None
        if cursor.accept("@"):
            negate = cursor.accept("!")
            name = cursor.name("a predicate register")
            register = self.names.resolve(name.text, name.start)
            if not isinstance(register, Reg) or register.type != "pred":
                cursor.fail("a guard needs a predicate register", name.start)
            guard = Guard(register, negate)
        start = cursor.token.start
        match = _OPCODE.match(self.source.code, start, self.end)
        if match is None:
            cursor.fail("expected an instruction, a directive or a label")
        opcode, *modifiers = match[1].split(".")
        cursor.seek(match.end())
        while cursor.token.kind == "dotted" and not starts_constant(cursor.token):  # `.5` is a number
            modifiers.append(cursor.next().text[1:])
        operands = OperandParser(cursor, self.names, opcode).list_until(";")
        self.kernel.body.append(Instruction(opcode, tuple(modifiers), operands, guard, self.source.line(start), self.loc))
        self._stand_behind(cursor)

    def _stand_behind(self, cursor: Cursor) -> None:
        """The next statement begins behind the token that the cursor read last."""
        self.position = cursor.behind

    def _other_statement(self) -> bool:
        """A label, directive, brace or unusual instruction. False at the end of the body."""
        code = self.source.code
        match = _FIRST.match(code, self.position, self.end)
        if match is None:
            return False
        first = match[1]
        if first == "{":
            self.names.open(len(self.kernel.body))
            self.position = match.end()
        elif first == "}":
            if self.names.scope.parent is None:
                raise self.source.error("this '}' closes nothing", match.start(1))
            self._rename_labels(self.names.close())
            self.position = match.end()
        elif first == ".":
            loc = _LOC.match(code, self.position, self.end)
            if loc is not None:
                self._set_loc(loc)
            else:
                self._directive(Cursor(self.source, self.position, self.end))
        else:
            label = _LABEL.match(code, self.position, self.end)
            if label is not None:
                self._label(label)
            else:
                self._instruction_by_tokens()
        return True

    def _directive(self, cursor: Cursor) -> None:
        token = cursor.token
        if token.text == ".reg":
            for declaration in parse_registers(cursor):
                self.names.declare_register(declaration)
        elif token.text == ".pragma":
            cursor.next()
            parse_pragma(cursor)
        elif token.text[1:] in DECLARATION_WORDS:
            for variable in parse_variables(cursor):
                self.names.declare_variable(variable, token.start)
                self.kernel.variables.append(variable)
        elif token.text == ".loc":
            raise self.source.error(
                "malformed .loc: it takes file, line, column [, function_name label, inlined_at file, line, column]", token.start
            )
        else:
            cursor.fail(f"unknown directive {token.text!r} in a function", token.start)
        self._stand_behind(cursor)

    # Labels and what can follow one.

    def _label(self, match: re.Match[str]) -> None:
        name, start = match[1], match.start(1)
        unique = self.names.declare_label(name, start)
        self.position = match.end()
        cursor = Cursor(self.source, match.end(), self.end)
        directive = cursor.token.text
        if directive in (".branchtargets", ".calltargets"):
            cursor.next()
            targets = self._targets(cursor, directive)
            self.kernel.body.append(BranchTargets(unique, targets, directive[1:]))
        elif directive == ".callprototype":
            cursor.next()
            self.kernel.prototypes[unique] = self._prototype(cursor, unique)
        else:
            self.kernel.body.append(Label(unique, self.source.line(start)))
            return
        self._stand_behind(cursor)

    def _targets(self, cursor: Cursor, directive: str) -> tuple[str, ...]:
        found = []
        while True:
            token = cursor.name("a label" if directive == ".branchtargets" else "a function")
            self.names.scope.used.setdefault(token.text, token.start)
            found.append(token.text)
            if cursor.expect(",", ";").text == ";":
                return tuple(found)

    def _prototype(self, cursor: Cursor, name: str) -> Prototype:
        """`(returns) _ (params) .noreturn ;`"""
        returns = parse_parameters(cursor, named=False) if cursor.token.text == "(" else []
        cursor.expect("_")
        params = parse_parameters(cursor, named=False) if cursor.token.text == "(" else []
        parse_head_directives(cursor, FunctionHead(name, False))
        cursor.expect(";")
        return Prototype(name, tuple(params), tuple(returns))

    def _rename_labels(self, scope: Scope) -> None:
        """Branches of a closed scope to labels declared in it get the labels' unique names."""
        if not scope.labels:
            return
        body, labels = self.kernel.body, scope.labels
        for i in range(scope.first, len(body)):
            item = body[i]
            if isinstance(item, Instruction):
                item.operands = tuple(
                    Sym(labels[o.name], o.offset) if isinstance(o, Sym) and o.name in labels else o for o in item.operands
                )
            elif isinstance(item, BranchTargets):
                body[i] = BranchTargets(item.name, tuple(labels.get(t, t) for t in item.targets), item.kind)

    def _set_loc(self, match: re.Match[str]) -> None:
        self.position = match.end()
        text = match[0].strip()
        loc = self._locs.get(text)
        if loc is None:
            at = match.start() + len(match[0]) - len(match[0].lstrip())
            file, line, column, *inlined = (int(number) if number else 0 for number in match.groups())
            outer = None
            if match[4]:
                call = (inlined[0], inlined[1], inlined[2])
                outer = self._latest_loc.get(call) or SourceLoc(self._file(call[0], at), call[1], call[2])
            loc = SourceLoc(self._file(file, at), line, column, outer)
            if outer is None:
                self._locs[text] = loc
            self._latest_loc[file, line, column] = loc
        self.loc = loc

    def _file(self, number: int, offset: int) -> str:
        if number not in self.files:
            raise self.source.error(f"file {number} is not declared by .file", offset)
        return self.files[number]

    def _finish(self) -> None:
        if self.names.scope.parent is not None:
            raise self.source.error("a '{' in this function is not closed", self.end)
        self.names.check()
