"""Both builders give an H200's bits on all pairs (or triples) of edge values: data/float_edges.txt.gz, made by tools/probe_float.cu."""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from tests.semantics.float_rules import BUILDERS, Bits, pairs, run, show, triples

FILE = Path(__file__).parents[1] / "data" / "float_edges.txt.gz"
REGISTER = {16: "b16", 32: "b32", 64: "b64"}


def expanded(words: list[str]) -> Iterator[int]:
    for word in words:
        bits, _, count = word.partition("*")
        yield from [int(bits, 16)] * int(count or 1)


@lru_cache(maxsize=1)
def data() -> tuple[dict[str, tuple[int, list[int]]], dict[str, tuple[int, str, list[int]]]]:
    """Tables: name -> (bits, values); operations: spelling -> (operands, table, results)."""
    tables, operations = {}, {}
    with gzip.open(FILE, "rt") as lines:
        for line in lines:
            kind, name, number, *words = line.split()
            if kind == "table":
                tables[name] = int(number), list(expanded(words))
            else:
                operations[name] = int(number), words[0].rstrip(":"), list(expanded(words[1:]))
    return tables, operations


def result_bits(spelling: str, source: int) -> int:
    """Width of the destination register."""
    words = spelling.split(".")
    if words[0] != "cvt":
        return source
    to = next(w for w in words[1:] if w[-1].isdigit())
    return {"f16x2": 32, "bf16x2": 32, "tf32": 32, "bf16": 16}.get(to) or int(to.lstrip("fsu"))


def columns(spelling: str) -> tuple[int, list[Bits], Bits]:
    tables, operations = data()
    count, table, results = operations[spelling]
    bits, values = tables[table]
    made = {1: lambda v: [np.array(v, np.uint64)], 2: lambda v: pairs(v, v), 3: triples}[count](values)
    return bits, made, np.array(results, np.uint64)


FAMILIES: dict[str, list[str]] = defaultdict(list)
for _name in data()[1]:
    if "approx" not in _name and "full" not in _name:
        FAMILIES[_name.split(".")[0] + "." + _name.split(".")[-1]].append(_name)


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_edge_values_give_the_hardwares_bits(family: str, builder: str) -> None:
    for spelling in FAMILIES[family]:
        bits, operands, want = columns(spelling)
        width = result_bits(spelling, bits)
        got = run(builder, spelling, [REGISTER[width]], [REGISTER[bits]] * len(operands), operands)[0]
        problem = show(spelling, operands, got, want)
        assert not problem, problem


def test_the_data_covers_what_it_is_said_to() -> None:
    assert len(data()[1]) == 253
    assert {"fma.f64", "add.f16", "min.bf16", "cvt.f64"} <= set(FAMILIES)
