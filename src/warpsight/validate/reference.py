"""A hardware reference set on disk: cases.json (what to run and what came out), kernels.csv and ncu_cold.csv (what the GPU measured)."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError


@dataclass(frozen=True)
class Launch:
    """`params`: ["buf", name], ["i32", value]... as in cases.json. `measured`: the GPU's figures by counter name; empty if there are
    none.
    """

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    params: list[list[Any]]
    measured: Mapping[str, float]


@dataclass(frozen=True)
class Case:
    name: str
    ptx: Path
    buffers: Mapping[str, Mapping[str, Any]]
    module_globals: Mapping[str, str]  # .const or .global variable -> buffer that fills it
    launches: list[Launch]
    outputs: Mapping[str, Mapping[str, Any]]  # buffer -> what the GPU left there
    repeatable: bool  # the GPU gives the same bits every time


# Columns of kernels.csv that stand beside those of ncu_cold.csv, under the counter's name.
_KERNELS_CSV = {"cold_cycles": "sm__cycles_elapsed.max", "warp_inst": "smsp__inst_executed.sum"}


def read(folder: Path) -> list[Case]:
    """All cases of a set. Raises InputError if a file is missing or not in the format."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder with a reference set")
    path = folder / "cases.json"
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error
    measured = _measurements(folder)
    try:
        return [_case(entry, folder, measured) for entry in raw]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not in the format of a reference set: {type(error).__name__} {error}") from error


def _case(entry: Mapping[str, Any], folder: Path, measured: Mapping[tuple[str, int], dict[str, float]]) -> Case:
    name = entry["name"]
    launches = [
        Launch(
            launch["kernel"],
            tuple(launch["grid"]),
            tuple(launch["block"]),
            int(launch["smem"]),
            launch["params"],
            measured.get((name, i), {}),
        )
        for i, launch in enumerate(entry["launches"])
    ]
    return Case(
        name,
        folder / entry["ptx"],
        entry["buffers"],
        entry.get("module_globals") or {},
        launches,
        entry["outputs"],
        bool(entry["bit_repeatable_on_hw"]),
    )


def _measurements(folder: Path) -> dict[tuple[str, int], dict[str, float]]:
    """(case, launch) -> counters with cold caches. Files that are missing leave their counters out."""
    out: dict[tuple[str, int], dict[str, float]] = {}
    for row in _rows(folder / "ncu_cold.csv"):
        counters = {name: value for name, text in row.items() if "__" in name and (value := _number(text)) is not None}
        out.setdefault(_key(row), {}).update(counters)
    for row in _rows(folder / "kernels.csv"):  # its cycles are the ones to compare with: named so in the set
        known = {counter: _number(row.get(column, "")) for column, counter in _KERNELS_CSV.items()}
        out.setdefault(_key(row), {}).update({name: value for name, value in known.items() if value is not None})
    return out


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _key(row: Mapping[str, str]) -> tuple[str, int]:
    return row["case"], int(row["launch"])


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
