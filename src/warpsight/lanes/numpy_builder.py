"""The NumPy builder: computes at once. It is the oracle of the LLVM builder, the stepper and the debugger's engine.

A value's handle is an array of `lanes` elements: unsigned or signed integers by the type's kind ("b" is unsigned), float16/32/64, bool for
predicates, the bits as uint16 for bfloat16, and Python integers (dtype object) for 128 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from . import exact
from .builder import Builder, Value
from .types import F32, LANES, PRED, U8, U32, U64, LaneType

Array = npt.NDArray[Any]

# Space numbers of core/exec/record.h.
SPACES = {"global": 0, "shared": 1, "local": 2, "const": 3, "param": 4, "generic": 5}


class LaneContext(Protocol):
    """What an instruction sees of its warp besides registers; warpsight._core.LaneContext is one.

    `load` returns uint8 [count * 32 * element]: element e of lane l at (e * 32 + l) * element; `store` takes the same layout. Lanes outside
    `mask` are not touched. `runtime` calls a function of the core with values as bytes, lane after lane. After a bad access `faulted` is
    true and nothing was touched.
    """

    def special(self, name: str) -> Any: ...
    def load(self, space: int, addresses: Array, mask: int, element: int, count: int) -> Array: ...
    def store(self, space: int, addresses: Array, mask: int, element: int, count: int, data: Array) -> None: ...
    def runtime(self, name: str, mask: int, constants: list[int], values: list[Array], result_bytes: list[int]) -> list[Array]: ...
    @property
    def faulted(self) -> bool: ...


class AccessFault(Exception):
    """A memory access was refused; the context knows why. Ends the instruction."""


def dtype(type: LaneType) -> np.dtype[Any]:
    """The array type of a value's handle."""
    if type.kind == "pred":
        return np.dtype(bool)
    if type.bits == 128:
        return np.dtype(object)
    kind = {"s": "i", "f": "f"}.get(type.kind, "u")
    return np.dtype(f"{kind}{type.bits // 8}")


def _unsigned(bits: int) -> np.dtype[Any]:
    return np.dtype(object) if bits == 128 else np.dtype(f"u{bits // 8}")


def to_bytes(handle: Array, type: LaneType) -> Array:
    """Little-endian bytes of a value, lane after lane (uint8)."""
    if type.bits == 128:
        whole: Array = np.frombuffer(b"".join(int(x).to_bytes(16, "little") for x in handle), np.uint8)
        return whole
    data: Array = np.ascontiguousarray(handle).view(np.uint8)
    return data


