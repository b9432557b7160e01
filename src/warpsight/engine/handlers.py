"""Handlers: compiled forms. One serves every instruction of its form whose operands are of the same kinds.

A handler is `void(uint8_t* regs, const int64_t* operands, uint32_t mask, WarpContext*)` (core/exec/record.h). Its operand pool has one
int64 an operand, destinations first: the byte offset of a row in the frame, the bits of an immediate, or nothing of use for a special
register or a sink. Operand kinds:

    r8 r16 r32 r64 r128   a row of a register with that many bits      p  !p   a predicate row, and its negation
    i                     an immediate                                  _       a sink
    %name                 a special register

A source register wider than the form's type is truncated; a destination wider than it gets the value extended by its signedness (PTX ISA,
"Operand Size Exceeding Instruction-Type Size").
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import llvmlite.ir as ir
import numpy as np
import numpy.typing as npt

from ..isa.ir import Blank, Imm, Neg, Operand, Reg, Special, Sym
from ..lanes.builder import Builder, Value
from ..lanes.jit import Jit, jit
from ..lanes.llvm_builder import I8, I32, I64, POINTER, Frame, Layout, LlvmBuilder
from ..lanes.numpy_builder import AccessFault, LaneContext, NumpyBuilder, from_bytes, mask_lanes, to_bytes
from ..lanes.types import LANES, PRED, LaneType
from ..semantics import Form, Kind
from ..semantics.registry import TYPES
from ..semantics.special import SPECIALS
from .object_cache import ObjectCache

_SIGNATURE = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I32, POINTER])


class HandlerKey(NamedTuple):
    """What a handler is compiled for. Two keys are equal when form name and kinds are."""

    form: str
    dst: tuple[str, ...]
    src: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.form}({','.join(self.dst)}={','.join(self.src)})"

    @property
    def symbol(self) -> str:
        return "h" + hashlib.sha256(self.text.encode()).hexdigest()[:24]


def operand_kind(operand: Operand) -> str:
    """The kind of a flattened operand. Addresses of symbols are immediates (lowering resolves them)."""
    match operand:
        case Reg(type="pred"):
            return "p"
        case Reg(type=name):
            return f"r{TYPES[name].bits}"
        case Neg():
            return "!p"
        case Imm() | Sym():
            return "i"
        case Special(name=name):
            return name
        case Blank():
            return "_"
    raise TypeError(f"{operand} is no flattened operand")


def handler_key(form: Form, dst: Sequence[Operand], src: Sequence[Operand]) -> HandlerKey:
    return HandlerKey(form.name, tuple(map(operand_kind, dst)), tuple(map(operand_kind, src)))


def row_type(kind: str) -> LaneType:
    """The type of the elements of a row kind ("r32": b32)."""
    return LaneType("b", int(kind[1:]))


# Compiled handlers


class _Emitter:
    """Writes one handler: operands in, the form's meaning, results out."""

    def __init__(self, module: ir.Module, key: HandlerKey, form: Form, layout: Layout, native_half: bool) -> None:
        function = ir.Function(module, _SIGNATURE, key.symbol)
        self.regs, self.pool, mask, context = function.args
        for pointer in (self.regs, self.pool, context):
            pointer.add_attribute("noalias")
        self.irb = ir.IRBuilder(function.append_basic_block("entry"))
        leave = function.append_basic_block("leave")
        ir.IRBuilder(leave).ret_void()
        self.mask = mask
        self.builder = LlvmBuilder(Frame(self.irb, context, layout, mask, leave, native_half, form.kind == Kind.MEMORY))
        assert form.emit is not None, f"{form.name} has no handler"
        sources = [self.source(len(key.dst) + i, kind, type) for i, (kind, type) in enumerate(zip(key.src, form.src, strict=True))]
        results = form.emit(self.builder, sources)
        assert len(results) == len(form.dst), f"{form.name} gives {len(results)} results"
        self.store_results(key.dst, form.dst, results)
        self.irb.branch(leave)
        self.leave = leave

    def entry(self, index: int) -> Any:
        return self.irb.load(self.irb.gep(self.pool, [I64(index)], source_etype=I64), typ=I64)

    def row(self, index: int) -> Any:
        return self.irb.gep(self.regs, [self.entry(index)], source_etype=I8)

    def source(self, index: int, kind: str, type: LaneType) -> Value:
        b = self.builder
        if kind in ("p", "!p"):
            bits = self.irb.load(self.row(index), typ=I32)
            return b.value(PRED, self.irb.bitcast(self.irb.not_(bits) if kind == "!p" else bits, b.vector(PRED)))
        if kind == "i":
            bits = self.entry(index)
            scalar = self.irb.zext(bits, ir.IntType(type.bits)) if type.bits > 64 else bits
            scalar = self.irb.trunc(bits, ir.IntType(type.bits)) if type.bits < 64 else scalar
            stored = PRED if type is PRED else LaneType("b", type.bits)
            return b.bitcast(b.splat(stored, scalar), type)
        if kind in SPECIALS:
            return read_special(b, kind, type)
        stored = row_type(kind)
        value = b.value(stored, self.irb.load(self.row(index), align=64, typ=b.vector(stored)))
        return b.bitcast(b.resize(value, LaneType("b", type.bits)), type)

    def store_results(self, kinds: Sequence[str], types: Sequence[LaneType], results: Sequence[Value]) -> None:
        """All lanes: plain stores. Some: the others keep what the row held."""
        stores = []
        for index, (kind, type, value) in enumerate(zip(kinds, types, results, strict=True)):
            assert value.type.bits == type.bits, f"result {index} is {value.type}, not {type}"
            if kind == "p":
                stores.append((self.row(index), self.irb.bitcast(value.handle, I32), True))
            elif kind != "_":
                stores.append((self.row(index), widened(self.builder, value, type, row_type(kind)).handle, False))
        rows = [s for s in stores if not s[2]]
        for row, bits, _ in (s for s in stores if s[2]):
            old = self.irb.load(row, typ=I32)
            kept = self.irb.and_(old, self.irb.not_(self.mask))
            self.irb.store(self.irb.or_(kept, self.irb.and_(bits, self.mask)), row)
        if not rows:
            return
        with self.irb.if_else(self.irb.icmp_unsigned("==", self.mask, I32(0xFFFFFFFF)), likely=True) as (full, partial):
            with full:
                for row, vector, _ in rows:
                    self.irb.store(vector, row, align=64)
            with partial:
                lanes = self.irb.bitcast(self.mask, self.builder.vector(PRED))
                for row, vector, _ in rows:
                    old = self.irb.load(row, align=64, typ=vector.type)
                    self.irb.store(self.irb.select(lanes, vector, old), row, align=64)


