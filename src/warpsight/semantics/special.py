"""Special registers (PTX ISA, chapter "Special Registers"): how each follows from the warp's context (core/exec/context.h).

CTAs are clusters of one in this model, so the cluster's registers say so. Performance-monitor and environment registers, whose values the
manual leaves to the driver, read as zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..lanes.builder import Builder, Value
from ..lanes.types import PRED, U32, U64, LaneType


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """`read(builder)` gives a value of `type`. `volatile`: two reads may differ, so reads are neither removed nor merged."""

    type: LaneType
    read: Callable[[Builder], Value]
    volatile: bool = False


SPECIALS: dict[str, SpecialRegister] = {}


def _field(name: str, field: str, type: LaneType = U32, volatile: bool = False) -> None:
    SPECIALS[name] = SpecialRegister(type, lambda b: b.special(field, type), volatile)


def _constant(name: str, value: int, type: LaneType = U32, volatile: bool = False) -> None:
    SPECIALS[name] = SpecialRegister(type, lambda b: b.const(type, value), volatile)


def _half(name: str, field: str, shift: int) -> None:
    SPECIALS[name] = SpecialRegister(U32, lambda b: (b.special(field, U64) >> shift).resize(U32), True)


def _lane_mask(name: str, bits: Callable[[int], int]) -> None:
    SPECIALS[name] = SpecialRegister(U32, lambda b: b.const_lanes(U32, [bits(lane) for lane in range(32)]))


for _register in ("tid", "ntid", "ctaid", "nctaid"):
    for _component in "xyz":
        _field(f"%{_register}.{_component}", f"{_register}_{_component}")
    _constant(f"%{_register}.w", 0)  # the manual: the fourth element is unused and reads as zero

SPECIALS["%laneid"] = SpecialRegister(U32, lambda b: b.lane_id())
for _name in ("warpid", "nwarpid", "smid", "nsmid"):
    _field(f"%{_name}", _name)
_field("%gridid", "gridid", U64)

_lane_mask("%lanemask_eq", lambda lane: 1 << lane)
_lane_mask("%lanemask_le", lambda lane: (2 << lane) - 1)
_lane_mask("%lanemask_lt", lambda lane: (1 << lane) - 1)
_lane_mask("%lanemask_ge", lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1))
_lane_mask("%lanemask_gt", lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1))

_half("%clock", "clock", 0)
_half("%clock_hi", "clock", 32)
_field("%clock64", "clock", U64, volatile=True)
_half("%globaltimer_lo", "globaltimer", 0)
_half("%globaltimer_hi", "globaltimer", 32)
_field("%globaltimer", "globaltimer", U64, volatile=True)

for _index in range(8):
    _constant(f"%pm{_index}", 0, volatile=True)
    _constant(f"%pm{_index}_64", 0, U64, volatile=True)
for _index in range(32):
    _constant(f"%envreg{_index}", 0)

_field("%dynamic_smem_size", "dynamic_smem")
_field("%total_smem_size", "total_smem")
_field("%aggr_smem_size", "aggr_smem")

# The system's bytes at the start of shared memory: what the aggregate size has more than the program's.
_reserved = SpecialRegister(U32, lambda b: b.special("aggr_smem", U32) - b.special("total_smem", U32))
SPECIALS["%reserved_smem_offset_end"] = SPECIALS["%reserved_smem_offset_cap"] = _reserved
_constant("%reserved_smem_offset_begin", 0)
for _index in range(2):
    SPECIALS[f"%reserved_smem_offset_{_index}"] = _reserved

_constant("%is_explicit_cluster", 0, PRED)
for _component in "xyz":
    _field(f"%clusterid.{_component}", f"ctaid_{_component}")
    _field(f"%nclusterid.{_component}", f"nctaid_{_component}")
    _constant(f"%cluster_ctaid.{_component}", 0)
    _constant(f"%cluster_nctaid.{_component}", 1)
for _register in ("clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"):
    _constant(f"%{_register}.w", 0)
_constant("%cluster_ctarank", 0)
_constant("%cluster_nctarank", 1)
_constant("%current_graph_exec", 0, U64)

__all__ = ["SPECIALS", "SpecialRegister"]
