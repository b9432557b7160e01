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
    may_fault: bool = False  # the instruction may fail: its Kind is MEMORY

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


@dataclass(frozen=True, slots=True)
class _Access:
    """What a memory access moves a lane: `count` elements of `type`."""

    space: str
    type: LaneType
    count: int
    write: bool

    @property
    def size(self) -> int:
        return self.type.bytes * self.count

    @property
    def descriptor(self) -> int:
        """As ws_load and its like take it (core/exec/memory.h)."""
        return SPACES[self.space] | self.type.bytes << 8 | self.count << 16

    @property
    def chunk(self) -> Any:
        """The IR type of what one lane moves."""
        element = element_type(self.type)
        return element if self.count == 1 else ir.VectorType(element, self.count)


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


# Spaces in which a warp often touches one stretch of memory, and the distances between its lanes to try first, in units of the access:
# 1 is a stretch, 0 one place for all. Constants and parameters are made for the latter. Lanes of local memory are never neighbours.
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

    def runtime(self, name: str, constants: Sequence[int], values: Sequence[Value], results: Sequence[LaneType]) -> list[Value]:
        irb, frame = self.irb, self.frame

        def pointers(slots: Sequence[Any]) -> Any:
            table = frame.alloca(ir.ArrayType(POINTER, max(1, len(slots))))
            for i, slot in enumerate(slots):
                irb.store(slot, frame.field(table, 8 * i))
            return table

        inputs = []
        for value in values:
            lanes = self.resize(value, U8) if value.type is PRED else value
            inputs.append(frame.alloca(self.vector(lanes.type)))
            irb.store(lanes.handle, inputs[-1])
        outputs = [frame.alloca(self.vector(U8 if type is PRED else type)) for type in results]
        numbers = frame.alloca(ir.ArrayType(I64, max(1, len(constants))))
        for i, number in enumerate(constants):
            irb.store(I64(number), frame.field(numbers, 8 * i))
        function = frame.function(name, ir.VoidType(), [POINTER, I32, POINTER, POINTER, POINTER])
        irb.call(function, [frame.context, frame.mask, numbers, pointers(inputs), pointers(outputs)])
        if frame.may_fault:
            self._leave_on_fault(irb.load(frame.field(frame.context, frame.layout.fields["scratch"][0]), typ=POINTER))
        found = []
        for slot, type in zip(outputs, results, strict=True):
            stored = U8 if type is PRED else type
            value = Value(self, stored, irb.load(slot, typ=self.vector(stored)))
            found.append(value != 0 if type is PRED else value)
        return found

    def _leave_on_fault(self, scratch: Any) -> None:
        irb, frame = self.irb, self.frame
        fault = irb.load(frame.field(scratch, frame.layout.scratch["fault"]), typ=I32)
        go = irb.append_basic_block("go")
        irb.cbranch(irb.icmp_unsigned("!=", fault, I32(0)), frame.leave, go)
        irb.position_at_end(go)

    # memory
    def _put_addresses(self, address: Value) -> Any:
        """Writes the lane addresses to the scratch; returns the scratch pointer."""
        assert address.type.bits == 64 and address.type.is_int, f"addresses are U64, not {address.type}"
        frame = self.frame
        scratch = self.irb.load(frame.field(frame.context, frame.layout.fields["scratch"][0]), typ=POINTER)
        self.irb.store(address.handle, frame.field(scratch, frame.layout.scratch["addr"]), align=64)
        return scratch

    def _access(self, name: str, access: _Access, last: Any) -> None:
        function = self.frame.function(name, ir.VoidType(), [POINTER, I32, I32, last.type])
        self.irb.call(function, [self.frame.context, self.frame.mask, I32(access.descriptor), last])

    def load(self, space: str, address: Value, type: LaneType, count: int) -> list[Value]:
        """Whatever lies in one piece of memory that the warp may touch is read here; ws_load has the rest."""
        irb = self.irb
        access = _Access(space, type, count, False)
        scratch = self._put_addresses(address)
        done, found = irb.append_basic_block("loaded"), []
        for step in _LOAD_STEPS.get(space, ()):
            with self._stretch(access, address, step * access.size) as host:
                found.append((self._split(host, type, count) if step else self._spread(host, type, count), irb.block))
                irb.branch(done)
        for step in (1, 0) if space == "shared" else ():
            with self._halves(access, address, step * access.size) as hosts:
                found.append((self._split_halves(hosts, type, count) if step else self._spread_halves(hosts, type, count), irb.block))
                irb.branch(done)
        buffer = self.frame.alloca(ir.ArrayType(self.vector(type), count))
        if space != "local":
            with self._scattered(access, address, scratch) as (host, offset):
                with self._each_lane(None) as lane:
                    chunk = irb.load(irb.gep(host, [offset(lane)], source_etype=I8), align=type.bytes, typ=access.chunk)
                    irb.store(chunk, irb.gep(buffer, [lane], source_etype=access.chunk), align=type.bytes)
                found.append((self._split(buffer, type, count), irb.block))
                irb.branch(done)
        self._access("ws_load", access, buffer)
        places = [self.frame.field(buffer, e * type.bytes * self.lanes) for e in range(count)]
        found.append(([irb.load(at, align=16, typ=self.vector(type)) for at in places], irb.block))
        irb.branch(done)
        irb.position_at_end(done)
        return [self._merge(type, [(values[e], block) for values, block in found]) for e in range(count)]

    def store(self, space: str, address: Value, values: Sequence[Value]) -> None:
        irb = self.irb
        type, count = values[0].type, len(values)
        access = _Access(space, type, count, True)
        scratch = self._put_addresses(address)
        done = irb.append_basic_block("stored")
        buffer = self.frame.alloca(ir.ArrayType(self.vector(type), count))
        if space != "local":
            if space in _STRETCHED:
                with self._stretch(access, address, access.size) as host:
                    irb.store(self._join([v.handle for v in values]), host, align=type.bytes)
                    irb.branch(done)
            with self._scattered(access, address, scratch) as (host, offset):
                irb.store(self._join([v.handle for v in values]), buffer, align=64)
                with self._each_lane(self.frame.mask) as lane:  # ascending: of several lanes at one place the last one stays
                    chunk = irb.load(irb.gep(buffer, [lane], source_etype=access.chunk), align=type.bytes, typ=access.chunk)
                    irb.store(chunk, irb.gep(host, [offset(lane)], source_etype=I8), align=type.bytes)
                irb.branch(done)
        for e, value in enumerate(values):
            irb.store(value.handle, self.frame.field(buffer, e * type.bytes * self.lanes), align=16)
        self._access("ws_store", access, buffer)
        irb.branch(done)
        irb.position_at_end(done)

    @contextmanager
    def _stretch(self, access: _Access, address: Value, step: int) -> Iterator[Any]:
        """Runs the body with a host pointer to what all 32 lanes access, `step` bytes apart. What follows the body runs otherwise."""
        irb = self.irb
        ask, miss = irb.append_basic_block("ask"), irb.append_basic_block("miss")
        first = irb.extract_element(address.handle, I32(0))
        offsets = self.const_lanes(U64, [step * lane for lane in range(self.lanes)])
        regular = irb.bitcast((address == self.splat(U64, first) + offsets).handle, I32)
        irb.cbranch(irb.icmp_unsigned("==", irb.and_(regular, self.frame.mask), I32(0xFFFFFFFF)), ask, miss)
        irb.position_at_end(ask)
        with self._permitted(access, first, I64(step * (self.lanes - 1) + access.size), miss) as host:
            yield host

    @contextmanager
    def _halves(self, access: _Access, address: Value, step: int) -> Iterator[tuple[Any, Any]]:
        """As _stretch, for warps whose halves each access one stretch or place, as the tiles of 16 x 16 threads do: two host pointers."""
        irb, half = self.irb, self.lanes // 2
        ask, miss = irb.append_basic_block("ask"), irb.append_basic_block("miss")
        first, second = (irb.extract_element(address.handle, I32(lane)) for lane in (0, half))
        offsets = self.const_lanes(U64, [step * (lane % half) for lane in range(self.lanes)])
        regular = irb.bitcast((address == self._two_halves(U64, first, second) + offsets).handle, I32)
        aligned = irb.icmp_unsigned("==", irb.and_(irb.or_(first, second), I64(access.size - 1)), I64(0))
        full = irb.icmp_unsigned("==", irb.and_(regular, self.frame.mask), I32(0xFFFFFFFF))
        irb.cbranch(irb.and_(full, aligned), ask, miss)
        irb.position_at_end(ask)
        ordered = irb.icmp_unsigned("<", first, second)
        low, high = irb.select(ordered, first, second), irb.select(ordered, second, first)
        length = irb.add(irb.sub(high, low), I64(step * (half - 1) + access.size))
        with self._permitted(access, low, length, miss) as host:
            yield tuple(irb.gep(host, [irb.sub(start, low)], source_etype=I8) for start in (first, second))

    def _two_halves(self, type: LaneType, first: Any, second: Any) -> Value:
        """The lower half of the lanes holds one IR scalar, the upper half another."""
        lower = self.const_lanes(PRED, [int(lane < self.lanes // 2) for lane in range(self.lanes)])
        return self.select(lower, self.splat(type, first), self.splat(type, second))

    @contextmanager
    def _scattered(self, access: _Access, address: Value, scratch: Any) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
        """Runs the body with a host pointer to the lowest address and the function that gives a lane's offset from there (any lane's: those
        that do not execute stand where one does). What follows the body runs when the addresses are not all in one permitted piece.
        """
        irb, frame = self.irb, self.frame
        some_lane = irb.call(frame.function("llvm.cttz.i32", I32, [I32, ir.IntType(1)]), [frame.mask, ir.IntType(1)(1)])
        addresses = frame.field(scratch, frame.layout.scratch["addr"])
        some_address = irb.load(irb.gep(addresses, [some_lane], source_etype=I64), typ=I64)
        everywhere = self.select(self.active(), address.bits(U64), self.splat(U64, some_address))
        low, high, union = (self._reduce(name, everywhere) for name in ("umin", "umax", "or"))
        slot = frame.alloca(self.vector(U64))
        irb.store((everywhere - self.splat(U64, low)).handle, slot)
        aligned = irb.icmp_unsigned("==", irb.and_(union, I64(access.size - 1)), I64(0))
        ask, miss = irb.append_basic_block("ask"), irb.append_basic_block("miss")
        irb.cbranch(aligned, ask, miss)
        irb.position_at_end(ask)
        with self._permitted(access, low, irb.add(irb.sub(high, low), I64(access.size)), miss) as host:
            yield host, lambda lane: irb.load(irb.gep(slot, [lane], source_etype=I64), typ=I64)

    @contextmanager
    def _permitted(self, access: _Access, first: Any, length: Any, miss: Any) -> Iterator[Any]:
        """Runs the body, which must end in a branch, with the host pointer of `length` bytes at `first`; goes on in `miss` otherwise."""
        irb, frame = self.irb, self.frame
        hit = irb.append_basic_block("hit")
        if access.space == "shared":
            inside, host = self._in_shared(access, first, length)
            irb.cbranch(inside, hit, miss)
            irb.position_at_end(hit)
            self._note_access(access)
        else:
            function = frame.function("ws_row", POINTER, [POINTER, I32, I32, I64, I64, I32])
            host = irb.call(function, [frame.context, frame.mask, I32(access.descriptor), first, length, I32(int(access.write))])
            irb.cbranch(irb.icmp_unsigned("!=", irb.ptrtoint(host, I64), I64(0)), hit, miss)
            irb.position_at_end(hit)
        yield host
        irb.position_at_end(miss)

    def _in_shared(self, access: _Access, first: Any, length: Any) -> tuple[Any, Any]:
        """Whether the CTA's shared memory holds `length` bytes at `first`, aligned to the access; and the host pointer."""
        irb, frame = self.irb, self.frame
        places = [frame.field(frame.context, frame.layout.fields[f"shared_{name}"][0]) for name in ("host", "lo", "span")]
        host, (low, span) = irb.load(places[0], typ=POINTER), (irb.load(at, typ=I64) for at in places[1:])
        start = irb.sub(first, low)
        fits = irb.and_(irb.icmp_unsigned("<", start, span), irb.icmp_unsigned("<=", irb.add(start, length), span))
        aligned = irb.icmp_unsigned("==", irb.and_(first, I64(access.size - 1)), I64(0))
        return irb.and_(fits, aligned), irb.gep(host, [first], source_etype=I8)

    def _note_access(self, access: _Access) -> None:
        """Leaves for the timing model what ws_load would."""
        frame = self.frame
        scratch = self.irb.load(frame.field(frame.context, frame.layout.fields["scratch"][0]), typ=POINTER)
        self.irb.store(I8(SPACES[access.space]), frame.field(scratch, frame.layout.scratch["space"]))
        self.irb.store(frame.mask, frame.field(scratch, frame.layout.scratch["access_mask"]))

    @contextmanager
    def _each_lane(self, mask: Any) -> Iterator[Any]:
        """A loop over the lanes of a mask (None: all), ascending; the body gets the lane's number and must not branch."""
        irb, frame = self.irb, self.frame
        before, loop, after = irb.block, irb.append_basic_block("lane"), irb.append_basic_block("after")
        irb.branch(loop)
        irb.position_at_end(loop)
        state = irb.phi(I32)
        if mask is None:
            state.add_incoming(I32(0), before)
            yield state
            following = irb.add(state, I32(1))
            more = irb.icmp_unsigned("<", following, I32(self.lanes))
        else:
            state.add_incoming(mask, before)
            yield irb.call(frame.function("llvm.cttz.i32", I32, [I32, ir.IntType(1)]), [state, ir.IntType(1)(1)])
            following = irb.and_(state, irb.sub(state, I32(1)))
            more = irb.icmp_unsigned("!=", following, I32(0))
        state.add_incoming(following, irb.block)
        irb.cbranch(more, loop, after)
        irb.position_at_end(after)

    def _reduce(self, name: str, a: Value) -> Any:
        """One scalar of all lanes: umin, umax, or."""
        function = self.frame.function(f"llvm.vector.reduce.{name}.v{self.lanes}i{a.type.bits}", ir.IntType(a.type.bits), [a.handle.type])
        return self.irb.call(function, [a.handle])

    def _spread(self, host: Any, type: LaneType, count: int) -> list[Any]:
        """The elements at one place, in all lanes."""
        element = element_type(type)
        places = [self.frame.field(host, e * type.bytes) for e in range(count)]
        return [self.splat(type, self.irb.load(at, align=type.bytes, typ=element)).handle for at in places]

    def _spread_halves(self, hosts: Sequence[Any], type: LaneType, count: int) -> list[Any]:
        element = element_type(type)
        places = [[self.frame.field(host, e * type.bytes) for host in hosts] for e in range(count)]
        both = [[self.irb.load(at, align=type.bytes, typ=element) for at in pair] for pair in places]
        return [self._two_halves(type, first, second).handle for first, second in both]

    def _split(self, host: Any, type: LaneType, count: int) -> list[Any]:
        """32 x count elements in a row: the elements of each lane side by side."""
        return self._deal(self.irb.load(host, align=type.bytes, typ=vector_type(type, self.lanes * count)), count)

    def _split_halves(self, hosts: Sequence[Any], type: LaneType, count: int) -> list[Any]:
        length = self.lanes // 2 * count
        first, second = (self.irb.load(host, align=type.bytes, typ=vector_type(type, length)) for host in hosts)
        return self._deal(self.irb.shuffle_vector(first, second, _indices(range(2 * length))), count)

    def _deal(self, together: Any, count: int) -> list[Any]:
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
        for value, block in choices:
            phi.add_incoming(value, block)
        return Value(self, type, phi)

    def atomic(
        self, space: str, address: Value, type: LaneType, combine: Callable[[Builder, Value], Value], want_old: bool
    ) -> Value | None:
        irb, frame = self.irb, self.frame
        scratch = self._put_addresses(address)
        self._access("ws_translate", _Access(space, type, 1, True), I32(1))
        result = frame.alloca(self.vector(type)) if want_old else None
        self._leave_on_fault(scratch)
        go = irb.block
        with self._each_lane(frame.mask) as lane:
            hosts = frame.field(scratch, frame.layout.scratch["host"])
            host = irb.load(irb.gep(hosts, [lane], source_etype=POINTER), typ=POINTER)
            one = OneLaneBuilder(frame, lane, go)
            old = Value(one, type, irb.load(host, align=type.bytes, typ=one.vector(type)))
            irb.store(combine(one, old).handle, host, align=type.bytes)
            if result is not None:
                irb.store(old.handle, irb.gep(result, [lane], source_etype=element_type(type)), align=type.bytes)
        return None if result is None else Value(self, type, irb.load(result, typ=self.vector(type)))

    def lane_value(self, a: Value) -> Value:
        raise TypeError("lane_value belongs to the one-lane builder of an atomic")


class OneLaneBuilder(LlvmBuilder):
    """The builder of an atomic's `combine`, inside the loop over lanes."""

    def __init__(self, frame: Frame, lane: Any, before: Any) -> None:
        super().__init__(frame, lanes=1)
        self.lane, self.before = lane, before

    def lane_value(self, a: Value) -> Value:
        """The running lane of a warp value, read from a copy that is made once before the loop."""
        inside = self.irb.block
        stored = U8 if a.type is PRED else a.type  # a vector of i1 is packed in memory, and has no addresses of lanes
        slot = self.frame.alloca(vector_type(stored, LANES))
        self.irb.position_before(self.before.terminator)
        self.irb.store(a.builder.resize(a, stored).handle, slot)
        self.irb.position_at_end(inside)
        at = self.irb.gep(slot, [self.lane], source_etype=element_type(stored))
        value = Value(self, stored, self.irb.load(at, align=stored.bytes, typ=self.vector(stored)))
        return value != 0 if a.type is PRED else value

