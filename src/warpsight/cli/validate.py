"""`warpsight validate`: a hardware reference set against the simulation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, Interrupted
from .options import functional_option, gpu_options, print_table, progress_bar

if TYPE_CHECKING:
    from ..validate.run import CaseReport


@click.command(short_help="Compare with a hardware reference set.")
@click.argument("path", type=click.Path(path_type=Path))
@functional_option
@click.option("--only", metavar="REGEX", help="Run the cases whose name the expression is found in.")
@click.option("--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write every figure of every launch to a file.")
@gpu_options
def validate(path: Path, functional: bool, only: str | None, json_file: Path | None, gpu: str, overrides: tuple[str, ...]) -> int:
    """Runs the reference set in the folder PATH, compares results with the hardware's and, with timing, cycles and traffic with what it
    measured.

    The last line of standard output is one JSON object. Exit status 1 if a case failed.
    """
    from ..device import Device
    from ..validate import reference, report, run

    cases = _selected(reference.read(path), only, path)
    device = Device(gpu, timing=not functional, overrides=overrides)
    done: list[CaseReport] = []
    interrupted = False
    try:
        with progress_bar("validate") as bar:
            for number, case in enumerate(cases):
                if bar:
                    bar[0].update(bar[1], completed=number, total=len(cases), description=case.name)
                done.append(run.run_case(case, path, device, _hook(bar, case.name)))
                click.echo(report.case_row(done[-1]))
    except KeyboardInterrupt:
        interrupted = True
    if not functional:
        print_table(report.launches_table(done))
    for line in report.closing_lines(done):
        click.echo(line)
    for case_report in done:
        if case_report.status != "pass":
            click.echo(f"  {report.case_row(case_report)}")
    if json_file is not None:
        _write(json_file, report.detail(done))
    if interrupted:
        click.echo(f"interrupted after {len(done)} of {len(cases)} cases", err=True)
    click.echo(json.dumps(report.summary(done)))
    if interrupted:
        return Interrupted.exit_code
    return 1 if any(case_report.status == "fail" for case_report in done) else 0


def _selected(cases: list[Any], only: str | None, path: Path) -> list[Any]:
    try:
        pattern = re.compile(only or "")
    except re.error as error:
        raise InputError(f"--only '{only}' is no regular expression: {error}") from None
    chosen = [case for case in cases if pattern.search(case.name)]
    if not chosen:
        raise InputError(f"--only '{only}' matches none of the {len(cases)} cases in {path}")
    return chosen


def _hook(bar: Any, name: str) -> Any:
    if bar is None:
        return None
    return lambda kernel, done, total: bar[0].update(bar[1], description=f"{name} {kernel} {done}/{total} CTAs")


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(content), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
