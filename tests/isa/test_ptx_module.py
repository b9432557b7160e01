"""Loading modules: what is accepted, what is refused and how it is called, and that bodies are read only on demand."""

from __future__ import annotations

import gzip
import os
import re
from pathlib import Path

import pytest

from warpsight.errors import InputError, KernelNotFound, LoadError, PtxSyntaxError
from warpsight.isa.ir import Instruction
from warpsight.isa.ptx import PtxModule

from .snippets import HEAD, SAMPLE, module


def test_path_bytes_and_text_agree(sample: str) -> None:
    path = PtxModule.from_path(SAMPLE)
    bytes_ = PtxModule.from_bytes(sample.encode() + b"\0\0\0", "s")
    text = PtxModule.from_text(sample, "s")
    assert path.path == str(SAMPLE) and bytes_.path is None
    for loaded in (path, bytes_, text):
        assert loaded.kernel_names == ["main_kernel", "second_kernel"]
        assert loaded.function_names == ["helper", "square", "stop"]
        assert loaded.kernel("main_kernel").body == path.kernel("main_kernel").body
    assert path.kernel("main_kernel") is path.kernel("main_kernel")


def test_the_sample_in_numbers(sample: str) -> None:
    kernel = PtxModule.from_text(sample).kernel("main_kernel")
    code = sample[sample.index("{", sample.index("main_kernel")) : sample.index(".entry second_kernel")]
    instructions = [i for i in kernel.body if isinstance(i, Instruction)]
    opcodes = [
        "ld.",
        "cvta",
        "mov.",
        "mad.",
        "setp",
        "bra ",
        "add.",
        "fma.",
        "st.",
        "shfl",
        "vmad",
        "tex.",
        "atom",
        "call ",
        "call.",
        "brx",
        "bar.",
        "exit;",
    ]
    assert len(instructions) == sum(code.count(f"{blank}{opcode}") for opcode in opcodes for blank in (" ", "\t"))
    for instruction in instructions:  # every one stands on the line it says
        assert instruction.spelling in sample.split("\n")[instruction.line - 1]


def test_line_endings_and_odd_characters() -> None:
    text = '// Größe\r\n.version 9.0\r\n.target sm_90\r\n.file 1 "größe.cu"\r\n.entry k {\r\n\t// ü\r\n\tret;\r\n}\r\n'
    for data in (text.encode(), text.encode("latin-1")):
        loaded = PtxModule.from_bytes(data, "x")
        (ret,) = loaded.kernel("k").body
        assert isinstance(ret, Instruction) and ret.line == 7
    assert PtxModule.from_bytes(text.encode()).files == {1: "größe.cu"}
    assert PtxModule.from_bytes(text.encode()).source_line(7) == "\tret;"


def test_source_line() -> None:
    loaded = module(".entry k { ret; }")
    assert [loaded.source_line(n) for n in (0, 1, 4, 5, 99)] == ["", ".version 9.0", ".entry k { ret; }", "", ""]


def test_comments_and_strings_hide_structure() -> None:
    loaded = module(
        """// .entry a { }
        /* .entry b { } " */ .pragma "} .entry c { \\" /* //";
        .entry d { // }
            .pragma "}"; /* } */ ret; } // " ' "
        .entry e { ret; } //"""
    )
    assert loaded.kernel_names == ["d", "e"]
    assert [len(loaded.kernel(name).body) for name in "de"] == [1, 1]


def test_bodies_are_read_on_demand() -> None:
    loaded = module(".entry good { ret; }\n.entry bad { add.s32 %r1, %r2, ; }")
    assert loaded.kernel_names == ["good", "bad"]
    assert len(loaded.kernel("good").body) == 1
    with pytest.raises(PtxSyntaxError):
        loaded.kernel("bad")


def test_unknown_opcodes_are_no_error_here() -> None:
    assert module(".entry k { .reg .b32 a; frobnicate.x8.b32 a, 3; }").kernel("k").body


