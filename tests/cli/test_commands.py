"""The command line: what it prints, where, and its exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.api.kernels import SAXPY, SPIN, entry
from warpsight.cli.main import main

SAXPY_ARGS = ["--arg", "iota:f32:1000", "--arg", "const:f32:1000:3", "--arg", "f32:0.5", "--arg", "i32:1000"]


@pytest.fixture
def saxpy(tmp_path: Path) -> str:
    path = tmp_path / "saxpy.ptx"
    path.write_text(SAXPY)
    return str(path)


def sim(file: str, *options: str) -> int:
    return main(["sim", file, "--gpu", "mini", "--functional", *options])


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "file.ptx"
    path.write_text(text)
    return str(path)


def test_sim_prints_the_account_and_writes_arrays(saxpy: str, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "y.npy"
    assert sim(saxpy, "--grid", "4", "--block", "256", *SAXPY_ARGS, "--out", f"2:{out}") == 0
    printed = capsys.readouterr()
    assert "saxpy on mini" in printed.out and "argument 2, float32[1000]: 999 of 1000 elements changed; starts 3 3.5 4" in printed.out
    assert printed.err == "", "no progress bar where nobody watches"
    assert (np.load(out) == 0.5 * np.arange(1000, dtype=np.float32) + 3).all()


def test_sim_as_json(saxpy: str, capsys: Any) -> None:
    assert sim(saxpy, "--kernel", "saxpy", "--grid", "4,1,1", "--block", "256x1", *SAXPY_ARGS, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["kernel"] == "saxpy" and result["grid"] == [4, 1, 1] and result["cycles"] is None and result["warp_instructions"] > 0


def test_random_arguments_follow_the_seed(saxpy: str, tmp_path: Path) -> None:
    def values(seed: str) -> Any:
        out = tmp_path / f"{seed}.npy"
        args = ["--arg", "rand:f32:64", "--arg", "rand:f32:8x8:2:3", "--arg", "f32:0", "--arg", "i32:64"]
        assert sim(saxpy, "--block", "64", *args, "--seed", seed, "--out", f"2:{out}") == 0
        return np.load(out)

    first, other = values("1"), values("2")
    assert first.shape == (8, 8) and first.min() >= 2 and first.max() < 3 and len(np.unique(first)) > 60
    assert (first == values("1")).all() and (first != other).any()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("rand:f99:4", "unknown dtype 'f99'"),
        ("rand:f32", "needs rand:DTYPE:N"),
        ("rand:f32:x4", "no size"),
        ("rand:i32:4:9:2", "empty"),
        ("const:f32:4", "needs 1 value"),
        ("zeros:f32:4:1", "takes nothing behind the size"),
        ("u8:256", "does not fit u8"),
        ("i32:1.5", "no i32"),
        ("f32:", "no f32"),
        ("file:none.npy", "cannot read none.npy"),
        ("what:3", "unknown dtype 'what'"),
    ],
)
def test_bad_arguments_are_quoted(saxpy: str, capsys: Any, spec: str, words: str) -> None:
    assert sim(saxpy, "--block", "32", "--arg", spec) == 2
    error = capsys.readouterr().err
    assert f"argument '{spec}'" in error and words in error


@pytest.mark.parametrize(
    ("text", "options", "status", "words"),
    [
        (None, ["--block", "32"], 2, ["file.ptx", "No such file"]),
        ("\x7fELF\x02", ["--block", "32"], 2, ["ELF"]),
        (SAXPY[:-30], ["--block", "32"], 2, ["file.ptx:"]),
        (SAXPY, ["--block", "32", "--kernel", "saxpi"], 2, ["no kernel 'saxpi'", "near: saxpy"]),
        (SAXPY, ["--block", "32"], 2, ["takes 4 arguments, got 0"]),
        (SAXPY, ["--block", "32,x"], 2, ["--block"]),
        (SAXPY, [], 2, ["--block"]),
        (entry("", ""), ["--block", "32", "--samples", "9"], 2, ["--samples needs --json"]),
        (entry("", ""), ["--block", "2048"], 2, ["device.max_block_dim"]),
        (entry("", ""), ["--block", "32", "--shared", "9999999"], 2, ["device.shared_per_block_optin"]),
        (entry("", ""), ["--block", "32", "--set", "device.smz=3"], 2, ["device.smz", "near: sms"]),
        (entry("", "frobnicate.u32 %r1;"), ["--block", "32"], 3, ["frobnicate.u32"]),
        (entry("", "trap;"), ["--block", "32"], 4, ["trap"]),
        (entry("", "ld.global.u32 %r1, [16]; st.global.u32 [16], %r1;"), ["--block", "32"], 4, ["outside every live allocation", "0x10"]),
        (SPIN, ["--block", "32", "--arg", "null", "--budget-instructions", "1000"], 4, ["1,000 instructions", "bra"]),
    ],
)
def test_errors_are_one_message_and_a_status(
    tmp_path: Path, capsys: Any, text: str | None, options: list[str], status: int, words: list[str]
) -> None:
    file = str(tmp_path / "file.ptx") if text is None else write(tmp_path, text)
    assert sim(file, *options) == status
    printed = capsys.readouterr()
    assert printed.out == "" and "Traceback" not in printed.err
    for word in words:
        assert word in printed.err


def test_a_file_with_several_kernels_needs_a_choice(tmp_path: Path, capsys: Any) -> None:
    two = write(tmp_path, entry("", "") + ".visible .entry other() { ret; }\n")
    assert sim(two, "--block", "32") == 2
    assert "choose one with --kernel: k, other" in capsys.readouterr().err
    assert sim(two, "--block", "32", "--kernel", "other") == 0


def test_a_bad_gpu_file(saxpy: str, tmp_path: Path, capsys: Any) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text('inherits = "mini"\n[device]\nsms = -1\nsource = "x"\n')
    assert main(["sim", saxpy, "--block", "32", "--gpu", str(bad)]) == 2
    error = capsys.readouterr().err
    assert f"{bad}:3" in error and "device.sms" in error


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="No such file"):
        main(["--debug", "sim", str(tmp_path / "none.ptx"), "--block", "32"])


def test_gpus(capsys: Any) -> None:
    assert main(["gpus"]) == 0
    assert "NVIDIA H200" in capsys.readouterr().out
    assert main(["gpus", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["h200"]["sms"] == 132
    assert main(["gpus", "h200", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["device.sms"] == {"value": 132, "source": "measured: cuDeviceGetAttribute"}
    assert main(["gpus", "h100"]) == 2


# Where only a process of its own shows the behaviour


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "warpsight", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)


def test_ctrl_c_ends_the_command_with_130(tmp_path: Path) -> None:
    process = start(
        "sim", write(tmp_path, SPIN), "--gpu", "mini", "--functional", "--block", "32", "--arg", "null", "--budget-seconds", "60"
    )
    time.sleep(3)
    sent = time.perf_counter()
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130 and error.strip() == "warpsight: interrupted"
    assert time.perf_counter() - sent < 2, "0.2 s and the end of a process, on a busy machine"


def test_a_closed_pipe_is_no_error() -> None:
    process = start("gpus", "h200", "--json")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=30) == 1
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
