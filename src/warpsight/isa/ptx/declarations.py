"""Declarations: variables of every state space, registers, parameters and the head of a function (PTX ISA 5.4, 11.1-11.3).

Each function reads from a `Cursor` that stands on the first token of what it parses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir import Variable
from .constants import parse_integer
from .initializers import Initializer, parse_initializer
from .lexer import Cursor, Token
from .types import DATA_SPACES, LINKAGE, MEMORY_BYTES, OPAQUE_TYPES, VECTOR_SIZES

# Directives in a function's head: how many integers may follow at most (11.4 performance tuning, 11.5 ABI, 11.6 clusters).
HEAD_DIRECTIVES = {
    ".maxnreg": 1, ".maxntid": 3, ".reqntid": 3, ".minnctapersm": 1, ".maxnctapersm": 1, ".noreturn": 0,
    ".reqnctapercluster": 3, ".explicitcluster": 0, ".maxclusterrank": 1, ".blocksareclusters": 0,
    ".local_maxnreg": 1, ".abi_preserve": 1, ".abi_preserve_control": 1,
}  # fmt: skip


@dataclass(slots=True)
class RegisterDecl:
    """`%r<10>` (count 10: %r0 to %r9), or one register (count None). `vector` is the number of elements, 1 for a scalar."""

    name: str
    type: str
    count: int | None
    vector: int
    start: int


@dataclass(slots=True)
class FunctionHead:
    """What stands before a function's body. `start` is the offset of its name; `end` that of the body's brace or the semicolon."""

    name: str
    is_entry: bool
    start: int = 0
    end: int = 0
    params: list[Variable] = field(default_factory=list)
    returns: list[Variable] = field(default_factory=list)
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)


def parse_attributes(cursor: Cursor) -> tuple[str, ...]:
    """`.attribute(.managed, .unified(u1, u2))`, with the cursor behind `.attribute`."""
    found = []
    cursor.expect("(")
    while True:
        text = cursor.take("dotted", "an attribute").text[1:]
        if cursor.accept("("):
            numbers = [str(parse_integer(cursor, "a number"))]
            while cursor.accept(","):
                numbers.append(str(parse_integer(cursor, "a number")))
            cursor.expect(")")
            text += f"({','.join(numbers)})"
        found.append(text)
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return tuple(found)


def _alignment(cursor: Cursor) -> int:
    start = cursor.token.start
    align = parse_integer(cursor, "an alignment")
    if align <= 0 or align & (align - 1):
        cursor.fail(f"alignment {align} is no power of two", start)
    return align


@dataclass(slots=True)
class _Shape:
    """The part of a declaration that all its names share."""

    space: str
    linkage: str = ""
    type: str = ""
    vector: int = 1
    align: int | None = None
    ptr_space: str | None = None
    attributes: tuple[str, ...] = ()


def _shape(cursor: Cursor, space: str) -> _Shape:
    """Alignment, attributes, vector size and type, in any order, with the cursor behind the state space."""
    shape = _Shape(space)
    while cursor.token.kind == "dotted":
        token = cursor.next()
        word = token.text[1:]
        if word == "align":
            shape.align = _alignment(cursor)
        elif word == "attribute":
            shape.attributes = parse_attributes(cursor)
        elif word in VECTOR_SIZES:
            shape.vector = VECTOR_SIZES[word]
        elif word == "ptr" and space == "param":
            _pointer(cursor, shape)
        elif word in MEMORY_BYTES:
            if shape.type:
                cursor.fail(f"a second type, {token.text}", token.start)
            if word == "pred" and space != "reg":
                cursor.fail("a predicate can only be a register", token.start)
            shape.type = word
        else:
            cursor.fail(f"{token.text!r} is no type or attribute of a declaration", token.start)
    if not shape.type:
        cursor.fail("expected a type")
    return shape


def _pointer(cursor: Cursor, shape: _Shape) -> None:
    """`.ptr .space .align n`: what a parameter points to; the alignment is the target's, so nothing of the parameter itself."""
    shape.ptr_space = "generic"
    if cursor.token.text in (".global", ".const", ".shared", ".local"):
        shape.ptr_space = cursor.next().text[1:]
    if cursor.accept(".align"):
        _alignment(cursor)


