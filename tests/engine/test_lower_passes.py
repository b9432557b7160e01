"""Passes change no result: random kernels give the same memory with any of them left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warpsight.engine.lower import ALL_PASSES

from .lowering import image, kernel_text, run

R = [f"%r{i}" for i in range(6)]
LOAD_ALL = """
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r30, %tid.x; mul.wide.u32 %rd3, %r30, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
""" + "".join(f"ld.global.u32 %r{i}, [%rd4+{128 * i}];\n" for i in range(6))
STORE_ALL = "".join(f"st.global.u32 [%rd5+{128 * i}], %r{i};\n" for i in range(6)) + "ret;"

operand = st.one_of(st.sampled_from(R), st.sampled_from(["0", "1", "-1", "7", "32", "2147483647"]))
register = st.sampled_from(R)


@st.composite
def statements(draw: st.DrawFn, depth: int = 2, label: str = "L") -> str:
    lines = []
    for i in range(draw(st.integers(1, 5))):
        kind = draw(
            st.sampled_from(
                ["two", "two", "mov", "wide", "guard", "select", "memory", "if", "else", "loop"] if depth else ["two", "mov", "wide"]
            )
        )
        d, a, b = draw(register), draw(register), draw(operand)
        here = f"{label}_{i}"
        if kind == "two":
            opcode = draw(st.sampled_from(["add.s32", "sub.s32", "mul.lo.s32", "and.b32", "or.b32", "xor.b32", "min.s32", "max.u32"]))
            lines.append(f"{opcode} {d}, {a}, {b};")
            lines.append(f"shl.b32 {draw(register)}, {a}, {draw(st.integers(0, 31))};" if draw(st.booleans()) else "")
        elif kind == "mov":
            lines.append(f"mov.u32 {d}, {b};")
        elif kind == "wide":
            lines.append(f"cvt.s64.s32 %rd10, {a}; mul.wide.s32 %rd11, {d}, {a}; add.s64 %rd12, %rd10, %rd11; shl.b64 %rd13, %rd12, 3;"
                         f"add.s64 %rd14, %rd13, %rd10; cvt.u32.u64 {d}, %rd14;")  # fmt: skip
        elif kind == "guard":
            lines.append(f"setp.lt.s32 %p1, {a}, {b}; setp.gt.u32 %p2, {d}, {a}; or.pred %p3, %p1, %p2; @!%p3 add.s32 {d}, {a}, {b};")
        elif kind == "select":
            lines.append(f"setp.ne.s32 %p4, {a}, {b}; selp.b32 {d}, {a}, {b}, %p4;")
        elif kind == "memory":
            lines.append(
                f"st.global.u32 [%rd5+{128 * draw(st.integers(0, 5))}], {a}; ld.global.u32 {d}, [%rd5+{128 * draw(st.integers(0, 5))}];"
            )
        elif kind == "if":
            lines.append(f"setp.ge.s32 %p5, {a}, {b}; @%p5 bra {here};\n{draw(statements(depth - 1, here))}\n{here}:")
        elif kind == "else":
            then, other = draw(statements(depth - 1, here + "t")), draw(statements(depth - 1, here + "e"))
            lines.append(f"setp.eq.s32 %p6, {a}, {b}; @%p6 bra {here}_else;\n{then}\nbra {here};\n{here}_else:\n{other}\n{here}:")
        else:
            counter = f"%r{20 + depth}"
            lines.append(f"mov.u32 {counter}, {draw(st.integers(1, 5)) * 4};\n{here}:\n{draw(statements(depth - 1, here))}\n"
                         f"add.s32 {counter}, {counter}, -4; setp.ne.s32 %p7, {counter}, 0; @%p7 bra {here};")  # fmt: skip
    return "\n".join(lines)


DATA = np.random.default_rng(1).integers(0, 1 << 32, (6, 32), dtype=np.uint32)
DATA[:, ::4] = np.array([0, 1, 2, 3, 0xFFFFFFFF, 0x80000000], np.uint32)[:, None]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(statements())
def test_random_kernels_compute_the_same(body: str) -> None:
    text = kernel_text(LOAD_ALL + body + "\n" + STORE_ALL, ".param .u64 x, .param .u64 y")
    arrays = [DATA, np.full((6, 32), 0xAB, np.uint32)]
    expected = run(text, arrays, passes=frozenset())[1]
    assert np.array_equal(run(text, arrays)[1], expected), "all passes"
    for left_out in sorted(ALL_PASSES):
        assert np.array_equal(run(text, arrays, passes=ALL_PASSES - {left_out})[1], expected), f"all but {left_out}"
        assert np.array_equal(run(text, arrays, passes=frozenset({left_out}))[1], expected), f"only {left_out}"


def test_placed_registers_do_not_overlap() -> None:
    """64-bit registers take two rows from an even one on; the frame's rows hold at least the pressure."""
    program = image(
        kernel_text(LOAD_ALL + "mul.wide.u32 %rd20, %r1, %r2; st.global.u64 [%rd5], %rd20;" + STORE_ALL, ".param .u64 x, .param .u64 y")
    )
    for entry, record in zip(program.handlers, program.records):
        if entry is None:
            continue
        places = program.operands[record["operands"] : record["operands"] + record["n_operands"]]
        for kind, place in zip((*entry[1].dst, *entry[1].src), places):
            if kind == "r64":
                assert place % 256 == 0
            elif kind == "r32":
                assert place % 128 == 0
            assert kind[0] not in "rp" or 0 <= place < program.sizes.frame_bytes


