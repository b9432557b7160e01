"""Arrays in the simulated device's memory."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError, LaunchError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .device import Device

Host = np.ndarray[Any, Any]


class DeviceMemory:
    """A live allocation and the copies in and out of it; what arrays and module variables share."""

    def __init__(self, device: Device, address: int, nbytes: int, what: str) -> None:
        self.device, self.address, self.nbytes, self._what = device, address, nbytes, what

    def _copy_in(self, data: Host) -> None:
        if data.nbytes != self.nbytes:
            raise InputError(f"{self._what} has {self.nbytes} bytes, the data {data.nbytes}")
        if data.nbytes:
            self.device.memory.write(self.address, np.ascontiguousarray(data).reshape(-1).view(np.uint8))

    def _copy_out(self) -> Host:
        return np.frombuffer(bytearray(self.device.memory.read(self.address, self.nbytes)), np.uint8)


class DeviceArray(DeviceMemory):
    """An array of `shape` and `dtype` in device memory, row-major; 256-byte aligned as the driver's. Freed by `free` or when nothing
    refers to it.

    A kernel that keeps its address in memory of its own does not keep it alive.
    """

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        nbytes = int(np.prod(shape, dtype=object)) * dtype.itemsize
        address = device._allocate(nbytes, 256, "")
        super().__init__(device, address, nbytes, f"array {dtype}{list(shape)}")
        self.shape, self.dtype = shape, dtype
        self._release = weakref.finalize(self, device.memory.release, address)
        self._release.atexit = False  # the process's end frees everything

    @property
    def freed(self) -> bool:
        return not self._release.alive

    def free(self) -> None:
        """Gives the memory back; accesses by kernels fault from then on. Freeing twice does nothing."""
        self._release()

    def numpy(self) -> Host:
        """A copy of the array's present contents. Raises LaunchError if it was freed."""
        self._check()
        return self._copy_out().view(self.dtype).reshape(self.shape)

    def write(self, data: Host) -> None:
        """Replaces the contents by those of an array of equal shape and dtype. Raises InputError, LaunchError if it was freed."""
        self._check()
        if data.shape != self.shape or data.dtype != self.dtype:
            raise InputError(f"{self._what} cannot take {data.dtype}{list(data.shape)}")
        self._copy_in(data)

    def _check(self) -> None:
        if self.freed:
            raise LaunchError(f"{self._what} was freed")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<device array {self.dtype}{list(self.shape)} at {self.address:#x}{', freed' if self.freed else ''}>"


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape as NumPy reads it. Raises InputError."""
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if any(not isinstance(n, (int, np.integer)) or n < 0 for n in sizes):
        raise InputError(f"array shape must be whole numbers from 0 up, got {shape!r}")
    return tuple(int(n) for n in sizes)


def dtype_of(dtype: DTypeLike) -> np.dtype[Any]:
    """Raises InputError for dtypes without a fixed size in memory (object, zero-length)."""
    try:
        found = np.dtype(dtype)
    except TypeError as error:
        raise InputError(f"no dtype {dtype!r}: {error}") from None
    if found.hasobject or not found.itemsize:
        raise InputError(f"dtype {found} has no fixed form in device memory")
    return found
