"""`warpsight gpus`: the GPUs that come with warpsight, and what their files say."""

from __future__ import annotations

import json

import click

from .options import json_option, print_table


@click.command(short_help="List GPUs, or the keys of one.")
@click.argument("name", required=False)
@json_option
def gpus(name: str | None, as_json: bool) -> None:
    """Lists the bundled GPUs; with NAME (or the path of a TOML file) every key of that GPU with value, unit and source."""
    from ..model.files import gpu_names, load_gpu

    if name is not None:
        _show_keys(name, as_json)
        return
    models = {each: load_gpu(each) for each in gpu_names()}
    columns = ("name", "compute_capability", "sms", "sm_mhz", "memory_bytes")
    if as_json:
        click.echo(json.dumps({each: {column: model["device." + column] for column in columns} for each, model in models.items()}))
        return
    from rich.table import Table

    table = Table("name", "GPU", "compute capability", "SMs", "SM clock", "memory")
    for each, model in models.items():
        memory = f"{model.integer('device.memory_bytes') / (1 << 30):.1f} GiB"
        table.add_row(
            each,
            model.name,
            model.text("device.compute_capability"),
            str(model["device.sms"]),
            f"{model.real('device.sm_mhz'):g} MHz",
            memory,
        )
    print_table(table)


def _show_keys(name: str, as_json: bool) -> None:
    from rich.table import Table

    from ..model.files import load_gpu
    from ..model.schema import schema

    model = load_gpu(name)
    if as_json:
        click.echo(json.dumps({key: {"value": entry.value, "source": entry.source} for key, entry in model.entries.items()}))
        return
    table = Table("key", "value", "unit", "meaning", "source", title=model.name, title_justify="left")
    for key, entry in model.entries.items():
        declared = schema().key(key)
        table.add_row(key, str(entry.value), declared.unit, declared.doc, entry.source)
    print_table(table)
