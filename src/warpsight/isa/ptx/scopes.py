"""What a name means inside a function's body: nested scopes of registers, variables, labels (PTX ISA 4.3.1, 5.4.6, 6.2)."""

from __future__ import annotations

from collections.abc import Mapping

from ..ir import Blank, Guard, Imm, Operand, Reg, Special, Sym, Variable, Vec
from .constants import WARP_SZ
from .declarations import RegisterDecl
from .source import Source
from .types import MEMORY_BYTES, SPECIALS, VECTOR_SPECIALS

_BUILT_IN: dict[str, Operand] = {"_": Blank(), "WARP_SZ": Imm("int", WARP_SZ)}
_COMPONENT_NAMES = "xyzw"
_COMPONENTS = {"x": "x", "y": "y", "z": "z", "w": "w", "r": "x", "g": "y", "b": "z", "a": "w"}

_MAX_DIGITS = 18  # of a register's number


class Scope:
    """One `{ }`. The function's own scope has number 0 and keeps names as they are; others add "@number", so that all are unique."""

    __slots__ = ("cache", "first", "guards", "labels", "names", "number", "parent", "ranges", "shadows", "used")

    def __init__(self, number: int, parent: Scope | None, first: int) -> None:
        self.number, self.parent = number, parent
        self.first = first  # index in the body of the first instruction of the scope
        self.names: dict[str, Operand] = {}
        self.ranges: dict[str, RegisterDecl] = {}
        self.labels: dict[str, str] = {}  # label to its unique name
        self.used: dict[str, int] = {}  # names that may be labels declared later, with the offset of their first use
        self.cache: dict[str, Operand] = {}  # operand text to operand
        self.guards: dict[tuple[str, str], Guard] = {}  # ("!" or "", register) to guard
        self.shadows = False  # hides a name of an outer scope: outer caches do not hold here

    def unique(self, name: str) -> str:
        return f"{name}@{self.number}" if self.number else name

    def find(self, name: str) -> Operand | None:
        """A register or variable declared in this scope itself."""
        found = self.names.get(name)
        if found is None and self.ranges:
            declaration = self.range_of(name)
            if declaration is not None:
                found = self.names[name] = make_register(self.unique(name), declaration)
        return found

    def range_of(self, name: str) -> RegisterDecl | None:
        """The `%r<10>` that declares `name`. Registers of a range are made when named: a range may be huge."""
        stem = len(name.rstrip("0123456789"))
        if len(name) - stem > _MAX_DIGITS:
            return None
        for split in range(stem, len(name)):  # `%r1<5>` declares %r10 too
            declaration = self.ranges.get(name[:split])
            if declaration and (name[split] != "0" or split + 1 == len(name)) and int(name[split:]) < (declaration.count or 0):
                return declaration
        return None


def make_register(name: str, declaration: RegisterDecl) -> Operand:
    if declaration.vector == 1:
        return Reg(name, declaration.type)
    return Vec(tuple(Reg(f"{name}.{c}", declaration.type) for c in _COMPONENT_NAMES[: declaration.vector]))


