"""Kernel arguments: what a parameter block holds for them, and what is refused with which words."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import warpsight as ws
from warpsight.arguments import pack

from .kernels import entry


@pytest.fixture(scope="module")
def gpu() -> ws.Device:
    return ws.Device("mini", timing=False)


def packed(gpu: ws.Device, params: str, *args: Any) -> bytes:
    return pack(gpu.load(entry(params, ""))["k"].entry, args, gpu)


def test_the_block_is_laid_out_in_order_with_each_at_its_alignment(gpu: ws.Device) -> None:
    x = gpu.array(np.zeros(4, np.float32))
    params = ".param .u8 c, .param .u64 p, .param .f32 f, .param .align 8 .b8 s[12], .param .u16 h, .param .f64 d"
    block = packed(gpu, params, np.uint8(7), x, np.float32(1.5), b"ABCDEFGHIJKL", np.uint16(9), np.float64(-2))
    assert block == struct.pack("<BxxxxxxxQfxxxx12sHxxd", 7, x.address, 1.5, b"ABCDEFGHIJKL", 9, -2.0)


@pytest.mark.parametrize(
    ("type_", "arg", "expected"),
    [
        (".u32", np.int32(-1), b"\xff\xff\xff\xff"),
        (".s32", np.uint32(0xFFFFFFFF), b"\xff\xff\xff\xff"),
        (".b32", np.float32(1), struct.pack("<f", 1)),
        (".b16", np.float16(1), b"\x00\x3c"),
        (".u32", -1, b"\xff\xff\xff\xff"),
        (".u32", 0xFFFFFFFF, b"\xff\xff\xff\xff"),
        (".f32", 0.1, struct.pack("<f", 0.1)),
        (".f64", 0.1, struct.pack("<d", 0.1)),
        (".u8", np.bool_(True), b"\x01"),
        (".u64", None, bytes(8)),
        (".u64", np.uint64(5), struct.pack("<Q", 5)),
    ],
)
def test_scalars_that_fit(gpu: ws.Device, type_: str, arg: Any, expected: bytes) -> None:
    assert packed(gpu, f".param {type_} a", arg) == expected


@pytest.mark.parametrize(
    ("type_", "arg", "words"),
    [
        (".u32", np.int64(1), ["32-bit integer (.u32)", "numpy.int64(1)"]),
        (".u32", np.float32(1), ["32-bit integer", "numpy.float32"]),
        (".f32", np.float64(1), ["32-bit float (.f32)", "numpy.float64"]),
        (".f32", np.int32(1), ["32-bit float", "numpy.int32"]),
        (".f32", 1, ["32-bit float", "int 1"]),
        (".u32", 1.0, ["32-bit integer", "float 1.0"]),
        (".u32", 1 << 32, ["does not fit"]),
        (".s8", -129, ["does not fit"]),
        (".b32", 1, ["may mean several things", "NumPy scalar"]),
        (".u64", np.zeros(3, np.float32), ["device array", "host array float32[3]", "gpu.array()"]),
        (".u32", "x", ["str 'x'"]),
    ],
)
def test_what_does_not_fit_is_refused_with_position_expected_and_got(gpu: ws.Device, type_: str, arg: Any, words: list[str]) -> None:
    with pytest.raises(ws.LaunchError) as error:
        packed(gpu, f".param .u32 first, .param {type_} second", np.int32(0), arg)
    for word in ["kernel 'k'", "argument 2", "'second'", "expected", *words]:
        assert word in str(error.value)


def test_a_device_array_needs_a_64_bit_parameter(gpu: ws.Device) -> None:
    with pytest.raises(ws.LaunchError, match=r"got <device array float32\[2\]"):
        packed(gpu, ".param .u32 a", gpu.empty(2))


def test_arrays_freed_or_of_another_device_are_refused(gpu: ws.Device) -> None:
    x = gpu.empty(2)
    x.free()
    with pytest.raises(ws.LaunchError, match=r"was freed"):
        packed(gpu, ".param .u64 a", x)
    with pytest.raises(ws.LaunchError, match=r"another device"):
        packed(gpu, ".param .u64 a", ws.Device("mini", timing=False).empty(2))


def test_wrong_count_names_what_is_missing(gpu: ws.Device) -> None:
    with pytest.raises(ws.LaunchError) as error:
        packed(gpu, ".param .u64 x, .param .f32 alpha, .param .u32 n", None)
    for word in ("takes 3 arguments, got 1", "'alpha' a 32-bit float", "'n' a 32-bit integer"):
        assert word in str(error.value)
    with pytest.raises(ws.LaunchError, match=r"takes 1 argument, got 3.*the last 2 are too many"):
        packed(gpu, ".param .u64 x", None, 1, 2)


def test_structs_by_value_need_their_exact_size(gpu: ws.Device) -> None:
    record = np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f4")])
    assert packed(gpu, ".param .align 4 .b8 s[8]", record[0]) == struct.pack("<if", 1, 2)
    with pytest.raises(ws.LaunchError, match=r"8 bytes by value.*got 4 bytes"):
        packed(gpu, ".param .align 4 .b8 s[8]", b"1234")
