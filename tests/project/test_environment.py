"""tools/environment.py says what is missing, and what to do about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools/environment.py"), str(folder), "nothing"]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    done = run(tmp_path / "venv", PATH=str(tmp_path), CXX="")
    assert done.returncode == 1
    assert "C++20 compiler" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_missing_network_is_explained(tmp_path: Path) -> None:
    """In an environment that is there already, but whose pip fails."""
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n[ \"$2\" = pip ] && exit 1\nexec '{sys.executable}' \"$@\"\n")
    python.chmod(0o755)
    done = run(tmp_path / "venv")
    assert done.returncode == 1
    assert "PIP_FIND_LINKS=folder" in done.stderr and "Traceback" not in done.stderr
