"""Tells PTX text from the other things that people load by mistake."""

from __future__ import annotations

import re

_MAGIC = (
    (b"\x7fELF", "an ELF file (a cubin, object or executable)"),
    (b"\x50\xed\x55\xba", "a CUDA fat binary"),
    (b"\x1f\x8b", "gzip data: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "zstd data: unpack it first"),
    (b"BZh", "bzip2 data: unpack it first"),
    (b"\xfd7zXZ", "xz data: unpack it first"),
    (b"PK\x03\x04", "a zip archive"),
    (b"!<arch>", "a static library"),
    (b"BC\xc0\xde", "LLVM bitcode"),
    (b"MZ", "a Windows executable"),
)
_TEXTS = (
    (re.compile(rb"\s*(?:#\s*include|__global__|extern\s+\"C\"|template\s*<)"), "CUDA C++ source: compile it with nvcc -ptx"),
    (re.compile(rb"\s*(?:; ModuleID|target (?:datalayout|triple)|source_filename)"), "LLVM IR"),
)
_SKIP = re.compile(rb"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_VERSION = re.compile(rb"\.version\b")


def describe_binary(data: bytes) -> str:
    """What `data` looks like if it is no PTX module; "" if it may be one."""
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return f"it is {what}"
    if not data.strip():
        return "it is empty"
    for pattern, what in _TEXTS:
        if pattern.match(data):
            return f"it looks like {what}"
    first = data[:4096]
    if any(byte < 32 and byte not in b"\t\n\v\f\r\x1a" for byte in first):
        return "it is binary data of an unknown kind"
    skipped = _SKIP.match(data)
    assert skipped is not None
    if not _VERSION.match(data, skipped.end()):
        return "its first directive is not .version"
    return ""
