"""Directives: PTX ISA chapter 11 and 5.4."""

from __future__ import annotations

import pytest

from warpsight.errors import PtxSyntaxError
from warpsight.isa.ir import BranchTargets, Instruction, SourceLoc

from .snippets import kernel, module


def head(directives: str) -> dict[str, tuple[int, ...]]:
    return module(f".entry k() {directives} {{ ret; }}").kernel("k").directives


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        (".maxntid 256", {"maxntid": (256,)}),
        (".maxntid 16,16, 4 .minnctapersm 2", {"maxntid": (16, 16, 4), "minnctapersm": (2,)}),
        (".reqntid 32, 2\n.maxnreg 40", {"reqntid": (32, 2), "maxnreg": (40,)}),
        (".maxnctapersm 3", {"maxnctapersm": (3,)}),
        (".reqnctapercluster 2,1,1 .explicitcluster", {"reqnctapercluster": (2, 1, 1), "explicitcluster": ()}),
        (".maxclusterrank 8", {"maxclusterrank": (8,)}),
        (".reqntid 32 .reqnctapercluster 2 .blocksareclusters", {"reqntid": (32,), "reqnctapercluster": (2,), "blocksareclusters": ()}),
        (".local_maxnreg 32", {"local_maxnreg": (32,)}),
        ('.pragma "nounroll"; .maxntid 64', {"maxntid": (64,)}),
        ('.pragma "odd { ; } \\" text", "more";', {}),
    ],
)
def test_kernel_directives(text: str, expected: dict[str, tuple[int, ...]]) -> None:
    assert head(text) == expected


