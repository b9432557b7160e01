"""Keys of the operation classes: what instructions are made of (timing entries, docs/lowering.md)."""

from __future__ import annotations

from .schema import Key, Section

SECTIONS = (
    Section(
        "op",
        "Operation classes. A class is what one issue slot of an instruction asks for",
        (
            Key("pipe", "str", "", "The pipe it issues to", names_of="pipe"),
            Key(
                "latency",
                "int",
                "cycles",
                "From issue until a dependent instruction of the same pipe can issue; memory and fences add their own",
                1,
                10_000,
            ),
            Key("interval", "int", "cycles", "How long the execution unit is busy with 32 lanes", 1, 10_000),
        ),
        many=True,
    ),
)
