"""From parsed PTX to blocks of operations: forms resolved, labels and variables replaced by what they stand for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...errors import UnsupportedInstruction
from ...isa import ir
from ...isa.ir import BranchTargets, Imm, Instruction, Kernel, Label, Mem, Operand, Reg, Special, Sym, Tuple_, Vec
from ...isa.ptx import PtxModule
from ...semantics import Kind, NotSupported, resolve
from ...semantics.registry import TYPES
from .block import Block, Function, Op, Slot, literal_bits
from .layout import SharedLayout, frame_places, offsets_of
from .options import LowerOptions

_READS_ROWS = (Kind.BARRIER, Kind.WARP_SYNC, Kind.SYNC_ALU, Kind.SLEEP, Kind.BRANCH_INDEXED)


def unsupported(instruction: Instruction, kernel: Kernel, reason: str) -> UnsupportedInstruction:
    where = f"{kernel.file}:{instruction.line}"
    if instruction.loc is not None:
        where += f" ({instruction.loc.file}:{instruction.loc.line})"
    return UnsupportedInstruction(instruction.spelling, kernel.name, where, reason)


@dataclass(slots=True)
class Mentions:
    """What a body names: functions that it calls, variables, and the parts (offset in bytes, bits) of .param variables that it loads and
    stores.
    """

    callees: dict[str, None] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    parts: dict[str, dict[tuple[int, int], None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Places:
    """What is shared by the functions of a program while they are built."""

    module: PtxModule
    options: LowerOptions
    shared: SharedLayout
    mentions: dict[str, Mentions]  # by function
    local_base: dict[str, int]  # function -> where its local variables start


def mentions(kernel: Kernel) -> Mentions:
    found = Mentions()
    for item in kernel.body:
        if not isinstance(item, Instruction):
            continue
        for operand in item.operands:
            base = operand.base if isinstance(operand, Mem) else operand
            if isinstance(base, Sym):
                found.names[base.name] = None
                if isinstance(operand, Mem) and item.modifiers and item.modifiers[0].startswith("param"):
                    size = element_bits(item)
                    count = max((len(o.elements) for o in item.operands if isinstance(o, Vec)), default=1)
                    parts = found.parts.setdefault(base.name, {})
                    parts.update(((base.offset + operand.offset + i * size // 8, size), None) for i in range(count))
        if item.opcode == "call" and isinstance(callee := _call_parts(item)[1], Sym):
            found.callees[callee.name] = None
    return found


def element_bits(access: Instruction) -> int:
    """Of one element of a load or store: the digits of its type."""
    return int(access.modifiers[-1].lstrip("bufs"))


def _call_parts(call: Instruction) -> tuple[tuple[Operand, ...], Operand, tuple[Operand, ...], tuple[Operand, ...]]:
    """Return values, callee, arguments, and what follows (the prototype or table of an indirect call)."""
    operands = list(call.operands)
    first = operands.pop(0)
    returns: tuple[Operand, ...] = ()
    if isinstance(first, Tuple_):
        returns, first = first.elements, operands.pop(0)
    arguments: tuple[Operand, ...] = ()
    if operands and isinstance(operands[0], Tuple_):
        arguments = operands.pop(0).elements  # type: ignore[union-attr]  # just tested
    return returns, first, arguments, tuple(operands)


def shared_key(kernel: Kernel, variable: ir.Variable, own: bool) -> str:
    """Names a shared variable in the program's layout; two functions may each have one of the same name."""
    return f"{kernel.name}/{variable.name}" if own else variable.name


def build(kernel: Kernel, places: Places) -> Function:
    """Raises UnsupportedInstruction for what has no meaning here."""
    return _Builder(kernel, places).run()


