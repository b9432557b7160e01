"""Names and scopes: PTX ISA 4.3.1, 5.4.6, 6.2, and the renaming that the IR promises."""

from __future__ import annotations

import pytest

from warpsight.errors import PtxSyntaxError
from warpsight.isa.ir import BranchTargets, Guard, Instruction, Label, Mem, Reg, Sym, Vec

from .snippets import HEAD, kernel, module


def instructions(statements: str, outside: str = "", registers: str = "") -> list[Instruction]:
    return [item for item in kernel(statements, outside, registers).body if isinstance(item, Instruction)]


def test_register_ranges_hold_exactly_their_count() -> None:
    found = kernel(".reg .b32 %a<3>; .reg .f32 %a1<2>; mov.b32 %a0, %a2; mov.b32 %a10, %a11;", registers="")
    assert found.registers == {
        "%a0": Reg("%a0", "b32"),
        "%a2": Reg("%a2", "b32"),
        "%a10": Reg("%a10", "f32"),
        "%a11": Reg("%a11", "f32"),
    }
    for name in ("%a3", "%a12", "%a", "%a02", "%a123456789012345678901234567890"):
        with pytest.raises(PtxSyntaxError, match=f"undeclared register '{name}'"):
            kernel(f".reg .b32 %a<3>; .reg .f32 %a1<2>; mov.b32 %a0, {name};", registers="")


def test_a_huge_range_costs_nothing() -> None:
    assert len(kernel(".reg .b32 %a<999999999999>; mov.b32 %a123456789012, 0;", registers="").registers) == 1


@pytest.mark.parametrize(
    "declarations",
    [
        ".reg .b32 a; .reg .b32 a;",
        ".reg .b32 a, a;",
        ".reg .b32 a; .reg .f32 a;",
        ".reg .b32 a<3>; .reg .b32 a<2>;",
        ".reg .b32 a<3>; .reg .b32 a2;",
        ".reg .b32 a2; .reg .b32 a<3>;",
        ".reg .b32 a<20>; .reg .b32 a1<3>;",
        ".reg .b32 a1<3>; .reg .b32 a<20>;",
        ".reg .b32 P;",
        ".shared .b32 a; .reg .b32 a;",
        ".reg .b32 a; a: ret;",
        "a: ret; a: ret;",
        "a: ret; .reg .b32 a;",
    ],
)
def test_declared_twice(declarations: str) -> None:
    with pytest.raises(PtxSyntaxError, match="declared twice in this scope"):
        kernel(declarations, registers="")


@pytest.mark.parametrize(
    "declarations", [".reg .b32 a<3>; .reg .b32 a3;", ".reg .b32 a<3>; .reg .b32 a03;", ".reg .b32 a<10>; .reg .b32 a1<3>;"]
)
def test_not_declared_twice(declarations: str) -> None:
    kernel(declarations, registers="")


def test_inner_scopes_hide_and_are_renamed() -> None:
    found = instructions(
        """.reg .b32 x<4>, y;
        mov.b32 x1, y;
        { .reg .f32 x<4>; mov.b32 x1, y; { .reg .b64 y; mov.b32 x1, y; } mov.b32 x1, y; }
        { .reg .b16 x1; mov.b32 x1, x2; }
        mov.b32 x1, y;"""
    )
    operands = [i.operands for i in found]
    x, y = Reg("x1", "b32"), Reg("y", "b32")
    inner = Reg("x1@1", "f32")
    assert operands == [(x, y), (inner, y), (inner, Reg("y@2", "b64")), (inner, y), (Reg("x1@3", "b16"), Reg("x2", "b32")), (x, y)]


def test_a_name_is_the_outer_one_until_it_is_declared_again() -> None:
    operands = [i.operands for i in instructions(".reg .b32 x; { mov.b32 x, x; .reg .b64 x; mov.b32 x, x; }")]
    assert operands == [(Reg("x", "b32"),) * 2, (Reg("x@1", "b64"),) * 2]


