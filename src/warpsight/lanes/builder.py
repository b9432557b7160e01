"""The lane language: typed 32-lane values and the primitives that a builder must give.

A semantic function receives a `Builder` and `Value`s and returns `Value`s. It is called with the LLVM builder to make machine code and with
the NumPy builder to compute at once; nothing in it may depend on which. Python control flow in a semantic function is resolved while
building (on types and modifiers), never on lane contents.

Values are immutable. Integer arithmetic wraps. Shifts by at least the width are undefined for the primitive `shl/lshr/ashr`: a semantic
function clamps first. Float primitives round to nearest even, keep denormals, and leave NaN payloads unspecified: the semantic
function canonicalises where PTX says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from .types import LaneType


class Value:
    """A 32-lane value of `type`, made by `builder`. `handle` is the builder's own (an llvmlite value, a NumPy array).

    Operators build on values of the same type, or a Python number that becomes a constant of that type. Comparisons give PRED and
    take the signedness of the type; for floats they are ordered (false on NaN), `!=` is unordered-or-different.
    """

    __slots__ = ("builder", "handle", "type")

    def __init__(self, builder: Builder, type: LaneType, handle: Any) -> None:
        self.builder, self.type, self.handle = builder, type, handle

    def _lift(self, other: Value | int | float) -> Value:
        return other if isinstance(other, Value) else self.builder.const(self.type, other)

    def __add__(self, o: Value | int | float) -> Value:
        return self.builder.add(self, self._lift(o))

    def __radd__(self, o: int | float) -> Value:
        return self.builder.add(self._lift(o), self)

    def __sub__(self, o: Value | int | float) -> Value:
        return self.builder.sub(self, self._lift(o))

    def __rsub__(self, o: int | float) -> Value:
        return self.builder.sub(self._lift(o), self)

    def __mul__(self, o: Value | int | float) -> Value:
        return self.builder.mul(self, self._lift(o))

    def __rmul__(self, o: int | float) -> Value:
        return self.builder.mul(self._lift(o), self)

    def __truediv__(self, o: Value | int | float) -> Value:
        return self.builder.fdiv(self, self._lift(o))

    def __neg__(self) -> Value:
        return self.builder.neg(self)

    def __and__(self, o: Value | int) -> Value:
        return self.builder.and_(self, self._lift(o))

    def __or__(self, o: Value | int) -> Value:
        return self.builder.or_(self, self._lift(o))

    def __xor__(self, o: Value | int) -> Value:
        return self.builder.xor(self, self._lift(o))

    def __invert__(self) -> Value:
        return self.builder.not_(self)

    def __lshift__(self, o: Value | int) -> Value:
        return self.builder.shl(self, self._lift(o))

    def __rshift__(self, o: Value | int) -> Value:
        """Arithmetic for signed types, logical otherwise."""
        return (self.builder.ashr if self.type.signed else self.builder.lshr)(self, self._lift(o))

    def __eq__(self, o: Value | int | float) -> Value:  # type: ignore[override]
        return self.builder.cmp("eq", self, self._lift(o))

    def __ne__(self, o: Value | int | float) -> Value:  # type: ignore[override]
        return self.builder.cmp("ne", self, self._lift(o))

    def __lt__(self, o: Value | int | float) -> Value:
        return self.builder.cmp("lt", self, self._lift(o))

    def __le__(self, o: Value | int | float) -> Value:
        return self.builder.cmp("le", self, self._lift(o))

    def __gt__(self, o: Value | int | float) -> Value:
        return self.builder.cmp("gt", self, self._lift(o))

    def __ge__(self, o: Value | int | float) -> Value:
        return self.builder.cmp("ge", self, self._lift(o))

    __hash__ = None  # type: ignore[assignment]

    def bits(self, type: LaneType) -> Value:
        """The same bits under another type of the same width."""
        return self.builder.bitcast(self, type)

    def resize(self, type: LaneType) -> Value:
        """Integer width change: truncates, or extends by this value's own signedness."""
        return self.builder.resize(self, type)


