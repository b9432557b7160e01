"""Instructions and their operands: PTX ISA chapters 4.3, 6 and 9."""

from __future__ import annotations

import pytest

from warpsight.errors import PtxSyntaxError
from warpsight.isa.ir import Blank, Guard, Imm, Instruction, Mem, Minus, Neg, Operand, Pair, Part, Reg, Special, Sym, Tuple_, Vec

from .snippets import kernel, one, operand

R1, R2, R3 = (Reg(f"%r{i}", "b32") for i in (1, 2, 3))
P1, P2 = Reg("%p1", "pred"), Reg("%p2", "pred")
RD1 = Reg("%rd1", "b64")

FORMS: list[tuple[str, Operand]] = [
    ("%r1", R1),
    ("_", Blank()),
    ("%tid.x", Special("%tid.x")),
    ("%ntid.w", Special("%ntid.w")),
    ("%clock64", Special("%clock64")),
    ("%lanemask_lt", Special("%lanemask_lt")),
    ("%envreg31", Special("%envreg31")),
    ("%cluster_ctarank", Special("%cluster_ctarank")),
    ("%tid", Special("%tid")),
    ("WARP_SZ", Imm("int", 32)),
    ("5", Imm("int", 5)),
    ("-5", Imm("int", -5)),
    ("-  5", Imm("int", -5)),
    ("0x1F", Imm("int", 31)),
    ("017", Imm("int", 15)),
    ("0b101", Imm("int", 5)),
    ("9U", Imm("int", 9, unsigned=True)),
    ("0xFFFFFFFFFFFFFFFF", Imm("int", 2**64 - 1, unsigned=True)),
    ("9223372036854775808", Imm("int", 2**63, unsigned=True)),
    ("-9223372036854775807", Imm("int", -(2**63) + 1)),
    ("0f3FC00000", Imm("float", 1.5, bits32=0x3FC00000)),
    ("0F3fc00000", Imm("float", 1.5, bits32=0x3FC00000)),
    ("0d3FF8000000000000", Imm("float", 1.5, bits64=0x3FF8000000000000)),
    ("1.5", Imm("float", 1.5, bits64=0x3FF8000000000000)),
    ("15e-1", Imm("float", 1.5, bits64=0x3FF8000000000000)),
    ("-1.5", Imm("float", -1.5, bits64=0xBFF8000000000000)),
    ("2.", Imm("float", 2.0, bits64=0x4000000000000000)),
    (".5", Imm("float", 0.5, bits64=0x3FE0000000000000)),
    ("(1<<3)+2", Imm("int", 10)),
    ("global_a", Sym("global_a")),
    ("global_a+8", Sym("global_a", 8)),
    ("global_a+-8", Sym("global_a", -8)),
    ("global_a[3]", Sym("global_a", 12)),
    ("P", Sym("P")),
    ("[%rd1]", Mem(RD1)),
    ("[ %rd1 + 16 ]", Mem(RD1, 16)),
    ("[%rd1+-16]", Mem(RD1, -16)),
    ("[%rd1+(1<<4)]", Mem(RD1, 16)),
    ("[%rd1+0x10]", Mem(RD1, 16)),
    ("[%rd1+4+4]", Mem(RD1, 8)),
    ("[global_a]", Mem(Sym("global_a"))),
    ("[global_a+4]", Mem(Sym("global_a"), 4)),
    ("[P+4]", Mem(Sym("P"), 4)),
    ("[4096]", Mem(None, 4096)),
    ("[-4]", Mem(None, -4)),
    ("{%r1, %r2}", Vec((R1, R2))),
    ("{%r1,_,3}", Vec((R1, Blank(), Imm("int", 3)))),
    ("{ %r1 }", Vec((R1,))),
    ("%r1|%p1", Pair(R1, P1)),
    ("%p1 | %p2", Pair(P1, P2)),
    ("%p1|_", Pair(P1, Blank())),
    ("_|%p1", Pair(Blank(), P1)),
    ("{%r1, %r2}|%p1", Pair(Vec((R1, R2)), P1)),
    ("!%p1", Neg(P1)),
    ("-%r1", Minus(R1)),
    ("%r1.b0", Part(R1, "b0")),
    ("%r1.h1", Part(R1, "h1")),
    ("-%r1.h1", Part(R1, "-h1")),
    ("%r1.b3210", Part(R1, "b3210")),
    ("[global_a, {%r1, %r2}]", Tuple_((Sym("global_a"), Vec((R1, R2))), bracketed=True)),
    ("[%rd1, {%r1, %r2, %r3}]", Tuple_((RD1, Vec((R1, R2, R3))), bracketed=True)),
    ("[%rd1, %r1]", Tuple_((RD1, R1), bracketed=True)),
    ("[global_a, %rd1, {%r1}]", Tuple_((Sym("global_a"), RD1, Vec((R1,))), bracketed=True)),
]


