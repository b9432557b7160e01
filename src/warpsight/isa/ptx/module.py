"""A PTX module: names at once, bodies when asked for."""

from __future__ import annotations

import difflib
import gc
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from ...errors import KernelNotFound, LoadError
from ..ir import Kernel, Reg, Sym, Variable
from .body import BodyParser
from .declarations import FunctionHead, parse_function_head, parse_variables
from .images import describe_binary
from .index import FunctionEntry, Indexer
from .lexer import Cursor
from .source import Source
from .types import MEMORY_BYTES


@contextmanager
def _collector_paused() -> Iterator[None]:
    """A body becomes many small objects that all stay and form no cycles; looking for cycles among them took a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class PtxModule:
    """The functions and variables of one PTX text.

    Making one outlines the text; `kernel` and `function` parse a body on first use and keep it. A syntax error in a body shows then.
    """

    def __init__(self, source: Source, path: str | None = None) -> None:
        self.path = path
        self._source = source
        self._index = Indexer(source).run()
        self._parsed: dict[str, Kernel] = {}

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> PtxModule:
        """Reads a file. Raises LoadError if that fails or it holds no PTX, PtxSyntaxError if its outline is wrong."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise LoadError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error
        return cls._from_bytes(data, os.fspath(path), os.fspath(path))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "<bytes>") -> PtxModule:
        """`data` may end in NULs, as the driver API's images do."""
        return cls._from_bytes(data, name, None)

    @classmethod
    def from_text(cls, text: str, name: str = "<text>") -> PtxModule:
        return cls._from_bytes(text.encode("utf-8", "surrogatepass"), name, None)

    @classmethod
    def _from_bytes(cls, data: bytes, name: str, path: str | None) -> PtxModule:
        data = data.rstrip(b"\0")
        problem = describe_binary(data)
        if problem:
            raise LoadError(f"{name}: not PTX text: {problem}")
        # Bytes that are not UTF-8 can only stand in comments and file names: kept readable.
        return cls(Source(data.decode("utf-8", "backslashreplace"), name), path)

    @property
    def version(self) -> str:
        return self._index.version

    @property
    def target(self) -> list[str]:
        """`.target` as written: ["sm_90", "debug"]."""
        return self._index.target

    @property
    def address_size(self) -> int:
        return self._index.address_size

    @property
    def files(self) -> dict[int, str]:
        """The table of .file."""
        return self._index.files

    @property
    def aliases(self) -> dict[str, str]:
        """.alias: name to the function it stands for."""
        return self._index.aliases

    @cached_property
    def kernel_names(self) -> list[str]:
        return [f.name for f in self._index.functions.values() if f.is_entry and f.body]

    @cached_property
    def function_names(self) -> list[str]:
        """Device functions with a body."""
        return [f.name for f in self._index.functions.values() if not f.is_entry and f.body]

    def source_line(self, line: int) -> str:
        """The text of a line of the module, counted from 1; "" outside."""
        text, start = self._source.text, 0
        for _ in range(line - 1):
            start = text.find("\n", start) + 1
            if start == 0:
                return ""
        end = text.find("\n", start)
        return text[start : end if end >= 0 else len(text)].rstrip("\r") if line > 0 else ""

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """Module-scope variables in order of declaration; a definition replaces an extern declaration."""
        found: dict[str, Variable] = {}
        for start in self._index.variables:
            cursor = Cursor(self._source, start)
            for variable in parse_variables(cursor):
                if variable.space == "param":
                    raise self._source.error("a .param variable needs a function around it", start)
                known = found.get(variable.name)
                if known is not None and not known.extern and not variable.extern:
                    raise self._source.error(f"variable '{variable.name}' is declared twice", start)
                if known is None or known.extern:
                    found[variable.name] = variable
        return found

    @cached_property
    def _symbols(self) -> Mapping[str, int]:
        """Names a body can use: variables with the size of an element, functions with 0."""
        sizes = dict.fromkeys([*self._index.functions, *self._index.aliases], 0)
        sizes.update((name, MEMORY_BYTES[variable.type]) for name, variable in self.variables.items())
        return sizes

    def kernel(self, name: str) -> Kernel:
        """The parsed .entry. Raises KernelNotFound, PtxSyntaxError."""
        entry = self._index.functions.get(name)
        if entry is None or not entry.is_entry or entry.body is None:
            raise KernelNotFound(self._not_found("kernel", name, self.kernel_names))
        return self._parse(entry)

    def function(self, name: str) -> Kernel:
        """The parsed .func of that name or alias. Raises KernelNotFound if the module only declares it, or not even that."""
        entry = self._index.functions.get(self.aliases.get(name, name))
        if entry is None or entry.is_entry or entry.body is None:
            raise KernelNotFound(self._not_found("function", name, self.function_names))
        return self._parse(entry)

    def declaration(self, name: str) -> Kernel:
        """Head of a .entry or .func, defined or only declared, with an empty body: parameters and return values."""
        entry = self._index.functions.get(self.aliases.get(name, name))
        if entry is None:
            raise KernelNotFound(self._not_found("function", name, list(self._index.functions)))
        return self._make(parse_function_head(Cursor(self._source, entry.start)))

    def _not_found(self, kind: str, name: str, names: list[str]) -> str:
        text = f"{self._source.name}: no {kind} '{name}'"
        near = difflib.get_close_matches(name, names, 3, 0.4) if len(names) <= 5000 else []
        if near:
            return f"{text}; near: {', '.join(near)}"
        return f"{text}; it has {', '.join(names[:5])}{'...' if len(names) > 5 else ''}" if names else f"{text}; it has none"

    def _parse(self, entry: FunctionEntry) -> Kernel:
        kernel = self._parsed.get(entry.name)
        if kernel is None:
            assert entry.body is not None
            head = parse_function_head(Cursor(self._source, entry.start))
            kernel = self._make(head)
            parser = BodyParser(self._source, entry.body[0] + 1, entry.body[1], kernel, self._symbols, self.files)
            for parameter in (*head.returns, *head.params):
                name = parameter.name
                meaning = Reg(name, parameter.type) if parameter.space == "reg" else Sym(name)
                parser.names.declare(name, meaning, head.start)
            with _collector_paused():
                parser.parse()
            self._parsed[entry.name] = kernel
        return kernel

    def _make(self, head: FunctionHead) -> Kernel:
        return Kernel(
            head.name, head.params, [], {}, returns=head.returns, directives=head.directives, is_entry=head.is_entry,
            file=self._source.name, line=self._source.line(head.start),
        )  # fmt: skip
