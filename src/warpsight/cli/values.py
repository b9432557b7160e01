"""Kernel arguments on the command line: `rand:f32:16384`, `file:x.npy`, `i32:7`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..validate import recipes

if TYPE_CHECKING:
    from ..array import DeviceArray
    from ..device import Device

HELP = """One kernel argument, in order. Arrays: rand:DTYPE:N[:LO:HI], zeros:DTYPE:N, const:DTYPE:N:VALUE, iota:DTYPE:N, file:PATH.npy;
N may be a shape, 64x64. Scalars: DTYPE:VALUE. A null pointer: null. DTYPE: f16 bf16 f32 f64 i8..i64 u8..u64."""

Array = npt.NDArray[Any]
_UNIFORM, _RANDOM_INTS = (-1.0, 1.0), (0, 100)  # rand's range for floats and for integers


def parse(text: str, device: Device, seed: int) -> Any:
    """What Kernel.launch takes for the text. `seed` decides the values of rand. Raises InputError that quotes the text."""
    if text == "null":
        return None
    kind, _, rest = text.partition(":")
    try:
        if kind == "file":
            return device.array(_load(rest))
        if kind in _ARRAYS:
            parts = rest.split(":")
            if len(parts) < 2:
                raise InputError(f"needs {kind}:DTYPE:N")
            shape = _shape(parts[1])
            return device.array(_ARRAYS[kind](parts[0], math.prod(shape), parts[2:], seed).reshape(shape))
        return scalar(kind, rest)
    except InputError as error:
        raise InputError(f"argument '{text}': {error}") from None


def scalar(dtype: str, text: str) -> np.generic:
    """A NumPy scalar; integers in any base Python reads. Raises InputError."""
    kind = recipes.dtype_of(dtype)
    try:
        if dtype[0] in "iu":
            value = int(text, 0)
            limits = np.iinfo(kind)
            if not limits.min <= value <= limits.max:
                raise InputError(f"{value} does not fit {dtype}")
            return _item(np.array([value], kind))
        return _item(recipes.to_dtype(np.array([float(text)]), dtype))
    except ValueError:
        raise InputError(f"'{text}' is no {dtype}") from None


def _item(array: Array) -> np.generic:
    first: np.generic = array[0]
    return first


def save(text: str, arguments: list[Any]) -> str:
    """`N:FILE.npy`: writes the array of argument N (from 1) after the launch; returns what to tell. Raises InputError."""
    position, _, path = text.partition(":")
    if not position.isdigit() or not 1 <= int(position) <= len(arguments) or not path:
        raise InputError(f"--out '{text}': needs N:FILE.npy with N from 1 to {len(arguments)}")
    array: DeviceArray = arguments[int(position) - 1]
    if not hasattr(array, "numpy"):
        raise InputError(f"--out '{text}': argument {position} is no array")
    try:
        with open(path, "wb") as stream:
            np.save(stream, array.numpy())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    return f"argument {position} written to {path}"


def _load(path: str) -> Array:
    try:
        data: Array = np.load(Path(path), allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if not isinstance(data, np.ndarray):
        raise InputError(f"{path} is no .npy file with one array")
    return data


def _shape(text: str) -> tuple[int, ...]:
    sizes = text.split("x")
    if not all(size.replace("_", "").isdigit() for size in sizes):
        raise InputError(f"'{text}' is no size: needs a number or a shape such as 64x64")
    return tuple(int(size) for size in sizes)


def _bounds(extra: list[str], dtype: str, count: int) -> list[Any]:
    if len(extra) != count:
        raise InputError(f"needs {count} value{'s' if count > 1 else ''} behind the size, got {len(extra)}")
    number = float if dtype.startswith(("f", "b")) else int
    try:
        return [number(value) for value in extra]
    except ValueError:
        raise InputError(f"'{':'.join(extra)}' are no {dtype} values") from None


def _rand(dtype: str, n: int, extra: list[str], seed: int) -> Array:
    is_int = recipes.dtype_of(dtype).kind in "iu" and dtype != "bf16"
    lo, hi = _bounds(extra, dtype, 2) if extra else (_RANDOM_INTS if is_int else _UNIFORM)
    if not lo < hi:
        raise InputError(f"range {lo} to {hi} is empty")
    kind = "randint" if is_int else "uniform"
    return recipes.build("rand", {"kind": kind, "dtype": dtype, "n": n, "seed": seed, "lo": lo, "hi": hi}, Path())


def _fixed(kind: str) -> Callable[[str, int, list[str], int], Array]:
    def make(dtype: str, n: int, extra: list[str], seed: int) -> Array:
        values = {"value": _bounds(extra, dtype, 1)[0]} if kind == "const" else {}
        if extra and kind != "const":
            raise InputError(f"takes nothing behind the size, got '{':'.join(extra)}'")
        return recipes.build(kind, {"kind": kind, "dtype": dtype, "n": n, **values}, Path())

    return make


_ARRAYS: dict[str, Callable[[str, int, list[str], int], Array]] = {"rand": _rand} | {
    kind: _fixed(kind) for kind in ("zeros", "const", "iota")
}
