"""The table of opcodes: how each may be spelt, what operands it takes and the function that is its meaning.

A rule is written above its function:

    @op("mad", "mode=hi|lo type=u16|u32|u64|s16|s32|s64", "type = type, type, type")
    def mad(b, m, x, y, z): ...

Grammar (second argument): the modifiers in the manual's order. `name=a|b|c` is a slot that takes one of them; `name=a|b?` may be missing;
`name~a|b?` is a hint: accepted, without influence on the meaning. The function reads what was written as `m.name` ("" when missing).
Compilers write some modifiers in other orders than the manual (`ld.global.relaxed.gpu`, `vote.ballot.sync`); of two slots that take
the same words (cvt's types) the first gets what is written first. Types keep their order; otherwise order is free.

Operands (third argument): destinations = sources, each a type: the name of a slot (its value is the type: "f16x2" counts as b32) or a type
("u32", "pred"). Around it:
    T|U?    a pair `d|p` whose second half may be missing (a sink then)
    T*vec   a vector of as many as the slot `vec` says (v2, v4, v8; missing: a scalar); T*2 one of two
    T+      a register wider than the type is accepted (ld, st, cvt)
    T?      may be missing at the end (the function then gets fewer values)
    [addr]  an address: base (U64, or U32 when the register has 32 bits) and byte offset (S64)
    #name   a constant that is part of the form: the function reads it as `m.name`
    cc      the carry flag, an implicit predicate
    -       accepted and ignored; `*` as the only operand: any operands, ignored
Several rules may have one opcode: the first whose grammar and operands fit is taken.

`resolve(instruction)` gives form and flattened operands; `forms()` lists every form, for docs and property tests.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..isa import ir
from ..lanes.builder import Builder, Value
from ..lanes.types import B32, BY_NAME, PRED, S64, U32, U64, LaneType
from .form import Form, Kind, MemoryInfo, Resolved
from .special import SPECIALS

CC = ir.Reg("%cc", "pred")  # the carry flag of add.cc and its like
PACKED = dict.fromkeys(("f16x2", "bf16x2", "u16x2", "s16x2"), B32)
TYPES: Mapping[str, LaneType] = {**BY_NAME, **PACKED}
VECTORS = {"": 1, "v2": 2, "v4": 4, "v8": 8}


class NotSupported(Exception):
    """No rule gives the instruction a meaning; `str()` is the reason. Lowering adds kernel and line."""


class Mods(dict[str, str]):
    """What an instruction's modifiers matched, by slot name; "" for a slot that is absent."""

    def __getattr__(self, name: str) -> str:
        return self.get(name, "")

    def lane(self, slot: str = "type") -> LaneType:
        """The lane type that a slot names ("f16x2" and its like: b32)."""
        return TYPES[self[slot]]


Emit = Callable[..., "Value | Sequence[Value] | None"]


@dataclass(frozen=True, slots=True)
class Slot:
    name: str
    choices: tuple[str, ...]
    optional: bool
    hint: bool


@dataclass(frozen=True, slots=True)
class OperandSpec:
    type: str  # slot or type name; "addr", "cc", "-"
    pair: str | None = None
    vector: str = ""  # "vec", or a number of elements
    wider: bool = False

    def count(self, mods: Mods) -> int:
        """Elements of the vector operand; 1 for a scalar."""
        return int(self.vector) if self.vector.isdigit() else VECTORS[mods[self.vector]] if self.vector else 1


ANYTHING = OperandSpec("*")


@dataclass(frozen=True, slots=True)
class Rule:
    opcode: str
    slots: tuple[Slot, ...]
    dst: tuple[OperandSpec, ...]
    src: tuple[OperandSpec, ...]
    emit: Emit | None
    options: Mapping[str, Any]

    def mods(self, modifiers: Sequence[str]) -> Mods | None:
        """The modifiers by slot, or None when they do not fit the grammar."""
        found = _assign(tuple(modifiers), self.slots)
        return None if found is None else Mods({s.name: found.get(s.name, "") for s in self.slots})

    def meaning(self, mods: Mods) -> list[str]:
        """Modifiers that matter, in order."""
        return [mods[s.name] for s in self.slots if not s.hint and mods[s.name]]


_RULES: dict[str, list[Rule]] = {}
_REJECTED: dict[str, str] = {}
_CONSTANT_OPCODES: set[str] = set()


