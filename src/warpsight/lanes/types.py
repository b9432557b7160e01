"""Types of the lane language: what one lane of a 32-lane value holds."""

from __future__ import annotations

from dataclasses import dataclass

LANES = 32  # threads of a warp


@dataclass(frozen=True, slots=True)
class LaneType:
    """`kind`: "u" unsigned, "s" signed (two's complement), "b" untyped bits, "f" IEEE float, "bf" bfloat16, "pred" one bit."""

    kind: str
    bits: int

    @property
    def name(self) -> str:
        return "pred" if self.kind == "pred" else f"{self.kind}{self.bits}"

    @property
    def is_int(self) -> bool:
        return self.kind in ("u", "s", "b")

    @property
    def is_float(self) -> bool:
        return self.kind in ("f", "bf")

    @property
    def signed(self) -> bool:
        return self.kind == "s"

    @property
    def bytes(self) -> int:
        return max(1, self.bits // 8)

    def __str__(self) -> str:
        return self.name


PRED = LaneType("pred", 1)
U8, U16, U32, U64 = (LaneType("u", n) for n in (8, 16, 32, 64))
S8, S16, S32, S64 = (LaneType("s", n) for n in (8, 16, 32, 64))
B8, B16, B32, B64, B128 = (LaneType("b", n) for n in (8, 16, 32, 64, 128))
F16, F32, F64, BF16 = LaneType("f", 16), LaneType("f", 32), LaneType("f", 64), LaneType("bf", 16)

BY_NAME = {t.name: t for t in (PRED, U8, U16, U32, U64, S8, S16, S32, S64, B8, B16, B32, B64, B128, F16, F32, F64, BF16)}