class Builder(Protocol):
    """The primitives. `Value` arguments of one call share a type unless said otherwise."""

    # values
    def const(self, type: LaneType, value: int | float) -> Value: ...
    def const_lanes(self, type: LaneType, values: Sequence[int]) -> Value: ...
    def lane_id(self) -> Value: ...  # U32: 0..31
    def active(self) -> Value: ...  # PRED: lanes that execute this instruction
    def special(self, field: str, type: LaneType) -> Value: ...  # a field of the warp context (core/exec/context.h), broadcast or per lane

    # integer and bits (add, sub, mul, neg also for f32 and f64)
    def add(self, a: Value, b: Value) -> Value: ...
    def sub(self, a: Value, b: Value) -> Value: ...
    def mul(self, a: Value, b: Value) -> Value: ...
    def neg(self, a: Value) -> Value: ...  # floats: flips the sign bit
    def mul_hi(self, a: Value, b: Value) -> Value: ...  # upper half of the double-width product, by signedness
    def div(self, a: Value, b: Value) -> Value: ...  # integer, truncating; b == 0 and INT_MIN/-1 give an unspecified value, never a trap
    def rem(self, a: Value, b: Value) -> Value: ...  # likewise
    def and_(self, a: Value, b: Value) -> Value: ...  # also PRED
    def or_(self, a: Value, b: Value) -> Value: ...
    def xor(self, a: Value, b: Value) -> Value: ...
    def not_(self, a: Value) -> Value: ...
    def shl(self, a: Value, n: Value) -> Value: ...  # n has a's type
    def lshr(self, a: Value, n: Value) -> Value: ...
    def ashr(self, a: Value, n: Value) -> Value: ...
    def popcount(self, a: Value) -> Value: ...  # type of a
    def clz(self, a: Value) -> Value: ...  # type of a; width for 0
    def bitreverse(self, a: Value) -> Value: ...
    def min_(self, a: Value, b: Value) -> Value: ...  # integers, by signedness
    def max_(self, a: Value, b: Value) -> Value: ...
    def resize(self, a: Value, type: LaneType) -> Value: ...
    def bitcast(self, a: Value, type: LaneType) -> Value: ...

    # choice
    def cmp(self, op: str, a: Value, b: Value) -> Value: ...  # eq ne lt le gt ge; floats ordered but "ne"
    def is_nan(self, a: Value) -> Value: ...
    def select(self, p: Value, a: Value, b: Value) -> Value: ...  # p PRED

    # float: F32 and F64, to nearest even
    def fdiv(self, a: Value, b: Value) -> Value: ...
    def fsqrt(self, a: Value) -> Value: ...
    def fma(self, a: Value, b: Value, c: Value) -> Value: ...
    def fabs(self, a: Value) -> Value: ...
    def fround(self, mode: str, a: Value) -> Value: ...  # "rint" "trunc" "floor" "ceil" to an integral float
    def directed(self, op: str, mode: str, args: Sequence[Value]) -> Value: ...  # op add sub mul div sqrt fma in "rz" "rm" "rp" (F32, F64)

    # conversion
    def int_to_float(self, a: Value, type: LaneType) -> Value: ...  # u/s 32/64 to F32/F64, to nearest even
    def float_to_int(self, a: Value, type: LaneType) -> Value: ...  # truncates; outside the range: unspecified, never a trap
    def float_extend(self, a: Value, type: LaneType) -> Value: ...  # F16/BF16 -> F32, F32 -> F64, exact
    def float_truncate(self, a: Value, type: LaneType) -> Value: ...  # F64 -> F32, F32 -> F16, F32 -> BF16, to nearest even

    # across lanes
    def shuffle(self, a: Value, lane: Value) -> Value: ...  # a[lane & 31], lane U32
    def ballot(self, p: Value) -> Value: ...  # U32 broadcast: bit i is p of lane i, inactive lanes give 0
    def mask_to_pred(self, mask: Value) -> Value: ...  # PRED: lane i gets bit i of its own mask value (U32)

    # A function of the core that works on whole warps (core/exec/runtime.h), by name; `results` are the types of what it gives. Predicates
    # and floats go in and out as they are; in an instruction of Kind MEMORY it may fail, which ends the instruction.
    def runtime(self, name: str, constants: Sequence[int], values: Sequence[Value], results: Sequence[LaneType]) -> list[Value]: ...

    # memory (space: "global" "shared" "local" "const" "param" "generic"); addresses U64. Inactive lanes touch nothing.
    def load(self, space: str, address: Value, type: LaneType, count: int) -> list[Value]: ...
    def store(self, space: str, address: Value, values: Sequence[Value]) -> None: ...
    def atomic(
        self, space: str, address: Value, type: LaneType, combine: Callable[[Builder, Value], Value], want_old: bool
    ) -> Value | None: ...
    # atomic: lanes in ascending order; each does old = memory; memory = combine(builder, old). `combine` runs in a one-lane builder:
    # operands from outside enter it through builder.lane_value(v).
    def lane_value(self, a: Value) -> Value: ...