def op(opcode: str, grammar: str = "", operands: str = "", **options: Any) -> Callable[[Emit], Emit]:
    """Registers the decorated `f(builder, mods, *sources)` as a meaning of `opcode`. It returns the destinations (a Value, several, or
    None).

    Options: `kind` (Kind), `pure`, `sub`, `scope`, `sync_mask` (index of the member mask among the sources), `memory` (MemoryInfo),
    `whole_warp` (Form). Each but `kind` may be a function of the Mods. `refuse(mods)`: a reason why a combination that the grammar allows
    has no meaning, or "".
    `samples`: for each #constant the values that `forms()` lists.
    """

    def register(emit: Emit) -> Emit:
        for text in _variants(operands):
            _add(opcode, grammar, text, emit, options)
        return emit

    return register


def control(opcode: str, grammar: str = "", operands: str = "", **options: Any) -> None:
    """Registers an opcode that the engine executes itself: a form without `emit`."""
    for text in _variants(operands):
        _add(opcode, grammar, text, None, {"pure": False, **options})


def reject(reason: str, *opcodes: str) -> None:
    """Names opcodes that are known but not executed."""
    _REJECTED.update(dict.fromkeys(opcodes, reason))


def _variants(operands: str) -> list[str]:
    """Operand texts with and without the trailing sources marked `?`."""
    head, separator, tail = operands.partition("=") if "=" in operands else ("", "", operands)
    sources = [s.strip() for s in tail.split(",") if s.strip()]
    needed = [s for s in sources if not s.endswith("?")]
    optional = [s[:-1] for s in sources if s.endswith("?")]
    assert sources[: len(needed)] == needed, f"only the last sources may be missing: {operands}"
    return [head + separator + ", ".join(needed + optional[:n]) for n in range(len(optional), -1, -1)]


def _add(opcode: str, grammar: str, operands: str, emit: Emit | None, options: Mapping[str, Any]) -> None:
    slots = tuple(_slot(word) for word in grammar.split())
    head, separator, tail = operands.partition("=")
    if not separator:
        head, tail = "", operands
    dst, src = (tuple(_operand_spec(w.strip()) for w in side.split(",") if w.strip()) for side in (head, tail))
    if any(s.type.startswith("#") for s in src):
        _CONSTANT_OPCODES.add(opcode)
    _RULES.setdefault(opcode, []).append(Rule(opcode, slots, dst, src, emit, dict(options)))


def _assign(modifiers: tuple[str, ...], slots: tuple[Slot, ...]) -> dict[str, str] | None:
    """A slot for every modifier such that no needed slot stays empty, or None."""
    if not modifiers:
        return {} if all(s.optional for s in slots) else None
    for i, slot in enumerate(slots):
        if modifiers[0] in slot.choices:
            rest = _assign(modifiers[1:], slots[:i] + slots[i + 1 :])
            if rest is not None:
                return {slot.name: modifiers[0], **rest}
        if modifiers[0] in TYPES and not TYPES.keys().isdisjoint(slot.choices) and not slot.optional:
            return None  # types keep their order: set.eq.f32.s32 is not set.eq.s32.f32
    return None


def _slot(word: str) -> Slot:
    match = re.fullmatch(r"(\w+)([=~])([^?]+)(\??)", word)
    assert match, f"bad slot {word!r}"
    return Slot(match[1], tuple(match[3].split("|")), bool(match[4]), match[2] == "~")


def _operand_spec(word: str) -> OperandSpec:
    if word.startswith("["):
        return OperandSpec("addr")
    wider, word = word.endswith("+"), word.removesuffix("+")
    if word != "*":
        word, _, vector = word.partition("*")
    else:
        vector = ""
    first, _, second = word.partition("|")
    return OperandSpec(first, second.removesuffix("?") or None, vector, wider)


# Resolving


def resolve(instruction: ir.Instruction) -> Resolved:
    """The form of an instruction and its operands in the form's order. Raises NotSupported with the reason."""
    shapes = tuple(_shape(o) for o in instruction.operands)
    rule, form = _form(instruction.opcode, instruction.modifiers, shapes, _constants(instruction))
    if rule.src == (ANYTHING,):
        return Resolved(form, (), ())
    dst: list[ir.Operand] = []
    src: list[ir.Operand] = []
    operands = iter(instruction.operands)
    for specs, out in ((rule.dst, dst), (rule.src, src)):
        for spec in specs:
            out.extend([CC] if spec.type == "cc" else _flatten(spec, next(operands)))
    if any(isinstance(o, ir.Special) and SPECIALS[o.name].volatile for o in src):
        form = replace(form, pure=False)
    return Resolved(form, tuple(dst), tuple(src))


