"""Constant expressions: PTX ISA 4.5. Expected values are ptxas 13.0's, read from the data it emits, and C's."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsight.errors import PtxSyntaxError
from warpsight.isa.ir import Imm

from .snippets import operand

EMITTED_BY_PTXAS = {
    "-7 % 3": 0,
    "7U/2": 3,
    "-1/2U": 0x7FFFFFFFFFFFFFFF,
    "(1<2)?-1:2U": 2**64 - 1,
    "1<<63": 2**63,
    "-8>>1": 2**64 - 4,
    "0xFFFFFFFFFFFFFFFF>>60": 15,
    "!5": 0,
    "-8U>>1": 0x7FFFFFFFFFFFFFFC,
    "(-8|0)>>1": 2**64 - 4,
    "(~7)/2": 0x7FFFFFFFFFFFFFFC,
    "1<<64": 1,
    "1<<65": 2,
    "-1>>64": 2**64 - 1,
    "1>>-1": 0,
    "1<2?3:4": 3,
    "0||2": 1,
    "5&&0": 0,
    "1?2:3?4:5": 2,
    "1+2*3-4/2": 5,
    "7&3^1|8": 10,
    "2<3==1": 1,
    "-1<1U": 0,
    "(.u64)-1 > 0": 1,
    "(.s64)-1/2": 0,
    "((.u64)-1)/2": 0x7FFFFFFFFFFFFFFF,
    "(-8&-1)/2": 2**64 - 4,
    "(-1>>1)==-1": 1,
    "-7/2": 2**64 - 3,
    "1.5<2.0": 1,
    "WARP_SZ-1": 31,
    "7%3": 1,
}


@pytest.mark.parametrize("text", EMITTED_BY_PTXAS)
def test_integer_expression(text: str) -> None:
    value = operand(text)
    assert isinstance(value, Imm) and value.kind == "int"
    assert int(value.value) & (2**64 - 1) == EMITTED_BY_PTXAS[text]


@pytest.mark.parametrize(
    ("text", "value"), [("1.0+2.0", 3.0), ("1.0/3.0", 1 / 3), ("-(2.5)", -2.5), ("1?2.0:3.0", 2.0), ("2.0*1.5-1e1", -7.0)]
)
def test_float_expression(text: str, value: float) -> None:
    found = operand(text)
    assert isinstance(found, Imm) and found.kind == "float" and found.value == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1/0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("1.0/0.0", "division by zero"),
        ("2*1.5", "between an integer and a float"),
        ("!1.5", "needs an integer"),
        ("~1.5", "needs an integer"),
        ("(.s64)1.5", "only integers"),
        ("1.5<<2.5", "needs integers"),
        ("09", "octal"),
        ("18446744073709551616", "64 bits"),
        ("(1", "expected '\\)'"),
        ("1+", "expected a constant"),
        ("1?2", "expected ':'"),
        ("0f123", "expected"),
        ("(" * 500 + "1" + ")" * 500, "within each other"),
        ("-" * 500 + "1", "within each other"),
    ],
)
def test_bad_expression(text: str, message: str) -> None:
    with pytest.raises(PtxSyntaxError, match=message):
        operand(text)


@settings(deadline=None)
@given(st.integers(-(2**63) + 1, 2**63 - 1), st.integers(-(2**63) + 1, 2**63 - 1), st.sampled_from("+-*&|^"))
def test_signed_arithmetic_wraps_like_c(a: int, b: int, op: str) -> None:
    exact = {"+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b}[op]
    assert operand(f"({a}) {op} ({b})") == Imm("int", ctypes.c_int64(exact).value)


@settings(deadline=None)
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_unsigned_comparison_and_division(a: int, b: int) -> None:
    assert operand(f"{a}U < {b}U") == Imm("int", int(a < b))
    assert operand(f"{a}U / {b | 1}U") == Imm("int", a // (b | 1), unsigned=True)
