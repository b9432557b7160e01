"""Which component of the core the CPU time goes to: samples of the program counter, joined to source files by line tables."""

from __future__ import annotations

import collections
import ctypes
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

LEAST_SHARE = 0.005  # components below are added up as "other"


class Mapping(NamedTuple):
    """A stretch of this process's address space: addresses first..last-1 hold the file from `offset` on; file "" is memory of no file."""

    first: int
    last: int
    offset: int
    file: str


class Profile:
    """Samples every millisecond of CPU time between `start` and `stop`. `library`: benchmarks/sampler.c, compiled."""

    def __init__(self, library: str) -> None:
        self._sampler = ctypes.CDLL(library)
        self._sampler.sampler_samples.restype = ctypes.POINTER(ctypes.c_uint64)

    def start(self) -> None:
        if self._sampler.sampler_start():
            raise OSError("no profiling timer on this host")

    def stop(self) -> dict[str, float]:
        """Share of the samples by component, largest first.

        A component is a source file of core/ ("mem/l1"), "handlers" (compiled opcodes), a library's name, or "other": the rest added up.
        """
        count = self._sampler.sampler_stop()
        names = components(self._sampler.sampler_samples()[:count])
        shares = {name: n / count for name, n in collections.Counter(names).most_common()}
        other = sum(share for share in shares.values() if share < LEAST_SHARE)
        return {**{name: share for name, share in shares.items() if share >= LEAST_SHARE}, "other": other}


def components(addresses: Sequence[int]) -> list[str]:
    """The component of each address."""
    mappings = _mappings()
    firsts = [m.first for m in mappings]
    found = [mappings[bisect_right(firsts, address) - 1] for address in addresses]
    inside = [address < mapping.last for address, mapping in zip(addresses, found, strict=True)]
    core = sorted({a for a, m, ok in zip(addresses, found, inside, strict=True) if ok and Path(m.file).name.startswith("_core.")})
    sources = _sources(core, [m for m in mappings if Path(m.file).name.startswith("_core.")])
    return [
        sources[a] if a in sources else Path(m.file).name.split(".")[0] if ok and m.file.startswith("/") else "handlers"
        for a, m, ok in zip(addresses, found, inside, strict=True)
    ]


def _mappings() -> list[Mapping]:
    out = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, _, offset, _, _, *file = line.split(maxsplit=5)
        first, last = (int(x, 16) for x in span.split("-"))
        out.append(Mapping(first, last, int(offset, 16), file[0] if file else ""))
    return out


def _sources(addresses: list[int], core: list[Mapping]) -> dict[int, str]:
    """Component of each address in the core's library, by the innermost inlined function, so that headers count as themselves."""
    if not addresses:
        return {}
    base = min(m.first - m.offset for m in core)
    asked = "\n".join(hex(a - base) for a in addresses)
    lines = subprocess.run(["addr2line", "-e", core[0].file], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    return {a: _component(line.rsplit(":", 1)[0]) for a, line in zip(addresses, lines, strict=True)}


def _component(file: str) -> str:
    marker = "/warpsight/core/"
    if marker in file:
        return str(Path(file[file.index(marker) + len(marker) :]).with_suffix(""))
    return "C++ library" if file != "??" else "core, no line table"
