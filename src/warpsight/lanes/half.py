"""binary16 and bfloat16 conversions in the lane language itself, for hosts whose instructions do not convert them.

Works on bit patterns; results equal IEEE 754 conversion to nearest even. NaNs stay NaNs (quiet, upper payload kept).
"""

from __future__ import annotations

from .builder import Builder, Value
from .types import B16, F32, U16, U32

_F32_INFINITY = 0x7F800000
_F16_INFINITY = 0x7C00


def half_to_float(b: Builder, half: Value) -> Value:
    """B16 bits of a binary16 -> F32, exact."""
    wide = half.bits(U16).resize(U32)
    magnitude = (wide & 0x7FFF) << 13
    # A binary16 read as the upper bits of a binary32 is 2**112 too small, subnormals included.
    scaled = (magnitude.bits(F32) * 2.0**112).bits(U32)
    special = (wide & 0x7FFF) >= _F16_INFINITY
    return (b.select(special, magnitude | _F32_INFINITY, scaled) | ((wide & 0x8000) << 16)).bits(F32)


def float_to_half(b: Builder, value: Value) -> Value:
    """F32 -> B16 bits of the nearest binary16, ties to even."""
    bits = value.bits(U32)
    magnitude = bits & 0x7FFFFFFF
    normal = (magnitude + 0xFFF + ((magnitude >> 13) & 1) - (112 << 23)) >> 13
    # The spacing of binary32 above 0.5 is that of binary16's subnormals: the addition rounds.
    small = (magnitude.bits(F32) + 0.5).bits(U32) - 0x3F000000
    result = b.select(magnitude < 0x38800000, small, normal)
    result = b.select(magnitude >= 0x477FF000, b.const(U32, _F16_INFINITY), result)
    nan = ((magnitude >> 13) & 0x3FF) | 0x7E00
    result = b.select(magnitude > _F32_INFINITY, nan, result)
    return (result | ((bits >> 16) & 0x8000)).resize(U16).bits(B16)


def bfloat_to_float(b: Builder, half: Value) -> Value:
    """B16 bits of a bfloat16 -> F32, exact."""
    return (half.bits(U16).resize(U32) << 16).bits(F32)


def float_to_bfloat(b: Builder, value: Value) -> Value:
    """F32 -> B16 bits of the nearest bfloat16, ties to even."""
    bits = value.bits(U32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = (bits >> 16) | 0x40
    return b.select((bits & 0x7FFFFFFF) > _F32_INFINITY, nan, rounded).resize(U16).bits(B16)
