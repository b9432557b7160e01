"""Launches: what the GPU would refuse, what goes wrong while a kernel runs, and what the user is told."""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any

import numpy as np
import pytest

import warpsight as ws

from .kernels import SAXPY, SPIN, entry

OUT = ".param .u64 out"


@pytest.fixture(scope="module")
def gpu() -> ws.Device:
    return ws.Device("mini", timing=False)


def run(gpu: ws.Device, text: str, args: list[Any], grid: Any = 1, block: Any = 32, **options: Any) -> ws.LaunchResult:
    module = gpu.load(text)
    return module[module.kernels[0]].launch(grid, block, args, **options)


def message(error: pytest.ExceptionInfo[Any], *words: str) -> str:
    text = str(error.value)
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
    return text


# Results


@pytest.mark.parametrize("interpreter", ["llvm", "numpy"])
def test_saxpy(interpreter: Any) -> None:
    gpu = ws.Device("mini", timing=False, interpreter=interpreter)
    x = np.arange(1000, dtype=np.float32)
    y = gpu.array(np.full(1000, 3, np.float32))
    result = run(gpu, SAXPY, [gpu.array(x), y, np.float32(0.5), np.int32(1000)], 4, 256)
    assert (y.numpy() == 0.5 * x + 3).all()
    assert result.cycles is None and result.time_us is None and result.warp_instructions > 0
    assert result.grid == (4, 1, 1) and result.block == (256, 1, 1) and "saxpy" in result.table()


def test_lines_count_executions_of_each_instruction(gpu: ws.Device) -> None:
    x = gpu.empty(1000, np.float32)
    result = run(gpu, SAXPY, [x, x, np.float32(0.5), np.int32(1000)], 4, 256, lines=True)
    assert result.lines is not None
    executions = dict(zip(result.lines.text, result.lines.counts["executions"].tolist(), strict=True))
    store = next(text for text in executions if text.startswith("st.global"))
    assert executions[store] == 32, "1000 elements in warps of 32"
    where = result.lines.text.index(store)
    assert result.lines.source[where] == "saxpy.cu:5"
    assert SAXPY.splitlines()[result.lines.ptx_line[where] - 1].strip().startswith("st.global")


def test_module_variables_are_seen_by_kernels_and_written_by_them(gpu: ws.Device) -> None:
    body = "mov.u32 %r1, %tid.x; mul.wide.u32 %d1, %r1, 4; mov.u64 %d2, table; add.s64 %d2, %d2, %d1;\n"
    body += "ld.global.u32 %r2, [%d2]; ld.const.u32 %r3, [factor]; mul.lo.u32 %r2, %r2, %r3; st.global.u32 [%d2], %r2;"
    module = gpu.load(entry("", body, before=".global .u32 table[4] = {1, 2, 3, 4};\n.const .u32 factor = 10;"))
    module["k"].launch(1, 4)
    assert module.variable("table").read().tolist() == [10, 20, 30, 40]
    module.variable("factor").write(np.uint32(2))
    module["k"].launch(1, 4)
    assert module.variable("table").read().tolist() == [20, 40, 60, 80]


def test_dynamic_shared_memory_comes_with_the_launch(gpu: ws.Device) -> None:
    body = "mov.u32 %r1, %dynamic_smem_size; ld.param.u64 %d1, [out]; st.global.u32 [%d1], %r1;"
    out = gpu.empty(1, np.uint32)
    run(gpu, entry(OUT, body, before=".extern .shared .align 16 .b8 dynamic[];"), [out], shared=1234)
    assert out.numpy()[0] == 1234


@pytest.mark.parametrize(
    ("operation", "operands", "expected"),
    [
        ("div.u32", (7, 0), 0xFFFFFFFF),
        ("div.s32", (7, 0), 0xFFFFFFFF),
        ("rem.u32", (7, 0), 0xFFFFFFFF),
        ("div.s32", (0x80000000, 0xFFFFFFFF), 0x80000000),
    ],
)
def test_integer_division_by_zero_is_no_error(gpu: ws.Device, operation: str, operands: tuple[int, int], expected: int) -> None:
    """The PTX manual leaves the value open; these are an H200's."""
    body = f"ld.param.u64 %d1, [out]; ld.param.u32 %r1, [a]; ld.param.u32 %r2, [b]; {operation} %r3, %r1, %r2; st.global.u32 [%d1], %r3;"
    out = gpu.empty(1, np.uint32)
    run(gpu, entry(f"{OUT}, .param .u32 a, .param .u32 b", body), [out, np.uint32(operands[0]), np.uint32(operands[1])])
    assert int(out.numpy()[0]) == expected


