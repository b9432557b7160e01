"""The `warpsight` command: options common to all, and errors turned into one message and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from ..errors import Interrupted, WarpsightError
from .demo import demo
from .gpus import gpus
from .sim import sim
from .validate import validate

BROKEN_PIPE = 1  # what click answers when the pipe breaks while it runs
INTERNAL = 70  # EX_SOFTWARE: a mistake of warpsight's own


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="warpsight")
@click.option("--debug", is_flag=True, help="Show a Python traceback with an error.")
def cli(debug: bool) -> None:
    """Runs CUDA kernels without a GPU and accounts for every cycle.

    Exit status: 0 done, 1 failed, 2 bad input, 3 unsupported instruction, 4 a kernel went wrong, 130 interrupted.
    """


for command in (sim, gpus, validate, demo):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = cli.main(args=given, prog_name="warpsight", standalone_mode=False)
        sys.stdout.flush()  # a broken pipe shows here rather than at the interpreter's end
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        click.echo("warpsight: interrupted", err=True)
        return Interrupted.exit_code
    except WarpsightError as error:
        if "--debug" in given:
            raise
        click.echo(f"warpsight: {error}", err=True)
        return error.exit_code
    except Exception as error:
        if "--debug" in given:
            raise
        click.echo(
            f"warpsight: internal error: {type(error).__name__}: {error}\nThis is a mistake in warpsight; --debug shows where.", err=True
        )
        return INTERNAL


def _silence_stdout() -> None:
    """Nobody reads our output any more: what is still buffered must not raise again when the interpreter closes the stream."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stdout without a file, as under test
        return


def run() -> None:
    """The console script."""
    sys.exit(main())


if __name__ == "__main__":
    run()
