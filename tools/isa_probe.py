"""One tiny PTX kernel per instruction form, to be run on a real GPU and here: the bits must be the same.

`cases()` lists forms as (PTX spelling, operand types). `ptx(case)` is a module with one kernel: thread i reads up to four 8-byte operands
from `inputs()`, executes the instruction, and writes up to two 8-byte results. tools/isa_probe_hw.py runs all cases on the GPU through the
driver and writes tests/data/isa_h200.npz; tests/semantics/test_isa_hardware.py compares.

Inputs mix edge values of every type with random bits (fixed seed), so that each operand meets each kind of value.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

N = 256  # threads, and so operand tuples, per case

INTS = ("u16", "s16", "u32", "s32", "u64", "s64")
REG = {
    "pred": "pred",
    "u8": "b16",
    "s8": "b16",
    "b8": "b16",
    "u16": "b16",
    "s16": "b16",
    "b16": "b16",
    "f16": "b16",
    "bf16": "b16",
    "u32": "b32",
    "s32": "b32",
    "b32": "b32",
    "f32": "b32",
    "f16x2": "b32",
    "bf16x2": "b32",
    "tf32": "b32",
    "u64": "b64",
    "s64": "b64",
    "b64": "b64",
    "f64": "b64",
    "u16x2": "b32",
    "s16x2": "b32",
}


@dataclass(frozen=True)
class Case:
    """`text`: instruction with {0} {1}... for sources and {d} {e} for destinations. `approx`: the hardware's bits are not promised yet."""

    text: str
    dst: tuple[str, ...]
    src: tuple[str, ...]
    approx: bool = False

    @property
    def name(self) -> str:
        return self.text.replace(";", "").strip()


def simple(op: str, dst: str, src: tuple[str, ...], approx: bool = False) -> Case:
    return Case(f"{op} {{d}}, " + ", ".join(f"{{{i}}}" for i in range(len(src))) + ";", (dst,), src, approx)


