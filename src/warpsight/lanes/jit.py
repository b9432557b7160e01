"""From LLVM IR text to callable addresses in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

# 63 handlers of a typical kernel, one core of an EPYC with AVX-512: levels 1 and 2 give the same code in 0.09 s (plus 0.03 s to write the
# IR), level 0 code half again as large in 0.06 s. LLVM's IR passes were tried and left out: +20 % compile time, and partial-mask stores
# became slower (3.5 ns instead of 2.4 ns for a 32-bit add), with no handler that mattered gaining.
CODEGEN_LEVEL = 1


class Jit:
    """The host's code generator and the linker of compiled objects. One a process: `jit()`."""

    def __init__(self, symbols: Mapping[str, int], cpu: str | None = None, features: Mapping[str, bool] | None = None) -> None:
        """`symbols`: name -> address of runtime functions that compiled code calls. Code is for this host unless `cpu` and `features`
        (LLVM's names) say less.
        """
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for name, address in symbols.items():
            llvm.add_symbol(name, address)
        self.cpu = cpu or llvm.get_host_cpu_name()
        if features is None:
            features = dict(llvm.get_host_cpu_features())
        self.features = ",".join(("+" if on else "-") + name for name, on in sorted(features.items()))
        # binary16 is converted by instructions on x86 with F16C and on every 64-bit Arm.
        triple = llvm.get_default_triple()
        self.native_half = features.get("f16c", False) or triple.startswith(("aarch64", "arm64"))
        self._machine = llvm.Target.from_triple(triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=CODEGEN_LEVEL, reloc="static", codemodel="jitdefault", jit=True
        )
        module = llvm.parse_assembly("")
        module.triple = self._machine.triple
        self._engine = llvm.create_mcjit_compiler(module, self._machine)
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """Everything about the host and the compiler that machine code depends on."""
        return f"{llvmlite.__version__}|{llvm.llvm_version_info}|{self.cpu}|{self.features}|{CODEGEN_LEVEL}"

    def compile(self, text: str) -> bytes:
        """IR text to object code. Raises RuntimeError for malformed IR."""
        module: Any = llvm.parse_assembly(text)
        module.verify()
        code: bytes = self._machine.emit_object(module)
        return code

    def link(self, code: bytes, names: Iterable[str]) -> dict[str, int]:
        """Loads object code for the life of the process; the address of each named function. Raises RuntimeError for a damaged object."""
        with self._lock:
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()
            found = {name: self._engine.get_function_address(name) for name in names}
        missing = [name for name, address in found.items() if not address]
        if missing:
            raise RuntimeError(f"object code lacks {missing[0]}")
        return found


@lru_cache(maxsize=1)
def jit() -> Jit:
    """The process's Jit, linked to the compiled core."""
    from .. import _core

    return Jit(_core.runtime_symbols())