# Refused launches


@pytest.mark.parametrize(
    ("grid", "block", "options", "words"),
    [
        (1, 1025, {}, ["block x is 1025", "device.max_block_dim"]),
        (1, (32, 32, 2), {}, ["2048", "device.max_threads_per_block"]),
        (1, (1, 1, 65), {}, ["block z is 65", "1 to 64"]),
        (1, 0, {}, ["block x is 0"]),
        (0, 32, {}, ["grid x is 0"]),
        ((1, 65536), 32, {}, ["grid y is 65536", "65535", "device.max_grid_dim"]),
        (1, 32, {"shared": 64513}, ["64513", "64512", "device.shared_per_block_optin"]),
        (1, 32, {"shared": -1}, ["-1 bytes"]),
        (1.5, 32, {}, ["grid", "1.5"]),
        ((1, 1, 1, 1), 32, {}, ["grid", "one to three"]),
    ],
)
def test_shapes_beyond_the_gpus_limits(gpu: ws.Device, grid: Any, block: Any, options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ws.LaunchError) as error:
        run(gpu, entry("", ""), [], grid, block, **options)
    message(error, *words)


def test_static_and_dynamic_shared_memory_count_together(gpu: ws.Device) -> None:
    text = entry("", "mov.u32 %r1, s; st.shared.u32 [%r1], %r1;", before=".shared .align 4 .b8 s[40000];")
    run(gpu, text, [], shared=24512)
    with pytest.raises(ws.LaunchError) as error:
        run(gpu, text, [], shared=24513)
    message(error, "40000 static + 24513 dynamic")
    with pytest.raises(ws.LaunchError) as error:
        run(gpu, text.replace("40000", "49153"), [])
    message(error, "static shared memory", "49153", "device.shared_per_block")


def test_maxntid_bounds_the_threads_and_reqntid_fixes_the_shape(gpu: ws.Device) -> None:
    """As an H200's driver does: .maxntid 64,1,1 admits 1x64, .reqntid 64,1,1 does not."""
    run(gpu, entry("", "", directives=".maxntid 64, 1, 1"), [], 1, (1, 64))
    with pytest.raises(ws.LaunchError) as error:
        run(gpu, entry("", "", directives=".maxntid 64, 1, 1"), [], 1, 65)
    message(error, ".maxntid 64x1x1", "65x1x1")
    run(gpu, entry("", "", directives=".reqntid 64, 1, 1"), [], 1, 64)
    for block in (32, (1, 64)):
        with pytest.raises(ws.LaunchError, match=r"\.reqntid"):
            run(gpu, entry("", "", directives=".reqntid 64, 1, 1"), [], 1, block)


def test_too_many_registers(gpu: ws.Device) -> None:
    """60 values live at once in each of 1024 threads: more than mini's 32768 registers of a block."""
    body = "\n".join(f"ld.volatile.global.u32 %s{i}, [%d1];" for i in range(60)) + "\n"
    body += "\n".join(f"st.volatile.global.u32 [%d1], %s{i};" for i in range(60))
    text = entry(OUT, f".reg .b32 %s<60>; ld.param.u64 %d1, [out];\n{body}")
    out = gpu.empty(1, np.uint32)
    run(gpu, text, [out], 1, 256)
    with pytest.raises(ws.LaunchError) as error:
        run(gpu, text, [out], 1, 1024)
    message(error, "registers", "device.max_registers_per_block")


def test_an_unsupported_instruction_is_named_when_the_kernel_is_prepared(gpu: ws.Device) -> None:
    text = entry("", ".loc 1 7 1\nfrobnicate.u32 %r1, %r2;", before='.file 1 "some.cu"')
    kernel = gpu.load(text)["k"]
    with pytest.raises(ws.UnsupportedInstruction) as error:
        kernel.launch(1, 32)
    line = next(i for i, t in enumerate(text.splitlines(), 1) if "frobnicate" in t)
    message(error, "frobnicate.u32", "'k'", f":{line}", "some.cu:7")


# Kernels that go wrong


def test_out_of_bounds_names_everything(gpu: ws.Device) -> None:
    x, y = gpu.empty(1000, np.float32), gpu.empty(1000, np.float32)
    with pytest.raises(ws.MemoryFault) as error:
        run(gpu, SAXPY, [x, y, np.float32(1), np.int32(1001)], 4, 256)
    line = next(i for i, t in enumerate(SAXPY.splitlines(), 1) if "ld.global.f32 %f2" in t)
    message(error, "'saxpy'", "load of 4 bytes", f"global address {x.address + 4000:#x}", "ld.global.f32", f":{line}", "saxpy.cu:5")
    message(error, "(232, 0, 0) of CTA (3, 0, 0)", "lane 8", f"4000 bytes from {x.address:#x}", "right behind its end")
    assert error.value.detail["address"] == x.address + 4000
    run(gpu, SAXPY, [x, y, np.float32(1), np.int32(1000)], 4, 256)