def test_kernel_not_found_names_the_nearest() -> None:
    loaded = module(".entry saxpy { ret; } .entry sgemm_tiled { ret; } .func helper { ret; }")
    with pytest.raises(KernelNotFound, match="no kernel 'saxpi'; near: saxpy"):
        loaded.kernel("saxpi")
    with pytest.raises(KernelNotFound, match="no kernel 'qqqq'; it has saxpy, sgemm_tiled"):
        loaded.kernel("qqqq")
    with pytest.raises(KernelNotFound):
        loaded.kernel("helper")
    with pytest.raises(KernelNotFound, match="no function 'helpr'; near: helper"):
        loaded.function("helpr")
    with pytest.raises(KernelNotFound):
        module(".extern .func f();").function("f")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"\0\0\0", "empty"),
        (b" \n\t ", "empty"),
        (b"\x7fELF\x02\x01\x01" + bytes(60), "ELF"),
        (b"\x50\xed\x55\xba\x01\x00\x10\x00" + bytes(60), "fat binary"),
        (gzip.compress(HEAD.encode()), "gzip"),
        (b"\x28\xb5\x2f\xfd\x24\x00", "zstd"),
        (b"PK\x03\x04rest", "zip"),
        (b"BC\xc0\xde1234", "bitcode"),
        (bytes(range(256)) * 4, "binary data"),
        (HEAD.encode() + b"\0\0.entry k { ret; }", "binary data"),
        (b"#include <cuda.h>\n__global__ void k() {}", "CUDA C\\+\\+"),
        (b"; ModuleID = 'x'\ntarget triple = \"nvptx64\"", "LLVM IR"),
        (b"hello world", "not .version"),
        (b"// only a comment\n", "not .version"),
        (b".target sm_90\n.version 9.0\n", "not .version"),
        ("\N{BYTE ORDER MARK}.version 9.0".encode("utf-16-le"), "binary data"),
    ],
)
def test_what_is_no_ptx(data: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=message):
        PtxModule.from_bytes(data, "x")
    path = tmp_path / "file.ptx"
    path.write_bytes(data)
    with pytest.raises(LoadError, match=message) as raised:
        PtxModule.from_path(path)
    assert str(path) in str(raised.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=r"cannot read .*missing\.ptx: No such file"):
        PtxModule.from_path(tmp_path / "missing.ptx")
    with pytest.raises(LoadError, match="cannot read"):
        PtxModule.from_path(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        ".entry k { ret;",
        ".entry k { {ret; }",
        ".entry k { ret; } /* open",
        ".entry k",
        ".entry k(.param .u64 a",
        ".global .u32 x",
        ".global .u32 x[2] = {1",
        ".file 1",
        ".section .debug_info",
    ],
)
def test_truncated_text(text: str) -> None:
    with pytest.raises(LoadError) as raised:
        _ = module(text).variables
    assert isinstance(raised.value, InputError)


def test_header() -> None:
    for text in (
        ".version 9\n.target sm_90",
        ".version x\n.target sm_90",
        ".version 9.0\n",
        ".version 9.0\n.entry k { ret; }",
        ".version 9.0\n.target",
    ):
        with pytest.raises(PtxSyntaxError):
            PtxModule.from_text(text)
    with pytest.raises(PtxSyntaxError, match="32 or 64"):
        PtxModule.from_text(".version 9.0 .target sm_90 .address_size 16")


def test_hardware_set(hardware_set: Path) -> None:
    """Every PTX file that ran on hardware parses, with as many instructions as its text has statements that are none else."""
    files = [path for path in sorted(hardware_set.rglob("*.ptx*")) if path.name.endswith((".ptx", ".ptx.gz"))]
    assert files
    for path in files:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        loaded = PtxModule.from_bytes(data, os.fspath(path))
        parsed = [loaded.kernel(name) for name in loaded.kernel_names] + [loaded.function(name) for name in loaded.function_names]
        found = sum(isinstance(item, Instruction) for kernel in parsed for item in kernel.body)
        declared = (".reg", ".shared", ".local", ".param", ".global", ".const", ".extern", ".pragma", ".visible", ".func", ".weak")
        text = re.sub(r"//.*", "", data.decode()).replace("\n{", ";")
        text = re.sub(r"(?m)(^|[;{])\s*[\w$]+\s*:(?!:)", r"\1", text)  # labels
        statements = [statement.strip("{} \t\n") for statement in text.split(";")]
        expected = sum(bool(s) and not s.startswith((*declared, ".version")) for s in statements)
        assert found == expected, path
