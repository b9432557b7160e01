"""`warpsight sim`: one launch of a kernel from a PTX file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from . import values
from .options import functional_option, gpu_options, json_option, print_table, progress_bar

if TYPE_CHECKING:
    from ..module import Kernel, Module
    from ..report.result import LaunchResult

_LINES_SHOWN = 20


def _size(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """X[,Y[,Z]] or XxYxZ."""
    parts = value.replace("x", ",").split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdigit() for part in parts):
        raise click.BadParameter(f"'{value}' must be one to three numbers, as in 64 or 8,8,1")
    return tuple(int(part) for part in parts)


@click.command(short_help="Run a kernel of a PTX file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--kernel", help="Name of the kernel; may be left out when the file has one.")
@click.option("--grid", callback=_size, metavar="X[,Y,Z]", default="1", show_default=True, help="CTAs in x, y, z.")
@click.option("--block", callback=_size, metavar="X[,Y,Z]", required=True, help="Threads of a CTA in x, y, z.")
@click.option("--arg", "arguments", multiple=True, metavar="SPEC", help=values.HELP)
@click.option("--shared", type=click.IntRange(0), default=0, help="Bytes of dynamic shared memory.")
@gpu_options
@functional_option
@click.option("--interpreter", type=click.Choice(["llvm", "numpy"]), default="llvm", show_default=True, help="numpy: the slow reference.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of rand arguments; each argument adds its position.")
@click.option("--out", "outputs", multiple=True, metavar="N:FILE.npy", help="Write the array of argument N (from 1) after the launch.")
@click.option("--lines", is_flag=True, help="Counts by instruction.")
@click.option("--samples", type=click.IntRange(0), default=0, metavar="N", help="Time series with a sample every N cycles; needs --json.")
@click.option("--budget-instructions", type=click.IntRange(1), help="Stop a kernel after this many warp instructions.")
@click.option("--budget-seconds", type=click.FloatRange(0, min_open=True), help="Stop a kernel after this many seconds of simulation.")
@json_option
def sim(
    file: Path,
    kernel: str | None,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    arguments: tuple[str, ...],
    gpu: str,
    overrides: tuple[str, ...],
    functional: bool,
    interpreter: Any,
    seed: int,
    outputs: tuple[str, ...],
    as_json: bool,
    **launch_options: Any,
) -> None:
    """Runs one kernel of the PTX file FILE on a simulated GPU and prints how it ran.

    \b
    warpsight sim elem.ptx --kernel saxpy --grid 64 --block 256 \\
        --arg rand:f32:16384 --arg zeros:f32:16384 --arg f32:1.5 --arg i32:16384
    """
    from ..device import Device

    if launch_options["samples"] and not as_json:
        raise InputError("--samples needs --json: no table shows time series")
    device = Device(gpu, timing=not functional, interpreter=interpreter, overrides=overrides)
    module = device.load(file)
    chosen = _choose(module, kernel, file)
    args = [values.parse(text, device, seed + i) for i, text in enumerate(arguments)]
    before = [arg.numpy() if hasattr(arg, "numpy") else None for arg in args]
    with progress_bar(chosen.name) as bar:

        def hook(executed: int, done: int, total: int) -> None:
            if bar:
                bar[0].update(bar[1], completed=done, total=total)

        result = chosen.launch(grid, block, args, progress=hook, **launch_options)
    notes = [values.save(text, args) for text in outputs]
    if as_json:
        click.echo(json.dumps(result.to_dict()))
        return
    _print(result, args, before)
    for note in notes:
        click.echo(note)


def _choose(module: Module, name: str | None, file: Path) -> Kernel:
    if name is not None:
        return module[name]
    if len(module.kernels) == 1:
        return module[module.kernels[0]]
    raise InputError(f"{file} has {len(module.kernels)} kernels; choose one with --kernel: {', '.join(module.kernels[:20])}")


def _print(result: LaunchResult, args: list[Any], before: list[Any]) -> None:
    from ..report.tables import lines_table, result_table

    print_table(result_table(result))
    for position, (arg, old) in enumerate(zip(args, before, strict=True), 1):
        if old is not None:
            new = arg.numpy()
            changed = (
                int((new.reshape(-1).view("u1") != old.reshape(-1).view("u1")).reshape(new.size, -1).any(axis=1).sum()) if new.size else 0
            )
            click.echo(f"argument {position}, {new.dtype}{list(new.shape)}: {changed} of {new.size} elements changed; starts {_start(new)}")
    if result.lines is not None:
        print_table(lines_table(result.lines, _LINES_SHOWN))


def _start(array: Any) -> str:
    return " ".join(f"{value:g}" for value in array.reshape(-1)[:6].tolist())