def test_a_guard_is_the_outer_register_until_it_is_declared_again() -> None:
    guards = [i.guard for i in instructions(".reg .pred p; { @p ret; .reg .pred p; @p ret; @!p ret; } @p ret;")]
    p, inner = Reg("p", "pred"), Reg("p@1", "pred")
    assert guards == [Guard(p), Guard(inner), Guard(inner, negate=True), Guard(p)]


def test_locals_hide_module_variables() -> None:
    outside = ".global .u32 x; .global .u32 y;"
    operands = [
        i.operands
        for i in instructions("ld.u32 z, [x]; .shared .b32 x; { ld.u32 z, [x]; .reg .b64 y; ld.u32 z, [y]; }", outside, ".reg .b32 z;")
    ]
    assert [o[1] for o in operands] == [Mem(Sym("x")), Mem(Sym("x")), Mem(Reg("y@1", "b64"))]


def test_variables_of_inner_scopes_are_unique() -> None:
    found = kernel("{ .param .b32 p; st.param.b32 [p], 1; } { .param .align 8 .b8 p[16]; st.param.b32 [p+8], 1; } .shared .b32 p;")
    assert [(v.name, v.size, v.align) for v in found.variables] == [("p@1", 4, 4), ("p@2", 16, 8), ("p", 4, 4)]
    assert [i.operands[0] for i in found.body if isinstance(i, Instruction)] == [Mem(Sym("p@1")), Mem(Sym("p@2"), 8)]


def test_labels_are_looked_up_from_the_inside_out() -> None:
    found = kernel(
        """bra L;
        { bra L; L: bra L; { bra L; } bra M; }
        { L: bra L; }
        L: M: bra L;"""
    )
    targets = [i.operands[0] for i in found.body if isinstance(i, Instruction)]
    assert targets == [Sym(n) for n in ("L", "L@1", "L@1", "L@1", "M", "L@3", "L")]
    assert [i.name for i in found.body if isinstance(i, Label)] == ["L@1", "L@3", "L", "M"]


def test_branch_targets_follow_renaming() -> None:
    found = kernel("{ t: .branchtargets A, B; brx.idx %r1, t; A: ret; } B: ret;")
    (table,) = (item for item in found.body if isinstance(item, BranchTargets))
    assert table == BranchTargets("t@1", ("A@1", "B"))
    assert any(isinstance(i, Instruction) and i.operands[1:] == (Sym("t@1"),) for i in found.body)


@pytest.mark.parametrize(
    "statements",
    ["bra L;", "bra L; { L: ret; }", "{ L: ret; } bra L;", "t: .branchtargets L;", "add.s32 %r1, nothing, 1;", "call nothing;"],
)
def test_undefined(statements: str) -> None:
    with pytest.raises(PtxSyntaxError, match="undefined label or undeclared name"):
        kernel(statements)


def test_register_parameters_of_functions() -> None:
    found = module(".func (.reg .b32 y) f(.reg .b32 x, .reg .pred p) { @p add.s32 y, x, x; ret; }").function("f")
    assert [(v.name, v.space, v.type) for v in found.params] == [("x", "reg", "b32"), ("p", "reg", "pred")]
    assert [(v.name, v.space) for v in found.returns] == [("y", "reg")]
    assert isinstance(found.body[0], Instruction) and found.body[0].operands == (Reg("y", "b32"), Reg("x", "b32"), Reg("x", "b32"))


def test_vector_registers_record_the_elements_used() -> None:
    found = kernel(".reg .v2 .f32 v; st.v2.f32 [%rd1], v;")
    assert found.registers.keys() == {"%rd1", "v.x", "v.y"}
    assert isinstance(found.body[0], Instruction) and found.body[0].operands[1] == Vec((Reg("v.x", "f32"), Reg("v.y", "f32")))


def test_functions_and_variables_of_the_module_are_known() -> None:
    text = HEAD + ".extern .func f(); .extern .shared .b8 s[]; .func g() { ret; } .alias h, g;"
    names = [i.operands[0] for i in instructions("call f; call g; call h; prefetch.u8 s;", text.replace(HEAD, ""))]
    assert names == [Sym(n) for n in "fghs"]