def forms() -> Iterator[Form]:
    """Every form with a meaning of its own: hints left out, 64-bit address registers and 32-bit ones."""
    seen = set()
    for opcode in sorted(_RULES):
        for rule in _RULES[opcode]:
            choices = {s.name: ([""] if s.optional else []) + list(s.choices) for s in rule.slots if not s.hint}
            choices |= {name: [str(v) for v in values] for name, values in rule.options.get("samples", {}).items()}
            for choice in itertools.product(*choices.values()):
                mods = Mods({s.name: "" for s in rule.slots} | dict(zip(choices, choice, strict=True)))
                if _reason(rule, mods):
                    continue
                for base in (U64, U32) if any(s.type == "addr" for s in rule.src) else (U64,):
                    form = _build(rule, mods, base)
                    if form.name not in seen:
                        seen.add(form.name)
                        yield form


def opcodes() -> list[str]:
    """Every opcode that has a rule."""
    return sorted(_RULES)


_Shape = tuple[Any, ...]


def _shape(operand: ir.Operand) -> _Shape:
    """What matters of an operand for choosing a rule; hashable and without names."""
    match operand:
        case ir.Reg(type=t):
            return ("reg", t)
        case ir.Neg():
            return ("neg",)
        case ir.Imm(kind=k):
            return ("imm", k)
        case ir.Special(name=n):
            return ("special", n)
        case ir.Vec(elements=e) | ir.Tuple_(elements=e):
            return ("vec", tuple(_shape(x) for x in e))
        case ir.Pair(first=a, second=b):
            return ("pair", _shape(a), _shape(b))
        case ir.Mem(base=base):
            return ("mem", base.type if isinstance(base, ir.Reg) else "")
        case _:
            return (type(operand).__name__.lower(),)


def _constants(instruction: ir.Instruction) -> tuple[int, ...]:
    """The integer literals of an instruction whose form depends on them; nothing for others, which share one form."""
    if instruction.opcode not in _CONSTANT_OPCODES:
        return ()
    return tuple(int(o.value) for o in instruction.operands if isinstance(o, ir.Imm) and o.kind == "int")


@lru_cache(maxsize=65536)
def _form(opcode: str, modifiers: tuple[str, ...], shapes: tuple[_Shape, ...], constants: tuple[int, ...]) -> tuple[Rule, Form]:
    rules = _RULES.get(opcode)
    if not rules:
        raise NotSupported(_REJECTED.get(opcode, f"unknown opcode '{opcode}'"))
    reason = ""
    for rule in rules:
        mods = rule.mods(modifiers)
        if mods is None:
            continue
        used = shapes
        if "L2::cache_hint" in modifiers and len(used) == _written(rule) + 1:
            used = used[:-1]  # the cache policy
        mismatch = _reason(rule, mods) or _mismatch(rule, mods, used)
        if not mismatch:
            # A constant comes last among the integer literals, but for predicates; only lop3 has one.
            mods.update((s.type[1:], str(c)) for s, c in zip((s for s in rule.src if s.type[0] == "#"), constants[-1:], strict=True))
            bases = [LaneType("u", TYPES[s[1]].bits) if s[1] else U64 for s in used if s[0] == "mem"]
            return rule, _build(rule, mods, bases[0] if bases else U64)
        reason = reason or mismatch
    raise NotSupported(reason or _unfit(opcode, modifiers, rules))


def _reason(rule: Rule, mods: Mods) -> str:
    """Why a combination of modifiers that the grammar allows has no meaning, or "". From the rule's `refuse` option."""
    refuse = rule.options.get("refuse")
    return (refuse(mods) if refuse else "") or ""


def _unfit(opcode: str, modifiers: tuple[str, ...], rules: list[Rule]) -> str:
    if opcode in _REJECTED:
        return _REJECTED[opcode]
    known = {c for r in rules for s in r.slots for c in s.choices}
    for modifier in modifiers:
        if modifier not in known:
            return f"'{opcode}' has no modifier '.{modifier}'"
    return f"'{opcode}' does not take the modifiers {'.' + '.'.join(modifiers) if modifiers else '(none)'} together"


def _written(rule: Rule) -> int:
    return sum(s.type != "cc" for s in rule.dst + rule.src)


def _type(spec: str, mods: Mods) -> LaneType:
    return TYPES[mods.get(spec, spec)]


