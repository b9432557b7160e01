"""The PTX in the tree is what its sources compile to."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools.build_ptx import CUDA_SOURCES, TRITON_PTX, compile_cuda, compiler_of

SHIPPED = [*(path.with_suffix(".ptx") for path in CUDA_SOURCES), *sorted(TRITON_PTX.glob("*.ptx"))]


@pytest.mark.parametrize("source", CUDA_SOURCES, ids=lambda path: path.stem)
def test_ptx_is_what_nvcc_makes_of_its_source(source: Path) -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    shipped = source.with_suffix(".ptx").read_text()
    here = compiler_of(subprocess.run(["nvcc", "--version"], check=True, capture_output=True, text=True).stdout)
    if compiler_of(shipped) != here:
        pytest.skip(f"shipped PTX is by nvcc {compiler_of(shipped)}, here is {here}")
    assert compile_cuda(source) == shipped, "run python tools/build_ptx.py"


@pytest.mark.parametrize("ptx", SHIPPED, ids=lambda path: path.stem)
def test_ptx_names_no_folder_of_the_machine_it_was_made_on(ptx: Path) -> None:
    files = [line for line in ptx.read_text().splitlines() if line.lstrip().startswith(".file")]
    assert files
    assert not [line for line in files if "/" in line]
