"""What a launch returns: the account of one kernel."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from . import metrics

Column = npt.NDArray[Any]


@dataclass(frozen=True)
class Samples:
    """Time series of counters. `cycles[t]`: SM cycle at which sample t ends, from the launch's start; `interval`: cycles between samples.

    `values[name]`: array [t, unit], the counter's increase since the sample before; `units[name]`: kind of unit ("sm", "subcore",
    "l2_slice", "dram_channel"...), its index is the second axis.
    """

    interval: int
    cycles: Column
    values: Mapping[str, Column]
    units: Mapping[str, str]


@dataclass(frozen=True)
class Lines:
    """Counts by instruction; all columns have one entry an instruction of the program, in program order.

    `text`: the PTX instruction; `ptx_line`: its line, from 1; `source`: "file:line" of .loc, "" if the PTX has none; `counts[name]`:
    executions, thread executions, stall cycles by reason, sectors, conflicts...
    """

    text: list[str]
    ptx_line: Column
    source: list[str]
    counts: Mapping[str, Column]


@dataclass(frozen=True)
class LaunchResult:
    """The account of one launch. In functional mode `cycles`, `time_us` are None and counters of the timing core are absent.

    `cycles`: SM cycles from launch to drain, as sm__cycles_elapsed.max. `time_us`: the same by the SM clock. `warp_instructions`: what
    hardware would count, smsp__inst_executed.sum; in functional mode PTX instructions by warp. `thread_instructions`: the same by thread.
    `counters`: by Nsight Compute's names (docs/counters.md), sums over the GPU. `stalls`: warp cycles by Nsight's stall reasons,
    "selected" for issue. `occupancy_limit`: what bounds `ctas_per_sm`. `host_seconds`: time this simulation took.
    """

    kernel: str
    gpu: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    registers: int
    shared_bytes: int
    ctas_per_sm: int
    occupancy_limit: str
    warp_instructions: int
    thread_instructions: int
    host_seconds: float
    cycles: int | None = None
    time_us: float | None = None
    counters: Mapping[str, float] = field(default_factory=dict)
    stalls: Mapping[str, int] = field(default_factory=dict)
    samples: Samples | None = None
    lines: Lines | None = None

    @property
    def metrics(self) -> dict[str, float | str]:
        """Derived figures that the counters at hand allow: ipc, occupancy, hit rates, bytes... (report/metrics.py)."""
        return metrics.derive(self)

    def table(self) -> str:
        """The account as text."""
        from .tables import render, result_table

        return render(result_table(self))

    def to_dict(self) -> dict[str, Any]:
        """Everything, as plain Python values for JSON."""
        out = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__ if name not in ("samples", "lines")}
        out["metrics"] = self.metrics
        if self.lines is not None:
            counts = {name: np.asarray(column).tolist() for name, column in self.lines.counts.items()}
            out["lines"] = {"text": self.lines.text, "ptx_line": self.lines.ptx_line.tolist(), "source": self.lines.source, **counts}
        if self.samples is not None:
            values = {name: np.asarray(column).tolist() for name, column in self.samples.values.items()}
            out["samples"] = {
                "interval": self.samples.interval,
                "cycles": self.samples.cycles.tolist(),
                "units": dict(self.samples.units),
                "values": values,
            }
        return out

    def to_json(self) -> str:
        return json.dumps(self.to_dict())


def _plain(value: Any) -> Any:
    """Containers as JSON has them."""
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