def cases() -> list[Case]:
    out: list[Case] = []

    def add(op: str, dst: str, *src: str, approx: bool = False) -> None:
        out.append(simple(op, dst, src, approx))

    # integer arithmetic
    for t in INTS:
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
            add(f"{op}.{t}", t, t, t)
        for op in ("div", "rem"):
            add(f"{op}.{t}", t, t, t)
        add(f"mad.lo.{t}", t, t, t, t)
        add(f"mad.hi.{t}", t, t, t, t)
        if t in ("u16", "s16", "u32", "s32"):
            wide = t[0] + str(2 * int(t[1:]))
            add(f"mul.wide.{t}", wide, t, t)
            add(f"mad.wide.{t}", wide, t, t, wide)
        if t[0] == "s":
            add(f"abs.{t}", t, t)
            add(f"neg.{t}", t, t)
        add(f"sad.{t}", t, t, t, t)
    add("add.sat.s32", "s32", "s32", "s32")
    add("sub.sat.s32", "s32", "s32", "s32")
    add("mad.hi.sat.s32", "s32", "s32", "s32", "s32")
    for t in ("u32", "s32"):
        for h in ("lo", "hi"):
            add(f"mul24.{h}.{t}", t, t, t)
            add(f"mad24.{h}.{t}", t, t, t, t)
        for u in ("u32", "s32"):
            add(f"dp4a.{t}.{u}", "s32", t, u, "s32")
            for h in ("lo", "hi"):
                add(f"dp2a.{h}.{t}.{u}", "s32", t, u, "s32")
    add("mad24.hi.sat.s32", "s32", "s32", "s32", "s32")
    for t in ("u16x2", "s16x2"):
        for op in ("min", "max", "add"):
            add(f"{op}.{t}", t, t, t)
    for op in ("min", "max"):
        add(f"{op}.relu.s16x2", "s16x2", "s16x2", "s16x2")
        add(f"{op}.relu.s32", "s32", "s32", "s32")
    # carries: the flag of the first instruction shows in the second
    for t in ("u32", "s32", "u64", "s64"):
        for first, second in (("add.cc", "addc"), ("sub.cc", "subc"), ("add.cc", "subc"), ("sub.cc", "addc")):
            out.append(Case(f"{first}.{t} {{d}}, {{0}}, {{1}}; {second}.{t} {{e}}, {{2}}, {{3}};", (t, t), (t, t, t, t)))
        out.append(Case(f"add.cc.{t} {{d}}, {{0}}, {{1}}; addc.cc.{t} {{d}}, {{2}}, {{3}}; addc.{t} {{e}}, 0, 0;", (t, t), (t, t, t, t)))
        for h in ("lo", "hi"):
            out.append(Case(f"mad.{h}.cc.{t} {{d}}, {{0}}, {{1}}, {{2}}; madc.{h}.{t} {{e}}, {{1}}, {{2}}, {{3}};", (t, t), (t, t, t, t)))
    # bits
    for t in ("b16", "b32", "b64"):
        for op in ("and", "or", "xor"):
            add(f"{op}.{t}", t, t, t)
        add(f"not.{t}", t, t)
        add(f"cnot.{t}", t, t)
        add(f"shl.{t}", t, t, "u32")
        add(f"shr.{t}", t, t, "u32")
        for k in "us":
            add(f"shr.{k}{t[1:]}", t, t, "u32")
    for op in ("and", "or", "xor"):
        add(f"{op}.pred", "pred", "pred", "pred")
    add("not.pred", "pred", "pred")
    for t in ("b32", "b64"):
        for op in ("popc", "clz"):
            add(f"{op}.{t}", "u32", t)
        add(f"brev.{t}", t, t)
        add(f"bfi.{t}", t, t, t, "u32", "u32")
    for t in ("u32", "s32", "u64", "s64"):
        add(f"bfind.{t}", "u32", t)
        add(f"bfind.shiftamt.{t}", "u32", t)
        add(f"bfe.{t}", t, t, "u32", "u32")
    for m in ("clamp", "wrap"):
        add(f"bmsk.{m}.b32", "b32", "u32", "u32")
        for k in "us":
            add(f"szext.{m}.{k}32", f"{k}32", f"{k}32", "u32")
        for d in "lr":
            add(f"shf.{d}.{m}.b32", "b32", "b32", "b32", "u32")
    add("fns.b32", "b32", "b32", "b32", "s32")
    for lut in (0x80, 0xFE, 0x96, 0x1B, 0xE8, 0xCA):
        out.append(Case(f"lop3.b32 {{d}}, {{0}}, {{1}}, {{2}}, {lut};", ("b32",), ("b32", "b32", "b32")))
    for b in ("and", "or"):
        out.append(Case(f"lop3.{b}.b32 {{d}}|{{e}}, {{0}}, {{1}}, {{2}}, 0x1e, {{3}};", ("b32", "pred"), ("b32", "b32", "b32", "pred")))
    for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        add(f"prmt.b32{m}", "b32", "b32", "b32", "u32")
    # choice and comparison
    for t in ("b16", "b32", "b64", "f32", "f64", "u32", "s64"):
        add(f"selp.{t}", t, t, t, "pred")
        add(f"slct.{t}.s32", t, t, t, "s32")
        add(f"slct.{t}.f32", t, t, t, "f32")
    add("slct.ftz.f32.f32", "f32", "f32", "f32", "f32")
    orders = {
        "u": ("eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"),
        "s": ("eq", "ne", "lt", "le", "gt", "ge"),
        "b": ("eq", "ne"),
        "f": ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"),
    }
    for t in (*INTS, "b16", "b32", "b64", "f32", "f64", "f16", "bf16"):
        for o in orders["f" if "f" in t else t[0]]:
            add(f"setp.{o}.{t}", "pred", t, t)
    for b in ("and", "or", "xor"):
        for t in ("s32", "f32", "u64", "f64"):
            out.append(Case(f"setp.lt.{b}.{t} {{d}}|{{e}}, {{0}}, {{1}}, {{2}};", ("pred", "pred"), (t, t, "pred")))
            out.append(Case(f"setp.ge.{b}.{t} {{d}}, {{0}}, {{1}}, !{{2}};", ("pred",), (t, t, "pred")))
            out.append(Case(f"set.gt.{b}.u32.{t} {{d}}, {{0}}, {{1}}, {{2}};", ("u32",), (t, t, "pred")))
    add("setp.lt.ftz.f32", "pred", "f32", "f32")
    for o in ("eq", "neu", "ge", "ltu"):
        for t in ("f16x2", "bf16x2"):
            out.append(Case(f"setp.{o}.{t} {{d}}|{{e}}, {{0}}, {{1}};", ("pred", "pred"), (t, t)))
            add(f"set.{o}.{t}.{t}", t, t, t)
        for t in ("s32", "f32", "f64", "u16"):
            add(f"set.{o if t[0] == 'f' or o in ('eq', 'ge') else 'ne'}.s32.{t}", "s32", t, t)
            add(f"set.{o if t[0] == 'f' or o in ('eq', 'ge') else 'ne'}.f32.{t}", "f32", t, t)
        add(f"set.{o}.f16.f16", "f16", "f16", "f16")
    # f32 and f64
    for t, z in (("f32", ""), ("f32", ".ftz"), ("f64", "")):
        for r in ("rn", "rz", "rm", "rp"):
            for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3), ("div", 2), ("rcp", 1), ("sqrt", 1)):
                add(f"{op}.{r}{z}.{t}", t, *[t] * n)
            if t == "f32":
                for op, n in (("add", 2), ("mul", 2), ("fma", 3)):
                    add(f"{op}.{r}{z}.sat.{t}", t, *[t] * n)
        add(f"neg{z}.{t}", t, t)
        add(f"abs{z}.{t}", t, t)
        for op in ("min", "max"):
            add(f"{op}{z}.{t}", t, t, t)
            if t == "f32":
                add(f"{op}{z}.NaN.{t}", t, t, t)
                add(f"{op}{z}.xorsign.abs.{t}", t, t, t)
                add(f"{op}{z}.NaN.xorsign.abs.{t}", t, t, t)
    for t in ("f32", "f64"):
        add(f"copysign.{t}", t, t, t)
        for k in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            add(f"testp.{k}.{t}", "pred", t)
    for z in ("", ".ftz"):
        for op, n in (
            ("div.full", 2),
            ("div.approx", 2),
            ("rcp.approx", 1),
            ("sqrt.approx", 1),
            ("rsqrt.approx", 1),
            ("sin.approx", 1),
            ("cos.approx", 1),
            ("lg2.approx", 1),
            ("ex2.approx", 1),
        ):
            add(f"{op}{z}.f32", "f32", *["f32"] * n, approx=True)
    add("tanh.approx.f32", "f32", "f32", approx=True)
    add("rcp.approx.ftz.f64", "f64", "f64", approx=True)
    add("rsqrt.approx.f64", "f64", "f64", approx=True)
    add("rsqrt.approx.ftz.f64", "f64", "f64", approx=True)
    # halfs
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        for op, n in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)):
            add(f"{op}.rn.{t}", t, *[t] * n)
            if "b" not in t:
                add(f"{op}.rn.sat.{t}", t, *[t] * n)
                add(f"{op}.rn.ftz.{t}", t, *[t] * n)
        add(f"fma.rn.relu.{t}", t, t, t, t)
        add(f"neg.{t}", t, t)
        add(f"abs.{t}", t, t)
        for op in ("min", "max"):
            add(f"{op}.{t}", t, t, t)
            add(f"{op}.NaN.{t}", t, t, t)
            add(f"{op}.NaN.xorsign.abs.{t}", t, t, t)
        add(f"tanh.approx.{t}", t, t, approx=True)
        add(f"ex2.approx{'.ftz' if 'b' in t else ''}.{t}", t, t, approx=True)
    # conversion
    ints8 = ("u8", "s8", *INTS)
    for d, s in itertools.product(ints8, ints8):
        if d != s:
            add(f"cvt.{d}.{s}", d, s)
            if int(d[1:]) <= int(s[1:]) or (d[0] == "u" and s[0] == "s"):  # elsewhere nothing can saturate, and ptxas refuses the modifier
                add(f"cvt.sat.{d}.{s}", d, s)
    floats = ("f16", "f32", "f64")
    for i, f in itertools.product(ints8, (*floats, "bf16")):
        if f == "bf16" and i in ("u8", "s8"):
            continue
        for r in ("rni", "rzi", "rmi", "rpi"):
            add(f"cvt.{r}.{i}.{f}", i, f)
        for r in ("rn", "rz", "rm", "rp"):
            add(f"cvt.{r}.{f}.{i}", f, i)
    for i in ("s32", "u32", "s64", "u8"):
        add(f"cvt.rzi.ftz.{i}.f32", i, "f32")
        add(f"cvt.rni.sat.{i}.f32", i, "f32")
    for f in floats:
        for r in ("rni", "rzi", "rmi", "rpi"):
            add(f"cvt.{r}.{f}.{f}", f, f)
    add("cvt.rni.ftz.f32.f32", "f32", "f32")
    add("cvt.sat.f32.f32", "f32", "f32")
    add("cvt.f32.f16", "f32", "f16")
    add("cvt.f64.f16", "f64", "f16")
    add("cvt.f64.f32", "f64", "f32")
    add("cvt.ftz.f64.f32", "f64", "f32")
    add("cvt.f32.bf16", "f32", "bf16")
    for r in ("rn", "rz", "rm", "rp"):
        add(f"cvt.{r}.f32.f64", "f32", "f64")
        add(f"cvt.{r}.ftz.f32.f64", "f32", "f64")
        add(f"cvt.{r}.sat.f32.f64", "f32", "f64")
        add(f"cvt.{r}.f16.f32", "f16", "f32")
        add(f"cvt.{r}.f16.f64", "f16", "f64")
    for r in ("rn", "rz"):
        add(f"cvt.{r}.bf16.f32", "bf16", "f32")
        add(f"cvt.{r}.relu.f16.f32", "f16", "f32")
        add(f"cvt.{r}.relu.bf16.f32", "bf16", "f32")
        for t in ("f16x2", "bf16x2"):
            add(f"cvt.{r}.{t}.f32", t, "f32", "f32")
            add(f"cvt.{r}.relu.{t}.f32", t, "f32", "f32")
    add("cvt.rn.sat.f16.f32", "f16", "f32")
    add("cvt.rn.ftz.f16.f32", "f16", "f32")
    add("cvt.rna.tf32.f32", "tf32", "f32")
    for t in ("u16", "s16"):
        add(f"cvt.pack.sat.{t}.s32", "b32", "s32", "s32")
    for t in ("u8", "s8"):
        add(f"cvt.pack.sat.{t}.s32.b32", "b32", "s32", "s32", "b32")
    # across lanes (N is a whole number of warps)
    for m in ("up", "down", "bfly", "idx"):
        out.append(Case(f"shfl.sync.{m}.b32 {{d}}|{{e}}, {{0}}, {{1}}, {{2}}, -1;", ("b32", "pred"), ("b32", "u32", "u32")))
        out.append(
            Case(
                f"and.b32 {{1}}, {{1}}, 31; shfl.sync.{m}.b32 {{d}}|{{e}}, {{0}}, {{1}}, {31 if m != 'up' else 0}, -1;",
                ("b32", "pred"),
                ("b32", "u32"),
            )
        )
    for m in ("all", "any", "uni"):
        out.append(Case(f"vote.sync.{m}.pred {{d}}, {{0}}, -1;", ("pred",), ("pred",)))
    out.append(Case("vote.sync.ballot.b32 {d}, {0}, -1;", ("b32",), ("pred",)))
    for t in ("b32", "b64"):
        out.append(Case(f"and.{t} {{0}}, {{0}}, 3; match.any.sync.{t} {{d}}, {{0}}, -1;", ("b32",), (t,)))
        out.append(Case(f"and.{t} {{0}}, {{0}}, 0; match.all.sync.{t} {{d}}|{{e}}, {{0}}, -1;", ("b32", "pred"), (t,)))
        out.append(Case(f"match.all.sync.{t} {{d}}|{{e}}, {{0}}, -1;", ("b32", "pred"), (t,)))
    for op, t in (
        ("add", "u32"),
        ("add", "s32"),
        ("min", "u32"),
        ("max", "u32"),
        ("min", "s32"),
        ("max", "s32"),
        ("and", "b32"),
        ("or", "b32"),
        ("xor", "b32"),
    ):
        out.append(Case(f"redux.sync.{op}.{t} {{d}}, {{0}}, -1;", (t,), (t,)))
    out.append(Case("elect.sync {d}|{e}, -1;", ("b32", "pred"), ()))
    # packing
    out.append(Case("mov.b32 {d}, {{{0}, {1}}};", ("b32",), ("b16", "b16")))
    out.append(Case("mov.b64 {d}, {{{0}, {1}}};", ("b64",), ("b32", "b32")))
    out.append(Case("mov.b64 {{{d}, {e}}}, {0};", ("b32", "b32"), ("b64",)))
    out.append(Case("mov.b32 {{{d}, {e}}}, {0};", ("b16", "b16"), ("b32",)))
    return list({c.name: c for c in out}.values())