def _dimensions(cursor: Cursor, shape: _Shape) -> list[int | None]:
    """`[][4]`: the extents, None for one left open, and the size of a vector type behind them."""
    extents: list[int | None] = []
    while cursor.accept("["):
        if cursor.token.text == "]":
            if extents:
                cursor.fail("only the first extent may be left open")
            extents.append(None)
        else:
            start = cursor.token.start
            extent = parse_integer(cursor, "an array size")
            if extent < 0:
                cursor.fail("an array size cannot be negative", start)
            extents.append(extent)
        cursor.expect("]")
    return [*extents, shape.vector] if shape.vector > 1 else extents


def _make_variable(
    cursor: Cursor, shape: _Shape, name: Token, extents: list[int | None], init: Initializer | None = None, fields: tuple[str, ...] = ()
) -> Variable:
    """`extents` with the vector size last. An open first extent is as long as the initialiser."""
    count = 1
    for extent in extents:
        count *= 1 if extent is None else extent
    element = MEMORY_BYTES[shape.type]
    if extents and extents[0] is None:
        row = element * count
        count *= -(-len(init.data) // row) if init and row else 0
    size = element * count
    if size >= 1 << 63:
        cursor.fail(f"'{name.text}' is larger than any address space", name.start)
    return Variable(
        name=name.text, space=shape.space, type=shape.type, size=size, align=shape.align or max(1, element * shape.vector), count=count,
        extern=shape.linkage == "extern", visible=shape.linkage == "visible", weak=shape.linkage in ("weak", "common"),
        init=init.data.ljust(size, b"\0") if init else None, relocs=init.relocs if init else (),
        line=cursor.source.line(name.start), ptr_space=shape.ptr_space, attributes=shape.attributes + fields,
    )  # fmt: skip


def parse_variables(cursor: Cursor) -> list[Variable]:
    """`[.linkage] [.align n] .space [.align n] [.v4] .type name[extents] [= initialiser] {, name...} ;`, semicolon included."""
    shape = _data_shape(cursor)
    variables = []
    while True:
        name = cursor.name("a variable's name")
        if cursor.token.text == "<":
            variables += _numbered(cursor, shape, name)
        else:
            variables.append(_one_variable(cursor, shape, name))
        if cursor.expect(",", ";").text == ";":
            return variables


def _one_variable(cursor: Cursor, shape: _Shape, name: Token) -> Variable:
    extents = _dimensions(cursor, shape)
    if not cursor.accept("="):
        return _make_variable(cursor, shape, name, extents)
    if shape.linkage == "extern":
        cursor.fail("an extern variable cannot have an initialiser")
    if shape.type in OPAQUE_TYPES:
        return _make_variable(cursor, shape, name, extents, fields=_opaque_fields(cursor))
    return _make_variable(cursor, shape, name, extents, parse_initializer(cursor, shape.type, extents))


def _opaque_fields(cursor: Cursor) -> tuple[str, ...]:
    """`{ width = 3, filter_mode = nearest }` of a texture, sampler or surface (5.3), as "width=3"..."""
    found = []
    cursor.expect("{")
    while True:
        field_name = cursor.name("a field's name").text
        cursor.expect("=")
        value = cursor.next().text if cursor.token.kind == "name" else str(parse_integer(cursor, "a field's value"))
        found.append(f"{field_name}={value}")
        if cursor.expect(",", "}").text == "}":
            return tuple(found)


def _data_shape(cursor: Cursor) -> _Shape:
    linkage = cursor.next().text[1:] if cursor.token.text[1:] in LINKAGE else ""
    align = None
    if cursor.accept(".align"):
        align = _alignment(cursor)
    space = cursor.take("dotted", "a state space")
    word = space.text[1:]
    if word not in (*DATA_SPACES, "tex"):
        cursor.fail(f"{space.text!r} is no state space of a variable", space.start)
    shape = _shape(cursor, "global" if word == "tex" else word)
    shape.linkage, shape.align = linkage, shape.align or align
    if word == "tex":  # `.tex .u32 name`, the deprecated way to declare a texture reference (5.1.8)
        shape.type = "texref"
    return shape


def _numbered(cursor: Cursor, shape: _Shape, name: Token) -> list[Variable]:
    """`name<4>` declares name0 to name3 (5.4.6)."""
    count = parse_count(cursor)
    if count > 1 << 16:
        cursor.fail("more than 65536 variables in one declaration", name.start)
    extents = _dimensions(cursor, shape)
    return [_make_variable(cursor, shape, name._replace(text=f"{name.text}{i}"), extents) for i in range(count)]


def parse_count(cursor: Cursor) -> int:
    """`<10>`"""
    cursor.expect("<")
    token = cursor.take("number", "a count")
    if not token.text.isdigit() or len(token.text) > 18:
        cursor.fail("expected a decimal count", token.start)
    cursor.expect(">")
    return int(token.text)


def parse_registers(cursor: Cursor) -> list[RegisterDecl]:
    """`.reg [.v4] .type name, name<10>;`, semicolon included."""
    cursor.expect(".reg")
    start = cursor.token.start
    shape = _shape(cursor, "reg")
    if shape.type in OPAQUE_TYPES or (shape.type == "pred" and shape.vector > 1):
        cursor.fail("a register holds a scalar or vector of a fundamental type, or one predicate", start)
    found = []
    while True:
        name = cursor.name("a register's name")
        count = parse_count(cursor) if cursor.token.text == "<" else None
        found.append(RegisterDecl(name.text, shape.type, count, shape.vector, name.start))
        if not cursor.accept(","):
            break
    cursor.expect(";")
    return found


def parse_parameters(cursor: Cursor, named: bool = True) -> list[Variable]:
    """`(.param .u64 a, .reg .b32 b, ...)`. In a prototype (`named` False) the name may be `_`."""
    cursor.expect("(")
    found: list[Variable] = []
    if cursor.accept(")"):
        return found
    while True:
        space = cursor.expect(".param", ".reg").text[1:]
        shape = _shape(cursor, space)
        name = cursor.take("name", "a parameter's name")
        if name.text == "_" and named:
            cursor.fail("a parameter needs a name", name.start)
        found.append(_make_variable(cursor, shape, name, _dimensions(cursor, shape)))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return found


def parse_function_head(cursor: Cursor) -> FunctionHead:
    """From the linkage up to the body's `{` or the `;` of a declaration, which is left for the caller."""
    if cursor.token.text[1:] in LINKAGE:
        cursor.next()
    head = FunctionHead("", cursor.expect(".entry", ".func").text == ".entry")
    parse_head_directives(cursor, head)
    if not head.is_entry and cursor.token.text == "(":
        head.returns = parse_parameters(cursor)
    name = cursor.name("a function's name")
    head.name, head.start = name.text, name.start
    if cursor.token.text == "(":
        head.params = parse_parameters(cursor)
    parse_head_directives(cursor, head)
    if cursor.token.text not in ("{", ";"):
        cursor.fail("expected a function's body or ';'")
    head.end = cursor.token.start
    return head


def parse_head_directives(cursor: Cursor, head: FunctionHead) -> None:
    """Adds what stands before and behind a function's name to `head.directives`."""
    while cursor.token.kind == "dotted":
        token = cursor.next()
        if token.text == ".attribute":
            parse_attributes(cursor)
        elif token.text == ".pragma":
            parse_pragma(cursor)
        elif token.text in HEAD_DIRECTIVES:
            head.directives[token.text[1:]] = _numbers(cursor, token)
        else:
            cursor.fail(f"unknown directive {token.text!r}", token.start)


def _numbers(cursor: Cursor, directive: Token) -> tuple[int, ...]:
    most = HEAD_DIRECTIVES[directive.text]
    values: list[int] = []
    if most:
        values.append(parse_integer(cursor, f"a number for {directive.text}"))
        while len(values) < most and cursor.accept(","):
            values.append(parse_integer(cursor, f"a number for {directive.text}"))
    return tuple(values)


def parse_pragma(cursor: Cursor) -> None:
    """`"string" {, "string"} ;` with the cursor behind `.pragma`. Pragmas are hints to the assembler that change no result."""
    cursor.take("string", "a string")
    while cursor.accept(","):
        cursor.take("string", "a string")
    cursor.expect(";")
