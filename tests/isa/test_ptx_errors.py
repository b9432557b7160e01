"""Syntax errors point at the very character: file:line:column, the line, a caret."""

from __future__ import annotations

import pytest

from warpsight.errors import PtxSyntaxError
from warpsight.isa.ptx import PtxModule

from .snippets import HEAD

# The character that the error must point at stands behind the mark.
CASES = [
    ("add.s32 %r1, «%r9, %r2;", "undeclared register '%r9'"),
    ("add.s32 %r1, %r2 «%r3;", "expected ',' or ';', found '%r3'"),
    ("add.s32 %r1,«, %r2;", "expected an operand, found ','"),
    ("add.s32 %r1, %r2, «;", "expected an operand, found ';'"),
    ("add.s32 %r1, %r2\n\t«sub.s32 %r1, %r2, %r3;", "expected ',' or ';', found 'sub'"),
    ("{ mov.u32 %r1, 5 «} ret;", "expected ',' or ';', found '}'"),
    ("ld.u32 %r1, [%rd1«;", "expected ',' or ']', found ';'"),
    ("ld.u32 %r1, [%rd1+«%r1];", "expected an offset, found '%r1'"),
    ("ld.u32 %r1, [%rd1«-4];", "expected ',' or ']', found '-'"),
    ("ld.u32 %r1, [«];", "expected an address, found ']'"),
    ("ld.u32 %r1, [«%tid.x];", "is no address"),
    ("ld.u32 %r1, [«_];", "'_' is no address"),
    ("mov.b64 {%r1, %r2«; mov.b64 %r1};", "expected ',' or '}', found ';'"),
    ("mov.b64 {%r1 «%r2}, %rd1;", "expected ',' or '}', found '%r2'"),
    ("@«%r1 ret;", "a guard needs a predicate register"),
    ("@«%p9 ret;", "undeclared register '%p9'"),
    ("@%p1 «.loc 1 1 1", "expected an instruction"),
    ("@%p1 «{ ret; }", "expected an instruction"),
    ("«; ret;", "expected an instruction"),
    ("«5;", "expected an instruction"),
    ("ret; bra «nowhere;", "undefined label or undeclared name 'nowhere'"),
    ("x: ret; «x: ret;", "'x' is declared twice"),
    (".reg .b32 a, «a;", "'a' is declared twice"),
    (".reg .b32 «%r<2>;", "declared twice"),
    (".reg «b32 a;", "expected a type, found 'b32'"),
    (".reg «.b33 a;", "'.b33' is no type"),
    (".reg .b32 a«", "expected ';'"),
    (".shared .b32 a«.b32 b;", "expected ',' or ';'"),
    ("«.unknown 5;", "unknown directive '.unknown'"),
    ("setp.eq.b32 %p1, %r1, !«%r2;", "'!' needs a predicate register"),
    ("add.s32 %r1, -«%p1, 1;", "'-' needs a data register"),
    ("mov.u32 %r1, %tid«.q;", "has no part '.q'"),
    ("mov.u32 %r1, «#;", "unexpected character '#'"),
    ("mov.u32 %r1, 1«$;", "unexpected character '$'"),
    ("t: .branchtargets «5;", "expected a label, found '5'"),
    ("p: .callprototype _ (.param «x);", "expected a type, found 'x'"),
    ("add.s32 %r1, /* a */ /* b\n c */ %r2 ; mov.u32 %r1,  «%q;", "undeclared register '%q'"),
    ("mov.u32 %r1, 1«x;", "expected ',' or ';', found 'x'"),
    ("mov.u32 %r1, 3 «/ 0;", "division by zero"),
]


@pytest.mark.parametrize(("marked", "message"), CASES, ids=[c[0] for c in CASES])
def test_position(marked: str, message: str) -> None:
    before, behind = marked.split("«")
    start = HEAD + ".entry k\n{\n.reg .pred %p<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>;\n\tmov.u32 %r1, 0; "
    text = f"{start}{before}{behind}\n\tret;\n}}\n"
    with pytest.raises(PtxSyntaxError) as raised:
        PtxModule.from_text(text, "my.ptx").kernel("k")
    error = raised.value
    seen = (start + before).split("\n")
    assert message in error.message
    if not behind:  # found at whatever comes next
        return
    assert (error.line, error.column) == (len(seen), len(seen[-1]) + 1)
    assert error.text == text.split("\n")[error.line - 1].replace("\t", " ")
    location, line, caret = str(error).split("\n")
    assert location == f"my.ptx:{error.line}:{error.column}: {error.message}"
    assert line[caret.index("^")] == behind[0]


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        (".entry k { ret; } «}", "this '}' closes nothing"),
        (".entry k «{ ret;", "never closed"),
        (".entry k «{ { ret; }\n.entry m { ret; }", "never closed"),
        ("«/* no end", "this comment never ends"),
        ('.pragma «"abc\n";', "this string does not end"),
        (".entry «5 { ret; }", "expected a function's name"),
        (".entry k(.param .u64 a «.param .u64 b) { ret; }", "expected ')'"),
        (".entry k(.param .u64 a, «) { ret; }", "expected '.param' or '.reg'"),
        (".entry k .maxntid 1 «2 { ret; }", "expected a function's body"),
        ("«frob;", "expected a directive"),
        ("«.frob;", "unknown directive"),
        (".global .u32 x = «;", "expected a constant"),
        (".global «.q32 x;", "'.q32' is no type"),
        ('.file «"name"', "expected a file's number"),
    ],
)
def test_position_in_module(marked: str, message: str) -> None:
    before, behind = marked.split("«")
    text = HEAD + before + behind
    with pytest.raises(PtxSyntaxError) as raised:
        loaded = PtxModule.from_text(text, "my.ptx")
        _ = loaded.variables
        loaded.kernel("k")
    seen = (HEAD + before).split("\n")
    assert message in raised.value.message
    assert (raised.value.line, raised.value.column) == (len(seen), len(seen[-1]) + 1)
