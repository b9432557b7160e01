"""The compiled core (core/bindings). Its classes say in their docstrings what they take and give; to the type checker they are Any."""

from typing import Any

def __getattr__(name: str) -> Any: ...
