"""The LLVM builder: turns the lane language into vector IR, through llvmlite.

A value's handle is a vector of `lanes` elements: iN for integers and bits, float and double, i1 for predicates; binary16 and bfloat16 are
kept as their bits (i16). Nothing here depends on the host's instruction set but `native_half`; LLVM legalises 32-lane vectors for what
there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import llvmlite.ir as ir

from . import half
from .builder import Builder, Value
from .numpy_builder import SPACES, NumpyBuilder, to_bytes
from .types import B16, F32, F64, LANES, PRED, U8, U32, U64, LaneType

POINTER = ir.PointerType()
I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
DIRECTED_OPS = {"add": 0, "sub": 1, "mul": 2, "div": 3, "sqrt": 4, "fma": 5}  # core/exec/directed.h
DIRECTED_MODES = {"rz": 0, "rm": 1, "rp": 2}


@dataclass(frozen=True, slots=True)
class Layout:
    """Byte offsets of the warp context: `fields` name -> (offset, bits, lanes); `scratch` field -> offset behind the scratch pointer."""

    fields: Mapping[str, tuple[int, int, int]]
    scratch: Mapping[str, int]


@dataclass(slots=True)
class Frame:
    """The function under construction: what every builder of it shares."""

    irb: Any
    context: Any
    layout: Layout
    mask: Any  # i32
    leave: Any  # block that returns
    native_half: bool

    def function(self, name: str, result: Any, arguments: Sequence[Any]) -> Any:
        found = self.irb.module.globals.get(name)
        return found if found is not None else ir.Function(self.irb.module, ir.FunctionType(result, arguments), name)

    def alloca(self, type: Any, align: int = 64) -> Any:
        """Stack memory, reserved once at the function's entry."""
        with self.irb.goto_entry_block():
            slot = self.irb.alloca(type)
        slot.align, slot.type = align, POINTER  # llvmlite would type the pointer
        return slot

    def field(self, base: Any, offset: int) -> Any:
        return self.irb.gep(base, [I64(offset)], source_etype=I8)


def element_type(type: LaneType) -> Any:
    """The IR type of one lane."""
    if type.kind == "pred":
        return ir.IntType(1)
    if type == F32:
        return ir.FloatType()
    if type == F64:
        return ir.DoubleType()
    return ir.IntType(type.bits)


@cache
def vector_type(type: LaneType, lanes: int) -> Any:
    return ir.VectorType(element_type(type), lanes)


@lru_cache(maxsize=4096)
def _splat(bits: int, value: int, lanes: int) -> Any:
    return ir.Constant(ir.VectorType(ir.IntType(bits), lanes), value)


def _indices(values: Iterable[int]) -> Any:
    """A constant vector of element indices for a shuffle."""
    constants = [I32(v) for v in values]
    return ir.Constant(ir.VectorType(I32, len(constants)), constants)


# Spaces in which a warp often touches one stretch of memory, and the distances between its lanes to try first, in units of the access: 1 is a
# stretch, 0 one place for all. Constants and parameters are made for the latter. Lanes of local memory are never neighbours.
_STRETCHED = ("global", "shared", "generic")
_LOAD_STEPS = {**dict.fromkeys(_STRETCHED, (1, 0)), "const": (0,), "param": (0,)}