class _Builder:
    def __init__(self, kernel: Kernel, places: Places) -> None:
        self.kernel, self.places = kernel, places
        self.function = Function(kernel.name, kernel, [])
        self.tables = {item.name: item.targets for item in kernel.body if isinstance(item, BranchTargets)}
        self.variables = {v.name: v for v in kernel.variables}
        self.local = offsets_of(v for v in kernel.variables if v.space == "local")[0]
        self.entry_params = offsets_of(kernel.params)[0] if kernel.is_entry else {}
        self.mentioned = places.mentions[kernel.name]
        self.formals = {} if kernel.is_entry else frame_places([*kernel.returns, *kernel.params])[0]
        self.targets: dict[Block, tuple[str, ...]] = {}
        self.jumps: dict[Block, str] = {}
        self.block = self._new_block()

    def run(self) -> Function:
        start = Instruction("mov", (), (), None, self.kernel.line)
        for parameter in () if self.kernel.is_entry else self.kernel.params:
            if parameter.space == "reg":
                self._move(Reg(parameter.name, parameter.type), self._formal(parameter.name, 0, parameter.size * 8), start)
        for item in self.kernel.body:
            if isinstance(item, Label):
                if self.block.ops or self.block.labels:
                    self._end_block(goes_on=True)
                self.block.labels.append(item.name)
            elif isinstance(item, Instruction):
                try:
                    self._instruction(item)
                except NotSupported as error:
                    raise unsupported(item, self.kernel, str(error)) from None
        self._leave(Instruction("exit" if self.kernel.is_entry else "ret", (), (), None, self.kernel.line))
        self._link()
        return self.function

    # Blocks

    def _new_block(self) -> Block:
        block = Block(len(self.function.blocks))
        self.function.blocks.append(block)
        return block

    def _end_block(self, goes_on: bool) -> None:
        before, self.block = self.block, self._new_block()
        before.next = self.block if goes_on else None

    def _link(self) -> None:
        labels = {name: block for block in self.function.blocks for name in block.labels}
        for block, names in self.targets.items():
            block.targets = [labels[name] for name in names]
        for block, name in self.jumps.items():
            block.next = labels[name]

    # Instructions

    def _instruction(self, instruction: Instruction) -> None:
        if any(isinstance(o, Vec) and len(o.elements) == 1 for o in instruction.operands):  # `{ %r1 }`, as Triton writes, is %r1
            operands = tuple(o.elements[0] if isinstance(o, Vec) and len(o.elements) == 1 else o for o in instruction.operands)
            instruction = replace(instruction, operands=operands)
        match instruction.opcode:
            case "bra":
                self._branch(instruction)
            case "brx":
                self._indexed_branch(instruction)
            case "call":
                self._call(instruction)
            case "exit" | "ret" | "trap":
                self._leave(instruction)
            case "ld" | "st" if self._names_formal(instruction):
                self._access_parameter(instruction)
            case _:
                self._append(instruction)

    def _append(self, instruction: Instruction) -> Op:
        resolved = resolve(instruction)
        source: list[Operand] = [self._constant(s, instruction) if isinstance(s, Sym) else s for s in resolved.src]
        source = [literal_bits(s, type) if isinstance(s, Imm) and s.kind != "bits" else s for s, type in zip(source, resolved.form.src)]
        op = Op(instruction.opcode, instruction.modifiers, resolved.form, list(resolved.dst), source, instruction.guard, instruction)
        if op.kind in _READS_ROWS:
            op.src = [self._in_register(s, type.name) if isinstance(s, Special) or op.kind == Kind.BRANCH_INDEXED else s
                      for s, type in zip(op.src, op.form.src)]  # fmt: skip
        self.block.ops.append(op)
        return op

    def _in_register(self, operand: Operand, type: str) -> Operand:
        """The engine itself reads the operands of some kinds, and knows rows and immediates only."""
        if isinstance(operand, Reg):
            return operand
        register = self.function.new_register(type)
        self._append(Instruction("mov", (type,), (register, operand), None, self.kernel.line))
        return register

    def _leave(self, instruction: Instruction) -> None:
        returned: list[Operand] = []
        if instruction.opcode == "ret":
            for result in self.kernel.returns:
                if result.space == "reg":
                    returned.append(slot := self._formal(result.name, 0, result.size * 8))
                    self._move(slot, Reg(result.name, result.type), instruction)
                else:
                    returned += [self._formal(result.name, *part) for part in self.mentioned.parts.get(result.name, ())]
        op = self._append(instruction)
        op.src += returned
        if op.guard is None:
            self._end_block(goes_on=False)

    def _branch(self, instruction: Instruction) -> None:
        target = instruction.operands[0]
        if not isinstance(target, Sym):
            raise unsupported(instruction, self.kernel, "a branch to an address in a register")
        op = self._append(instruction)
        op.src = []
        self.block.ops.pop()
        if op.guard is None:
            self.block.jump = op
            self.jumps[self.block] = target.name
        else:
            self.block.branch = op
            self.targets[self.block] = (target.name,)
        self._end_block(goes_on=op.guard is not None)

    def _indexed_branch(self, instruction: Instruction) -> None:
        table = instruction.operands[1]
        if not isinstance(table, Sym) or table.name not in self.tables:
            raise unsupported(instruction, self.kernel, "its second operand names no .branchtargets list")
        op = self._append(instruction)
        self.block.branch = self.block.ops.pop()
        self.targets[self.block] = self.tables[table.name]
        self._end_block(goes_on=op.guard is not None)

    # Names

    def _constant(self, symbol: Sym, instruction: Instruction) -> Imm:
        """What a variable's name stands for: its address in its own space (PTX ISA 5.1; global and constant addresses are generic too)."""
        name = symbol.name
        places, module = self.places, self.places.module
        if name in self.local:
            return Imm("int", places.local_base[self.kernel.name] + self.local[name] + symbol.offset)
        if name in self.entry_params:
            return Imm("int", self.entry_params[name] + symbol.offset)
        own, shared = self.variables.get(name), module.variables.get(name)
        variable = own or shared
        if variable is None:
            raise unsupported(instruction, self.kernel, f"'{name}' is no variable with an address here")
        if variable.space == "shared":
            self.function.shared_names.add(name)
            return Imm("int", places.shared.offsets[shared_key(self.kernel, variable, own is not None)] + symbol.offset)
        if variable.space in ("global", "const") and own is None:
            return Imm("int", places.options.address_of(name) + symbol.offset)
        raise unsupported(instruction, self.kernel, f"the address of the .{variable.space} variable '{name}'")

    # Parameters of device functions, and calls

    def _names_formal(self, instruction: Instruction) -> bool:
        """Whether an ld or st of the .param space names a function's parameter rather than an address of the kernel's parameters."""
        address = next((o for o in instruction.operands if isinstance(o, Mem)), None)
        if address is None or not isinstance(address.base, Sym):
            return False
        variable = self.variables.get(address.base.name)
        return address.base.name in self.formals or (variable is not None and variable.space == "param")

    def _formal(self, name: str, offset: int, bits: int) -> Reg:
        """The register that part of this function's parameter or return value is."""
        return self._slot(False, self.formals[name] + offset, bits)

    def _slot(self, outgoing: bool, offset: int, bits: int) -> Reg:
        if (bits == 64 and offset % 8) or (bits == 128 and offset % 16) or offset * 8 % bits:
            raise NotSupported(f"a {bits}-bit part of a parameter at byte {offset}")
        reg = Reg(f"%{'out' if outgoing else 'in'}+{offset}:{bits}", f"b{bits}")
        self.function.fixed[reg.name] = Slot(outgoing, offset, bits)
        return reg

    def _access_parameter(self, instruction: Instruction) -> None:
        """ld.param and st.param of a function's parameters become moves, element by element."""
        form = resolve(instruction).form
        assert form.memory is not None
        load = instruction.opcode == "ld"
        value, address = instruction.operands if load else reversed(instruction.operands)
        assert isinstance(address, Mem) and isinstance(address.base, Sym)
        bits = form.memory.element_bytes * 8
        signed = instruction.modifiers[-1][0] == "s"
        for i, element in enumerate(value.elements if isinstance(value, Vec) else (value,)):
            part = self._part(address.base.name, address.base.offset + address.offset + i * form.memory.element_bytes, bits)
            if load:
                if not isinstance(element, ir.Blank):
                    assert isinstance(element, Reg)
                    self._move(element, part, instruction, signed)
            else:
                self._move(part, element, instruction)

    def _part(self, name: str, offset: int, bits: int) -> Reg:
        """The register that part of a .param variable is."""
        if name in self.formals:
            return self._formal(name, offset, bits)
        for other, width in self.mentioned.parts[name]:
            if (other, width) != (offset, bits) and other < offset + bits // 8 and offset < other + width // 8:
                raise NotSupported(f"parameter '{name}' is accessed in parts of different sizes")
        return Reg(f"%{name}+{offset}:{bits}", f"b{bits}")

    def _move(self, to: Reg, value: Operand, instruction: Instruction, signed: bool = False) -> None:
        """A mov, or a cvt where the widths differ (the value of a narrow parameter in a wider register)."""
        have = TYPES[value.type].bits if isinstance(value, Reg) else TYPES[to.type].bits
        want = TYPES[to.type].bits
        if to.type == "pred" or have == want:
            made = Instruction(
                "mov", ("pred" if to.type == "pred" else f"b{want}",), (to, value), instruction.guard, instruction.line, instruction.loc
            )
        else:
            letter = "s" if signed else "u"
            made = Instruction(
                "cvt", (f"{letter}{want}", f"{letter}{min(have, want)}"), (to, value), instruction.guard, instruction.line, instruction.loc
            )
        self._append(made).origin = instruction

    def _branch_around(self, call: Instruction) -> None:
        """A guarded call that returns values: lanes whose guard fails must not read its places in the callee's frame."""
        assert call.guard is not None
        behind = f"%behind{len(self.function.blocks)}"
        skip = replace(call.guard, negate=not call.guard.negate)
        self._branch(replace(call, opcode="bra", modifiers=(), operands=(Sym(behind),), guard=skip))
        self._call(replace(call, guard=None))
        self._end_block(goes_on=True)
        self.block.labels.append(behind)

    def _call(self, instruction: Instruction) -> None:
        """Arguments go to the callee's frame, which starts where the caller's ends; its return values are read there afterwards."""
        results, callee, arguments, _ = _call_parts(instruction)
        name = callee.name if isinstance(callee, Sym) else ""
        if name not in self.places.module.function_names and name not in self.places.module.aliases:
            reason = (
                f"function '{name}' has no body in this module"
                if name and name not in self.variables
                else "indirect calls come in a later version"
            )
            raise unsupported(instruction, self.kernel, reason)
        head = self.places.module.function(name)
        if len(results) != len(head.returns) or len(arguments) != len(head.params):
            raise unsupported(instruction, self.kernel, f"'{name}' takes {len(head.params)} and returns {len(head.returns)} values")
        if instruction.guard is not None and results:
            self._branch_around(instruction)
            return
        at = frame_places([*head.returns, *head.params])[0]
        sent: list[Operand] = []
        for formal, argument in zip(head.params, arguments):
            if isinstance(argument, Sym):
                for offset, bits in self.mentioned.parts.get(argument.name, ()):
                    sent.append(slot := self._slot(True, at[formal.name] + offset, bits))
                    self._move(slot, self._part(argument.name, offset, bits), instruction)
            else:
                sent.append(slot := self._slot(True, at[formal.name], formal.size * 8))
                self._move(slot, argument, instruction)
        op = self._append(instruction)
        op.src = sent
        op.callee = head.name
        self.function.callees.append(head.name)
        for formal, result in zip(head.returns, results):
            if isinstance(result, Sym):
                for offset, bits in self.mentioned.parts.get(result.name, ()):
                    op.dst.append(slot := self._slot(True, at[formal.name] + offset, bits))
                    self._move(self._part(result.name, offset, bits), slot, instruction)
            elif isinstance(result, Reg):
                op.dst.append(slot := self._slot(True, at[formal.name], formal.size * 8))
                self._move(result, slot, instruction)