def _mismatch(rule: Rule, mods: Mods, shapes: tuple[_Shape, ...]) -> str:
    """Why the operands do not fit the rule, or ""."""
    if rule.src == (ANYTHING,):
        return ""
    if len(shapes) != _written(rule):
        return f"{len(shapes)} operands where {_written(rule)} are expected"
    operands = iter(enumerate(shapes, 1))
    for specs, writes in ((rule.dst, True), (rule.src, False)):
        for spec in specs:
            if spec.type == "cc":
                continue
            position, shape = next(operands)
            problem = _misfit(spec, mods, shape, writes)
            if problem:
                return f"operand {position}: {problem}"
    return ""


def _misfit(spec: OperandSpec, mods: Mods, shape: _Shape, writes: bool) -> str:
    if spec.type == "-":
        return ""
    if spec.type.startswith("#"):
        return "" if shape[0] == "imm" else "a constant is expected"
    if spec.type == "addr":
        return "" if shape[0] == "mem" and (not shape[1] or TYPES[shape[1]].bits in (32, 64)) else "an address [base+offset] is expected"
    count = spec.count(mods)
    if count > 1:
        if shape[0] != "vec" or len(shape[1]) != count:
            return f"a vector of {count} is expected"
        return next(filter(None, (_misfit_one(spec, _type(spec.type, mods), s, writes) for s in shape[1])), "")
    if shape[0] == "pair":
        if spec.pair is None:
            return "a pair is not expected"
        return _misfit_one(spec, _type(spec.type, mods), shape[1], writes) or _misfit_one(spec, _type(spec.pair, mods), shape[2], writes)
    return _misfit_one(spec, _type(spec.type, mods), shape, writes)


def _misfit_one(spec: OperandSpec, type: LaneType, shape: _Shape, writes: bool) -> str:
    match shape:
        case ("reg", name):
            have = TYPES[name]
            if (have is PRED) != (type is PRED):
                return f"a register of type {name} where {type} is expected"
            if have.bits == type.bits or (spec.wider and have.bits > type.bits):
                return ""
            return f"a register of type {name} does not fit {type}"
        case ("blank",):
            return "" if writes else "a sink '_' is no source"
        case ("neg",) if type is PRED and not writes:
            return ""
        case ("special", name) if not writes:
            return "" if name in SPECIALS else f"unknown special register {name}"
        case ("imm", kind) if not writes:
            return f"a float constant where {type} is expected" if kind == "float" and type.is_int and type.kind != "b" else ""
        case ("sym",) if not writes:
            return ""
    return f"{shape[0]} is no operand of type {type}"


def _flatten(spec: OperandSpec, operand: ir.Operand) -> list[ir.Operand]:
    match operand:
        case _ if spec.type == "-" or spec.type.startswith("#"):
            return []
        case ir.Vec(elements=elements):
            return list(elements)
        case ir.Pair(first=a, second=b):
            return [a, b]
        case ir.Mem(base=base, offset=offset):
            return [ir.Imm("int", 0) if base is None else base, ir.Imm("int", offset)]
    return [operand, ir.Blank()] if spec.pair else [operand]


def _build(rule: Rule, mods: Mods, base: LaneType) -> Form:
    dst, src = (tuple(t for s in specs for t in _flat_types(s, mods, base)) for specs in (rule.dst, rule.src))
    options = {k: v(mods) if callable(v) else v for k, v in rule.options.items() if k not in ("refuse", "samples")}
    kind: Kind = options.pop("kind", Kind.ALU)
    constants = [f"{int(mods[s.type[1:]]):#x}" for s in rule.src if s.type.startswith("#")]
    spelling = ".".join((rule.opcode, *rule.meaning(mods), *constants))
    name = f"{spelling}:{','.join(t.name for t in dst)}<{','.join(t.name for t in src)}"
    return Form(name, kind, dst, src, _emit(rule.emit, mods) if rule.emit else None, **options)


def _flat_types(spec: OperandSpec, mods: Mods, base: LaneType) -> list[LaneType]:
    if spec.type in ("-", "*") or spec.type.startswith("#"):
        return []
    if spec.type == "addr":
        return [base, S64]
    if spec.type == "cc":
        return [PRED]
    type = _type(spec.type, mods)
    return [type, _type(spec.pair, mods)] if spec.pair else [type] * spec.count(mods)


def _emit(function: Emit, mods: Mods) -> Callable[[Builder, Sequence[Value]], Sequence[Value]]:
    def emit(builder: Builder, sources: Sequence[Value]) -> Sequence[Value]:
        result = function(builder, mods, *sources)
        if result is None:
            return ()
        return (result,) if isinstance(result, Value) else tuple(result)

    return emit


__all__ = ["CC", "TYPES", "Kind", "MemoryInfo", "Mods", "NotSupported", "control", "forms", "op", "opcodes", "reject", "resolve"]
