"""The opcode table: what it accepts, how it flattens operands, and what it says about what it refuses."""

from __future__ import annotations

import pytest

from warpsight.isa.ir import Blank, Imm, Instruction, Mem, Neg, Operand, Pair, Reg, Special, Sym, Vec
from warpsight.semantics import Kind, NotSupported, Resolved, forms, resolve

R = {name: Reg(name, type) for name, type in (("a", "b32"), ("b", "b32"), ("c", "s32"), ("x", "b64"), ("y", "b64"), ("f", "f32"))}
P, Q = Reg("p", "pred"), Reg("q", "pred")
ONE = Imm("int", 1)


def res(spelling: str, *operands: Operand) -> Resolved:
    opcode, *modifiers = spelling.split(".")
    return resolve(Instruction(opcode, tuple(modifiers), operands, None, 1))


def refusal(spelling: str, *operands: Operand) -> str:
    with pytest.raises(NotSupported) as error:
        res(spelling, *operands)
    return str(error.value)


def test_simple_form() -> None:
    r = res("add.s32", R["a"], R["b"], ONE)
    assert (r.dst, r.src) == ((R["a"],), (R["b"], ONE))
    assert [t.name for t in (*r.form.dst, *r.form.src)] == ["s32"] * 3
    assert r.form.kind is Kind.ALU and r.form.pure and r.form.memory is None


def test_equal_spellings_share_a_form() -> None:
    assert res("add.s32", R["a"], R["b"], ONE).form is res("add.s32", R["b"], R["a"], Imm("int", 7)).form


def test_carry_flag_is_an_operand() -> None:
    first, second = res("add.cc.u32", R["a"], R["b"], ONE), res("addc.u32", R["a"], R["b"], ONE)
    assert first.dst[1] == second.src[2] == Reg("%cc", "pred")
    assert first.form.dst[1].name == "pred"


def test_missing_second_destination_is_a_sink() -> None:
    both = res("setp.lt.s32", Pair(P, Q), R["a"], R["b"])
    one = res("setp.lt.s32", P, R["a"], R["b"])
    assert both.dst == (P, Q)
    assert one.dst == (P, Blank())
    assert one.form.name == both.form.name


def test_vectors_and_addresses_are_flattened() -> None:
    r = res("ld.global.v2.f32", Vec((R["f"], Blank())), Mem(R["x"], 16))
    assert r.dst == (R["f"], Blank())
    assert r.src == (R["x"], Imm("int", 16))
    assert [t.name for t in r.form.src] == ["u64", "s64"]
    narrow = res("st.shared.b32", Mem(R["a"], 4), R["b"])
    assert [t.name for t in narrow.form.src] == ["u32", "s64", "b32"]
    assert res("ld.param.u64", R["x"], Mem(Sym("p"), 8)).src == (Sym("p"), Imm("int", 8))


def test_memory_info() -> None:
    def info(spelling: str) -> tuple[str, str, int, int, str, str]:
        vector = ".v2" in spelling
        value: Operand = Vec((R["f"], R["f"])) if vector else R["f"]
        operands = (Mem(R["x"]), value) if spelling.startswith("st") else (value, Mem(R["x"]))
        m = res(spelling, *operands).form.memory
        assert m is not None
        return m.space, m.op, m.element_bytes, m.elements, m.cache_op, m.scope

    assert info("ld.f32") == ("generic", "load", 4, 1, "ca", "cta")
    assert info("ld.global.nc.L1::no_allocate.L2::128B.v2.f32") == ("global", "load", 4, 2, "nc", "cta")
    assert info("ld.global.relaxed.gpu.f32") == info("ld.relaxed.gpu.global.f32") == ("global", "load", 4, 1, "relaxed", "gpu")
    assert info("ld.volatile.shared.f32") == ("shared", "load", 4, 1, "volatile", "sys")
    assert info("ld.shared::cta.f32")[0] == "shared"
    assert info("st.global.cs.f32") == ("global", "store", 4, 1, "cs", "cta")
    assert info("st.release.gpu.global.v2.f32") == ("global", "store", 4, 2, "release", "gpu")


def test_cache_policy_is_dropped() -> None:
    r = res("ld.global.L2::cache_hint.f32", R["f"], Mem(R["x"]), R["y"])
    assert r.src == (R["x"], Imm("int", 0))
    assert r.form.name == res("ld.global.f32", R["f"], Mem(R["x"])).form.name