def read_special(b: Builder, name: str, type: LaneType) -> Value:
    """A special register as a source of `type`: truncated or zero-extended."""
    value = SPECIALS[name].read(b)
    if value.type is PRED or type is PRED:
        return value
    return b.bitcast(b.resize(value, LaneType("u", type.bits)), type)


def widened(b: Builder, value: Value, type: LaneType, row: LaneType) -> Value:
    """A result as its row holds it."""
    as_integer = type if type.is_int else LaneType("b", type.bits)
    return b.resize(b.bitcast(value, as_integer), row)


@lru_cache(maxsize=1)
def context_layout() -> Layout:
    from .. import _core

    fields = dict(_core.context_fields())
    return Layout(fields, fields.pop("scratch_fields"))


def module_text(forms: Sequence[tuple[HandlerKey, Form]], native_half: bool) -> str:
    """IR of one module with a function for every key."""
    module = ir.Module("handlers")
    for key, form in forms:
        _Emitter(module, key, form, context_layout(), native_half)
    return str(module)


class Handlers:
    """Addresses of compiled handlers. Compiled ones live as long as the process; object code is kept on disk for the next one."""

    def __init__(self, host: Jit | None = None, cache: ObjectCache | None = None) -> None:
        self._jit = host or jit()
        self._cache = cache or ObjectCache(self._jit.fingerprint)
        self._addresses: dict[HandlerKey, int] = {}

    def compile(self, wanted: Iterable[tuple[HandlerKey, Form]]) -> dict[HandlerKey, int]:
        """The address of every key's handler. What neither this process nor the disk has is compiled together, in one module."""
        forms = dict(wanted)
        missing = [k for k in forms if k not in self._addresses]
        for code, symbols in self._cache.find([k.symbol for k in missing]):
            self._link(code, symbols, missing)
        missing = sorted(k for k in missing if k not in self._addresses)
        if missing:
            code = self._jit.compile(module_text([(k, forms[k]) for k in missing], self._jit.native_half))
            symbols = [k.symbol for k in missing]
            self._link(code, symbols, missing)
            self._cache.put(code, symbols)
        return {k: self._addresses[k] for k in forms}

    def _link(self, code: bytes, symbols: Sequence[str], keys: Sequence[HandlerKey]) -> None:
        wanted = {k.symbol: k for k in keys}
        for symbol, address in self._jit.link(code, symbols).items():
            if symbol in wanted:
                self._addresses[wanted[symbol]] = address