def ptx(case: Case, name: str = "probe") -> str:
    lines = [
        ".version 8.4",
        ".target sm_90",
        ".address_size 64",
        f".visible .entry {name}(.param .u64 p_in, .param .u64 p_out)",
        "{",
        ".reg .b64 %in, %out, %o;",
        ".reg .b32 %i, %c, %t;",
        "mov.u32 %i, %tid.x; mov.u32 %c, %ctaid.x; mad.lo.s32 %i, %c, 64, %i;",
        "ld.param.u64 %in, [p_in]; ld.param.u64 %out, [p_out];",
        "cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out;",
        "mul.wide.u32 %o, %i, 32; add.s64 %in, %in, %o; mul.wide.u32 %o, %i, 16; add.s64 %out, %out, %o;",
    ]
    names: dict[str, str] = {}
    for i, t in enumerate(case.src):
        names[str(i)] = f"%s{i}"
        lines.append(f".reg .{REG[t]} %s{i};")
        if t == "pred":
            lines.append(f"ld.global.b32 %t, [%in+{8 * i}]; and.b32 %t, %t, 1; setp.ne.b32 %s{i}, %t, 0;")
        else:
            width = {"u8": "u8", "s8": "s8"}.get(t, REG[t])
            lines.append(f"ld.global.{width} %s{i}, [%in+{8 * i}];")
    for letter, t in zip("de", case.dst):
        names[letter] = f"%{letter}"
        lines.append(f".reg .{REG[t]} %{letter};")
    lines.append(case.text.format(*[names[str(i)] for i in range(len(case.src))], d="%d", e="%e"))
    for letter, t, offset in zip("de", case.dst, (0, 8)):
        if t == "pred":
            lines.append(f"selp.b32 %t, 1, 0, %{letter}; st.global.b32 [%out+{offset}], %t;")
        else:
            lines.append(f"st.global.{REG[t]} [%out+{offset}], %{letter};")
    return "\n".join([*lines, "ret;", "}", ""])