class LlvmBuilder:
    """Builder that appends to the function of `frame`."""

    def __init__(self, frame: Frame, lanes: int = LANES) -> None:
        self.frame, self.lanes = frame, lanes

    @property
    def irb(self) -> Any:
        return self.frame.irb

    def vector(self, type: LaneType) -> Any:
        return vector_type(type, self.lanes)

    def value(self, type: LaneType, handle: Any) -> Value:
        return Value(self, type, handle)

    def splat(self, type: LaneType, scalar: Any) -> Value:
        """A value whose lanes all hold an IR scalar."""
        vector = self.irb.insert_element(ir.Constant(self.vector(type), ir.Undefined), scalar, I32(0))
        return Value(self, type, self.irb.shuffle_vector(vector, vector, ir.Constant(ir.VectorType(I32, self.lanes), None)))

    # values
    def const(self, type: LaneType, value: int | float) -> Value:
        if type.is_float:
            return self._float_const(type, float(value))
        return Value(self, type, _splat(type.bits, int(value) & ((1 << type.bits) - 1), self.lanes))

    def _float_const(self, type: LaneType, value: float) -> Value:
        bits = int.from_bytes(to_bytes(NumpyBuilder(lanes=1).const(type, value).handle, type).tobytes(), "little")
        return self.bitcast(self.const(LaneType("b", type.bits), bits), type)

    def const_lanes(self, type: LaneType, values: Sequence[int]) -> Value:
        element = element_type(LaneType("b", type.bits) if type is not PRED else PRED)
        constants = [ir.Constant(element, int(v) & ((1 << type.bits) - 1)) for v in values]
        return Value(self, type, ir.Constant(ir.VectorType(element, len(constants)), constants))

    def lane_id(self) -> Value:
        return self.const_lanes(U32, range(self.lanes))

    def active(self) -> Value:
        if self.lanes == 1:
            return self.const(PRED, 1)
        return Value(self, PRED, self.irb.bitcast(self.frame.mask, self.vector(PRED)))

    def special(self, field: str, type: LaneType) -> Value:
        offset, bits, lanes = self.frame.layout.fields[field]
        at = self.frame.field(self.frame.context, offset)
        stored = LaneType("u", bits)
        if lanes == 1:
            return self.resize(self.splat(stored, self.irb.load(at, typ=ir.IntType(bits))), type)
        return self.resize(Value(self, stored, self.irb.load(at, align=4, typ=self.vector(stored))), type)

    # integer and bits
    def _two(self, a: Value, b: Value, integer: str, floating: str = "") -> Value:
        assert a.type.bits == b.type.bits, f"operands of types {a.type} and {b.type}"
        assert not a.type.is_float or (floating and a.type.bits > 16), f"{integer} on {a.type}"
        name = floating if a.type.is_float else integer
        return Value(self, a.type, getattr(self.irb, name)(a.handle, b.handle))

    def add(self, a: Value, b: Value) -> Value:
        return self._two(a, b, "add", "fadd")

    def sub(self, a: Value, b: Value) -> Value:
        return self._two(a, b, "sub", "fsub")

    def mul(self, a: Value, b: Value) -> Value:
        return self._two(a, b, "mul", "fmul")

    def neg(self, a: Value) -> Value:
        if a.type.is_float:
            bits = LaneType("b", a.type.bits)
            return self.bitcast(self.xor(self.bitcast(a, bits), self.const(bits, 1 << (bits.bits - 1))), a.type)
        return self.sub(self.const(a.type, 0), a)

    def mul_hi(self, a: Value, b: Value) -> Value:
        bits = a.type.bits
        if bits < 64:
            wide = LaneType(a.type.kind, 2 * bits)
            product = self.mul(self.resize(a, wide), self.resize(b, wide))
            return self.resize(self.lshr(product, self.const(wide, bits)), a.type)
        high = self._mul_hi_u64(self.bitcast(a, U64), self.bitcast(b, U64)).bits(a.type)
        if not a.type.signed:
            return high
        zero = self.const(a.type, 0)  # the product of the unsigned readings is too large by the other factor for each negative one
        return high - self.select(a < zero, b, zero) - self.select(b < zero, a, zero)

    def _mul_hi_u64(self, a: Value, b: Value) -> Value:
        low = 0xFFFFFFFF
        a0, a1, b0, b1 = a & low, a >> 32, b & low, b >> 32
        middle = a1 * b0 + ((a0 * b0) >> 32)
        other = a0 * b1 + (middle & low)
        return a1 * b1 + (middle >> 32) + (other >> 32)

    def _divide_magnitudes(self, a: Value, b: Value) -> Value:
        """Unsigned quotient; b is not zero. Up to 32 bits through binary64, whose rounded quotient truncates to the right integer."""
        if a.type.bits == 64:
            return self._two(a, b, "udiv")
        x, y = (self.irb.uitofp(v.resize(U32).handle, self.vector(F64)) for v in (a, b))
        return Value(self, U32, self.irb.fptoui(self.irb.fdiv(x, y), self.vector(U32))).resize(a.type)

    def div(self, a: Value, b: Value) -> Value:
        unsigned = LaneType("u", a.type.bits)
        divisor = self.select(b == 0, self.const(b.type, 1), b)
        if not a.type.signed:
            return self._divide_magnitudes(a, divisor)
        x, y = (self.select(v < 0, -v, v).bits(unsigned) for v in (a, divisor))
        quotient = self._divide_magnitudes(x, y).bits(a.type)
        return self.select((a ^ divisor) < 0, -quotient, quotient)

    def rem(self, a: Value, b: Value) -> Value:
        divisor = self.select(b == 0, self.const(b.type, 1), b)
        return a - self.div(a, divisor) * divisor

    def and_(self, a: Value, b: Value) -> Value:
        return self._two(a, b, "and_")

    def or_(self, a: Value, b: Value) -> Value:
        return self._two(a, b, "or_")

    def xor(self, a: Value, b: Value) -> Value:
        return self._two(a, b, "xor")

    def not_(self, a: Value) -> Value:
        return self.xor(a, self.const(a.type, -1))

    def shl(self, a: Value, n: Value) -> Value:
        return self._two(a, n, "shl")

    def lshr(self, a: Value, n: Value) -> Value:
        return self._two(a, n, "lshr")

    def ashr(self, a: Value, n: Value) -> Value:
        return self._two(a, n, "ashr")

    def _intrinsic(self, name: str, type: LaneType, *arguments: Any) -> Value:
        suffix = f"v{self.lanes}{'f' if type.is_float else 'i'}{type.bits}"
        function = self.frame.function(f"llvm.{name}.{suffix}", self.vector(type), [x.type for x in arguments])
        return Value(self, type, self.irb.call(function, arguments))

    def popcount(self, a: Value) -> Value:
        return self._intrinsic("ctpop", a.type, a.handle)

    def clz(self, a: Value) -> Value:
        return self._intrinsic("ctlz", a.type, a.handle, ir.IntType(1)(0))

    def bitreverse(self, a: Value) -> Value:
        return self._intrinsic("bitreverse", a.type, a.handle)

    def min_(self, a: Value, b: Value) -> Value:
        return self.select(self.cmp("lt", a, b), a, b)

    def max_(self, a: Value, b: Value) -> Value:
        return self.select(self.cmp("gt", a, b), a, b)

    def resize(self, a: Value, type: LaneType) -> Value:
        if a.type.bits == type.bits:
            return Value(self, type, a.handle)
        change = self.irb.trunc if type.bits < a.type.bits else self.irb.sext if a.type.signed else self.irb.zext
        return Value(self, type, change(a.handle, self.vector(type)))

    def bitcast(self, a: Value, type: LaneType) -> Value:
        assert a.type.bits == type.bits, f"bitcast from {a.type} to {type}"
        return Value(self, type, self.irb.bitcast(a.handle, self.vector(type)))

    # choice
    def cmp(self, op: str, a: Value, b: Value) -> Value:
        symbol = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[op]
        if a.type.is_float:
            compare = self.irb.fcmp_unordered if op == "ne" else self.irb.fcmp_ordered
            return Value(self, PRED, compare(symbol, self._comparable(a), self._comparable(b)))
        compare = self.irb.icmp_signed if a.type.signed else self.irb.icmp_unsigned
        return Value(self, PRED, compare(symbol, a.handle, b.handle))

    def _comparable(self, a: Value) -> Any:
        return (self.float_extend(a, F32) if a.type.bits == 16 else a).handle

    def is_nan(self, a: Value) -> Value:
        x = self._comparable(a)
        return Value(self, PRED, self.irb.fcmp_unordered("uno", x, x))

    def select(self, p: Value, a: Value, b: Value) -> Value:
        return Value(self, a.type, self.irb.select(p.handle, a.handle, b.handle))

    # float
    def fdiv(self, a: Value, b: Value) -> Value:
        return Value(self, a.type, self.irb.fdiv(a.handle, b.handle))

    def fsqrt(self, a: Value) -> Value:
        return self._intrinsic("sqrt", a.type, a.handle)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self._intrinsic("fma", a.type, a.handle, b.handle, c.handle)

    def fabs(self, a: Value) -> Value:
        bits = LaneType("b", a.type.bits)
        return self.bitcast(self.and_(self.bitcast(a, bits), self.const(bits, (1 << (bits.bits - 1)) - 1)), a.type)

    def fround(self, mode: str, a: Value) -> Value:
        return self._intrinsic({"rint": "nearbyint"}.get(mode, mode), a.type, a.handle)

    def directed(self, op: str, mode: str, args: Sequence[Value]) -> Value:
        type = args[0].type
        slots = [self.frame.alloca(self.vector(type)) for _ in range(4)]
        for slot, value in zip(slots, args, strict=False):
            self.irb.store(value.handle, slot)
        function = self.frame.function(f"ws_directed_f{type.bits}", ir.VoidType(), [I32, I32, I32, *[POINTER] * 4])
        self.irb.call(function, [I32(DIRECTED_OPS[op]), I32(DIRECTED_MODES[mode]), I32(self.lanes), *slots])
        return Value(self, type, self.irb.load(slots[3], typ=self.vector(type)))

    # conversion
    def int_to_float(self, a: Value, type: LaneType) -> Value:
        return Value(self, type, (self.irb.sitofp if a.type.signed else self.irb.uitofp)(a.handle, self.vector(type)))

    def float_to_int(self, a: Value, type: LaneType) -> Value:
        return Value(self, type, (self.irb.fptosi if type.signed else self.irb.fptoui)(a.handle, self.vector(type)))

    def float_extend(self, a: Value, type: LaneType) -> Value:
        if a.type.bits == 32:
            return Value(self, type, self.irb.fpext(a.handle, self.vector(type)))
        if a.type.kind == "bf":
            wide = half.bfloat_to_float(self, a.bits(B16))
        elif self.frame.native_half:
            bits = self.irb.bitcast(a.handle, ir.VectorType(ir.HalfType(), self.lanes))
            wide = Value(self, F32, self.irb.fpext(bits, self.vector(F32)))
        else:
            wide = half.half_to_float(self, a.bits(B16))
        return wide if type == F32 else self.float_extend(wide, type)

    def float_truncate(self, a: Value, type: LaneType) -> Value:
        if type.bits == 32:
            return Value(self, type, self.irb.fptrunc(a.handle, self.vector(type)))
        assert a.type == F32, f"float_truncate from {a.type} to {type}"
        if type.kind == "bf":
            return half.float_to_bfloat(self, a).bits(type)
        if self.frame.native_half:
            bits = self.irb.fptrunc(a.handle, ir.VectorType(ir.HalfType(), self.lanes))
            return Value(self, type, self.irb.bitcast(bits, self.vector(type)))
        return half.float_to_half(self, a).bits(type)

    # across lanes
    def shuffle(self, a: Value, lane: Value) -> Value:
        slot = self.frame.alloca(self.vector(a.type))
        self.irb.store(a.handle, slot)
        index = self.irb.and_(lane.handle, self.const(U32, self.lanes - 1).handle)
        pointers = self.irb.gep(slot, [index], source_etype=element_type(a.type))
        pointers.type = ir.VectorType(POINTER, self.lanes)  # llvmlite does not know that a vector of indices gives a vector
        name = f"llvm.masked.gather.v{self.lanes}{'f' if a.type in (F32, F64) else 'i'}{a.type.bits}.v{self.lanes}p0"
        every, nothing = self.const(PRED, 1).handle, ir.Constant(self.vector(a.type), ir.Undefined)
        gather = self.frame.function(name, self.vector(a.type), [pointers.type, I32, every.type, nothing.type])
        return Value(self, a.type, self.irb.call(gather, [pointers, I32(a.type.bytes), every, nothing]))

    def ballot(self, p: Value) -> Value:
        bits = self.irb.bitcast(self.and_(p, self.active()).handle, ir.IntType(self.lanes))
        return self.splat(U32, bits)

    def mask_to_pred(self, mask: Value) -> Value:
        own_bit = self.const_lanes(U32, [1 << lane for lane in range(self.lanes)])
        return (mask & own_bit) != 0

    # memory
    def _put_addresses(self, address: Value) -> Any:
        """Writes the lane addresses to the scratch; returns the scratch pointer."""
        assert address.type.bits == 64 and address.type.is_int, f"addresses are U64, not {address.type}"
        frame = self.frame
        scratch = self.irb.load(frame.field(frame.context, frame.layout.fields["scratch"][0]), typ=POINTER)
        self.irb.store(address.handle, frame.field(scratch, frame.layout.scratch["addr"]), align=64)
        return scratch

    def _access(self, name: str, space: str, type: LaneType, count: int, last: Any) -> None:
        descriptor = SPACES[space] | type.bytes << 8 | count << 16
        function = self.frame.function(name, ir.VoidType(), [POINTER, I32, I32, last.type])
        self.irb.call(function, [self.frame.context, self.frame.mask, I32(descriptor), last])

    def load(self, space: str, address: Value, type: LaneType, count: int) -> list[Value]:
        """Lanes that read one stretch of memory, or one place, as most do, are served by vector loads; others by ws_load."""
        irb = self.irb
        self._put_addresses(address)
        done, found = irb.append_basic_block("loaded"), []
        for step in _LOAD_STEPS.get(space, ()):
            with self._stretch(space, address, type, count, type.bytes * count * step, False) as host:
                values = self._split(host, type, count) if step else self._spread(host, type, count)
                found.append((irb.block, values))
                irb.branch(done)
        buffer = self.frame.alloca(ir.ArrayType(self.vector(type), count))
        self._access("ws_load", space, type, count, buffer)
        size = type.bytes * self.lanes
        values = [irb.load(self.frame.field(buffer, e * size), align=16, typ=self.vector(type)) for e in range(count)]
        found.append((irb.block, values))
        irb.branch(done)
        irb.position_at_end(done)
        return [self._merge(type, [(block, values[e]) for block, values in found]) for e in range(count)]

    def store(self, space: str, address: Value, values: Sequence[Value]) -> None:
        irb = self.irb
        self._put_addresses(address)
        type, count = values[0].type, len(values)
        done = irb.append_basic_block("stored")
        if space in _STRETCHED:
            with self._stretch(space, address, type, count, type.bytes * count, True) as host:
                irb.store(self._join([v.handle for v in values]), host, align=type.bytes)
                irb.branch(done)
        buffer = self.frame.alloca(ir.ArrayType(self.vector(type), count))
        for e, value in enumerate(values):
            irb.store(value.handle, self.frame.field(buffer, e * type.bytes * self.lanes), align=16)
        self._access("ws_store", space, type, count, buffer)
        irb.branch(done)
        irb.position_at_end(done)

    @contextmanager
    def _stretch(self, space: str, address: Value, type: LaneType, count: int, step: int, write: bool) -> Iterator[Any]:
        """Runs the body in a block with a host pointer to what all 32 lanes access, `step` bytes apart; what follows runs otherwise.

        The body must end with a branch.
        """
        irb, frame = self.irb, self.frame
        ask, hit, miss = (irb.append_basic_block(name) for name in ("ask", "hit", "miss"))
        first = irb.extract_element(address.handle, I32(0))
        offsets = self.const_lanes(U64, [step * lane for lane in range(self.lanes)])
        regular = irb.bitcast((address == self.splat(U64, first) + offsets).handle, I32)
        irb.cbranch(irb.icmp_unsigned("==", irb.and_(regular, frame.mask), I32(0xFFFFFFFF)), ask, miss)

        irb.position_at_end(ask)
        size = type.bytes * count
        function = frame.function("ws_row", POINTER, [POINTER, I32, I64, I32, I32])
        descriptor = SPACES[space] | type.bytes << 8 | count << 16
        length = step * (self.lanes - 1) + size
        host = irb.call(function, [frame.context, I32(descriptor), first, I32(length), I32(int(write))])
        irb.cbranch(irb.icmp_unsigned("!=", irb.ptrtoint(host, I64), I64(0)), hit, miss)

        irb.position_at_end(hit)
        yield host
        irb.position_at_end(miss)

    def _spread(self, host: Any, type: LaneType, count: int) -> list[Any]:
        """The elements at one place, in all lanes."""
        element = element_type(type)
        places = [self.frame.field(host, e * type.bytes) for e in range(count)]
        return [self.splat(type, self.irb.load(at, align=type.bytes, typ=element)).handle for at in places]

    def _split(self, host: Any, type: LaneType, count: int) -> list[Any]:
        """32 x count elements in a row: the elements of each lane side by side."""
        together = self.irb.load(host, align=type.bytes, typ=vector_type(type, self.lanes * count))
        if count == 1:
            return [together]
        picks = [_indices([lane * count + e for lane in range(self.lanes)]) for e in range(count)]
        return [self.irb.shuffle_vector(together, together, pick) for pick in picks]

    def _join(self, values: list[Any]) -> Any:
        """The inverse of `_split`: one vector in the order of memory."""
        count, parts = len(values), values
        while len(parts) > 1:
            length = parts[0].type.count
            side_by_side = _indices(range(2 * length))
            if len(parts) == 2 and count > 1:
                side_by_side = _indices([e * self.lanes + lane for lane in range(self.lanes) for e in range(count)])
            parts = [self.irb.shuffle_vector(a, b, side_by_side) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    def _merge(self, type: LaneType, choices: Sequence[tuple[Any, Any]]) -> Value:
        phi = self.irb.phi(self.vector(type))
        for block, value in choices:
            phi.add_incoming(value, block)
        return Value(self, type, phi)

    def atomic(
        self, space: str, address: Value, type: LaneType, combine: Callable[[Builder, Value], Value], want_old: bool
    ) -> Value | None:
        irb, frame = self.irb, self.frame
        scratch = self._put_addresses(address)
        self._access("ws_translate", space, type, 1, I32(1))
        result = frame.alloca(self.vector(type)) if want_old else None
        before, loop, after = irb.block, irb.append_basic_block("lane"), irb.append_basic_block("done")
        fault = irb.load(frame.field(scratch, frame.layout.scratch["fault"]), typ=I32)
        branch = irb.cbranch(irb.icmp_unsigned("!=", fault, I32(0)), frame.leave, loop)

        irb.position_at_end(loop)
        left = irb.phi(I32)
        left.add_incoming(frame.mask, before)
        lane = irb.call(frame.function("llvm.cttz.i32", I32, [I32, ir.IntType(1)]), [left, ir.IntType(1)(1)])
        hosts = frame.field(scratch, frame.layout.scratch["host"])
        host = irb.load(irb.gep(hosts, [lane], source_etype=POINTER), typ=POINTER)
        one = OneLaneBuilder(frame, lane, before, branch)
        old = Value(one, type, irb.load(host, align=type.bytes, typ=one.vector(type)))
        new = combine(one, old)
        irb.store(new.handle, host, align=type.bytes)
        if result is not None:
            irb.store(old.handle, irb.gep(result, [lane], source_etype=element_type(type)), align=type.bytes)
        rest = irb.and_(left, irb.sub(left, I32(1)))
        left.add_incoming(rest, irb.block)
        irb.cbranch(irb.icmp_unsigned("!=", rest, I32(0)), loop, after)

        irb.position_at_end(after)
        return None if result is None else Value(self, type, irb.load(result, typ=self.vector(type)))

    def lane_value(self, a: Value) -> Value:
        raise TypeError("lane_value belongs to the one-lane builder of an atomic")


class OneLaneBuilder(LlvmBuilder):
    """The builder of an atomic's `combine`, inside the loop over lanes."""

    def __init__(self, frame: Frame, lane: Any, before: Any, branch: Any) -> None:
        super().__init__(frame, lanes=1)
        self.lane, self.before, self.branch = lane, before, branch

    def lane_value(self, a: Value) -> Value:
        """The running lane of a warp value, read from a copy that is made once before the loop."""
        inside = self.irb.block
        stored = U8 if a.type is PRED else a.type  # a vector of i1 is packed in memory, and has no addresses of lanes
        slot = self.frame.alloca(vector_type(stored, LANES))
        self.irb.position_before(self.branch)
        self.irb.store(a.builder.resize(a, stored).handle, slot)
        self.irb.position_at_end(inside)
        at = self.irb.gep(slot, [self.lane], source_etype=element_type(stored))
        value = Value(self, stored, self.irb.load(at, align=stored.bytes, typ=self.vector(stored)))
        return value != 0 if a.type is PRED else value