def from_bytes(data: Array, type: LaneType) -> Array:
    """The inverse of `to_bytes`."""
    if type.bits == 128:
        raw = data.tobytes()
        whole = np.empty(len(raw) // 16, object)
        whole[:] = [int.from_bytes(raw[i : i + 16], "little") for i in range(0, len(raw), 16)]
        return whole
    values: Array = np.ascontiguousarray(data).view(dtype(type)).copy()
    return values


def mask_lanes(mask: int, lanes: int = LANES) -> Array:
    """bool [lanes]: the bits of a lane mask."""
    bits: Array = np.uint64(mask) >> np.arange(lanes, dtype=np.uint64) & np.uint64(1)
    return bits.astype(bool)


class NumpyBuilder:
    """Builder whose values are NumPy arrays. `mask`: lanes that execute; `context`: special registers and memory (may be absent if
    unused).
    """

    def __init__(self, mask: int = 0xFFFFFFFF, context: LaneContext | None = None, lanes: int = LANES) -> None:
        self.mask, self.context, self.lanes = mask, context, lanes

    def value(self, type: LaneType, handle: Any) -> Value:
        """A value from an array of lanes (also the way in for tests)."""
        return Value(self, type, np.asarray(handle).astype(dtype(type), copy=False))

    # values
    def const(self, type: LaneType, value: int | float) -> Value:
        if type.kind == "bf":
            wide = self.const(F32, value)
            return self.float_truncate(wide, type)
        if type.is_int:
            bits = int(value) & ((1 << type.bits) - 1)
            scalar = np.full(self.lanes, bits, _unsigned(type.bits))
            return Value(self, type, scalar.view(dtype(type)))
        with np.errstate(all="ignore"):
            return Value(self, type, np.full(self.lanes, value, dtype(type)))

    def const_lanes(self, type: LaneType, values: Sequence[int]) -> Value:
        bits = np.array([int(v) & ((1 << type.bits) - 1) for v in values], _unsigned(max(8, type.bits)))
        return Value(self, type, bits.astype(bool) if type is PRED else bits.view(dtype(type)))

    def lane_id(self) -> Value:
        return Value(self, U32, np.arange(self.lanes, dtype=np.uint32))

    def active(self) -> Value:
        return Value(self, PRED, mask_lanes(self.mask, self.lanes))

    def special(self, field: str, type: LaneType) -> Value:
        assert self.context is not None, "no context for special registers"
        raw = self.context.special(field)
        if isinstance(raw, (int, np.integer)):
            return self.const(type, int(raw))
        return self.value(type, raw)

    # integer and bits
    def add(self, a: Value, b: Value) -> Value:
        return self._wrap(a.type, np.add, a.handle, b.handle)

    def sub(self, a: Value, b: Value) -> Value:
        return self._wrap(a.type, np.subtract, a.handle, b.handle)

    def mul(self, a: Value, b: Value) -> Value:
        return self._wrap(a.type, np.multiply, a.handle, b.handle)

    def neg(self, a: Value) -> Value:
        if a.type.is_float:
            bits = LaneType("u", a.type.bits)
            return self.bitcast(self.xor(self.bitcast(a, bits), self.const(bits, 1 << (bits.bits - 1))), a.type)
        return self._wrap(a.type, np.subtract, np.zeros_like(a.handle), a.handle)

    def mul_hi(self, a: Value, b: Value) -> Value:
        high = (a.handle.astype(object) * b.handle.astype(object)) >> a.type.bits
        return Value(self, a.type, high.astype(dtype(a.type)))

    def _quotient(self, a: Value, b: Value) -> tuple[Array, Array]:
        """Truncated quotient and divisor (1 where it was 0)."""
        divisor = np.where(b.handle == 0, np.ones_like(b.handle), b.handle)
        if not a.type.signed:
            return a.handle // divisor, divisor
        unsigned = _unsigned(a.type.bits)
        with np.errstate(all="ignore"):
            magnitude = np.abs(a.handle).view(unsigned) // np.abs(divisor).view(unsigned)
            signed = magnitude.view(dtype(a.type))
            return np.where((a.handle < 0) != (divisor < 0), -signed, signed), divisor

    def div(self, a: Value, b: Value) -> Value:
        return Value(self, a.type, self._quotient(a, b)[0])

    def rem(self, a: Value, b: Value) -> Value:
        quotient, divisor = self._quotient(a, b)
        return self._wrap(a.type, lambda x, q, d: x - q * d, a.handle, quotient, divisor)

    def and_(self, a: Value, b: Value) -> Value:
        return Value(self, a.type, a.handle & b.handle)

    def or_(self, a: Value, b: Value) -> Value:
        return Value(self, a.type, a.handle | b.handle)

    def xor(self, a: Value, b: Value) -> Value:
        return Value(self, a.type, a.handle ^ b.handle)

    def not_(self, a: Value) -> Value:
        if a.type.bits == 128:
            return Value(self, a.type, a.handle ^ ((1 << 128) - 1))
        return Value(self, a.type, ~a.handle)

    def shl(self, a: Value, n: Value) -> Value:
        return self._wrap(a.type, np.left_shift, a.handle, n.handle)

    def lshr(self, a: Value, n: Value) -> Value:
        unsigned = _unsigned(a.type.bits)
        return Value(self, a.type, (a.handle.view(unsigned) >> n.handle.view(unsigned)).view(dtype(a.type)))

    def ashr(self, a: Value, n: Value) -> Value:
        signed = dtype(LaneType("s", a.type.bits))
        return Value(self, a.type, (a.handle.view(signed) >> n.handle.view(signed)).view(dtype(a.type)))

    def _bit_matrix(self, a: Value) -> Array:
        """bool [lanes, bits], least significant bit first."""
        data = to_bytes(a.handle, a.type).reshape(self.lanes, a.type.bits // 8)
        return np.unpackbits(data, axis=1, bitorder="little").astype(bool)

    def popcount(self, a: Value) -> Value:
        return self.value(a.type, self._bit_matrix(a).sum(axis=1))

    def clz(self, a: Value) -> Value:
        from_top = self._bit_matrix(a)[:, ::-1]
        return self.value(a.type, np.where(from_top.any(axis=1), from_top.argmax(axis=1), a.type.bits))

    def bitreverse(self, a: Value) -> Value:
        reversed_bits = np.packbits(self._bit_matrix(a)[:, ::-1], axis=1, bitorder="little")
        return Value(self, a.type, from_bytes(reversed_bits.reshape(-1), a.type))

    def min_(self, a: Value, b: Value) -> Value:
        return Value(self, a.type, np.minimum(a.handle, b.handle))

    def max_(self, a: Value, b: Value) -> Value:
        return Value(self, a.type, np.maximum(a.handle, b.handle))

    def resize(self, a: Value, type: LaneType) -> Value:
        if a.type is PRED:
            return Value(self, type, a.handle.astype(dtype(type)))
        if 128 in (a.type.bits, type.bits):
            wrapped = a.handle.astype(object) & ((1 << type.bits) - 1)
            return Value(self, type, wrapped.astype(_unsigned(type.bits)).view(dtype(type)))
        return Value(self, type, a.handle.astype(dtype(type)))

    def bitcast(self, a: Value, type: LaneType) -> Value:
        assert a.type.bits == type.bits, f"bitcast from {a.type} to {type}"
        return Value(self, type, a.handle.view(dtype(type)))

    # choice
    def cmp(self, op: str, a: Value, b: Value) -> Value:
        x, y = self._comparable(a), self._comparable(b)
        function = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[op]
        return Value(self, PRED, function(x, y).astype(bool))

    def is_nan(self, a: Value) -> Value:
        return Value(self, PRED, np.isnan(self._comparable(a)))

    def _comparable(self, a: Value) -> Array:
        handle: Array = self.float_extend(a, F32).handle if a.type.kind == "bf" else a.handle
        return handle

    def select(self, p: Value, a: Value, b: Value) -> Value:
        return Value(self, a.type, np.where(p.handle, a.handle, b.handle))

    # float
    def fdiv(self, a: Value, b: Value) -> Value:
        return self._wrap(a.type, np.divide, a.handle, b.handle)

    def fsqrt(self, a: Value) -> Value:
        return self._wrap(a.type, np.sqrt, a.handle)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        if a.type.bits != 32:
            return self.directed("fma", "rn", (a, b, c))
        # The product of two binary32 is exact in binary64. Their sum with c is rounded to odd there, so that the final rounding sees the
        # truth (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008).
        with np.errstate(all="ignore"):
            p, z = a.handle.astype(np.float64) * b.handle.astype(np.float64), c.handle.astype(np.float64)
            s = p + z
            t = s - p
            error = (p - (s - t)) + (z - t)
            bits = s.view(np.int64)
            toward_zero = np.where((error != 0) & np.isfinite(s) & ((bits & 1) == 0), np.where((error > 0) == (s > 0), 1, -1), 0)
            return Value(self, a.type, (bits + toward_zero).view(np.float64).astype(np.float32))

    def fabs(self, a: Value) -> Value:
        bits = LaneType("u", a.type.bits)
        return self.bitcast(self.and_(self.bitcast(a, bits), self.const(bits, (1 << (bits.bits - 1)) - 1)), a.type)

    def fround(self, mode: str, a: Value) -> Value:
        function: Any = {"rint": np.rint, "trunc": np.trunc, "floor": np.floor, "ceil": np.ceil}[mode]
        return self._wrap(a.type, function, a.handle)

    def directed(self, op: str, mode: str, args: Sequence[Value]) -> Value:
        type = args[0].type
        function, fmt = exact.OPERATIONS[op], exact.BINARY32 if type.bits == 32 else exact.BINARY64
        lanes = [function(mode, fmt, *lane) for lane in zip(*(v.handle.tolist() for v in args), strict=True)]
        return Value(self, type, np.array(lanes, dtype(type)))

    # conversion
    def int_to_float(self, a: Value, type: LaneType) -> Value:
        return Value(self, type, a.handle.astype(dtype(type)))

    def float_to_int(self, a: Value, type: LaneType) -> Value:
        low, high = (-(1 << (type.bits - 1)), 1 << (type.bits - 1)) if type.signed else (0, 1 << type.bits)
        x = a.handle.astype(np.float64)
        with np.errstate(all="ignore"):
            inside = (np.trunc(x) >= low) & (np.trunc(x) < high)
        return Value(self, type, np.where(inside, x, 0.0).astype(dtype(type)))

    def float_extend(self, a: Value, type: LaneType) -> Value:
        if a.type.kind == "bf":
            wide = (a.handle.astype(np.uint32) << np.uint32(16)).view(np.float32)
            return self._wrap(type, lambda x: x.astype(dtype(type)), wide)
        return self._wrap(type, lambda x: x.astype(dtype(type)), a.handle)

    def float_truncate(self, a: Value, type: LaneType) -> Value:
        if type.kind == "bf":
            bits = a.handle.view(np.uint32)
            even = (bits >> np.uint32(16)) & np.uint32(1)
            rounded = ((bits + np.uint32(0x7FFF) + even) >> np.uint32(16)).astype(np.uint16)
            quiet = ((bits >> np.uint32(16)) | np.uint32(0x40)).astype(np.uint16)
            return Value(self, type, np.where(np.isnan(a.handle), quiet, rounded))
        return self._wrap(type, lambda x: x.astype(dtype(type)), a.handle)

    # across lanes
    def shuffle(self, a: Value, lane: Value) -> Value:
        return Value(self, a.type, a.handle[lane.handle & np.uint32(self.lanes - 1)])

    def ballot(self, p: Value) -> Value:
        lanes = np.flatnonzero(p.handle & mask_lanes(self.mask, self.lanes))
        return self.const(U32, sum(1 << int(i) for i in lanes))

    def mask_to_pred(self, mask: Value) -> Value:
        return Value(self, PRED, (mask.handle >> np.arange(self.lanes, dtype=np.uint32) & np.uint32(1)).astype(bool))

    def runtime(self, name: str, constants: Sequence[int], values: Sequence[Value], results: Sequence[LaneType]) -> list[Value]:
        data = [to_bytes(v.handle.astype(np.uint8) if v.type is PRED else v.handle, v.type) for v in values]
        stored = [U8 if type is PRED else type for type in results]
        found = self._checked().runtime(name, self.mask, list(constants), data, [type.bytes for type in stored])
        self._checked()
        lanes = [from_bytes(np.asarray(x), type) for x, type in zip(found, stored, strict=True)]
        return [Value(self, type, x != 0 if type is PRED else x) for x, type in zip(lanes, results, strict=True)]

    # memory
    def _checked(self) -> LaneContext:
        assert self.context is not None, "no context for memory"
        if self.context.faulted:
            raise AccessFault
        return self.context

    def load(self, space: str, address: Value, type: LaneType, count: int) -> list[Value]:
        context = self._checked()
        data = context.load(SPACES[space], self._addresses(address), self.mask, type.bytes, count)
        self._checked()
        size = type.bytes * self.lanes
        return [Value(self, type, from_bytes(np.asarray(data)[e * size : (e + 1) * size], type)) for e in range(count)]

    def store(self, space: str, address: Value, values: Sequence[Value]) -> None:
        data = np.concatenate([to_bytes(v.handle, v.type) for v in values])
        self._checked().store(SPACES[space], self._addresses(address), self.mask, values[0].type.bytes, len(values), data)
        self._checked()

    def atomic(
        self, space: str, address: Value, type: LaneType, combine: Callable[[Builder, Value], Value], want_old: bool
    ) -> Value | None:
        old = self.load(space, address, type, 1)[0]
        now: dict[int, Any] = {}  # memory as the lanes leave it, one after the other
        for lane in np.flatnonzero(mask_lanes(self.mask)):
            at = int(address.handle[lane])
            old.handle[lane] = now.get(at, old.handle[lane])
            one = OneLaneBuilder(int(lane))
            now[at] = combine(one, Value(one, type, old.handle[lane : lane + 1])).handle[0]
        final = old.handle.copy()
        for lane in np.flatnonzero(mask_lanes(self.mask)):
            final[lane] = now[int(address.handle[lane])]
        self.store(space, address, [Value(self, type, final)])
        return old if want_old else None

    def lane_value(self, a: Value) -> Value:
        raise TypeError("lane_value belongs to the one-lane builder of an atomic")

    def _addresses(self, address: Value) -> Array:
        assert address.type.bits == 64 and address.type.is_int, f"addresses are U64, not {address.type}"
        return np.ascontiguousarray(self.bitcast(address, U64).handle)

    def _wrap(self, type: LaneType, function: Callable[..., Any], *args: Array) -> Value:
        """A computation whose overflow and invalid operations are the wanted result."""
        with np.errstate(all="ignore"):
            result = function(*args)
        if type.bits == 128:
            result = result & ((1 << 128) - 1)
        return Value(self, type, result)


class OneLaneBuilder(NumpyBuilder):
    """The builder of an atomic's `combine`: values of one lane; those of the warp come in through `lane_value`."""

    def __init__(self, lane: int) -> None:
        super().__init__(mask=1, lanes=1)
        self.lane = lane

    def lane_value(self, a: Value) -> Value:
        return Value(self, a.type, a.handle[self.lane : self.lane + 1])


__all__ = ["SPACES", "AccessFault", "LaneContext", "NumpyBuilder", "OneLaneBuilder", "dtype", "from_bytes", "mask_lanes", "to_bytes"]
