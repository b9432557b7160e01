"""Properties: printing and reading again gives the same; blanks and comments mean nothing; broken text gives errors of ours, and soon."""

from __future__ import annotations

import random
import re
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warpsight.errors import WarpsightError
from warpsight.isa.ir import Blank, Guard, Imm, Instruction, Mem, Minus, Neg, Operand, Pair, Part, Reg, Special, Sym, Tuple_, Vec
from warpsight.isa.ptx import PtxModule
from warpsight.isa.ptx.printer import print_instruction

from .snippets import HEAD, kernel, one

OUTSIDE = ".global .u32 table[8]; .func f { ret; }"

registers = st.builds(lambda n: Reg(f"%r{n}", "b32"), st.integers(0, 31))
addresses = st.builds(lambda n: Reg(f"%rd{n}", "b64"), st.integers(0, 15))
predicates = st.builds(lambda n: Reg(f"%p{n}", "pred"), st.integers(0, 7))
integers = st.one_of(
    st.builds(lambda v: Imm("int", v), st.integers(-(2**63) + 1, 2**63 - 1)),
    st.builds(lambda v: Imm("int", v, unsigned=True), st.integers(0, 2**64 - 1)),
)
floats32 = st.integers(0, 2**32 - 1).filter(lambda b: b & 0x7F800000 != 0x7F800000 or not b & 0x7FFFFF)  # a NaN differs from itself
floats64 = st.integers(0, 2**64 - 1).filter(lambda b: (b >> 52) & 0x7FF != 0x7FF)


def float32(bits: int) -> Imm:
    return Imm("float", float(np.array(bits, np.uint32).view(np.float32)), bits32=bits)


def float64(bits: int) -> Imm:
    return Imm("float", float(np.array(bits, np.uint64).view(np.float64)), bits64=bits)


specials = st.sampled_from([Special(n) for n in ("%tid.x", "%ctaid.z", "%clock64", "%laneid", "%smid")])
symbols = st.builds(Sym, st.sampled_from(["table", "f", "P"]), st.integers(-(2**31), 2**31))
scalars = st.one_of(registers, integers, st.builds(float32, floats32), st.builds(float64, floats64), specials, st.just(Blank()))
vectors = st.builds(lambda e: Vec(tuple(e)), st.lists(st.one_of(registers, integers, st.just(Blank())), min_size=1, max_size=8))
memories = st.one_of(
    st.builds(Mem, addresses, st.integers(-(2**31), 2**31)),
    st.builds(lambda s: Mem(Sym(s.name), s.offset), symbols),
    st.builds(Mem, st.none(), st.integers(-4096, 2**40)),
)
compound = st.builds(lambda base, v: Tuple_((base, v), bracketed=True), st.one_of(addresses, st.just(Sym("table"))), vectors)
operands: st.SearchStrategy[Operand] = st.one_of(
    scalars,
    symbols,
    vectors,
    memories,
    compound,
    st.builds(Pair, st.one_of(registers, vectors, st.just(Blank())), st.one_of(predicates, st.just(Blank()))),
    st.builds(Neg, predicates),
    st.builds(Minus, registers),
    st.builds(Part, registers, st.sampled_from(["b0", "b3", "h0", "h1", "-h1", "b3210"])),
)
guards = st.one_of(st.none(), st.builds(Guard, predicates, st.booleans()))
opcodes = st.sampled_from(["mov", "ld", "frob", "tcgen05", "cp"])
modifiers = st.lists(st.sampled_from(["u32", "L1::no_allocate", "16x64b", "shared::cta", "rn", "2d"]), max_size=4)
calls = st.builds(
    lambda r, a: (Tuple_(tuple(r)), Sym("f"), Tuple_(tuple(a))), st.lists(registers, max_size=2), st.lists(scalars, max_size=3)
)
instructions = st.one_of(
    st.builds(lambda o, m, ops, g: Instruction(o, tuple(m), tuple(ops), g, 7), opcodes, modifiers, st.lists(operands, max_size=6), guards),
    st.builds(lambda m, ops, g: Instruction("call", tuple(m), ops, g, 7), st.sampled_from([[], ["uni"]]), calls, guards),
)


@settings(max_examples=400, deadline=None)
@given(instructions)
def test_printed_instructions_read_the_same(instruction: Instruction) -> None:
    assert one(print_instruction(instruction), OUTSIDE) == instruction


BLANKS = st.sampled_from([" ", "\t", "\n", "  ", "/**/", " // ; , {\n", "/* } \n */", "\r\n"])
PARTS = re.compile(r"0[fd][0-9A-F]+|[\w$%.:]+|[-\d]+|\S")


