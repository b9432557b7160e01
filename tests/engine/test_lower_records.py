"""What the records say: fields of core/exec/record.h, addresses, layout of variables, errors."""

from __future__ import annotations

import numpy as np
import pytest

from warpsight.engine.lower import ALL_PASSES
from warpsight.errors import UnsupportedInstruction
from warpsight.semantics import Kind

from .lowering import HEAD, RESERVED_SHARED, image, kernel_text, run, slots, texts


def records_of(program, kind: Kind):  # type: ignore[no-untyped-def]
    return [r for r in program.records if r["kind"] == kind]


def pool(program, record) -> list[int]:  # type: ignore[no-untyped-def]
    return program.operands[record["operands"] : record["operands"] + record["n_operands"]].tolist()


def test_memory_record() -> None:
    program = image(
        kernel_text("ld.param.u64 %rd1, [x]; ld.global.cg.v2.f32 {%f1, %f2}, [%rd1+8]; st.global.v2.f32 [%rd1], {%f1, %f2}; ret;")
    )
    load = next(r for r in records_of(program, Kind.MEMORY) if r["memory_op"] == 1 and r["space"] == 0)
    assert (load["bytes"], load["element_bytes"], load["cache_op"], load["flags"] & 4) == (8, 4, 1, 4)
    assert (load["n_writes"], load["n_reads"]) == (2, 2)  # two 32-bit units from an address in two
    assert pool(program, load)[-1] == 8


def test_barrier_record() -> None:
    program = image(
        kernel_text("mov.u32 %r1, 64; setp.eq.u32 %p1, %r1, %laneid; bar.red.and.pred %p2, 3, %r1, !%p1; bar.sync 0; @%p2 exit; ret;"),
        frozenset(),
    )
    reduction, plain = records_of(program, Kind.BARRIER)
    assert reduction["sub"] == 3 and reduction["aux"] == 1 | 4  # id is immediate, predicate is negated
    assert pool(program, reduction)[0] == 3
    assert plain["sub"] == 0 and plain["aux"] == 1 | 2 and pool(program, plain)[:2] == [0, -1]
    assert program.sizes.barriers == 4


def test_member_mask_of_sync_instructions() -> None:
    body = """mov.u32 %r1, %laneid; shfl.sync.idx.b32 %r2|%p1, %r1, 0, 31, -1; shfl.sync.idx.b32 %r3, %r2, 0, 31, %r1;
        bar.warp.sync -1; ret;"""
    program = image(kernel_text(body), frozenset())
    immediate, register = records_of(program, Kind.SYNC_ALU)
    assert immediate["aux"] & 1 and pool(program, immediate)[immediate["sub"]] & 0xFFFFFFFF == 0xFFFFFFFF
    assert not register["aux"] & 1
    assert pool(program, records_of(program, Kind.WARP_SYNC)[0])[0] & 0xFFFFFFFF == 0xFFFFFFFF


def test_indexed_branch_table() -> None:
    body = """mov.u32 %r1, %laneid; and.b32 %r1, %r1, 1; brx.idx %r1, T;
        T: .branchtargets A, B;
        A: trap; B: ret;"""
    program = image(kernel_text(body))
    (branch,) = records_of(program, Kind.BRANCH_INDEXED)
    assert branch["aux"] == 2
    first, second = program.branch_table[branch["target"] : branch["target"] + 2]
    assert program.instructions[first].opcode == "trap" and program.instructions[second].opcode == "ret"


def test_shared_variables_are_apart_and_aligned() -> None:
    body = """mov.u32 %r1, a; mov.u32 %r2, b; mov.u32 %r3, dyn; ld.param.u64 %rd1, [x];
        st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r3; ret;"""
    before = ".extern .shared .align 16 .b8 dyn[];\n.shared .align 1 .b8 a[5];\n.shared .align 8 .b64 b;"
    text = kernel_text(body, ".param .u64 x", before)
    a, b, dyn = run(text, [np.zeros(3, np.uint32)], block=1)[0].tolist()
    assert a >= RESERVED_SHARED and b % 8 == 0 and b >= a + 5 and dyn % 16 == 0 and dyn >= b + 8
    assert image(text).sizes.static_shared == dyn - RESERVED_SHARED


def test_local_variables_of_a_call_chain_do_not_overlap() -> None:
    function = """.func f (.param .b64 out) { .local .b32 mine[4]; .reg .b64 %rd<4>; .reg .b32 %r<3>;
        ld.param.b64 %rd1, [out]; mov.u64 %rd2, mine; cvta.local.u64 %rd3, %rd2; mov.u32 %r1, 7; st.u32 [%rd3], %r1; st.global.u64 [%rd1],
        %rd2; ret; }
        """
    body = """.local .b32 own[4]; ld.param.u64 %rd1, [x]; mov.u64 %rd2, own; mov.u32 %r1, 5; st.local.u32 [%rd2], %r1;
        { .param .b64 p; st.param.b64 [p], %rd1; call f, (p); }
        ld.local.u32 %r2, [%rd2]; st.global.u32 [%rd1+8], %r2; ret;"""
    text = kernel_text(body, ".param .u64 x", function)
    out = run(text, [np.zeros(4, np.uint32)], block=1)[0]
    assert out[2] == 5 and out[0] >= 16
    assert image(text).sizes.local_bytes == 32


