"""Figures derived from counters: one row a metric, with the counters it needs. Nsight Compute's definitions where it has the metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import LaunchResult

_L1_LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld"


@dataclass(frozen=True, slots=True)
class Metric:
    """`needs`: counters that must be there; `compute` gets them in that order. A ratio over nothing is left out."""

    name: str
    unit: str
    doc: str
    needs: tuple[str, ...]
    compute: Callable[..., float]


METRICS = (
    Metric("ipc", "warp instructions/cycle/SM", "Warp instructions by cycle of an SM that holds a warp",
           ("smsp__inst_executed.sum", "sm__cycles_active.sum"), lambda inst, active: inst / active),
    Metric("occupancy", "fraction", "Warps resident on a busy SM, of the most it can hold",
           ("sm__warps_active.avg.pct_of_peak_sustained_active",), lambda percent: percent / 100),
    Metric("l1_hit_rate", "fraction", "Sectors of global loads that L1 had",
           (f"{_L1_LOADS}.sum", f"{_L1_LOADS}_lookup_hit.sum"), lambda sectors, hit: hit / sectors),
    Metric("l2_hit_rate", "fraction", "Sectors that L2 had",
           ("lts__t_sectors_lookup_hit.sum", "lts__t_sectors_lookup_miss.sum"), lambda hit, miss: hit / (hit + miss)),
    Metric("dram_read", "bytes", "Read from DRAM", ("dram__bytes_read.sum",), float),
    Metric("dram_written", "bytes", "Written to DRAM", ("dram__bytes_write.sum",), float),
    Metric("bank_conflicts", "wavefronts", "Shared-memory wavefronts beyond the least needed",
           ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",), float),
)  # fmt: skip


def derive(result: LaunchResult) -> dict[str, float | str]:
    """The metrics that the result's counters allow, and `top_stall`, the reason for which warps waited most."""
    out: dict[str, float | str] = {}
    for metric in METRICS:
        if all(name in result.counters for name in metric.needs):
            try:
                out[metric.name] = metric.compute(*(result.counters[name] for name in metric.needs))
            except ZeroDivisionError:
                continue  # nothing to take a share of: no loads, no sectors
    reason = top_stall(result.stalls)
    if reason:
        out["top_stall"] = reason
    return out


def top_stall(stalls: Mapping[str, int]) -> str:
    """The most frequent reason besides having issued; "" if there is none."""
    waits = {reason: cycles for reason, cycles in stalls.items() if reason != "selected" and cycles}
    return max(waits, key=lambda reason: waits[reason]) if waits else ""