@lru_cache(maxsize=1)
def handlers() -> Handlers:
    """The process's handlers."""
    return Handlers()


# Interpreted handlers

Rows = npt.NDArray[np.uint8]


def interpret(form: Form, key: HandlerKey, regs: Rows, operands: npt.NDArray[np.int64], mask: int, context: LaneContext | None) -> None:
    """Executes one instruction with the NumPy builder: the same as the compiled handler of `key` does.

    `regs`: bytes of the register block from the frame on; `operands`: the record's entries of the operand pool. A refused memory access
    ends the instruction without a result; `context.faulted` tells.
    """
    assert form.emit is not None, f"{form.name} has no handler"
    b = NumpyBuilder(mask, context)
    pool = [int(x) for x in operands[: len(key.dst) + len(key.src)]]
    sources = [_read(b, regs, at, kind, type) for at, kind, type in zip(pool[len(key.dst) :], key.src, form.src, strict=True)]
    try:
        results = form.emit(b, sources)
    except AccessFault:
        return
    for at, kind, type, value in zip(pool, key.dst, form.dst, results, strict=False):
        _write(b, regs, at, kind, type, value)


def _read(b: NumpyBuilder, regs: Rows, at: int, kind: str, type: LaneType) -> Value:
    if kind in ("p", "!p"):
        lanes = mask_lanes(int(regs[at : at + 4].view(np.uint32)[0]))
        return b.value(PRED, ~lanes if kind == "!p" else lanes)
    if kind == "i":
        return b.const(PRED, at & 1) if type is PRED else b.bitcast(b.const(LaneType("b", type.bits), at & (2**64 - 1)), type)
    if kind in SPECIALS:
        return read_special(b, kind, type)
    stored = row_type(kind)
    value = b.value(stored, from_bytes(regs[at : at + LANES * stored.bytes], stored))
    return b.bitcast(b.resize(value, LaneType("b", type.bits)), type)


def _write(b: NumpyBuilder, regs: Rows, at: int, kind: str, type: LaneType, value: Value) -> None:
    if kind == "_":
        return
    if kind == "p":
        row = regs[at : at + 4].view(np.uint32)
        bits = sum(1 << int(lane) for lane in np.flatnonzero(value.handle))
        row[0] = (int(row[0]) & ~b.mask & 0xFFFFFFFF) | (bits & b.mask)
        return
    stored = row_type(kind)
    data = to_bytes(widened(b, value, type, stored).handle, stored).reshape(LANES, stored.bytes)
    lanes = mask_lanes(b.mask)
    regs[at : at + LANES * stored.bytes].reshape(LANES, stored.bytes)[lanes] = data[lanes]


@dataclass(frozen=True, slots=True)
class NumpyHandlers:
    """`_core.Machine.interpret_with` takes it: executes records by index with the NumPy builder.

    `instructions[i]`: form and key of record i, None for those without a handler; `first[i]`: its first entry in `operands`.
    """

    instructions: Sequence[tuple[Form, HandlerKey] | None]
    first: Sequence[int]
    operands: npt.NDArray[np.int64]

    def __call__(self, record: int, regs: Rows, mask: int, context: LaneContext) -> None:
        entry = self.instructions[record]
        if entry is not None:
            form, key = entry
            interpret(form, key, regs, self.operands[self.first[record] :], mask, context)


__all__ = ["HandlerKey", "Handlers", "NumpyHandlers", "handler_key", "handlers", "interpret", "operand_kind"]
