"""What an instruction costs: PTX forms to timing entries, after what ptxas 13.0 makes of them for sm_90.

An entry is a sequence of operation classes (docs/architecture.md, "Timing of an instruction"): the classes are the rows `[op.NAME]` of a GPU file. `+`
joins classes that issue one behind the other, `3*ffma` repeats one, `chain(...)` says that each waits for the one before, "" is an instruction
that hardware does not execute. The sequences were read off ptxas's code (measured: the listings of micro-benchmarks that hold one PTX
instruction over and over, and of single-instruction kernels); those with several paths give the one of ordinary operands.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ...semantics import Form

Modifiers = tuple[str, ...]

# Opcodes whose entry follows from the type's width and kind: (16- and 32-bit integers, 64-bit integers, f32, f64, f16 and bf16).
_BY_TYPE: dict[str, tuple[str, str, str, str, str]] = {
    "add": ("iadd3", "iadd3+iadd3_x", "fadd", "dadd", "hadd2"),
    "sub": ("iadd3", "iadd3+iadd3_x", "fadd", "dadd", "hadd2"),
    "addc": ("iadd3_x", "iadd3_x+iadd3_x", "", "", ""),
    "subc": ("iadd3_x", "iadd3_x+iadd3_x", "", "", ""),
    "mul": ("imad", "imad_wide+imad+imad+iadd3", "fmul", "dmul", "hmul2"),
    "mad": ("imad", "imad_wide+imad+imad+iadd3", "ffma", "dfma", "hfma2"),
    "madc": ("imad", "imad_wide+imad+imad+iadd3", "", "", ""),
    "fma": ("", "", "ffma", "dfma", "hfma2"),
    "min": ("vimnmx", "isetp+isetp_x+sel+sel", "fmnmx", "chain(dsetp+fsel)+sel", "hmnmx2"),
    "max": ("vimnmx", "isetp+isetp_x+sel+sel", "fmnmx", "chain(dsetp+fsel)+sel", "hmnmx2"),
    "abs": ("iabs", "chain(isetp+iadd3+iadd3_x)+sel+sel", "fadd", "dadd", "hadd2"),
    "neg": ("iadd3", "iadd3+iadd3_x", "fadd", "dadd", "hadd2"),
    "sad": ("chain(vabsdiff+iadd3)", "chain(isetp+isetp_x+iadd3+iadd3_x+iadd3+iadd3_x)", "", "", ""),
    "and": ("lop3", "2*lop3", "", "", ""),
    "or": ("lop3", "2*lop3", "", "", ""),
    "xor": ("lop3", "2*lop3", "", "", ""),
    "not": ("lop3", "2*lop3", "", "", ""),
    "cnot": ("chain(isetp+sel)", "chain(isetp+isetp_x+sel)", "", "", ""),
    "shl": ("shf", "2*shf", "", "", ""),
    "shr": ("shf", "2*shf", "", "", ""),
    "setp": ("isetp", "chain(isetp+isetp_x)", "fsetp", "dsetp", "hsetp2"),
    "set": ("chain(isetp+sel)", "chain(isetp+isetp_x+sel)", "chain(fsetp+sel)", "chain(dsetp+sel)", "hset2"),
    "selp": ("sel", "2*sel", "fsel", "2*fsel", "sel"),
    "slct": ("chain(isetp+sel)", "chain(isetp+sel)+sel", "chain(isetp+fsel)", "chain(isetp+fsel)+fsel", ""),
    "popc": ("popc", "chain(popc+popc+iadd3)", "", "", ""),
    "clz": ("chain(flo+iadd3)", "chain(isetp+sel+flo+iadd3)", "", "", ""),
    "bfind": ("flo", "chain(flo+flo+isetp+sel)", "", "", ""),
    "brev": ("brev", "2*brev", "", "", ""),
    "bfe": ("chain(prmt+shf+sgxt)", "chain(3*shf+3*lop3)", "", "", ""),
    "bfi": ("chain(bmsk+shf+lop3)", "chain(4*shf+4*lop3)", "", "", ""),
    "copysign": ("", "", "lop3", "lop3", ""),
    "testp": ("", "", "chain(fadd+fsetp)", "chain(dadd+dsetp)", ""),
    "ex2": ("", "", "mufu", "", "chain(2*mufu16)"),
    "tanh": ("", "", "mufu", "", "chain(2*mufu16)"),
    "lg2": ("", "", "mufu", "", ""),
    "sin": ("", "", "chain(fmul+mufu)", "", ""),
    "cos": ("", "", "chain(fmul+mufu)", "", ""),
    "rsqrt": ("", "", "mufu", "chain(mufu+dmul+4*dfma)", ""),
    "mov": ("mov", "2*mov", "mov", "2*mov", "mov"),
}

_FIXED: dict[str, str] = {
    "cvta": "", "isspacep": "chain(iadd3+isetp)", "lop3": "lop3", "shf": "shf", "prmt": "prmt", "bmsk": "bmsk", "szext": "sgxt", "fns": "chain(popc+20*lop3)",
    "dp4a": "idp", "dp2a": "idp", "mul24": "chain(2*sgxt+imad)", "mad24": "chain(2*sgxt+imad)", "shfl": "shfl", "vote": "vote", "activemask": "vote",
    "elect": "elect", "bra": "bra", "brx": "chain(ldc+brx)", "call": "call", "ret": "ret", "exit": "exit", "trap": "bpt", "brkpt": "bpt",
    "nanosleep": "nanosleep", "pmevent": "nop", "griddepcontrol": "nop", "prefetch": "cctl", "prefetchu": "cctl", "discard": "cctl", "applypriority": "cctl",
    "createpolicy": "mov", "barrier": "bar", "ldu": "ldg",
}  # fmt: skip


def entry_for(opcode: str, modifiers: Modifiers, form: Form) -> str:
    """The timing entry of an instruction by itself. Lowering prices what ptxas fuses (engine/lower/price.py)."""
    return _entry(opcode, modifiers, form.name)


def _kind_of(type: str) -> int:
    """Column of `_BY_TYPE`."""
    if type in ("f32", "tf32"):
        return 2
    if type == "f64":
        return 3
    if type in ("f16", "bf16", "f16x2", "bf16x2"):
        return 4
    return 1 if type.endswith("64") and not type.endswith("x64") else 0


@lru_cache(maxsize=65536)
def _entry(opcode: str, modifiers: Modifiers, form: str) -> str:
    special = _SPECIAL.get(opcode)
    if special is not None:
        return special(modifiers, form)
    if opcode in _FIXED:
        return _FIXED[opcode]
    if opcode in _BY_TYPE:
        return _BY_TYPE[opcode][_kind_of(modifiers[-1] if modifiers else "")]
    raise AssertionError(f"no timing entry for {opcode}.{'.'.join(modifiers)}")


def _mul(opcode: str) -> Callable[[Modifiers, str], str]:
    def entry(modifiers: Modifiers, form: str) -> str:
        type = modifiers[-1]
        if "wide" in modifiers:
            return "imad_wide" if type[1:] == "32" else "imad"
        if "hi" in modifiers and _kind_of(type) == 0:
            return "imad_hi" if type[1:] == "32" else "chain(imad+shf)"
        if "hi" in modifiers:
            return "4*imad_wide+iadd3+iadd3_x"
        return _BY_TYPE[opcode][_kind_of(type)]

    return entry


def _div(modifiers: Modifiers, form: str) -> str:
    type = modifiers[-1]
    if type == "f32":
        return (
            "chain(mufu+fmul)"
            if "approx" in modifiers
            else "chain(fmul+mufu+2*fmul)"
            if "full" in modifiers
            else "chain(mufu+5*ffma)+fchk+bra"
        )
    if type == "f64":
        return "chain(mufu+7*dfma+dmul)+2*mov+fsetp+bra"
    if type.endswith("64"):
        return "chain(isetp+bra+i2f+mufu+iadd3+f2i+12*imad_wide+12*iadd3)"
    return "chain(i2f+mufu+iadd3+f2i+iadd3+imad+imad_hi+imad_hi+imad+isetp+iadd3+isetp+iadd3)"


def _rcp(modifiers: Modifiers, form: str) -> str:
    if modifiers[-1] == "f64":
        return "chain(mufu+4*dfma)+bra"
    return "mufu" if "approx" in modifiers else "chain(mufu+2*ffma)+iadd3+isetp+bra"


def _sqrt(modifiers: Modifiers, form: str) -> str:
    if modifiers[-1] == "f64":
        return "chain(mufu+dmul+6*dfma)+bra"
    return "mufu" if "approx" in modifiers else "chain(mufu+fmul+fmul+3*ffma)+iadd3+isetp+bra"


def _cvt(modifiers: Modifiers, form: str) -> str:
    types = [m for m in modifiers if re.fullmatch(r"(b|u|s|f|bf|tf)\d+(x2)?", m)]
    if "pack" in modifiers:
        return "i2ip"
    to, source = types[0], types[1]
    float_to, float_from = _kind_of(to) > 1, _kind_of(source) > 1
    wide = to.endswith("64") or source.endswith("64")
    if not float_to and not float_from:
        return _cvt_integers(to, source, "sat" in modifiers)
    if float_to and not float_from:
        return "i2f64" if wide else "i2fp" if to == "f32" and source[1:] == "32" else "i2f"
    if float_from and not float_to:
        return "f2i64" if wide else "f2i"
    if any(m in modifiers for m in ("rni", "rzi", "rmi", "rpi")):
        return "frnd"
    if wide:
        return "f2f64"
    if to == "tf32":
        return "chain(iadd3+lop3+fsetp)"
    if to.endswith("x2"):
        return "f2fp"
    if to == source:
        return "fadd" if to == "f32" else "hadd2"
    if to == "f32":
        return "hadd2" if source == "f16" else "shf"
    return "f2fp"


def _cvt_integers(to: str, source: str, saturates: bool) -> str:
    if saturates:
        return "chain(2*vimnmx)"
    to_bits, from_bits = int(to[1:]), int(source[1:])
    if to_bits <= from_bits and to_bits >= 32:
        return "" if to_bits == 32 or from_bits == 64 else "mov"
    if to_bits < 32 and to_bits <= from_bits:
        return "prmt" if to_bits == 16 else "lop3" if to[0] == "u" else "prmt"
    narrow = "" if from_bits == 32 else "prmt" if source[0] == "s" else "lop3"
    if to_bits == 64:
        upper = "shf" if source[0] == "s" else "mov"
        return f"{narrow}+{upper}" if narrow else upper
    return narrow or "mov"


def _memory(name: str) -> Callable[[Modifiers, str], str]:
    names = {"global": "g", "shared": "s", "local": "l", "const": "c"}

    def entry(modifiers: Modifiers, form: str) -> str:
        space = next((m.partition("::")[0] for m in modifiers if m.partition("::")[0] in (*names, "param")), "generic")
        if space == "param":
            return "" if name == "ld" else "st"
        return name + names.get(space, "")

    return entry


def _atom(modifiers: Modifiers, form: str) -> str:
    shared = any(m.startswith("shared") for m in modifiers)
    type = modifiers[-1]
    if not shared:
        return "atomg"
    if _kind_of(type) > 1:
        return "lds+chain(fadd+atoms)+isetp+bra"
    return "atoms"


def _red(modifiers: Modifiers, form: str) -> str:
    return _atom(modifiers, form) if any(m.startswith("shared") for m in modifiers) else "redg"


def _match(modifiers: Modifiers, form: str) -> str:
    return "match_any" if "any" in modifiers else "match_all"


def _redux(modifiers: Modifiers, form: str) -> str:
    return "chain(redux+mov)"


def _fence(modifiers: Modifiers, form: str) -> str:
    scope = next((m for m in modifiers if m in ("cta", "cluster", "gpu", "gl", "sys")), "cta")
    if scope == "cta":
        return "membar_cta"
    return ("membar_sys" if scope == "sys" else "membar_gpu") + "+errbar+cctl"


def _bar(modifiers: Modifiers, form: str) -> str:
    return "warpsync" if "warp" in modifiers else "bar"


def _mov(modifiers: Modifiers, form: str) -> str:
    type = modifiers[-1]
    if type == "pred":
        return "plop3"
    destinations, _, sources = form.partition(":")[2].partition("<")
    if "," in destinations:
        return "" if type != "b32" else "2*prmt"
    if "," in sources:
        return "" if type != "b32" else "prmt"
    return "4*mov" if type == "b128" else _BY_TYPE["mov"][_kind_of(type)]


_SPECIAL: dict[str, Callable[[Modifiers, str], str]] = {
    "mul": _mul("mul"), "mad": _mul("mad"), "div": _div, "rem": lambda m, f: _div(m, f).removesuffix(")") + "+imad)", "rcp": _rcp, "sqrt": _sqrt,
    "cvt": _cvt, "ld": _memory("ld"), "st": _memory("st"), "atom": _atom, "red": _red, "match": _match, "redux": _redux, "membar": _fence,
    "fence": _fence, "bar": _bar, "mov": _mov,
}  # fmt: skip


# Entries as text

_TERM = re.compile(r"(?:(\d+)\*)?([a-z]\w*)")


@lru_cache(maxsize=4096)
def classes(entry: str) -> tuple[str, ...]:
    """The operation classes of an entry, in order, repetitions written out: "2*lop3+mov" gives lop3, lop3, mov."""
    return tuple(name for count, name in _TERM.findall(entry) if name != "chain" for _ in range(int(count or 1)))


def slots(entry: str) -> int:
    """Issue slots of an entry, which are instructions of the hardware."""
    return len(classes(entry))


__all__ = ["classes", "entry_for", "slots"]