def test_lookup_table_is_part_of_the_form() -> None:
    operands = (R["a"], R["a"], R["b"], R["c"])
    xor, majority = res("lop3.b32", *operands, Imm("int", 0x96)), res("lop3.b32", *operands, Imm("int", 0xE8))
    assert xor.form.name != majority.form.name
    assert xor.src == operands[1:]


def test_synchronised_forms() -> None:
    shuffle = res("shfl.sync.bfly.b32", Pair(R["a"], P), R["b"], ONE, Imm("int", 31), Imm("int", -1))
    assert shuffle.form.kind is Kind.SYNC_ALU and shuffle.form.sync_mask == 3 and not shuffle.form.pure
    assert res("bar.warp.sync", Imm("int", -1)).form.kind is Kind.WARP_SYNC


@pytest.mark.parametrize(("spelling", "operands", "kind", "sub"), [
    ("bar.sync", (Imm("int", 0),), Kind.BARRIER, 0),
    ("barrier.sync.aligned", (Imm("int", 0), Imm("int", 64)), Kind.BARRIER, 0),
    ("bar.arrive", (Imm("int", 1), Imm("int", 64)), Kind.BARRIER, 1),
    ("bar.red.popc.u32", (R["a"], Imm("int", 0), P), Kind.BARRIER, 2),
    ("bar.red.or.pred", (Q, Imm("int", 0), Imm("int", 64), Neg(P)), Kind.BARRIER, 4),
    ("membar.gl", (), Kind.FENCE, 0),
    ("exit", (), Kind.EXIT, 0),
    ("bra.uni", (Sym("L"),), Kind.BRANCH, 0),
])  # fmt: skip
def test_engine_instructions(spelling: str, operands: tuple[Operand, ...], kind: Kind, sub: int) -> None:
    form = res(spelling, *operands).form
    assert (form.kind, form.sub, form.emit, form.pure) == (kind, sub, None, False)


def test_fence_scopes() -> None:
    assert [res(s).form.scope for s in ("membar.cta", "membar.gl", "membar.sys", "fence.acq_rel.gpu")] == ["cta", "gpu", "sys", "gpu"]


def test_reading_a_clock_is_not_pure() -> None:
    assert not res("mov.u64", R["x"], Special("%clock64")).form.pure
    assert res("mov.u32", R["a"], Special("%tid.x")).form.pure


def test_wider_registers_only_where_the_manual_allows_them() -> None:
    assert res("ld.global.u8", R["a"], Mem(R["x"])).form.dst[0].name == "u8"
    assert res("st.global.b8", Mem(R["x"]), R["x"]).form.src[2].name == "b8"
    assert "does not fit" in refusal("add.s32", R["a"], R["x"], R["b"])
    assert "does not fit" in refusal("ld.global.u64", R["a"], Mem(R["x"]))


def test_refusals_name_the_cause() -> None:
    assert refusal("frobnicate.u32", R["a"]) == "unknown opcode 'frobnicate'"
    assert ".s33" in refusal("add.s33", R["a"], R["b"], R["b"])
    assert "together" in refusal("add.s32.u32", R["a"], R["b"], R["b"])
    assert "2 operands where 3 are expected" in refusal("add.s32", R["a"], R["b"])
    assert "predicate" in refusal("setp.lt.s32", R["a"], R["b"], R["b"]) or "pred" in refusal("setp.lt.s32", R["a"], R["b"], R["b"])
    assert "vector of 4" in refusal("ld.global.v4.f32", R["f"], Mem(R["x"]))
    assert "no vector" in refusal("ld.global.v8.b64", R["x"], Mem(R["x"]))
    assert "unknown special register" in refusal("mov.u32", R["a"], Special("%nonsense"))
    assert "tensor-core" in refusal("wgmma.fence.sync.aligned")
    assert "mbarrier" not in {f.name.partition(".")[0] for f in forms()}
    assert "sink" in refusal("add.s32", R["a"], Blank(), R["b"])
    assert "float constant" in refusal("add.s32", R["a"], R["b"], Imm("float", 1.0, 0x3F800000))


def test_form_names_are_unique() -> None:
    names = [f.name for f in forms()]
    assert len(names) == len(set(names)) > 1000