def test_lines_and_text() -> None:
    program = image(kernel_text("mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [x];\nst.global.u32 [%rd1], %r1;\nret;"))
    store = next(i for i, r in enumerate(program.records) if r["memory_op"] == 2)
    assert program.text(store) == "st.global.u32 [%rd1], %r1;"
    assert program.ptx_line(store) == program.records[store]["line"] == program.ptx_line(store + 1) - 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("ld.param.u64 %rd1, [x]; cp.async.ca.shared.global [%rd1], [%rd1], 4; ret;", ["cp.async", "kernel 'k'"]),
        ("call f, (%r1); ret;", ["'f'", "no body"]),
        ("mov.u64 %rd1, f; ret;", ["'f'"]),
    ],
)
def test_unsupported_names_the_place(body: str, words: list[str]) -> None:
    with pytest.raises(UnsupportedInstruction) as caught:
        image(kernel_text(body, before=".extern .func f (.param .b32 a);"))
    for word in words:
        assert word in str(caught.value)
    assert ":" in caught.value.where


def test_recursion_is_unsupported() -> None:
    text = f"{HEAD}.func f () {{ call f; ret; }}\n.visible .entry k() {{ call f; ret; }}"
    with pytest.raises(UnsupportedInstruction, match="recursion"):
        image(text)


# What ptxas 13.0.88 -arch=sm_90 makes of these kernels, counted in its disassembly up to the last EXIT.
PTXAS = {
    "saxpy": (19, """ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [a]; ld.param.u32 %r2, [n];
        mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.s32 %r1, %r3, %r4, %r5;
        setp.ge.s32 %p1, %r1, %r2; @%p1 bra END;
        cvta.to.global.u64 %rd3, %rd2; cvta.to.global.u64 %rd4, %rd1; mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd4, %rd5;
        ld.global.nc.f32 %f2, [%rd6]; add.s64 %rd7, %rd3, %rd5; ld.global.f32 %f3, [%rd7]; fma.rn.f32 %f4, %f2, %f1, %f3;
        st.global.f32 [%rd7], %f4; END: ret;"""),
}  # fmt: skip


@pytest.mark.parametrize("name", PTXAS)
def test_as_many_instructions_as_ptxas(name: str) -> None:
    count, body = PTXAS[name]
    program = image(kernel_text(body, ".param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n"))
    assert len(slots(program)) == count


def test_fused_forms() -> None:
    body = """ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; shl.b32 %r3, %r1, 4; add.s32 %r4, %r3, %r2;
        and.b32 %r5, %r4, %r1; xor.b32 %r6, %r5, %r2; setp.lt.s32 %p1, %r6, 9; setp.gt.s32 %p2, %r4, 3; and.pred %p3, %p1, %p2;
        mul.wide.s32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2; add.s64 %rd4, %rd3, 64; @%p3 st.global.u32 [%rd4+4], %r4; ret;"""
    names = texts(image(kernel_text(body)))
    # x & y ^ z over (0xF0, 0xCC, 0xAA): (0xF0 & 0xCC) ^ 0xAA = 0x6A
    for wanted in ("mad.lo.s32", "lop3.b32.0x6a", "mad.wide.s32"):
        assert wanted in [n.lower() for n in names]
    assert sum(n.startswith("setp") for n in names) == 2 and not any(n.startswith(("and", "xor", "shl", "add")) for n in names)
    plain = texts(image(kernel_text(body), ALL_PASSES - {"fuse"}))
    assert "shl.b32" in plain and "and.pred" in plain


def test_short_branches_become_guards_and_barriers_do_not() -> None:
    head = "ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; setp.gt.s32 %p1, %r1, 7; @%p1 bra SKIP;"
    short = image(kernel_text(head + "st.global.u32 [%rd1], %r1; SKIP: st.global.u32 [%rd1+4], %r1; ret;"))
    assert not records_of(short, Kind.BRANCH) and sum(r["guard"] >= 0 for r in short.records) == 1
    kept = image(kernel_text(head + "bar.sync 0; SKIP: st.global.u32 [%rd1+4], %r1; ret;"))
    assert len(records_of(kept, Kind.BRANCH)) == 1


def test_neighbouring_shared_words_are_loaded_together_when_aligned() -> None:
    before = ".shared .align 16 .b8 s[1024];"
    load = "".join(f"ld.shared.f32 %f{i}, [%r2+{4 * i}];" for i in range(4))
    tail = "ld.param.u64 %rd1, [x]; add.f32 %f5, %f0, %f1; add.f32 %f6, %f2, %f3; add.f32 %f7, %f5, %f6; st.global.f32 [%rd1], %f7; ret;"
    aligned = image(
        kernel_text("mov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 4; mov.u32 %r3, s; add.s32 %r2, %r3, %r4;" + load + tail, before=before)
    )
    assert slots(aligned).count("lds") == 1
    unknown = image(
        kernel_text("mov.u32 %r1, %tid.x; shl.b32 %r4, %r1, 2; mov.u32 %r3, s; add.s32 %r2, %r3, %r4;" + load + tail, before=before)
    )
    assert slots(unknown).count("lds") == 4
