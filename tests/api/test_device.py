"""Devices, arrays, modules and their variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import warpsight as ws

from .kernels import HEAD, SAXPY, entry


@pytest.fixture(scope="module")
def gpu() -> ws.Device:
    return ws.Device("mini", timing=False)


def test_arrays_go_there_and_back(gpu: ws.Device) -> None:
    host = np.arange(12, dtype=np.int16).reshape(3, 4)
    x = gpu.array(host)
    assert x.shape == (3, 4) and x.dtype == np.int16 and x.nbytes == 24 and x.address % 256 == 0
    host[0, 0] = 99
    back = x.numpy()
    assert back[0, 0] == 0 and back.sum() == 66, "a copy, not a view"
    back[0, 0] = 5
    assert x.numpy()[0, 0] == 0
    x.write(host)
    assert x.numpy()[0, 0] == 99
    turned = gpu.array(host.T)
    assert (turned.numpy() == host.T).all()


@pytest.mark.parametrize("shape", [0, (0, 3), (), 5, (2, 3, 4)])
def test_shapes_as_numpy_has_them(gpu: ws.Device, shape: tuple[int, ...]) -> None:
    assert gpu.array(np.ones(shape)).numpy().shape == np.ones(shape).shape


def test_memory_is_given_back(gpu: ws.Device) -> None:
    used = gpu.memory.used
    x = gpu.empty(1 << 20, np.uint8)
    assert gpu.memory.used > used
    x.free()
    x.free()
    assert gpu.memory.used == used
    with pytest.raises(ws.LaunchError, match=r"was freed"):
        x.numpy()
    y = gpu.empty(1 << 20, np.uint8)
    del y
    assert gpu.memory.used == used


def test_a_full_device_says_so(gpu: ws.Device) -> None:
    with pytest.raises(ws.InputError, match=r"out of memory.*2147483648 bytes"):
        gpu.empty(1 << 31, np.uint8)


def test_wrong_shapes_and_dtypes(gpu: ws.Device) -> None:
    x = gpu.empty((2, 3), np.float32)
    for bad in (np.zeros((3, 2), np.float32), np.zeros((2, 3), np.float64)):
        with pytest.raises(ws.InputError):
            x.write(bad)
    for shape in (-1, (2, 1.5)):
        with pytest.raises(ws.InputError, match=r"shape"):
            gpu.empty(shape)  # type: ignore[arg-type]
    for dtype in (object, "nothing"):
        with pytest.raises(ws.InputError, match=r"dtype"):
            gpu.empty(2, dtype)


def test_modules_load_from_path_text_and_bytes(gpu: ws.Device, tmp_path: Path) -> None:
    path = tmp_path / "saxpy.ptx"
    path.write_text(SAXPY)
    for source in (path, str(path), SAXPY, SAXPY.encode(), SAXPY.encode() + b"\0"):
        assert gpu.load(source).kernels == ["saxpy"]


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"\x7fELF\2\1\1" + bytes(60), "ELF"), (b"", "empty"), (b"\x50\xed\x55\xba" + bytes(60), "fat binary"), (bytes(range(256)), "binary")],
)
def test_files_that_are_no_ptx(gpu: ws.Device, tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "file.ptx"
    path.write_bytes(data)
    with pytest.raises(ws.LoadError, match=words):
        gpu.load(path)
    with pytest.raises(ws.LoadError, match=r"missing.ptx"):
        gpu.load(tmp_path / "missing.ptx")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_truncated_ptx_is_refused(gpu: ws.Device, share: float) -> None:
    text = SAXPY[: int(len(SAXPY) * share)]
    with pytest.raises(ws.InputError):
        gpu.load(text)["saxpy"]


def test_a_kernel_that_is_not_there_names_the_nearest(gpu: ws.Device) -> None:
    with pytest.raises(ws.KernelNotFound, match=r"'saxpi'.*saxpy"):
        gpu.load(SAXPY)["saxpi"]


VARIABLES = (
    HEAD
    + """
.global .align 4 .u32 numbers[4] = {1, 2, 0xffffffff};
.const .align 8 .f64 pi = 0d400921FB54442D18;
.global .align 8 .u64 where[2] = {numbers, generic(numbers)+8};
.global .align 1 .b8 raw[5];
.visible .entry k() { ret; }
"""
)


def test_module_variables_hold_their_initialisers(gpu: ws.Device) -> None:
    module = gpu.load(VARIABLES)
    numbers = module.variable("numbers")
    assert numbers.read().dtype == np.uint32 and numbers.read().tolist() == [1, 2, 0xFFFFFFFF, 0]
    assert module.variable("pi").read().tolist() == [np.pi]
    assert module.variable("where").read().tolist() == [numbers.address, numbers.address + 8]
    assert not module.variable("raw").read().any() and module.variable("raw").nbytes == 5


def test_module_variables_can_be_written(gpu: ws.Device) -> None:
    module = gpu.load(VARIABLES)
    module.variable("pi").write(np.array([3.0]))
    assert module.variable("pi").read().tolist() == [3.0]
    assert module.variable("numbers").read(np.int32).tolist() == [1, 2, -1, 0]
    with pytest.raises(ws.InputError, match=r"8 bytes"):
        module.variable("pi").write(np.zeros(2))
    with pytest.raises(ws.InputError, match=r"numbers"):
        module.variable("number")


def test_too_much_constant_memory_and_undefined_variables_are_refused(gpu: ws.Device) -> None:
    with pytest.raises(ws.LoadError, match=r"65537.*device.const_bytes"):
        gpu.load(entry("", "", before=".const .b8 much[65537];"))
    with pytest.raises(ws.LoadError, match=r"'other'.*extern"):
        gpu.load(entry("", "", before=".extern .global .b8 other[4];"))


def test_wrong_interpreter_and_gpu() -> None:
    with pytest.raises(ws.InputError, match=r"interpreter"):
        ws.Device("mini", interpreter="jit")  # type: ignore[arg-type]
    with pytest.raises(ws.ConfigError, match=r"mini"):
        ws.Device("minni")


def test_a_device_is_a_context_manager_and_synchronises(gpu: ws.Device) -> None:
    with ws.Device("mini", timing=False) as device:
        device.synchronize()
        assert device.name == "mini"


def test_a_module_lists_its_kernels() -> None:
    text = "".join(f".entry k{i}() {{ ret; }}\n" for i in range(3))
    module = ws.Device("mini", timing=False).load(".version 8.0\n.target sm_90\n.address_size 64\n" + text)
    assert list(module) == module.kernels == ["k0", "k1", "k2"] and len(module) == 3
    assert "k1" in module and "k3" not in module