@pytest.mark.parametrize(("text", "expected"), FORMS, ids=[text for text, _ in FORMS])
def test_operand(text: str, expected: Operand) -> None:
    assert operand(text, ".global .u32 global_a[4];") == expected


@pytest.mark.parametrize(("text", "expected"), FORMS, ids=[text for text, _ in FORMS])
def test_operand_among_others_and_comments(text: str, expected: Operand) -> None:
    found = one(f"mov.x %r1 , /* , */ {text}// ; ,\n , {{%r2, %r3}};", ".global .u32 global_a[4];")
    assert found.operands == (R1, expected, Vec((R2, R3)))


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("call f1;", (Sym("f1"),)),
        ("call.uni f1;", (Sym("f1"),)),
        ("call f1, (%r1, 3);", (Sym("f1"), Tuple_((R1, Imm("int", 3))))),
        ("call (%r1), f1, (%r2);", (Tuple_((R1,)), Sym("f1"), Tuple_((R2,)))),
        ("call (%r1), f1;", (Tuple_((R1,)), Sym("f1"))),
        ("call (%r1), f1, ();", (Tuple_((R1,)), Sym("f1"), Tuple_(()))),
        ("call (%r1), %rd1, (%r2), targets;", (Tuple_((R1,)), RD1, Tuple_((R2,)), Sym("targets"))),
    ],
)
def test_call(text: str, operands: tuple[Operand, ...]) -> None:
    found = one(f"targets: .calltargets f1; {text}", ".func f1() { ret; }")
    assert (found.opcode, found.operands) == ("call", operands)


@pytest.mark.parametrize(
    ("text", "opcode", "modifiers"),
    [
        ("ret;", "ret", ()),
        ("add.s32 %r1, %r2, 1;", "add", ("s32",)),
        ("add .s32 %r1, %r2, 1;", "add", ("s32",)),
        ("ld.global.L1::no_allocate.L2::128B.v2.u32 {%r1,%r2}, [%rd1];", "ld", ("global", "L1::no_allocate", "L2::128B", "v2", "u32")),
        ("st.shared::cta.u32 [%rd1], %r1;", "st", ("shared::cta", "u32")),
        ("tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r1}, [%r2];", "tcgen05", ("ld", "sync", "aligned", "16x64b", "x1", "b32")),
        ("made_up.1d.x::y::z %r1;", "made_up", ("1d", "x::y::z")),
    ],
)
def test_spelling(text: str, opcode: str, modifiers: tuple[str, ...]) -> None:
    found = one(text)
    assert (found.opcode, found.modifiers) == (opcode, modifiers)
    assert found.spelling == ".".join((opcode, *modifiers))


def test_guards() -> None:
    assert one("ret;").guard is None
    assert one("@%p1 ret;").guard == Guard(P1)
    assert one("@!%p1 ret;").guard == Guard(P1, negate=True)
    assert one("@ ! %p1 bra.uni L; L:").guard == Guard(P1, negate=True)
    assert one("@flag ret;".replace("@", ".reg .pred flag; @")).guard == Guard(Reg("flag", "pred"))


def test_several_statements_a_line_and_one_over_several_lines() -> None:
    found = kernel("mov.u32 %r1, 1; mov.u32 %r2, 2;ret;\n\n add.u32\n %r3,\n %r1,\n %r2\n ;  exit;")
    assert [(i.opcode, i.line) for i in found.body if isinstance(i, Instruction)] == [
        ("mov", 7),
        ("mov", 7),
        ("ret", 7),
        ("add", 9),
        ("exit", 13),
    ]


def test_vector_register_elements() -> None:
    found = kernel(".reg .v4 .f32 c; .reg .v2 .b32 n<3>; mov.f32 c.x, c.w; mov.f32 c.r, c.a; mov.b32 n2.y, 0; st.v4.f32 [%rd1], c;")
    operands = [i.operands for i in found.body if isinstance(i, Instruction)]
    c = [Reg(f"c.{e}", "f32") for e in "xyzw"]
    assert operands[0] == (c[0], c[3]) == operands[1]
    assert operands[2][0] == Reg("n2.y", "b32")
    assert operands[3] == (Mem(RD1), Vec(tuple(c)))


@pytest.mark.parametrize("text", ["%tid.q", "%laneid.x", "%r1.x", "c.z", "%r1.q"])
def test_no_such_part(text: str) -> None:
    with pytest.raises(PtxSyntaxError, match="has no part"):
        kernel(f".reg .v2 .f32 c; mov.b32 %r2, {text};")
