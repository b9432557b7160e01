"""How fast warpsight simulates, as rates and as shares of what one host thread does at best.

Usage: python -m benchmarks.run [--runs 3] [--only REGEX]

A plain C loop of 32-lane multiply-adds (loop.c) is timed before every round of cases. Rates are medians of interleaved runs, each in a
process of its own. The last line of the output is one JSON object: name -> {"rate", "share", "unit"}. `share` is that of the C loop's rate;
for the names "component: ..." it is the component's part of the CPU time, and null for what is no rate of warp instructions.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .case import CASES

HERE = Path(__file__).resolve().parent
PROFILED = "sgemm_tiled_512_timing"  # whose CPU time is divided among the core's components
LOOP_SECONDS = 0.5
Row = dict[str, Any]


def compiled(source: str, folder: Path, *flags: str) -> Path:
    """A C file of this folder, compiled with $CC or cc."""
    out = folder / Path(source).stem
    subprocess.run([os.environ.get("CC", "cc"), "-O3", *flags, "-o", out, HERE / source], check=True)
    return out


def case(name: str, *options: str) -> Row:
    command = [sys.executable, "-m", "benchmarks.case", name, *options]
    return dict(json.loads(subprocess.run(command, cwd=HERE.parent, check=True, stdout=subprocess.PIPE, text=True).stdout))


def cases(names: list[str], runs: int, loop: Path, console: Console) -> dict[str, Row]:
    """The loop and every case in turn, `runs` times; medians."""
    loops: list[float] = []
    seen: dict[str, list[Row]] = {name: [] for name in names}
    for i in range(runs):
        loops.append(float(subprocess.run([loop, str(LOOP_SECONDS)], check=True, stdout=subprocess.PIPE, text=True).stdout))
        for name in names:
            with console.status(f"run {i + 1} of {runs}: {name}"):
                seen[name].append(case(name))
    best = statistics.median(loops)
    rows: dict[str, Row] = {"c_loop": {"rate": best, "share": 1.0, "unit": "rows/s"}}
    for name, reports in seen.items():
        rate = statistics.median(r["warp_instructions"] / r["seconds"] for r in reports)
        rows[name] = {"rate": rate, "share": rate / best, "unit": "warp instructions/s"}
    for name, reports in seen.items():
        rows[f"{name}: peak memory"] = {"rate": statistics.median(r["peak_mb"] for r in reports), "share": None, "unit": "MB"}
    return rows


def ptx_parse() -> dict[str, Row]:
    """Statements parsed a second, and one kernel out of a library-sized module."""
    out = subprocess.run([sys.executable, HERE / "ptx_parse.py"], check=True, stdout=subprocess.PIPE, text=True).stdout
    report = json.loads(out.splitlines()[-1])
    return {
        "ptx parsing": {"rate": report["ptx_parse"]["rate"], "share": None, "unit": "statements/s"},
        "one kernel of a 46 MB module": {"rate": report["ptx_one_kernel_cold"]["seconds"], "share": None, "unit": "s"},
    }


def commands(runs: int) -> dict[str, Row]:
    """`warpsight sim` of a small kernel from start to end: with handlers to compile (an empty cache), and without."""
    arguments = ("rand:f32:16384", "zeros:f32:16384", "f32:1.5", "i32:16384")
    command = [sys.executable, "-m", "warpsight", "sim", str(HERE / "kernels/saxpy.ptx"), "--grid", "64", "--block", "256", "--json"]
    command += [word for argument in arguments for word in ("--arg", argument)]
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            for seconds in (cold, warm):
                start = time.perf_counter()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "WARPSIGHT_CACHE": folder})
                seconds.append(time.perf_counter() - start)
    return {
        "warpsight sim, first time": {"rate": statistics.median(cold), "share": None, "unit": "s"},
        "warpsight sim": {"rate": statistics.median(warm), "share": None, "unit": "s"},
    }


def handlers(runs: int) -> dict[str, Row]:
    """Handlers compiled a second, of the forms that LeNet's kernels use, nothing cached."""
    seconds, count = [], 0
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            command, environment = [sys.executable, str(HERE / "handlers.py")], {**os.environ, "WARPSIGHT_CACHE": folder}
            report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)
            seconds.append(report["seconds"])
            count = report["handlers"]
    return {"handler compilation": {"rate": count / statistics.median(seconds), "share": None, "unit": "handlers/s"}}


def shares(sampler: Path) -> dict[str, Row]:
    """Share of each component of the core in the CPU time of one case."""
    found: dict[str, float] = case(PROFILED, "--profile", str(sampler))["components"]
    return {f"component: {name}": {"rate": None, "share": share, "unit": ""} for name, share in found.items()}


def shown(rows: dict[str, Row]) -> Table:
    table = Table(title="warpsight benchmarks", title_justify="left")
    for heading, justify in (("", "left"), ("rate", "right"), ("unit", "left"), ("share", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for name, row in rows.items():
        rate = "" if row["rate"] is None else f"{row['rate']:,.0f}" if row["rate"] >= 100 else f"{row['rate']:.2f}"
        table.add_row(name, rate, row["unit"], "" if row["share"] is None else f"{row['share']:.2%}")
    return table


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=3, help="interleaved runs whose median counts")
    options.add_argument("--only", type=re.compile, default=re.compile(""), help="cases to run, by name")
    chosen = options.parse_args()
    names = [name for name in CASES if chosen.only.search(name)]
    console = Console(width=None if sys.stdout.isatty() else 100)
    with tempfile.TemporaryDirectory() as folder:
        loop = compiled("loop.c", Path(folder), "-march=native")
        rows = cases(names, chosen.runs, loop, console)
        if not chosen.only.pattern:
            rows |= ptx_parse() | handlers(chosen.runs) | commands(chosen.runs)
        if PROFILED in names and shutil.which("addr2line"):
            rows |= shares(compiled("sampler.c", Path(folder), "-shared", "-fPIC"))
    console.print(shown(rows))
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
