"""Object code of handlers on disk, so that the next process need not compile them again.

Folder: $WARPSIGHT_CACHE, else the user's cache folder. One subfolder for each combination of host, compiler and package source, whose files
can never be right for another. A file is one compiled module: a JSON line {"symbols": [...], "sha256": "..."} and the object code. Files
appear by an atomic rename; a damaged one is removed and compiled again. An unusable folder (read-only home) only costs the compilation.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import platformdirs

MOST_BYTES = 256 << 20  # of all files together; the oldest go first


def cache_folder() -> Path:
    chosen = os.environ.get("WARPSIGHT_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("warpsight")) / "handlers"


@lru_cache(maxsize=1)
def source_hash() -> str:
    """Hash of the Python files that decide what a handler does."""
    package = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(p for folder in ("lanes", "semantics", "engine") for p in (package / folder).glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


class ObjectCache:
    """Compiled modules by the symbols that they hold. `fingerprint`: what machine code depends on besides the package's source."""

    def __init__(self, fingerprint: str, folder: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        key = hashlib.sha256(f"{fingerprint}|{source_hash()}".encode()).hexdigest()[:20]
        self.root = folder or cache_folder()
        self.folder = self.root / key
        self.most_bytes = most_bytes

    def find(self, symbols: Sequence[str]) -> Iterator[tuple[bytes, list[str]]]:
        """Modules, newest first, that hold symbols not given by an earlier one: code and all its symbols."""
        wanted = set(symbols)
        for path in _oldest_first(self.folder)[::-1]:
            if not wanted:
                return
            held = _header(path)
            if held is not None and wanted.isdisjoint(held):
                continue
            code = _code(path)
            if held is None or code is None:
                with contextlib.suppress(OSError):
                    path.unlink()
                continue
            with contextlib.suppress(OSError):
                os.utime(path)
            wanted -= set(held)
            yield code, held

    def put(self, code: bytes, symbols: Sequence[str]) -> None:
        """Keeps a module; gives up silently when the folder cannot be written, because everything works without."""
        digest = hashlib.sha256(code).hexdigest()
        header = json.dumps({"symbols": list(symbols), "sha256": digest}).encode() + b"\n"
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".new")
            with os.fdopen(handle, "wb") as file:
                file.write(header + code)
            os.replace(temporary, self.folder / f"{digest[:32]}.o")
            self._shrink()
        except OSError:
            return

    def _shrink(self) -> None:
        files = [(p, p.stat()) for p in self.root.glob("*/*.o")]
        total = sum(s.st_size for _, s in files)
        for path, stat in sorted(files, key=lambda f: f[1].st_mtime):
            if total <= self.most_bytes:
                return
            with contextlib.suppress(OSError):
                path.unlink()
            total -= stat.st_size


def _oldest_first(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.o"), key=lambda p: (p.stat().st_mtime, p.name))
    except OSError:
        return []


def _header(path: Path) -> list[str] | None:
    """The symbols of a file, or None when it is damaged."""
    try:
        with path.open("rb") as file:
            symbols = json.loads(file.readline())["symbols"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return [str(s) for s in symbols] if isinstance(symbols, list) else None


def _code(path: Path) -> bytes | None:
    """The object code, or None when the file is damaged."""
    try:
        line, _, code = path.read_bytes().partition(b"\n")
        good: bool = json.loads(line)["sha256"] == hashlib.sha256(code).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return code if good else None