class Names:
    """All scopes that are open at one point of a body, and the module's symbols around them."""

    def __init__(self, source: Source, symbols: Mapping[str, int]) -> None:
        self.source, self.symbols = source, symbols
        self.scope = Scope(0, None, 0)
        self.registers: dict[str, Reg] = {}
        self._element_bytes: dict[str, int] = {}
        self._scopes = 1

    def open(self, first: int) -> None:
        self.scope = Scope(self._scopes, self.scope, first)
        self._scopes += 1

    def close(self) -> Scope:
        """Leaves the scope. Names that it used and did not declare as labels may be labels of the scope around it."""
        closed = self.scope
        assert closed.parent is not None
        self.scope = closed.parent
        for name, offset in closed.used.items():
            if name not in closed.labels:
                self.scope.used.setdefault(name, offset)
        return closed

    def declare(self, name: str, operand: Operand, offset: int) -> None:
        scope = self.scope
        if name in scope.names or name in scope.labels or scope.range_of(name):
            raise self.source.error(f"'{name}' is declared twice in this scope", offset)
        self._note_shadow(name)
        scope.names[name] = operand

    def declare_variable(self, variable: Variable, offset: int) -> None:
        """Declares a variable of a function and gives it its unique name."""
        unique = self.scope.unique(variable.name)
        self.declare(variable.name, Sym(unique), offset)
        self._element_bytes[unique] = MEMORY_BYTES[variable.type]
        variable.name = unique

    def element_bytes(self, name: str) -> int:
        """What an index of the array that a Sym names counts in: by ptxas 13.0 the type's size, also for vectors and rows."""
        return self._element_bytes.get(name) or self.symbols.get(name, 0)

    def declare_register(self, declaration: RegisterDecl) -> None:
        name, scope = declaration.name, self.scope
        if declaration.count is None:
            self.declare(name, make_register(scope.unique(name), declaration), declaration.start)
            return
        clash = name in scope.ranges or scope.range_of(name + "0") is not None
        if not clash:
            self._note_shadow(name + "0")
            previous, scope.ranges = scope.ranges, {name: declaration}
            clash = any(scope.range_of(other) for other in scope.names) or any(scope.range_of(other + "0") for other in previous)
            scope.ranges = {**previous, name: declaration}
        if clash:
            raise self.source.error(f"registers '{name}<{declaration.count}>' are declared twice in this scope", declaration.start)

    def _note_shadow(self, name: str) -> None:
        scope, outer = self.scope, self.scope.parent
        hides = name in self.symbols
        while outer is not None and not hides:
            hides = outer.find(name) is not None
            outer = outer.parent
        if hides:
            scope.shadows = True
            scope.cache.clear()
            scope.guards.clear()

    def declare_label(self, name: str, offset: int) -> str:
        scope = self.scope
        if name in scope.labels or scope.find(name) is not None:
            raise self.source.error(f"'{name}' is declared twice in this scope", offset)
        return scope.labels.setdefault(name, scope.unique(name))

    def own(self, text: str) -> Operand | None:
        """What `text` names in the innermost scope, if it is a name declared there."""
        found = self.scope.find(text)
        if found is not None:
            self._note_use(found)
        return found

    def cached(self, text: str) -> Operand | None:
        """The operand of that text in an outer scope, where this one cannot have changed its meaning."""
        scope = self.scope
        while not scope.shadows and scope.parent is not None:
            scope = scope.parent
            found = scope.cache.get(text)
            if found is not None:
                return found
        return None

    def lookup(self, name: str) -> Operand | None:
        """A register, variable or special register; None for a name that may be a symbol of the module or a label."""
        built_in = _BUILT_IN.get(name)
        if built_in is not None:
            return built_in
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.find(name)
            if found is not None:
                self._note_use(found)
                return found
            scope = scope.parent
        return Special(name) if name in SPECIALS else None

    def _note_use(self, found: Operand) -> None:
        if isinstance(found, Reg):
            self.registers[found.name] = found
        elif isinstance(found, Vec):
            for element in found.elements:
                self._note_use(element)

    def component(self, name: str, part: str) -> Operand | None:
        """`%tid.x` or an element of a vector register; None where `name` has no such part."""
        if part not in _COMPONENTS:
            return None
        found = self.lookup(name)
        if isinstance(found, Special) and name in VECTOR_SPECIALS:
            return Special(f"{name}.{_COMPONENTS[part]}")
        if isinstance(found, Vec):
            index = _COMPONENT_NAMES.index(_COMPONENTS[part])
            return found.elements[index] if index < len(found.elements) else None
        return None

    def resolve(self, name: str, offset: int) -> Operand:
        """What `name` means as an operand. A name not known yet may be a label further down: `check` decides at the end."""
        found = self.lookup(name)
        if found is not None:
            return found
        if name[0] == "%" and name not in self.symbols:
            raise self.source.error(f"undeclared register '{name}'", offset)
        self.scope.used.setdefault(name, offset)
        return Sym(name)

    def check(self) -> None:
        """At the end of a body: every name used is a symbol of the module or a label."""
        for name, offset in self.scope.used.items():
            if name not in self.scope.labels and name not in self.symbols:
                raise self.source.error(f"undefined label or undeclared name '{name}'", offset)
