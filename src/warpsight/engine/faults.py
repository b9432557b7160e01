"""From what the core says of a kernel that went wrong (numbers) to an error that a person can act on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..errors import DeadlockError, KernelError, KernelTimeout, MemoryFault, TrapError
from ..isa.ir import SourceLoc

_SPACES = ("global", "shared", "local", "const", "param", "generic")  # Space in core/exec/record.h
_GLOBAL, _CONST = 0, 3
_MISALIGNED = 2
# FaultKind in core/exec/memory.h: what went wrong, and the error's class.
_KINDS: dict[int, tuple[str, type[KernelError]]] = {
    1: ("access outside every live allocation", MemoryFault),
    2: ("misaligned access", MemoryFault),
    3: ("access in a wrong state space", MemoryFault),
    4: ("write to read-only memory", MemoryFault),
    5: ("trap executed", TrapError),
    6: ("breakpoint executed", TrapError),
    7: ("call stack overflow", KernelError),
    8: ("brx.idx index outside its targets", KernelError),
    9: ("barrier number outside 0 to 15", KernelError),
    10: ("barrier thread count is no multiple of the warp size, or differs between warps", KernelError),
    11: ("member mask of a .sync instruction leaves out the executing thread", KernelError),
    12: ("deadlock: no warp of the CTA can go on", DeadlockError),
}
_STATES = ("running", "waiting at barrier", "waiting for lanes of its warp")  # SplitState in core/exec/machine.h


class Code(Protocol):
    """What is known of a program's instructions, by record."""

    def text(self, pc: int) -> str: ...

    def ptx_line(self, pc: int) -> int: ...

    def source(self, pc: int) -> SourceLoc | None: ...


def kernel_error(
    fault: Mapping[str, Any], kernel: str, file: str, code: Code, memory: Any, places: Sequence[Mapping[str, Any]], shared: int
) -> KernelError:
    """The error of a KernelFault. `shared`: bytes of a CTA's shared window, for the hint on shared addresses."""
    what, kind = _KINDS.get(fault["kind"], (f"fault {fault['kind']}", KernelError))
    is_memory = kind is MemoryFault
    lines = [f"kernel '{kernel}': {what}"]
    if is_memory:
        lines[0] = f"kernel '{kernel}': {what}: {_access(fault)}"
    lines += instruction_lines(code, fault["pc"], file)
    cta, tid = _triple(fault["ctaid"]), _triple(fault["tid"])
    lines.append(f"  thread: {tid} of CTA {cta}, lane {fault['lane']}")
    if is_memory:
        lines += _hints(fault, memory, shared)
    if kind is DeadlockError:
        lines += place_lines(code, places, file)
    return kind(
        "\n".join(lines), {**fault, "kernel": kernel, "instruction": code.text(fault["pc"]), "ptx_line": code.ptx_line(fault["pc"])}
    )


def timeout_error(kernel: str, file: str, code: Code, places: Sequence[Mapping[str, Any]], executed: int, why: str) -> KernelTimeout:
    """The error of a kernel stopped by a budget; says where its warps are."""
    lines = [f"kernel '{kernel}': stopped after {executed:,} warp instructions: {why}", *place_lines(code, places, file)]
    return KernelTimeout("\n".join(lines), {"kernel": kernel, "executed": executed, "places": [dict(p) for p in places]})


def instruction_lines(code: Code, pc: int, file: str) -> list[str]:
    lines = [f"  instruction: {code.text(pc)}", f"  PTX: {file}:{code.ptx_line(pc)}"]
    loc, prefix = code.source(pc), "  source: "
    while loc is not None:
        lines.append(f"{prefix}{loc.file}:{loc.line}")
        loc, prefix = loc.inlined_at, "  inlined at: "
    return lines


def place_lines(code: Code, places: Sequence[Mapping[str, Any]], file: str, most: int = 8) -> list[str]:
    """Where warps are, the places with most warps first."""
    ordered = sorted(places, key=lambda p: (-p["warps"], p["pc"]))
    lines = []
    for place in ordered[:most]:
        state = _STATES[place["state"]]
        if place["state"] == 1:
            state += f" {place['barrier']} ({place['arrived']} of {place['expected']} threads arrived)"
        elif place["state"] == 2:
            state += f" (mask {place['wait_mask']:#010x}, waiting {place['mask']:#010x})"
        warps = f"{place['warps']} warp{'s' if place['warps'] != 1 else ''}"
        at = f"{file}:{code.ptx_line(place['pc'])}: {code.text(place['pc'])}"
        lines.append(f"  {warps} {state} at {at} (e.g. CTA {place['cta']} warp {place['warp']})")
    if len(ordered) > most:
        lines.append(f"  and {len(ordered) - most} more places")
    return lines


def _access(fault: Mapping[str, Any]) -> str:
    verb = "store" if fault["store"] else "load"
    return f"{verb} of {fault['bytes']} bytes at {_SPACES[fault['space']]} address {fault['address']:#x}"


def _hints(fault: Mapping[str, Any], memory: Any, shared: int) -> list[str]:
    address, size = fault["address"], fault["bytes"]
    if fault["kind"] == _MISALIGNED:
        return [f"  the address must be a multiple of {size}"]
    if _SPACES[fault["space"]] == "shared":
        return [f"  the CTA's shared memory ends at {shared:#x}"]
    if fault["space"] not in (_GLOBAL, _CONST, 5):
        return []
    near = memory.nearest(address)
    if near is None:
        return ["  there is no live allocation"]
    start, nbytes, name, _ = near
    what = f"variable '{name}'" if name else "allocation"
    return [f"  nearest {what}: {nbytes} bytes from {start:#x}; {_distance(address, size, start, nbytes)}"]


def _distance(address: int, size: int, start: int, nbytes: int) -> str:
    end = start + nbytes
    if address >= end:
        gap = address - end
        return "the access begins right behind its end" if gap == 0 else f"the access begins {gap} bytes behind its end"
    if address < start:
        return f"the access begins {start - address} bytes before it"
    return f"the access runs {address + size - end} bytes over its end" if address + size > end else "the access lies in it"


def _triple(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))})"
