"""What instructions mean: one small function per opcode in the lane language, and the table that finds it.

Every module of this package that registers rules is imported here, so that a new file of opcodes needs no list to be kept.
"""

import importlib
import pkgutil

from .form import Form, Kind, MemoryInfo, Resolved
from .registry import NotSupported, forms, opcodes, resolve

for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["Form", "Kind", "MemoryInfo", "NotSupported", "Resolved", "forms", "opcodes", "resolve"]
