"""`warpsight demo`: LeNet-5 on handwritten digits."""

from __future__ import annotations

import click

from .options import functional_option, json_option


@click.command(short_help="LeNet-5 recognises handwritten digits.")
@click.option("--gpu", default="h200", show_default=True, help="Name of a bundled GPU or path of a TOML file.")
@functional_option
@json_option
def demo(gpu: str, functional: bool, as_json: bool) -> int:
    """Runs LeNet-5 on a batch of handwritten digits, kernel by kernel, and prints what it says and how it ran."""
    from ..demo import main

    return int(main(gpu=gpu, functional=functional, json=as_json))