@pytest.mark.parametrize("threads", [1, 32, 45])
def test_diverging_loop_with_call(threads: int) -> None:
    """Each thread adds its number as often as its number says, through a device function."""
    function = """.func (.param .b32 out) twice (.param .b32 a, .param .align 8 .b8 pair[16]) {
        .reg .b32 %r<5>; .reg .b64 %rd<3>;
        ld.param.b32 %r1, [a]; ld.param.b64 %rd1, [pair+8]; cvt.u32.u64 %r2, %rd1; add.s32 %r3, %r1, %r2; st.param.b32 [out], %r3; ret;
    }"""
    text = kernel_text(
        """ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; mov.u32 %r3, %r1;
        LOOP: setp.eq.s32 %p1, %r3, 0; @%p1 bra DONE;
        cvt.u64.u32 %rd2, %r1;
        { .param .b32 arg; .param .align 8 .b8 both[16]; .param .b32 result;
          st.param.b32 [arg], %r2; st.param.b64 [both+8], %rd2; call.uni (result), twice, (arg, both); ld.param.b32 %r2, [result]; }
        add.s32 %r3, %r3, -1; bra LOOP;
        DONE: mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2; ret;""",
        ".param .u64 x",
        function,
    )
    expected = np.zeros(64, np.uint32)
    expected[:threads] = np.arange(threads) ** 2
    for passes in (ALL_PASSES, frozenset()):
        assert np.array_equal(run(text, [np.zeros(64, np.uint32)], block=threads, passes=passes)[0], expected)


@pytest.mark.parametrize("params", [".param .b32 out", ".reg .b32 out"])
def test_return_value_written_by_some_lanes(params: str) -> None:
    """A function that doubles odd numbers only: the short branch may become a guard, but must not write for all."""
    write = "st.param.b32 [out], {};" if "param" in params else "mov.b32 out, {};"
    function = f""".func ({params}) odd (.reg .b32 a) {{
        .reg .b32 %r<4>; .reg .pred %p<2>;
        {write.format("a")} and.b32 %r1, a, 1; setp.eq.s32 %p1, %r1, 0; @%p1 bra EVEN;
        shl.b32 %r2, a, 1; {write.format("%r2")} EVEN: ret; }}"""
    text = kernel_text(
        """ld.param.u64 %rd1, [x]; mov.u32 %r1, %tid.x; call (%r2), odd, (%r1);
        mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; st.global.u32 [%rd4], %r2; ret;""",
        ".param .u64 x",
        function,
    )
    numbers = np.arange(32, dtype=np.uint32)
    expected = np.where(numbers % 2, 2 * numbers, numbers)
    for passes in (ALL_PASSES, frozenset(), ALL_PASSES - {"coalesce"}, ALL_PASSES - {"schedule"}):
        assert np.array_equal(run(text, [np.zeros(32, np.uint32)], passes=passes)[0], expected)
