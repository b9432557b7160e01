"""What the README shows runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from warpsight.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_first_kernel(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    found = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert found
    exec(compile(found[1], "README.md", "exec"), {})
    assert "cycles" in capsys.readouterr().out


def test_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    found = re.search(r"\.venv/bin/warpsight (sim .*?)\n\n", README, re.DOTALL)
    assert found
    assert main(shlex.split(found[1].replace("\\\n", " "))) == 0
    assert "saxpy" in capsys.readouterr().out
