"""Kernel arguments: from Python and NumPy values to the bytes of the parameter block, checked against the kernel's .param declarations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .array import DeviceArray
from .engine.lower.layout import offsets_of
from .errors import LaunchError
from .isa.ir import Kernel, Variable

if TYPE_CHECKING:
    from .device import Device

_POINTER_BYTES = 8
# What a PTX type's letter admits, as NumPy dtype kinds. PTX integers carry no sign of their own (nvcc writes .u32 for int), .b takes any
# bits.
_KINDS = {"u": "iub", "s": "iub", "b": "iubf", "f": "f"}
_KIND_WORDS = {"u": "integer", "s": "integer", "b": "value", "f": "float"}


def pack(kernel: Kernel, args: Sequence[Any], device: Device) -> bytes:
    """The parameter block of a launch. Raises LaunchError that names the argument's position, what was expected and what was got."""
    params = kernel.params
    if len(args) != len(params):
        raise LaunchError(f"kernel '{kernel.name}' takes {_count(len(params))}, got {len(args)}{_which(params, len(args))}")
    offsets, size = offsets_of(params)
    block = bytearray(size)
    for position, (param, arg) in enumerate(zip(params, args, strict=True), 1):
        try:
            data = _encode(param, arg, device)
        except ValueError as error:
            raise LaunchError(
                f"kernel '{kernel.name}', argument {position} ('{param.name}'): expected {describe(param)}, {error}"
            ) from None
        start = offsets[param.name]
        block[start : start + len(data)] = data
    return bytes(block)


def describe(param: Variable) -> str:
    """A parameter's type for people: "a 32-bit integer (.u32)", "16 bytes by value (.b8[16])"."""
    if _is_array(param):
        return f"{param.size} bytes by value (.{param.type}[{param.count}])"
    bits = param.size * 8
    text = f"a {bits}-bit {_KIND_WORDS[param.type[0]]} (.{param.type})"
    return f"{text} or a device array" if _takes_pointer(param) else text


def _count(n: int) -> str:
    return f"{n} argument{'' if n == 1 else 's'}"


def _which(params: Sequence[Variable], given: int) -> str:
    if given < len(params):
        return "; missing: " + ", ".join(f"'{p.name}' {describe(p)}" for p in params[given:])
    return f"; the last {given - len(params)} are too many" if given - len(params) > 1 else "; the last one is too many"


def _is_array(param: Variable) -> bool:
    return param.count != 1 or param.type == "b128"


def _takes_pointer(param: Variable) -> bool:
    return not _is_array(param) and param.size == _POINTER_BYTES and param.type[0] in "usb"


def _encode(param: Variable, arg: Any, device: Device) -> bytes:
    """Raises ValueError with what was got."""
    if isinstance(arg, DeviceArray):
        if not _takes_pointer(param):
            raise ValueError(f"got {arg!r}")
        if arg.device is not device:
            raise ValueError("got an array of another device")
        if arg.freed:
            raise ValueError("got an array that was freed")
        return arg.address.to_bytes(_POINTER_BYTES, "little")
    if arg is None and _takes_pointer(param):
        return bytes(_POINTER_BYTES)
    if _is_array(param):
        return _encode_bytes(param, arg)
    if isinstance(arg, (np.generic, np.ndarray)):
        return _encode_numpy(param, np.asarray(arg), arg)
    return _encode_python(param, arg)


def _encode_bytes(param: Variable, arg: Any) -> bytes:
    if isinstance(arg, (bytes, bytearray, memoryview)):
        data = bytes(arg)
    elif isinstance(arg, (np.generic, np.ndarray)):
        data = arg.tobytes()
    else:
        raise ValueError(f"got {_shown(arg)}; pass bytes or a NumPy array or record of that size")
    if len(data) != param.size:
        raise ValueError(f"got {len(data)} bytes")
    return data


def _encode_numpy(param: Variable, value: np.ndarray[Any, Any], arg: Any) -> bytes:
    if value.ndim:
        hint = "; copy it to the device first, with gpu.array()" if _takes_pointer(param) else ""
        raise ValueError(f"got a host array {value.dtype}{list(value.shape)}{hint}")
    if param.size != value.dtype.itemsize or value.dtype.kind not in _KINDS[param.type[0]]:
        raise ValueError(f"got numpy.{value.dtype}({arg!s})")
    return value.tobytes()


def _encode_python(param: Variable, arg: Any) -> bytes:
    """Python numbers carry no size: taken where the parameter's type settles the meaning."""
    letter, bits = param.type[0], param.size * 8
    if letter == "f" and isinstance(arg, float):
        return bytes(np.array(arg, f"f{param.size}").tobytes())
    if letter in "us" and isinstance(arg, int):
        if not -(1 << bits - 1) <= arg < 1 << bits:
            raise ValueError(f"got {arg}, which does not fit")
        return (arg & (1 << bits) - 1).to_bytes(param.size, "little")
    if letter == "b" and isinstance(arg, (int, float)):
        raise ValueError(f"got {arg!r}, which may mean several things: pass a NumPy scalar of that size")
    raise ValueError(f"got {_shown(arg)}")


def _shown(arg: Any) -> str:
    text = repr(arg)
    return f"{type(arg).__name__} {text if len(text) <= 40 else text[:37] + '...'}"
