"""The code in docs/howto compiles and computes what its text says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs/howto" / page).read_text(), re.DOTALL)
    assert found
    return found


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")
def test_policies_implement_their_interfaces(tmp_path: Path) -> None:
    classes = "\n".join(blocks("add-a-policy.md", "cpp"))
    names = re.findall(r"(?:struct|class) (\w+) final", classes)
    assert len(names) == 2
    objects = "\n".join(f"{name} object_{name};" for name in names)  # fails for a class that leaves something out
    source = tmp_path / "policies.cpp"
    source.write_text(f'#include "mem/replacement.h"\n#include "sm/issue_policy.h"\nnamespace ws {{\n{classes}\n{objects}\n}}\n')
    command = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'src/warpsight/core'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


OPCODE = """
import numpy as np
import warpsight as ws
from warpsight.isa.ptx.timing import _FIXED
from warpsight.lanes.builder import Builder, Value
from warpsight.semantics.registry import Mods, op
{meaning}
{timing}
gpu = ws.Device("mini")
out = gpu.empty(8, np.int32)
gpu.load('''.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p) {{
  .reg .b32 %r<4>; .reg .b64 %d<3>;
  ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.s64 %d1, %d1, %d2;
  absdiff.u32 %r2, %r1, 5; st.global.u32 [%d1], %r2; ret;
}}''')["k"].launch(1, 8, [out])
assert out.numpy().tolist() == [5, 4, 3, 2, 1, 0, 1, 2], out.numpy()
"""


def test_opcode_runs(tmp_path: Path) -> None:
    """In a process of its own: the opcode must not stay."""
    text = (ROOT / "docs/howto/add-an-opcode.md").read_text()
    timing = re.search(r"`(_FIXED\[.*?)`", text)
    assert timing
    program = OPCODE.format(meaning=blocks("add-an-opcode.md", "python")[0], timing=timing[1])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
