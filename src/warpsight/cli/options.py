"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.progress import Progress

F = TypeVar("F", bound=Callable[..., Any])


def gpu_options(function: F) -> F:
    """--gpu, --set."""
    function = click.option(
        "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change a key of the GPU file, e.g. core.issue_policy=gto."
    )(function)
    return click.option(
        "--gpu", default="h200", show_default=True, help="Name of a bundled GPU (see `warpsight gpus`) or path of a TOML file."
    )(function)


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")(function)


def functional_option(function: F) -> F:
    return click.option("--functional", is_flag=True, help="Only compute, without timing: many times faster.")(function)


@contextmanager
def progress_bar(description: str) -> Iterator[tuple[Progress, Any] | None]:
    """A transient bar on standard error, or None when that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield bar, bar.add_task(description, total=None)


def print_table(table: Any) -> None:
    """A rich table on standard output: fitted to a terminal, of fixed width elsewhere."""
    from ..report.tables import render

    if sys.stdout.isatty():
        from rich.console import Console

        Console(markup=False).print(table)
    else:
        click.echo(render(table), nl=False)
