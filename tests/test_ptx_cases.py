"""Every kernel of tests/ptx leaves in memory what the comments in front of it say: compiled, interpreted, and in timing mode."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warpsight as ws
from tests.ptx.case import Case, all_cases, read

CASES = all_cases()
FILES = sorted({case.file for case in CASES})
MODES: dict[str, dict[str, Any]] = {
    "compiled": {"timing": False},
    "interpreted": {"timing": False, "interpreter": "numpy"},
    "timed": {"timing": True},
}


def run(case: Case, gpu: ws.Device) -> list[str]:
    """What differs from the case's statements."""
    before = case.arguments()
    arrays = {name: gpu.array(value) for name, value in before.items() if isinstance(value, np.ndarray)}
    kernel = gpu.load(case.file)[case.kernel]
    kernel.launch(case.grid, case.block, [arrays.get(n, v) for n, v in before.items()], case.shared, budget_seconds=60)
    return list(case.differences(before, {name: array.numpy() for name, array in arrays.items()}))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernel(case: Case, mode: str) -> None:
    gpu = ws.Device("mini", **MODES[mode])
    if case.error:
        with pytest.raises(getattr(ws.errors, case.error)):
            run(case, gpu)
    else:
        assert not run(case, gpu)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_kernel_has_a_case(file: Path) -> None:
    assert sorted(ws.Device("mini", timing=False).load(file).kernels) == sorted(case.kernel for case in CASES if case.file == file)


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_ptxas_accepts_the_file(file: Path, tmp_path: Path) -> None:
    command = ["ptxas", "-arch=sm_90", "-o", str(tmp_path / "out.cubin"), str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


HEADER = "//@ kernel k grid=2 block=32,2\n//@ arg y = empty(4, 'i4')\n"


def write(folder: Path, text: str) -> Path:
    file = folder / "f.ptx"
    file.write_text(text)
    return file


def test_a_statement_that_does_not_hold_is_reported(tmp_path: Path) -> None:
    (case,) = read(write(tmp_path, HEADER + "//@ expect y = [1, 2,\n//@   3, 4]\n//@ check y[0] == 1 and i.size == 128\n"))
    assert (case.grid, case.block) == ((2, 1, 1), (32, 2, 1))
    before = case.arguments()
    assert not list(case.differences(before, {"y": np.array([1, 2, 3, 4], np.int32)}))
    (line,) = case.differences(before, {"y": np.array([1, 2, 3, 5], np.int32)})
    assert "1 of 4 differ" in line and "[3]" in line
    assert len(list(case.differences(before, before))) == 2


@pytest.mark.parametrize(("text", "message"), [
    (HEADER, "says nothing"),
    (HEADER + "//@ expect z = 1\n", "f.ptx:3.*no argument 'z'"),
    (HEADER + "//@ expct y = 1\n", "f.ptx:3.*'expct' is none of"),
    ("//@ kernel k blok=3\n", "'blok' is none of"),
    ("//@ arg y = 1\n", "f.ptx:1"),
])  # fmt: skip
def test_a_bad_header_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, text))
