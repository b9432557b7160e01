"""What the comments in front of a kernel in tests/ptx/*.ptx say: how to launch it, and what it must leave in memory (README.md).

Needs NumPy alone, so that tools/ptx_cases_hw.py can run the same files on a machine with a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent
Dim3 = tuple[int, int, int]
Array = np.ndarray[Any, Any]


@dataclass(slots=True)
class Case:
    """One kernel. `args`: name to expression, in the kernel's order; `expect`: (argument, expression) pairs; `checks`: conditions;
    `error`: the class in warpsight.errors that the launch must end with, "" if it must succeed.
    """

    file: Path
    kernel: str
    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (32, 1, 1)
    shared: int = 0
    args: dict[str, str] = field(default_factory=dict)
    expect: list[tuple[str, str]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    error: str = ""

    @property
    def name(self) -> str:
        return f"{self.file.stem}:{self.kernel}"

    def arguments(self) -> dict[str, Any]:
        """Arrays become buffers in device memory, NumPy scalars and bytes are passed by value. Later ones may use earlier ones."""
        values: dict[str, Any] = {}
        for name, text in self.args.items():
            values[name] = self._value(text, values)
        return values

    def differences(self, before: Mapping[str, Any], after: Mapping[str, Array]) -> Iterator[str]:
        """One line for every statement about the results that does not hold. `before`: of `arguments`; `after`: the arrays read back."""
        for name, text in self.expect:
            got = after[name]
            value = np.asarray(self._value(text, before))
            if value.dtype.kind == "f" and got.dtype.kind in "iu":  # also what NumPy makes of small and very large integers in one list
                raise ValueError(f"{self.name}: {text}: these are floats, {name} holds integers")
            want = np.broadcast_to(value, got.shape).astype(got.dtype)
            wrong = (_bytes(want) != _bytes(got)).any(-1)
            if wrong.any():
                i = int(np.argmax(wrong))
                first = f"[{i}] is {got.flat[i]!r}, expected {want.flat[i]!r}"
                yield f"{name}: {int(wrong.sum())} of {got.size} differ; first: {first} ({text})"
        for text in self.checks:
            if not self._value(text, {**before, **after}):
                shown = ", ".join(f"{name}={after[name].tolist()}" for name in after if name in text)
                yield f"does not hold: {text}; {shown[:500]}"

    def _value(self, text: str, values: Mapping[str, Any]) -> Any:
        threads = math.prod(self.block)
        i = np.arange(math.prod(self.grid) * threads)
        here = {"np": np, "math": math, "i": i, "tid": i % threads, "lane": i % threads % 32, "cta": i // threads, **HELPERS, **values}
        try:
            return eval(text, here)  # the files are part of the test suite
        except Exception as error:
            raise ValueError(f"{self.name}: {text}: {error!r}") from error


def _bytes(values: Array) -> Array:
    return np.ascontiguousarray(values).view(np.uint8).reshape(values.size, -1)


def empty(shape: Any, dtype: Any = np.uint32) -> Array:
    """A result's memory before the launch: bytes 0xEE, so that what a kernel does not write shows."""
    return np.full(math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize, 0xEE, np.uint8).view(dtype).reshape(shape)


def mixed(count: int, dtype: Any, seed: int = 1) -> Array:
    """Random bits, as `dtype`."""
    return np.random.default_rng(seed).integers(0, 256, count * np.dtype(dtype).itemsize, np.uint8).view(dtype)


def bf16(values: Any) -> Array:
    """The bits (uint16) of numbers that bf16 holds exactly."""
    wide = np.asarray(values, np.float32).view(np.uint32)
    if (wide & 0xFFFF).any():
        raise ValueError(f"not all of {values} are bf16 numbers")
    return (wide >> 16).astype(np.uint16)


def fold(function: Callable[[Any, Any], Any], values: Array) -> Any:
    return reduce(function, values)


HELPERS: dict[str, Any] = {"empty": empty, "mixed": mixed, "bf16": bf16, "fold": fold}


def read(file: Path) -> list[Case]:
    """The cases of a file, in order. Raises ValueError that names file and line."""
    cases: list[Case] = []
    statements: list[tuple[int, str]] = []
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if line.startswith("//@  "):  # more than one blank: goes on with the statement before
            at, text = statements.pop()
            statements.append((at, f"{text} {line[3:].strip()}"))
        elif line.startswith("//@"):
            statements.append((number, line[3:].strip()))
    for number, text in statements:
        word, _, rest = text.partition(" ")
        try:
            if word == "kernel":
                cases.append(_launch(file, rest))
            else:
                _add(cases[-1], word, rest.strip())
        except (ValueError, IndexError) as error:
            raise ValueError(f"{file.name}:{number}: {text}: {error}") from error
    for case in cases:
        if not (case.expect or case.checks or case.error):
            raise ValueError(f"{case.name} says nothing about its results")
    return cases


def _launch(file: Path, text: str) -> Case:
    name, *settings = text.split()
    case = Case(file, name)
    for setting in settings:
        key, _, value = setting.partition("=")
        if key == "shared":
            case.shared = int(value)
        elif key in ("grid", "block"):
            setattr(case, key, (*(int(n) for n in value.split(",")), 1, 1)[:3])
        else:
            raise ValueError(f"'{key}' is none of grid, block, shared")
    return case


def _add(case: Case, word: str, text: str) -> None:
    name, equals, expression = (part.strip() for part in text.partition("="))
    if word in ("arg", "expect") and not (equals and name.isidentifier()):
        raise ValueError("expected NAME = EXPRESSION")
    if word == "arg":
        case.args[name] = expression
    elif word == "expect":
        if name not in case.args:
            raise ValueError(f"there is no argument '{name}'")
        case.expect.append((name, expression))
    elif word == "check":
        case.checks.append(text)
    elif word == "error":
        case.error = text
    else:
        raise ValueError(f"'{word}' is none of kernel, arg, expect, check, error")


def all_cases() -> list[Case]:
    return [case for file in sorted(FOLDER.glob("*.ptx")) for case in read(file)]
