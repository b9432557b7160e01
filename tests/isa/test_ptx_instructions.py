"""Instructions with unusual operands, from the manual's examples of syntax: the kind of every operand, and printing."""

from __future__ import annotations

import pytest

from warpsight.isa.ir import Instruction, Tuple_
from warpsight.isa.ptx.printer import print_instruction

from .snippets import REGISTERS, kernel

# What each operand must be, in order.
CASES = [
    ("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [%r3];", "Tuple_ Mem"),
    (
        "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"
        " [%r1], [%rd1, {%r1, %r2, %r3}], [%r5], {%h1}, %h3, %rd2;",
        "Mem Tuple_ Mem Vec Reg Reg",
    ),
    ("cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd1, {0}], [%r3];", "Tuple_ Mem"),
    ("tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r1, %r2, %r3, %r4}, %p1, 3;", "Mem Reg Reg Reg Vec Reg Imm"),
    ("tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%r1, %r2}, [%r3+16];", "Vec Mem"),
    (
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, -1, 0, 1;",
        "Vec Reg Reg Reg Imm Imm Imm Imm",
    ),
    ("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], 16;", "Blank Mem Imm"),
    ("mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%rd1+8], %r2, 0x989680;", "Reg Mem Reg Imm"),
    ("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r1, %r2, %r3, _}, %q1;", "Vec Reg"),
    ("fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;", "Mem Imm"),
    ("fence.mbarrier_init.release.cluster;", ""),
    ("ld.global.L1::evict_last.L2::cache_hint.v8.f32 {%f1, _, %f2, _, %f3, %f4, _, _}, [%rd1], %rd2;", "Vec Mem Reg"),
    ("tex.grad.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, %rd2, {%f1,%f2}], {%f1,%f2}, {%f1,%f2};", "Vec Tuple_ Vec Vec"),
    ("tld4.r.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}|%p1, [%rd1, {%f1, %f2}], {%r1, %r2}, %f3;", "Pair Tuple_ Vec Reg"),
    ("sust.p.2d.v4.b32.clamp [%rd1, {%r1, %r2}], {%r1,%r2,%r3,%r4};", "Tuple_ Vec"),
    ("suld.b.1d.b32.trap {%r1}, [%rd1, {%r1}];", "Vec Tuple_"),
    ("txq.width.b32 %r1, [%rd1];", "Reg Mem"),
    ("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x96, !%p2;", "Pair Reg Reg Reg Imm Neg"),
    ("setp.lt.or.f32.ftz %p1|%p2, %f1, 1.0, !%p3;", "Pair Reg Imm Neg"),
    ("elect.sync _|%p1, 0xffffffff;", "Pair Imm"),
    ("match.all.sync.b32 %r1|%p1, %r2, -1;", "Pair Reg Imm"),
    ("vset.u32.u32.lt.add %r1, %r2.b1, %r3.h0, %r4;", "Reg Part Part Reg"),
    ("vmad.u32.u32.u32.sat.shr7 %r1, %r2, -%r3, %r4;", "Reg Reg Minus Reg"),
    ("mov.b128 %q1, {%rd1, %rd2};", "Reg Vec"),
    ("bar.red.popc.u32 %r1, 0, 64, !%p1;", "Reg Imm Imm Neg"),
    ("atom.global.cas.b32 _, [%rd1+-4], %r1, 0;", "Blank Mem Reg Imm"),
    ("mov.v4.u16 {%h1, %h2, %h3, %h4}, %ctaid;", "Vec Special"),
    ("mov.pred %p1, %is_explicit_cluster;", "Reg Special"),
    ("mov.u64 %rd1, %pm3_64;", "Reg Special"),
    ("mov.u32 %r1, %reserved_smem_offset_cap;", "Reg Special"),
]


@pytest.mark.parametrize(("text", "kinds"), CASES, ids=[text.split(" ")[0] for text, _ in CASES])
def test_operand_kinds(text: str, kinds: str) -> None:
    registers = REGISTERS + " .reg .b128 %q1;"
    (found,) = kernel(text, registers=registers).body
    assert isinstance(found, Instruction)
    assert found.spelling == text.rstrip(";").split(" ")[0]
    assert [type(o).__name__ for o in found.operands] == kinds.split()
    assert all(o.bracketed for o in found.operands if isinstance(o, Tuple_))
    assert kernel(print_instruction(found), registers=registers).body == [found]
