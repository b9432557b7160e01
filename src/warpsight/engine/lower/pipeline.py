"""The way of a kernel through the passes, and what concerns all of its functions together."""

from __future__ import annotations

from ...isa.ir import Instruction, Kernel
from ...isa.ptx import PtxModule
from ..program import ProgramImage, Sizes
from . import cfg
from .allocate import Frame, allocate, coalesce
from .block import Function
from .build import Mentions, Places, build, mentions, shared_key, unsupported
from .converge import varying_registers
from .emit import emit
from .fuse import fuse
from .layout import SharedLayout, frame_places, offsets_of, round_up
from .liveness import UnitCount, liveness, pressure
from .options import LowerOptions
from .predicate import predicate
from .price import price
from .schedule import FREE_REGISTERS, schedule
from .simplify import simplify
from .unroll import unroll
from .vectorize import vectorize

MIN_REGISTERS = 16  # what ptxas 13.0 gives the smallest kernel on sm_90 (measured)


def lower_entry(kernel: Kernel, module: PtxModule, options: LowerOptions) -> ProgramImage:
    """The program of an entry with all device functions it calls. Raises UnsupportedInstruction."""
    kernels = _reachable(kernel, module)
    said = {name: mentions(k) for name, k in kernels.items()}
    order = _callers_first(kernels, said, module)
    local_base, local_bytes = _local_memory(kernels, said, order)
    places = Places(module, options, _shared_memory(kernels, said, module, options), said, local_base)
    functions = [build(kernels[name], places) for name in order]
    frames: dict[str, Frame] = {}
    registers: dict[str, int] = {}
    for function in functions:
        _optimise(function, options)
        formals = [] if function.kernel.is_entry else [*function.kernel.returns, *function.kernel.params]
        frames[function.name] = allocate(function, frame_places(formals)[1])
        registers[function.name] = _registers(function)
    stack, needed = _deepest(order, {f.name: f.callees for f in functions}, frames, registers)
    sizes = Sizes(frames[kernel.name].bytes, stack, needed, 0, local_bytes, places.shared.end)
    return emit(kernel.name, functions, frames, sizes)


def _optimise(function: Function, options: LowerOptions) -> None:
    on = options.passes
    cfg.skip_empty(function)
    cfg.remove_unreachable(function)
    cfg.merge_straight(function)
    if "order" in on:
        cfg.order(function)
    if "unroll" in on:
        unroll(function)
    if "simplify" in on:
        simplify(function)
    if "fuse" in on:
        fuse(function)
    if "predicate" in on:
        predicate(function)
        if "order" in on:
            cfg.order(function)
    if "vectorize" in on:
        vectorize(function)
    if "coalesce" in on:
        coalesce(function)
    if "price" in on:
        price(function)
    if "schedule" in on:
        schedule(function)


def _reachable(kernel: Kernel, module: PtxModule) -> dict[str, Kernel]:
    """The entry and every function that calls reach, by name."""
    found = {kernel.name: kernel}
    work = [kernel]
    while work:
        for name in mentions(work.pop()).callees:
            target = module.aliases.get(name, name)
            if target not in found and target in module.function_names:
                found[target] = module.function(target)
                work.append(found[target])
    return found


def _callers_first(kernels: dict[str, Kernel], said: dict[str, Mentions], module: PtxModule) -> list[str]:
    """Functions in an order in which each comes behind those that call it. Raises UnsupportedInstruction for recursion."""
    done: list[str] = []
    state: dict[str, int] = {}

    def visit(name: str) -> None:
        state[name] = 1
        for callee in said[name].callees:
            target = module.aliases.get(callee, callee)
            if state.get(target) == 1:
                call = next(i for i in kernels[name].body if isinstance(i, Instruction) and i.opcode == "call")
                raise unsupported(call, kernels[name], f"'{target}' calls itself; recursion comes in a later version")
            if target in kernels and target not in state:
                visit(target)
        state[name] = 2
        done.append(name)

    visit(next(iter(kernels)))
    return done[::-1]


def _local_memory(kernels: dict[str, Kernel], said: dict[str, Mentions], order: list[str]) -> tuple[dict[str, int], int]:
    """Where each function's local variables start, behind those of all that may have called it, and the bytes that a thread needs."""
    base = dict.fromkeys(order, 0)
    most = 0
    for name in order:
        end = round_up(base[name] + offsets_of(v for v in kernels[name].variables if v.space == "local")[1], 16)
        most = max(most, end)
        for callee in said[name].callees:
            if callee in base:
                base[callee] = max(base[callee], end)
    return base, most


def _shared_memory(kernels: dict[str, Kernel], said: dict[str, Mentions], module: PtxModule, options: LowerOptions) -> SharedLayout:
    """Places for the shared variables that the functions name."""
    layout = SharedLayout(options.reserved_shared)
    for name, kernel in kernels.items():
        own = {v.name: v for v in kernel.variables}
        for mentioned in said[name].names:
            variable = own.get(mentioned) or module.variables.get(mentioned)
            if variable is not None and variable.space == "shared":
                layout.add(shared_key(kernel, variable, mentioned in own), variable)
    layout.close()
    return layout


def _registers(function: Function) -> int:
    """32-bit registers that a thread needs in this function: the most that are live at once. ptxas keeps values that are the same for all
    lanes in uniform registers when these save occupancy, so only more than `FREE_REGISTERS` of the others count beyond that number.
    """
    live = liveness(function)
    everything = pressure(function, live, UnitCount(function, live))
    if everything <= FREE_REGISTERS:
        return everything
    return max(FREE_REGISTERS, pressure(function, live, UnitCount(function, live, varying_registers(function))))


def _deepest(order: list[str], callees: dict[str, list[str]], frames: dict[str, Frame], registers: dict[str, int]) -> tuple[int, int]:
    """Bytes of the deepest chain of frames, and the registers of the neediest one as ptxas would report them."""
    stack: dict[str, int] = {}
    needs: dict[str, int] = {}
    for name in reversed(order):
        stack[name] = frames[name].bytes + max((stack[c] for c in callees[name]), default=0)
        needs[name] = registers[name] + max((needs[c] for c in callees[name]), default=0)
    return stack[order[0]], max(MIN_REGISTERS, needs[order[0]])
