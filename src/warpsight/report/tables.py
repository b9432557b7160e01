"""Results as tables in the terminal (rich)."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console, RenderableType
from rich.table import Table

from .metrics import METRICS, top_stall

if TYPE_CHECKING:
    from .result import LaunchResult, Lines

_WIDTH = 200  # of text made for no terminal: enough for the widest table


def render(item: RenderableType) -> str:
    """Plain text of a table, without colours. Square brackets are PTX, not markup."""
    out = io.StringIO()
    Console(file=out, width=_WIDTH, no_color=True, highlight=False, markup=False).print(item)
    return out.getvalue()


def result_table(result: LaunchResult) -> Table:
    """One launch: name and value a row, then where warps spent their cycles."""
    table = Table(title=f"{result.kernel} on {result.gpu}", title_justify="left")
    table.add_column("")
    table.add_column("value", justify="right")
    for name, value in _rows(result):
        table.add_row(name, value)
    total = sum(result.stalls.values())
    if total:
        table.add_section()
        for reason, cycles in sorted(result.stalls.items(), key=lambda item: -item[1]):
            if cycles:
                table.add_row("warps: " + ("issued" if reason == "selected" else f"stalled, {reason}"), f"{cycles / total:.1%}")
    return table


def launches_table(results: Sequence[LaunchResult], title: str = "") -> Table:
    """One row a launch."""
    table = Table(title=title, title_justify="left")
    columns: list[tuple[str, Callable[[LaunchResult], str]]] = [
        ("kernel", lambda r: r.kernel),
        ("grid", lambda r: _x(r.grid)),
        ("block", lambda r: _x(r.block)),
        ("cycles", lambda r: "-" if r.cycles is None else f"{r.cycles:,}"),
        ("time us", lambda r: "-" if r.time_us is None else f"{r.time_us:.2f}"),
        ("warp inst", lambda r: f"{r.warp_instructions:,}"),
        ("IPC/SM", lambda r: _metric(r, "ipc", "{:.2f}")),
        ("occupancy", lambda r: _metric(r, "occupancy", "{:.0%}")),
        ("L1 hit", lambda r: _metric(r, "l1_hit_rate", "{:.0%}")),
        ("L2 hit", lambda r: _metric(r, "l2_hit_rate", "{:.0%}")),
        ("DRAM", lambda r: _dram(r)),
        ("top stall", lambda r: str(r.metrics.get("top_stall", "-"))),
    ]
    for name, _ in columns:
        table.add_column(name, justify="left" if name in ("kernel", "top stall") else "right", no_wrap=name != "kernel")
    for result in results:
        table.add_row(*(cell(result) for _, cell in columns))
    return table


def quantity(value: float, unit: str = "") -> str:
    """A count, or an amount of a unit, with a decimal prefix and three digits: "12.3 MB", "4 k"."""
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".rstrip()


def _rows(r: LaunchResult) -> list[tuple[str, str]]:
    rows = [("grid x block", f"{_x(r.grid)} x {_x(r.block)}")]
    if r.cycles is not None:
        rows.append(("cycles", f"{r.cycles:,}"))
    if r.time_us is not None:
        rows.append(("time", f"{r.time_us:.2f} us"))
    rows += [
        ("warp instructions", f"{r.warp_instructions:,}"),
        ("thread instructions", f"{r.thread_instructions:,}"),
        ("registers a thread", str(r.registers)),
        ("shared memory a CTA", f"{r.shared_bytes:,} B"),
        ("CTAs an SM holds", f"{r.ctas_per_sm} (bound by {r.occupancy_limit})"),
    ]
    for metric in METRICS:
        value = r.metrics.get(metric.name)
        if isinstance(value, (int, float)):
            shown = f"{value:.1%}" if metric.unit == "fraction" else quantity(value, metric.unit)
            rows.append((metric.title, shown))
    rows.append(("simulated in", f"{r.host_seconds:.3f} s"))
    return rows


def _metric(result: LaunchResult, name: str, form: str) -> str:
    value = result.metrics.get(name)
    return form.format(value) if isinstance(value, (int, float)) else "-"


def _dram(result: LaunchResult) -> str:
    read, written = result.metrics.get("dram_read"), result.metrics.get("dram_written")
    return quantity(float(read) + float(written), "B") if read is not None and written is not None else "-"


def _x(size: Sequence[int]) -> str:
    return "x".join(map(str, size))


def lines_table(lines: Lines, most: int) -> Table:
    """The instructions on which warps spent most cycles (without timing: those executed most often), and what they mostly waited for."""
    stalls = {name.removeprefix("stall_"): column for name, column in lines.counts.items() if name.startswith("stall_")}
    weight = np.sum(list(stalls.values()), axis=0) if stalls else lines.counts["executions"]
    shown = {name: column for name, column in lines.counts.items() if not name.startswith("stall_")}
    table = Table(title=f"Instructions by {'cycles of warps' if stalls else 'executions'}", title_justify="left")
    for name in ("PTX", "source", "instruction"):
        table.add_column(name)
    for name in (*(("cycles", "top stall") if stalls else ()), *shown):
        table.add_column(name, justify="right")
    for i in np.argsort(-weight.astype(np.int64), kind="stable")[:most].tolist():
        waits = (f"{weight[i]:,}", top_stall({reason: int(column[i]) for reason, column in stalls.items()})) if stalls else ()
        cells = (f"{column[i]:,}" for column in shown.values())
        table.add_row(str(lines.ptx_line[i]), lines.source[i], lines.text[i], *waits, *cells)
    return table
