"""add sub mul fma div rcp sqrt of every float type against rational arithmetic: edge values, and bits where rounding is hard."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracle_float as oracle
from tests.semantics.float_rules import BUILDERS, Bits, form, pairs, run, show, triples
from warpsight.semantics import NotSupported

MODES = oracle.MODES
SETTINGS = settings(max_examples=10, deadline=None)


def modifiers(spelling: str) -> dict[str, object]:
    words = spelling.split(".")
    mode = next((w for w in words if w in MODES), "rn")
    return {"mode": mode, "ftz": "ftz" in words, "sat": "sat" in words, "relu": "relu" in words}


def check(builder: str, spelling: str, operands: list[Bits]) -> None:
    """Every row of operands; a packed type's halves are checked apart."""
    words = spelling.split(".")
    op, type = ("fma" if words[0] == "mad" else words[0]), words[-1]
    fmt = oracle.FORMATS[type.removesuffix("x2")]
    if type.endswith("x2"):
        operands = [c | np.roll(c, 7 * i + 1) << np.uint64(16) for i, c in enumerate(operands)]
    register = "b32" if type.endswith("x2") else f"b{fmt.bits}"
    got = run(builder, spelling, [register], [register] * len(operands), operands)[0]
    flags = modifiers(spelling)

    def expected(*args: int) -> int:
        if op == "rcp":
            return oracle.operation("div", fmt, (fmt.one, *args), **flags)  # type: ignore[arg-type]
        return oracle.operation(op, fmt, args, **flags)  # type: ignore[arg-type]

    for shift in (0, 16) if type.endswith("x2") else (0,):
        mask = np.uint64((1 << fmt.bits) - 1)
        parts = [c >> np.uint64(shift) & mask for c in operands]
        want = np.array([expected(*map(int, row)) for row in zip(*parts, strict=True)], np.uint64)
        problem = show(spelling, parts, got >> np.uint64(shift) & mask, want)
        assert not problem, problem


FLOAT_FORMS = [
    f"{op}.{r}{z}.{t}"
    for op in ("add", "sub", "mul", "div", "rcp", "sqrt")
    for r in MODES
    for t, z in (("f32", ""), ("f32", ".ftz"), ("f64", ""))
]
FMA_FORMS = [f"fma.{r}{z}.{t}" for r in MODES for t, z in (("f32", ""), ("f32", ".ftz"), ("f64", ""))]
SAT_FORMS = ["add.rm.sat.f32", "add.ftz.sat.f32", "mul.rp.sat.f32", "sub.sat.f32"]
DEFAULT_FORMS = ["add.f32", "sub.ftz.f32", "mul.f64", "add.f64"]
HALF_FORMS = [f"{op}{z}.{t}" for op in ("add", "sub", "mul") for t, z in
              (("f16", ".rn"), ("f16x2", ""), ("f16", ".rn.ftz"), ("f16x2", ".sat"), ("f16", ".ftz.sat"),
               ("bf16", ".rn"), ("bf16x2", ""))]  # fmt: skip
HALF_FMA = [
    "fma.rn.f16",
    "fma.rn.ftz.f16",
    "fma.rn.sat.f16x2",
    "fma.rn.relu.f16",
    "fma.rn.ftz.relu.f16",
    "fma.rn.bf16",
    "fma.rn.relu.bf16x2",
]


def format_of(spelling: str) -> oracle.Format:
    return oracle.FORMATS[spelling.split(".")[-1].removesuffix("x2")]


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("spelling", [*FLOAT_FORMS, *SAT_FORMS, *DEFAULT_FORMS, *HALF_FORMS])
def test_edge_values(spelling: str, builder: str) -> None:
    edges = oracle.edges(format_of(spelling))
    unary = spelling.split(".")[0] in ("rcp", "sqrt")
    check(builder, spelling, [np.array(edges, np.uint64)] if unary else pairs(edges, edges))


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("spelling", [*FMA_FORMS, "mad.f32", "fma.rn.sat.f32", *HALF_FMA])
def test_fma_edge_values(spelling: str, builder: str) -> None:
    check(builder, spelling, triples(oracle.edges(format_of(spelling))[::4]))


def hard(fmt: oracle.Format) -> st.SearchStrategy[int]:
    """Patterns of a format: any, near powers of two, and with short significands, whose products and sums hit ties."""
    exponent = st.integers(0, (1 << fmt.exponent) - 1)
    short = st.builds(lambda s, e, f, k: s | (e << fmt.fraction) | (f << k & ((1 << fmt.fraction) - 1)), st.sampled_from([0, fmt.sign]),
                      exponent, st.integers(0, 15), st.integers(0, fmt.fraction))  # fmt: skip
    near_one = st.builds(
        lambda s, d: s | (fmt.one + d), st.sampled_from([0, fmt.sign]), st.integers(-(4 << fmt.fraction), 4 << fmt.fraction)
    )
    return st.one_of(st.integers(0, (1 << fmt.bits) - 1), short, near_one)


RANDOM = [*FLOAT_FORMS[::2], *FMA_FORMS, "add.sat.f32", "fma.rz.ftz.sat.f32", *HALF_FORMS[::2], *HALF_FMA]


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("spelling", RANDOM)
@SETTINGS
@given(st.data())
def test_random_values(spelling: str, builder: str, data: st.DataObject) -> None:
    fmt = format_of(spelling)
    count = {"rcp": 1, "sqrt": 1, "fma": 3}.get(spelling.split(".")[0], 2)
    rows = data.draw(st.lists(st.tuples(*[hard(fmt)] * count), min_size=8, max_size=64))
    check(builder, spelling, [np.array(c, np.uint64) for c in zip(*rows, strict=True)])


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_half_fma_is_rounded_once(type: str, builder: str) -> None:
    """A product that is a tie of the half type, and a sum too small to show in binary32 that decides it."""
    fmt = oracle.FORMATS[type]
    bits, unit = fmt.fraction + 1, 1 << fmt.fraction
    rows = []
    for i in range(1, bits):
        for scale in range(4):
            x = fmt.one + (1 << (fmt.fraction - i)) + scale * unit  # (1 + 2**-i) * 2**scale; times (1 + 2**-(bits-i)) it ends in a tie
            y = fmt.one + (1 << (fmt.fraction - (bits - i)))
            rows += [(x, y, z) for z in (0, 1, fmt.sign | 1, 2, fmt.sign | 2)]
            rows += [(x | fmt.sign, y, z) for z in (1, fmt.sign | 1)]
    # Beside the tie from the other side: the product is half a unit of the sum, less 2**-(2 * fraction) of itself.
    rows.append((fmt.one + 1, fmt.one - 2 - bits * unit, fmt.one + 1))
    check(builder, f"fma.rn.{type}", [np.array(c, np.uint64) for c in zip(*rows, strict=True)])


@pytest.mark.parametrize("spelling, types", [
    ("add.rn.relu.f32", "b32"), ("fma.f32", "b32"), ("fma.rn.oob.f16", "b16"), ("add.sat.f64", "b64"),
    ("add.rz.f16", "b16"), ("fma.rn.sat.bf16", "b16"),
    ("div.rn.f16", "b16"), ("add.rna.f32", "b32"), ("sqrt.f32", "b32"),
])  # fmt: skip
def test_what_the_manual_does_not_have_is_refused(spelling: str, types: str) -> None:
    count = {"fma": 3, "sqrt": 1}.get(spelling.split(".")[0], 2)
    with pytest.raises(NotSupported):
        form(spelling, (types,), (types,) * count)
