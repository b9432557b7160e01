"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions")."""

from __future__ import annotations

from ..lanes.builder import Builder, Value
from .registry import Mods, op

ANY_INT = "type=u16|u32|u64|s16|s32|s64"


@op("add", ANY_INT, "type = type, type")
def add(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return x + y


@op("sub", ANY_INT, "type = type, type")
def sub(b: Builder, m: Mods, x: Value, y: Value) -> Value:
    return x - y
