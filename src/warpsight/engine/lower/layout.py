"""Where variables live: shared and local offsets, kernel parameters, and the places of a device function's parameters in its frame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...isa.ir import Variable

ROW = 128  # bytes of a 32-bit register unit: 32 lanes


def round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass(slots=True)
class SharedLayout:
    """Static shared variables in order of first use, each at its alignment, from `start` on; unsized extern arrays all begin behind
    them.
    """

    start: int
    end: int = 0
    offsets: dict[str, int] = field(default_factory=dict)
    dynamic: dict[str, int] = field(default_factory=dict)  # name of an unsized array -> its alignment

    def add(self, key: str, variable: Variable) -> None:
        """Reserves a place; `offsets[key]` is known after `close`."""
        if key in self.offsets or key in self.dynamic:
            return
        if variable.extern and variable.size == 0:
            self.dynamic[key] = variable.align
            return
        offset = round_up(self.start + self.end, variable.align)
        self.offsets[key] = offset
        self.end = offset + variable.size - self.start

    def close(self) -> None:
        """Places the unsized arrays, once all variables are known."""
        if self.dynamic:
            base = round_up(self.start + self.end, max(self.dynamic.values()))
            self.end = base - self.start
            self.offsets.update(dict.fromkeys(self.dynamic, base))


def offsets_of(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Byte offset of each variable laid out in order at its alignment (PTX ISA 5.1.6 for kernel parameters), and the size of all."""
    offsets: dict[str, int] = {}
    end = 0
    for variable in variables:
        offsets[variable.name] = round_up(end, variable.align)
        end = offsets[variable.name] + variable.size
    return offsets, end


def frame_places(variables: Iterable[Variable]) -> tuple[dict[str, int], int]:
    """Of a device function's return values and parameters: byte offset of each in a lane's part of the frame (4 bytes a unit; a byte there
    is 32 bytes of the warp's frame), and the size, a whole number of even units so that wide registers can follow.
    """
    places: dict[str, int] = {}
    end = 0
    for variable in variables:
        places[variable.name] = round_up(end, max(4, min(variable.align, 16)))
        end = places[variable.name] + round_up(variable.size, 4)
    return places, round_up(end, 16)