@pytest.mark.parametrize(
    ("offset", "words"),
    [(-8, ["begins 8 bytes before it"]), (20, ["begins 4 bytes behind its end"]), (14, ["multiple of 4", "misaligned"])],
)
def test_where_a_bad_address_lies(gpu: ws.Device, offset: int, words: list[str]) -> None:
    out = gpu.empty(16, np.uint8)
    with pytest.raises(ws.MemoryFault) as error:
        run(gpu, entry(OUT, f"ld.param.u64 %d1, [out]; add.s64 %d1, %d1, {offset}; st.global.u32 [%d1], %r1;"), [out])
    message(error, "store of 4 bytes", *words)


def test_an_access_over_the_end(gpu: ws.Device) -> None:
    out = gpu.empty(6, np.uint8)
    with pytest.raises(ws.MemoryFault) as error:
        run(gpu, entry(OUT, "ld.param.u64 %d1, [out]; ld.global.u32 %r1, [%d1+4]; st.global.u32 [%d1], %r1;"), [out])
    message(error, "6 bytes", "runs 2 bytes over its end")


def test_freed_memory_null_shared_and_constants(gpu: ws.Device) -> None:
    out = gpu.empty(4, np.uint32)
    address = np.uint64(out.address)
    store = "ld.param.u64 %d1, [out]; st.global.u32 [%d1], %r1;"
    out.free()
    for pointer in (address, None):
        with pytest.raises(ws.MemoryFault):
            run(gpu, entry(OUT, store), [pointer])
    with pytest.raises(ws.MemoryFault, match="shared address"):
        run(gpu, entry("", "mov.u32 %r1, 0x10000; st.shared.u32 [%r1], %r1;"), [])
    with pytest.raises(ws.MemoryFault, match=r"read-only.*\n(.*\n)*.*variable 'c'"):
        run(gpu, entry("", "mov.u64 %d1, c; st.global.u32 [%d1], %r1;", before=".const .u32 c = 1;"), [])


def test_trap_says_where(gpu: ws.Device) -> None:
    with pytest.raises(ws.TrapError) as error:
        run(gpu, entry("", "mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 5;\n@%p1 trap;"), [])
    message(error, "trap", "(5, 0, 0) of CTA (0, 0, 0)")


def test_a_deadlock_says_what_waits(gpu: ws.Device) -> None:
    """Warp 1 leaves for another barrier than warp 0 waits at."""
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 32;\n@%p1 bar.sync 1, 64;\n@!%p1 bar.sync 2, 64;"
    with pytest.raises(ws.DeadlockError) as error:
        run(gpu, entry("", body), [], 1, 64)
    message(error, "barrier 1", "barrier 2", "32 of 64 threads arrived")


def test_an_endless_kernel_is_stopped_by_instructions(gpu: ws.Device) -> None:
    with pytest.raises(ws.KernelTimeout) as error:
        run(gpu, SPIN, [None], 2, 64, budget_instructions=100_000)
    message(error, "'spin'", "100,000 instructions", "bra", "warps running")


def test_an_endless_kernel_is_stopped_by_time(gpu: ws.Device) -> None:
    start = time.perf_counter()
    with pytest.raises(ws.KernelTimeout, match=r"0\.2 seconds"):
        run(gpu, SPIN, [None], 1, 32, budget_seconds=0.2)
    assert 0.2 <= time.perf_counter() - start < 5


def test_ctrl_c_ends_a_launch_and_leaves_the_device_usable(gpu: ws.Device) -> None:
    module = gpu.load(SPIN)
    module["spin"].prepare()
    sent: list[float] = []

    def interrupt() -> None:
        sent.append(time.perf_counter())
        _thread.interrupt_main()

    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            module["spin"].launch(1, 32, [None], budget_seconds=20)
    finally:
        timer.join()
    assert time.perf_counter() - sent[0] < 1.0, "0.2 s on an idle machine"
    test_dynamic_shared_memory_comes_with_the_launch(gpu)


def test_samples_need_timing(gpu: ws.Device) -> None:
    with pytest.raises(ws.InputError, match="timing"):
        run(gpu, entry("", ""), [], samples=100)
