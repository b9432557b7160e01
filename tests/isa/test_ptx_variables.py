"""Module variables and initialisers: PTX ISA 5.4. Bytes are made with struct; odd cases are what ptxas 13.0 emits."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsight.errors import PtxSyntaxError
from warpsight.isa.ir import Variable

from .snippets import module


def variable(text: str, name: str = "x") -> Variable:
    return module(text).variables[name]


@pytest.mark.parametrize(
    ("text", "size", "align", "count"),
    [
        (".global .u32 x;", 4, 4, 1),
        (".global .align 16 .b8 x[5];", 5, 16, 5),
        (".align 16 .global .b8 x[5];", 5, 16, 5),
        (".const .f64 x[3][2];", 48, 8, 6),
        (".global .v4 .f32 x;", 16, 16, 4),
        (".global .v2 .b16 x[3];", 12, 4, 6),
        (".extern .shared .align 16 .b8 x[];", 0, 16, 0),
        (".shared .b128 x;", 16, 16, 1),
        (".global .texref x;", 8, 8, 1),
        (".global .u16 x[] = {1, 2, 3};", 6, 2, 3),
        (".global .u16 x[][2] = {{1, 2}, {3}, {4, 5}};", 12, 2, 6),
        (".global .u32 x[0x10];", 64, 4, 16),
    ],
)
def test_sizes(text: str, size: int, align: int, count: int) -> None:
    found = variable(text)
    assert (found.size, found.align, found.count) == (size, align, count)


def test_linkage_space_and_attributes() -> None:
    found = module(
        """.visible .global .u32 a; .extern .const .u32 b; .weak .global .u32 c; .common .global .u32 d;
        .global .attribute(.managed) .s32 e;  .global .attribute(.unified(1,2), .managed) .s32 f;
        .global .samplerref g = {addr_mode_0 = clamp_to_border, filter_mode=nearest, force_unnormalized_coords = 1};
        .global .u32 h, i = 4, j[2];
        .shared .u32 n<3>;"""
    ).variables
    assert [name for name, v in found.items() if v.visible] == ["a"]
    assert [name for name, v in found.items() if v.extern] == ["b"]
    assert [name for name, v in found.items() if v.weak] == ["c", "d"]
    assert [(v.space, v.type) for v in found.values()][:2] == [("global", "u32"), ("const", "u32")]
    assert found["e"].attributes == ("managed",) and found["f"].attributes == ("unified(1,2)", "managed")
    assert found["g"].attributes == ("addr_mode_0=clamp_to_border", "filter_mode=nearest", "force_unnormalized_coords=1")
    assert [(n, found[n].size, found[n].init) for n in "hij"] == [("h", 4, None), ("i", 4, b"\4\0\0\0"), ("j", 8, None)]
    assert list(found)[-3:] == ["n0", "n1", "n2"] and found["n2"].space == "shared"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (".u32 x = 5", struct.pack("<I", 5)),
        (".s64 x = -5", struct.pack("<q", -5)),
        (".u8 x[4] = {0x41, -1, 256, 010}", bytes([0x41, 255, 0, 8])),
        (".u32 x[4] = {1, 2}", struct.pack("<4I", 1, 2, 0, 0)),
        (".u32 x[2] = {}", bytes(8)),
        (".u32 x[2][2] = {{1}, {2, 3}}", struct.pack("<4I", 1, 0, 2, 3)),
        (".u32 x[3][1] = {{1}}", struct.pack("<3I", 1, 0, 0)),
        (".u8 x[2][2][2] = {{{1, 2}, {3, 4}}, {{5}}}", bytes([1, 2, 3, 4, 5, 0, 0, 0])),
        (".f32 x[4] = {0f3FC00000, 1.5, -2.5e3, 0d3FF8000000000000}", struct.pack("<4f", 1.5, 1.5, -2500, 1.5)),
        (".f32 x = 0.1", struct.pack("<f", 0.1)),
        (".f32 x[2] = {1e300, -1e300}", struct.pack("<2f", float("inf"), float("-inf"))),
        (".f64 x[2] = {0.1, 0d3FF8000000000000}", struct.pack("<2d", 0.1, 1.5)),
        (".f32 x = 1.0+2.0", struct.pack("<f", 3)),
        (".b32 x[2] = {1.5, 0d3FF8000000000000}", struct.pack("<2f", 1.5, 1.5)),
        (".b64 x[2] = {1.5, 0f3FC00000}", struct.pack("<dQ", 1.5, 0x3FC00000)),
        (".f32 x = 0f7FC00001", struct.pack("<I", 0x7FC00001)),
        (".v4 .f32 x = {1.0, 2.0, 3.0, 4.0}", struct.pack("<4f", 1, 2, 3, 4)),
        (".v2 .u16 x[2] = {{1, 2}, {3, 4}}", struct.pack("<4H", 1, 2, 3, 4)),
        (".u32 x[2] = {1+2*3, (1<<4)|1}", struct.pack("<2I", 7, 17)),
        (".u32 x = WARP_SZ", struct.pack("<I", 32)),
        (".b128 x = 1", b"\1" + bytes(15)),
        (".f16x2 x = 0x3C003C00", struct.pack("<I", 0x3C003C00)),
    ],
)
def test_bytes(text: str, data: bytes) -> None:
    found = variable(f".global {text};")
    assert found.init == data and found.size == len(data) and found.relocs == ()


@settings(deadline=None)
@given(st.lists(st.integers(-(2**31), 2**32 - 1), min_size=1, max_size=40), st.sampled_from(["", " ", "\n", " /* c */ "]))
def test_lists_of_decimals(values: list[int], blank: str) -> None:
    text = f",{blank}".join(map(str, values))
    assert variable(f".global .u32 x[] = {{{blank}{text}{blank}}};").init == b"".join(struct.pack("<I", v & 0xFFFFFFFF) for v in values)


def test_addresses() -> None:
    found = module(
        """.global .u32 a[4]; .const .u32 c; .func f { ret; }
        .global .u64 x[6] = {a, a+8, generic(a), generic(c)+4, f, 7};
        .global .u32 narrow = a;
        .global .align 8 .u8 bytes[20] = {1, 2, 0xff(a), 0xff00(a), 0xff0000(a), 0xff000000(a), 3, 0,
            0xFF(generic(c)+4), 0xFF00(generic(c)+4), 0xFF0000(generic(c)+4), 0xFF000000(generic(c)+4),
            0xFF00000000(generic(c)+4), 0xFF0000000000(generic(c)+4), 0xFF000000000000(generic(c)+4), 0xFF00000000000000(generic(c)+4)};"""
    ).variables
    assert found["x"].relocs == (
        (0, "a", 0, 8, False), (8, "a", 8, 8, False), (16, "a", 0, 8, True), (24, "c", 4, 8, True), (32, "f", 0, 8, False),
    )  # fmt: skip
    assert found["x"].init == bytes(40) + struct.pack("<Q", 7)
    assert found["narrow"].relocs == ((0, "a", 0, 4, False),)
    assert found["bytes"].relocs == ((2, "a", 0, 4, False), (8, "c", 4, 8, True))
    assert found["bytes"].init == bytes([1, 2, 0, 0, 0, 0, 3]) + bytes(13)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".u32 x[2] = {1, 2, 3}", "more values"),
        (".u32 x[2][2] = {1, 2, 3, 4}", "expected '{'"),
        (".v2 .f32 x[2] = {1.0, 2.0}", "expected '{'"),
        (".u32 x[2] = {{1}, {2}}", "expected a constant"),
        (".u32 x = {1}", "expected a constant"),
        (".u32 x[2] = 1", "expected '{'"),
        (".u32 x[2] = {1,}", "expected a constant"),
        (".u32 x[2] = {1 2}", "expected '}'"),
        (".u32 x[2] = {,}", "expected a constant"),
        (".u32 x[1] = {08}", "octal"),
        (".u32 x = 1.0", "cannot initialise .u32"),
        (".s64 x = 0d3FF0000000000000", "cannot initialise .s64"),
        (".b16 x = 1.5", "cannot initialise .b16"),
        (".f64 x = 0f3F800000", "cannot initialise .f64"),
        (".f32 x = 1", "an integer cannot initialise .f32"),
        (".f16 x = 1.0", "cannot have an initialiser"),
        (".u16 x = y", "an address cannot initialise .u16"),
        (".f32 x = y", "an address cannot initialise .f32"),
        (".u64 x = y-4", "expected ',' or ';'"),
        (".u8 x = 0xf0(y)", "a mask selects one byte"),
        (".u16 x = 0xff(y)", "a mask selects one byte"),
        (".u8 x[2] = {0, 0xff00(y)}", "stands alone"),
        ('.b8 x[] = "text"', "expected '{'"),
        (".u32 x[-1]", "cannot be negative"),
        (".u32 x[2][]", "only the first extent"),
        (".align 3 .u32 x", "no power of two"),
        (".u32 .u16 x", "a second type"),
        (".pred x", "only be a register"),
        (".bf16 x", "no type"),
        ("x", "expected a type"),
        (".u32", "expected a variable's name"),
        (".u32 x, ", "expected a variable's name"),
        (".v8 .f32 x", "no type"),
    ],
)
def test_bad_declarations(text: str, message: str) -> None:
    with pytest.raises(PtxSyntaxError, match=message):
        variable(f".global .u32 y; .global {text};")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (".global .u32 x; .global .u32 x;", "'x' is declared twice"),
        (".extern .global .u32 x = 1;", "extern variable cannot"),
        (".param .u32 x;", "needs a function"),
        (".shared::cta .u32 x;", "unknown directive|no state space"),
    ],
)
def test_bad_module_variables(text: str, message: str) -> None:
    with pytest.raises(PtxSyntaxError, match=message):
        _ = module(text).variables


def test_a_definition_replaces_an_extern_declaration() -> None:
    for text in (".extern .global .u32 x; .visible .global .u32 x = 3;", ".visible .global .u32 x = 3; .extern .global .u32 x;"):
        assert variable(text).init == b"\3\0\0\0"


def test_local_variables() -> None:
    found = module(".entry k { .shared .align 8 .f32 a[4][2]; .local .b8 b[12], c; .global .u32 d = 7; .const .u32 e; ret; }").kernel("k")
    assert [(v.name, v.space, v.size, v.align) for v in found.variables] == [
        ("a", "shared", 32, 8), ("b", "local", 12, 1), ("c", "local", 1, 1), ("d", "global", 4, 4), ("e", "const", 4, 4),
    ]  # fmt: skip
    assert found.variables[3].init == b"\7\0\0\0"