@pytest.mark.parametrize("text", [".maxntid", ".maxntid 1,2,3,4", ".maxntid 1 2", ".noreturn 5", ".unknown 3", ".maxnreg 1.5"])
def test_bad_kernel_directives(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        head(text)


def test_function_directives() -> None:
    found = module(".visible .func f(.param .b32 a) .noreturn { trap; } .func g() .abi_preserve 8 .abi_preserve_control 2 { ret; }")
    assert found.function("f").directives == {"noreturn": ()}
    assert found.function("g").directives == {"abi_preserve": (8,), "abi_preserve_control": (2,)}
    assert module(".func .attribute(.unified(19, 95)) f() { ret; }").function_names == ["f"]


def test_parameters() -> None:
    found = module(
        """.entry k(.param .u64 .ptr .global .align 16 a, .param .u64 .ptr b, .param .u64 .ptr .shared c, .param .align 8 .b8 d[20],
           .param .f32 e, .param .v4 .f32 f, .param .b16 g[3], .param .u64 .ptr .align 4 h) { ret; }"""
    ).kernel("k")
    assert [(p.name, p.type, p.size, p.align, p.count, p.ptr_space) for p in found.params] == [
        ("a", "u64", 8, 8, 1, "global"),
        ("b", "u64", 8, 8, 1, "generic"),
        ("c", "u64", 8, 8, 1, "shared"),
        ("d", "b8", 20, 8, 20, None),
        ("e", "f32", 4, 4, 1, None),
        ("f", "f32", 16, 16, 4, None),
        ("g", "b16", 6, 2, 3, None),
        ("h", "u64", 8, 8, 1, "generic"),
    ]


def test_functions_and_declarations() -> None:
    found = module(
        """.extern .func (.param .b32 r) outside(.param .b64 a, .param .align 4 .b8 more[]);
        .func (.param .b32 r) f(.param .b32 a);
        .func plain { ret; }
        .func nothing();
        .func (.param .b32 r) f(.param .b32 a) { ret; }
        .func () empty() { ret; }
        .visible .func same { ret; } .func same;
        .alias other, f;
        .entry k { ret; }"""
    )
    assert found.function_names == ["f", "plain", "empty", "same"] and found.kernel_names == ["k"]
    assert [p.name for p in found.function("f").params] == ["a"] and not found.function("f").is_entry
    assert found.function("other") is found.function("f")
    outside = found.declaration("outside")
    assert ([p.size for p in outside.params], [p.size for p in outside.returns], outside.body) == ([8, 0], [4], [])


def test_defined_twice() -> None:
    with pytest.raises(PtxSyntaxError, match="'f' is defined twice"):
        module(".func f { ret; } .func f { ret; }")


def test_files_and_locations() -> None:
    files = '.file 1 "a.cu"\n.file 2 "dir/b.h", 123, 456\n'
    found = kernel(
        """mov.u32 %r1, 0;
        .loc 1 5 7
        mov.u32 %r1, 1; mov.u32 %r1, 2;
        L:
        .loc 2 9 1, function_name $name, inlined_at 1 5 7
        mov.u32 %r1, 3;
        .loc\t2 3 0, function_name $name+14, inlined_at 2 9 1
        mov.u32 %r1, 4;
        .loc 2 4 0, function_name $name, inlined_at 1 99 1
        mov.u32 %r1, 5;
        .loc 1 6 0 mov.u32 %r1, 6;""",
        files,
    )
    outer = SourceLoc("a.cu", 5, 7)
    middle = SourceLoc("dir/b.h", 9, 1, outer)
    locations = [i.loc for i in found.body if isinstance(i, Instruction)]
    inner, other = SourceLoc("dir/b.h", 3, 0, middle), SourceLoc("dir/b.h", 4, 0, SourceLoc("a.cu", 99, 1))
    assert locations == [None, outer, outer, middle, inner, other, SourceLoc("a.cu", 6, 0)]
    assert module(files).files == {1: "a.cu", 2: "dir/b.h"}


@pytest.mark.parametrize(
    ("text", "message"),
    [(".loc 3 1 1", "file 3 is not declared"), (".loc 1 1", "malformed .loc"), (".loc 1 1 1, inlined_at 1 1 1", "malformed .loc")],
)
def test_bad_locations(text: str, message: str) -> None:
    with pytest.raises(PtxSyntaxError, match=message):
        kernel(f"{text}\nret;", '.file 1 "a.cu"')


def test_prototypes_and_targets() -> None:
    found = kernel(
        """p: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[8]);
        q: .callprototype _ (.reg .b32 x) .noreturn; r: .callprototype _;
        { p: .callprototype _ (); }
        t: .calltargets f, g; u: .branchtargets A, A,
            B; A: B: ret;""",
        ".func f { ret; } .func g { ret; }",
    )
    assert {name: (len(p.returns), [v.size for v in p.params]) for name, p in found.prototypes.items()} == {
        "p": (1, [8, 8]),
        "q": (0, [4]),
        "r": (0, []),
        "p@1": (0, []),
    }
    tables = [item for item in found.body if isinstance(item, BranchTargets)]
    assert tables == [BranchTargets("t", ("f", "g"), "calltargets"), BranchTargets("u", ("A", "A", "B"))]


def test_module_directives() -> None:
    found = module('.pragma "nounroll";\n.alias g, f;\n.func f { ret; }')
    assert (found.version, found.target, found.address_size, found.aliases) == ("9.0", ["sm_90"], 64, {"g": "f"})
    other = type(found).from_text("// c\n.version 6.3 .target sm_70, texmode_independent, debug\n")
    assert (other.version, other.target, other.address_size) == ("6.3", ["sm_70", "texmode_independent", "debug"], 32)


GOOD_SECTION = """.section .debug_info {
  .b8 1, 0x2, 077, -1 // four
  a: .b32 .debug_str
  b:
  .b64 a+4
  .b32 b-a, 3
  .b16 7 .b8 1
}
.section .empty { }"""


def test_sections_are_skipped() -> None:
    assert module(GOOD_SECTION + ".entry k { ret; }").kernel_names == ["k"]


@pytest.mark.parametrize(
    ("bad", "line"),
    [(".b8 1;", 2), (".b8", 2), (".b8 1,", 2), ("mov.u32 %r1, 2", 2), (".b24 5", 2), ('.b8 "x"', 2), (".b8 1 2", 2), ("\n\n{}", 4)],
)
def test_sections_are_checked(bad: str, line: int) -> None:
    with pytest.raises(PtxSyntaxError) as raised:
        module(f".section .debug_info {{\n {bad}\n}}")
    assert raised.value.line == 3 + line


@pytest.mark.parametrize(
    "text", [".unknown 5;", ".maxntid 5", "entry k { ret; }", ".version 9.0", ".target sm_90", ".loc 1 1 1", ".reg .b32 x;", "{ }", "}"]
)
def test_what_may_not_stand_in_a_module(text: str) -> None:
    with pytest.raises(PtxSyntaxError):
        module(text)