_FLOAT_EDGES = {
    "f16": [
        0,
        0x8000,
        1,
        0x8001,
        0x3FF,
        0x400,
        0x8400,
        0x3C00,
        0xBC00,
        0x3C01,
        0x3800,
        0x7BFF,
        0xFBFF,
        0x7C00,
        0xFC00,
        0x7E00,
        0xFE00,
        0x7D01,
        0x4900,
        0x5640,
        0x5BFF,
        0x3555,
        0xC248,
    ],
    "bf16": [
        0,
        0x8000,
        1,
        0x8001,
        0x7F,
        0x80,
        0x8080,
        0x3F80,
        0xBF80,
        0x3F81,
        0x3F00,
        0x7F7F,
        0xFF7F,
        0x7F80,
        0xFF80,
        0x7FC0,
        0xFFC0,
        0x7F81,
        0x4120,
        0x42C8,
        0x437F,
        0x4F00,
        0xC049,
    ],
    "f32": [
        0,
        0x80000000,
        1,
        0x80000001,
        0x7FFFFF,
        0x800000,
        0x80800000,
        0x3F800000,
        0xBF800000,
        0x3F800001,
        0x3F000000,
        0xBF000000,
        0x3FC00000,
        0x40200000,
        0x7F7FFFFF,
        0xFF7FFFFF,
        0x7F800000,
        0xFF800000,
        0x7FC00000,
        0xFFC00000,
        0x7F800001,
        0xFFA12345,
        0x4F000000,
        0xCF000000,
        0x4F7FFFFF,
        0x4F800000,
        0x5F000000,
        0x477FE000,
        0x477FF000,
        0x38800000,
        0x33000000,
        0x33800001,
        0x42FF0000,
        0x43000000,
        0x437F8000,
        0x4EFFFFFF,
        0x1E3CE508,
        0x00400000,
        0x7E967699,
        0x3EAAAAAB,
    ],
    "f64": [
        0,
        1 << 63,
        1,
        (1 << 63) | 1,
        0xFFFFFFFFFFFFF,
        0x10000000000000,
        0x8010000000000000,
        0x3FF0000000000000,
        0xBFF0000000000000,
        0x3FF0000000000001,
        0x3FE0000000000000,
        0x3FF8000000000000,
        0x4004000000000000,
        0x7FEFFFFFFFFFFFFF,
        0xFFEFFFFFFFFFFFFF,
        0x7FF0000000000000,
        0xFFF0000000000000,
        0x7FF8000000000000,
        0xFFF8000000000001,
        0x7FF0000000000001,
        0xFFF4123456789ABC,
        0x41E0000000000000,
        0xC1E0000000000000,
        0x41EFFFFFFFE00000,
        0x43E0000000000000,
        0xC3E0000000000000,
        0x43F0000000000000,
        0x47EFFFFFE0000000,
        0x47EFFFFFF0000000,
        0x36A0000000000000,
        0x3690000000000001,
        0x380FFFFFFFFFFFFF,
        0x40F0000000000000,
        0x3E70000000000000,
        0x0008000000000000,
        0x3FD5555555555555,
    ],
}


