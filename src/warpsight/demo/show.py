"""How the demo looks: digits as text, the table of kernels, the summary."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from rich.table import Table

from .digits import network_input

_RAMP = np.array(list(" .:-=+*#%@"))
_ROWS, _COLUMNS = 7, 14  # of a drawn digit; a character is twice as high as wide


def drawn(image: npt.NDArray[np.uint8]) -> list[str]:
    """A digit (8, 8) of 0..16 as 7 lines of 14 characters."""
    shade = network_input(image[None])[0, 0, 2:30, 2:30].reshape(_ROWS, 4, _COLUMNS, 2).mean(axis=(1, 3))
    return ["".join(line) for line in _RAMP[np.rint(shade * (len(_RAMP) - 1)).astype(int)]]


def gallery(images: npt.NDArray[np.uint8], captions: list[str], width: int) -> str:
    """Digits side by side, as many as `width` characters hold, each above its caption."""
    each = max(_COLUMNS, *map(len, captions)) + 2
    across = max(1, width // each)
    blocks = [[*drawn(image), caption] for image, caption in zip(images, captions, strict=True)]
    rows = (blocks[i : i + across] for i in range(0, len(blocks), across))
    return "\n\n".join("\n".join("".join(line.ljust(each) for line in lines).rstrip() for lines in zip(*row, strict=True)) for row in rows)


def caption(says: int, probability: float, truth: int) -> str:
    return f"{says} {probability:6.1%} " + ("ok" if says == truth else f"is {truth}!")


def kernel_row(layer: str, result: Any) -> dict[str, float | int | str]:
    """What the table says of one launch, by Nsight Compute's meaning of each word. Timing results only."""
    counters, stalls = result.counters, result.stalls
    top = max(stalls, key=stalls.__getitem__)
    return {
        "layer": layer,
        "cycles": result.cycles,
        "time_us": result.time_us,
        "warp_instructions": result.warp_instructions,
        "ipc": counters["sm__inst_executed.avg.per_cycle_elapsed"],
        "occupancy_pct": counters["sm__warps_active.avg.pct_of_peak_sustained_active"],
        "l1_hit_pct": counters["l1tex__t_sector_hit_rate.pct"],
        "l2_hit_pct": counters["lts__t_sector_hit_rate.pct"],
        "dram_bytes": counters["dram__bytes_read.sum"] + counters["dram__bytes_write.sum"],
        "top_stall": top,
    }


_COLUMNS_OF_TABLE = (
    ("layer", "layer", "{}"),
    ("cycles", "cycles", "{:,}"),
    ("time_us", "time us", "{:.2f}"),
    ("warp_instructions", "warp instr.", "{:,}"),
    ("ipc", "IPC/SM", "{:.2f}"),
    ("occupancy_pct", "occupancy %", "{:.1f}"),
    ("l1_hit_pct", "L1 hit %", "{:.1f}"),
    ("l2_hit_pct", "L2 hit %", "{:.1f}"),
    ("dram_bytes", "DRAM bytes", "{:,.0f}"),
    ("top_stall", "top stall", "{}"),
)


def kernel_table(rows: list[dict[str, float | int | str]], title: str) -> Table:
    table = Table(title=title)
    for key, heading, _ in _COLUMNS_OF_TABLE:
        table.add_column(heading, justify="left" if key in ("layer", "top_stall") else "right")
    for row in rows:
        table.add_row(*(form.format(row[key]) for key, _, form in _COLUMNS_OF_TABLE))
    return table
