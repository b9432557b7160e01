"""Figures derived from counters: one row a metric, with the counters it needs. Nsight Compute's definitions where it has the metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .result import LaunchResult

_L1, _L2 = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld", "lts__t_sectors_lookup"


@dataclass(frozen=True, slots=True)
class Metric:
    """`needs`: counters that must be there; `compute` gets them in that order. docs/counters.md defines each metric."""

    name: str
    title: str
    unit: str  # "fraction", a unit, or "" for a plain ratio
    needs: tuple[str, ...]
    compute: Callable[..., float]


METRICS = (
    Metric("ipc", "IPC of a busy SM", "", ("smsp__inst_executed.sum", "sm__cycles_active.sum"), lambda inst, active: inst / active),
    Metric("occupancy", "occupancy", "fraction", ("sm__warps_active.avg.pct_of_peak_sustained_active",), lambda percent: percent / 100),
    Metric("l1_hit_rate", "L1 hits of global loads", "fraction", (f"{_L1}.sum", f"{_L1}_lookup_hit.sum"), lambda all, hit: hit / all),
    Metric("l2_hit_rate", "L2 hits", "fraction", (f"{_L2}_hit.sum", f"{_L2}_miss.sum"), lambda hit, miss: hit / (hit + miss)),
    Metric("dram_read", "read from DRAM", "B", ("dram__bytes_read.sum",), float),
    Metric("dram_written", "written to DRAM", "B", ("dram__bytes_write.sum",), float),
    Metric("bank_conflicts", "bank conflicts", "wavefronts", ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",), float),
)


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