@settings(max_examples=200, deadline=None)
@given(instructions, st.data())
def test_blanks_and_comments_mean_nothing(instruction: Instruction, data: st.DataObject) -> None:
    """Any blanks between the tokens: also the long way to read a statement gives what the short one gives."""
    text = print_instruction(instruction)
    spread = "".join(part + data.draw(BLANKS) for part in PARTS.findall(text))
    (found,) = kernel(spread, OUTSIDE).body
    assert isinstance(found, Instruction)
    assert (found.opcode, found.modifiers, found.operands, found.guard) == (
        instruction.opcode, instruction.modifiers, instruction.operands, instruction.guard,
    )  # fmt: skip


def test_every_instruction_of_the_sample_prints_and_reads(sample: str) -> None:
    loaded = PtxModule.from_text(sample)
    body = loaded.kernel("main_kernel").body
    flat = [
        item for item in body if isinstance(item, Instruction) and "@" not in print_instruction(item).removeprefix("@").removeprefix("!")
    ]
    assert len(flat) > 25
    for item in flat:
        text = print_instruction(item)
        before, behind = sample.split(".loc 1 11 4\n", 1)
        again = PtxModule.from_text(before + text + behind).kernel("main_kernel").body[0]
        assert isinstance(again, Instruction) and again.operands == item.operands and again.spelling == item.spelling


def load_all(text: str) -> None:
    loaded = PtxModule.from_bytes(text.encode("utf-8", "surrogatepass"), "fuzz")
    _ = loaded.variables
    for name in loaded.kernel_names:
        loaded.kernel(name)
    for name in loaded.function_names:
        loaded.function(name)


@pytest.mark.parametrize("seed", range(4))
def test_broken_text_gives_errors_of_ours(sample: str, seed: int) -> None:
    """Truncations, deletions, doublings, swaps and foreign characters."""
    source = random.Random(seed)
    tokens = [*'{}()[];,"@%<>_!-|:?\\\0\x1cé\ud800', "/*", "//", "9" * 30, "0x", "1e999", ".5e", ".reg", ".loc"]
    tokens += [".b8", ".v4", "WARP_SZ", "0f", "generic(", "<99999999999>"]
    failures, start = 0, time.monotonic()
    for _ in range(150):
        text = sample
        for _ in range(source.randint(1, 3)):
            at = source.randrange(len(text))
            kind = source.randrange(5)
            if kind == 0:
                text = text[:at] or "x"
            elif kind == 1:
                text = text[:at] + text[at + source.randint(1, 12) :]
            elif kind == 2:
                text = text[:at] + source.choice(tokens) + text[at + source.randint(0, 3) :]
            elif kind == 3:
                other = source.randrange(len(text))
                text = text[:at] + text[other : other + source.randint(1, 60)] + text[at:]
            else:
                text = text[:at] + chr(source.randrange(1, 0x250)) + text[at + 1 :]
        try:
            load_all(text)
        except WarpsightError:
            failures += 1
    assert failures > 75  # the text was indeed broken
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20000,
        ".entry k { mov " + "{" * 20000,
        ".entry k {" * 5000,
        ".entry k { mov " + "[" * 3000 + "]" * 3000 + "; }",
        ".entry k { add " + "-" * 20000 + "1; }",
        ".entry k { x " + "1?" * 5000 + "1; }",
        ".entry k { x " + "9" * 100000 + "; }",
        ".entry k { x " + "a" * 100000 + "9" * 5000 + "; }",
        ".entry k { .loc " + "9" * 5000 + " 1 1 }",
        ".file " + "9" * 5000 + ' "x"',
        ".entry k { " + "x," * 50000 + "; }",
        ".entry k { " + " " * 100000 + "x }",
        ".entry k { mov.u32 " + " \n" * 50000 + "x:: }",
        ".global .u8 x[] = {" + "{" * 5000 + "}" * 5000 + "};",
        ".global .u8 x[99999999999999999999];",
        ".entry k { ret; }" + ".func f(" * 3000,
        ".global .u32 x" + "[10]" * 5000 + ";",
        ".global .u32 x[99999999999999] = {1};",
        ".section .x {" + "a" * 50000 + "}",
        ".section .x { .b8 " + "1," * 50000 + "}",
        '.pragma "' + "\\" * 50001 + '";',
        "/*" * 50000,
        '"' * 50001,
    ],
    ids=range(23),
)
def test_monstrous_text_ends_soon(text: str) -> None:
    start = time.monotonic()
    with pytest.raises(WarpsightError):
        load_all(HEAD + text)
    assert time.monotonic() - start < 10