def _edges(t: str) -> list[int]:
    if t in ("f16x2", "bf16x2"):
        half = _FLOAT_EDGES[t[:-2]]
        return [half[i] | half[(7 * i + 3) % len(half)] << 16 for i in range(len(half))]
    if t in _FLOAT_EDGES:
        return _FLOAT_EDGES[t]
    if t == "tf32":
        return _FLOAT_EDGES["f32"]
    if t == "pred":
        return [0, 1]
    bits = int("".join(c for c in t.split("x")[0] if c.isdigit())) * (2 if "x2" in t else 1)
    top = 1 << bits
    values = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        65,
        127,
        128,
        255,
        256,
        top - 1,
        top - 2,
        top // 2,
        top // 2 - 1,
        top // 2 + 1,
        0x8000,
        0x7FFF,
        0xFFFF,
        0x10000,
        0x1F,
        0x1234,
        0x0F0F0F0F0F0F0F0F,
        0x8080808080808080,
        0x7F7F7F7F7F7F7F7F,
        0xDEADBEEFCAFEF00D,
        100,
        1000,
        0xFF00FF,
    ]
    return [v % top for v in values]


def inputs(case: Case) -> np.ndarray:
    """uint64 array (N, 4): operands of each thread; half edge pairs, half random, seeded by the case's name."""
    seed = int.from_bytes(case.name.encode(), "little") % (1 << 63)
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 1 << 64, (N, 4), dtype=np.uint64)
    for k, t in enumerate(case.src):
        edges = np.array(_edges(t), np.uint64)
        picks = edges[rng.integers(0, len(edges), N)]
        table[: N // 2, k] = picks[: N // 2]
        if len(case.src) == 1:
            table[: len(edges), k] = edges
        if t in ("f32", "f64", "f16x2", "f16", "bf16", "bf16x2", "tf32") and k:  # comparable magnitudes: cancellation, ties, equal operands
            near = slice(N // 2, 5 * N // 8)
            table[near, k] = table[near, 0] + rng.integers(-3, 4, N // 8).astype(np.uint64)
        if t == "u32" and k:  # shift amounts, positions, lengths
            table[N // 2 : 7 * N // 8, k] = rng.integers(0, 40, 3 * N // 8).astype(np.uint64)
        if t == "pred":
            table[:, k] &= np.uint64(1)
    return table
