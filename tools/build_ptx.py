"""Regenerates the PTX that the tree ships: nvcc for our CUDA C++, Triton for our Triton kernels.

Usage: python tools/build_ptx.py [--triton]

The PTX is committed because users have neither compiler; tests/project/test_shipped_ptx.py checks that it is what the sources give.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CUDA_SOURCES = tuple(sorted([*ROOT.glob("src/warpsight/demo/kernels/*.cu"), *ROOT.glob("benchmarks/kernels/*.cu")]))
TRITON_PTX = ROOT / "tests/data/triton"
_COMPILER = re.compile(r"^// Cuda compilation tools, release \S+, (V\S+)$", re.MULTILINE)
_FILE = re.compile(r'(\.file\s+\d+\s+")[^"]*?([^"/]+")')
_STRING = re.compile(r"(?<=:\n)(?:\.b8 [\d,]+\n)+")  # of .debug_str: the names of inlined functions
_INTERNAL = re.compile(r"_ZN\d+_INTERNAL_\w+?_cu_[0-9a-f]{8}(\d+\w+?)E")  # a static function's name, mangled with a hash of its path
_DEBUG_INFO = re.compile(r"\t\.section\t\.debug_info\n\t\{.*?\n\t\}\n", re.DOTALL)


def compiler_of(text: str) -> str | None:
    """The nvcc version named in a PTX header or in `nvcc --version`, as "V13.0.88"."""
    found = _COMPILER.search(text) or re.search(r"release \S+, (V\S+)$", text, re.MULTILINE)
    return found[1] if found else None


def compile_cuda(source: Path) -> str:
    """PTX of a .cu file for compute capability 8.0 (so that every current GPU model takes it), with .loc lines. Raises when nvcc fails."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "out.ptx"
        subprocess.run(["nvcc", "-ptx", "-arch=compute_80", "-lineinfo", "-o", output, source.name], cwd=source.parent, check=True)
        return _STRING.sub(_without_hash, _without_folders(output.read_text()))


def compile_triton() -> dict[str, str]:
    """PTX by kernel name, without the section that holds the build's folder."""
    sys.path.insert(0, str(ROOT))
    from tests.triton_sources import KERNELS, compile_ptx

    return {name: _without_folders(_DEBUG_INFO.sub("", compile_ptx(name).ptx)) for name in KERNELS}


def _without_folders(ptx: str) -> str:
    return _FILE.sub(r"\1\2", ptx)


def _without_hash(string: re.Match[str]) -> str:
    name = bytes(int(code) for code in re.findall(r"\d+", string[0].replace(".b8", ""))).decode()
    codes = _INTERNAL.sub(r"_Z\1", name).encode()
    return f".b8 {','.join(map(str, codes))}\n"


def main() -> int:
    if shutil.which("nvcc") is None:
        print("nvcc is not on the PATH; it is part of NVIDIA's CUDA toolkit", file=sys.stderr)
        return 1
    for source in CUDA_SOURCES:
        source.with_suffix(".ptx").write_text(compile_cuda(source))
        print(source.with_suffix(".ptx").relative_to(ROOT))
    if "--triton" in sys.argv[1:]:
        TRITON_PTX.mkdir(parents=True, exist_ok=True)
        for name, ptx in compile_triton().items():
            (TRITON_PTX / f"{name}.ptx").write_text(ptx)
            print((TRITON_PTX / f"{name}.ptx").relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
