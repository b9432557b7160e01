"""What an instruction costs: PTX forms to timing entries, after what ptxas 13.0 makes of them for sm_90.

An entry is a sequence of operation classes (docs/architecture.md, "Timing of an instruction"); the classes are the rows `[op.NAME]` of
a GPU file. `+` joins classes that issue one behind the other, `3*ffma` repeats one, `chain(...)` says that each class waits for the one
before, "" is an instruction that hardware does not execute. Every sequence is what ptxas 13.0.88 -arch=sm_90 emits for a kernel with
that one instruction (measured by disassembly); slow paths that ordinary operands do not take are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from ...semantics import Form

Modifiers = tuple[str, ...]
Rule = Callable[[Modifiers, str], str]

# By type: 32-bit integers and bits, 64-bit ones, f32, f64, f16 and bf16 with their pairs. "-": there is no such instruction.
_BY_TYPE: dict[str, tuple[str, str, str, str, str]] = {
    "add": ("iadd3", "iadd3+iadd3_x", "fadd", "dadd", "hadd2"),
    "sub": ("iadd3", "iadd3+iadd3_x", "fadd", "dadd", "hadd2"),
    "addc": ("iadd3_x", "iadd3_x+iadd3_x", "-", "-", "-"),
    "subc": ("iadd3_x", "iadd3_x+iadd3_x", "-", "-", "-"),
    "mul": ("imad", "imad+imad+imad_wide+iadd3", "fmul", "dmul", "hmul2"),
    "mad": ("imad", "imad+imad+imad_wide+iadd3", "ffma", "dfma", "hfma2"),
    "madc": ("imad_x", "imad+imad+imad_wide+iadd3_x", "-", "-", "-"),
    "fma": ("-", "-", "ffma", "dfma", "hfma2"),
    "min": ("vimnmx", "chain(isetp+isetp+sel)+sel", "fmnmx", "chain(dsetp+fsel+sel)+3*mov+lop3", "hmnmx2"),
    "abs": ("iabs", "chain(isetp+iadd3+iadd3_x+sel)+sel", "fadd", "dadd", "hadd2"),
    "neg": ("iadd3", "iadd3+iadd3_x", "fadd", "dadd", "hadd2"),
    "sad": ("vabsdiff", "chain(isetp+isetp+iadd3+iadd3_x+iadd3+iadd3_x)", "-", "-", "-"),
    "and": ("lop3", "2*lop3", "-", "-", "-"),
    "not": ("lop3", "2*lop3", "-", "-", "-"),
    "cnot": ("chain(isetp+sel)", "chain(isetp+isetp+sel)+mov", "-", "-", "-"),
    "shl": ("shf", "2*shf", "-", "-", "-"),
    "setp": ("isetp", "chain(isetp+isetp)", "fsetp", "dsetp", "hsetp2"),
    "set": ("chain(isetp+sel)", "chain(isetp+isetp+sel)", "chain(fsetp+sel)", "chain(dsetp+sel)", "chain(hsetp2+sel)"),
    "selp": ("sel", "2*sel", "fsel", "2*fsel", "sel"),
    "slct": ("chain(isetp+sel)", "chain(isetp+sel)+sel", "chain(isetp+fsel)", "chain(isetp+fsel)+fsel", "-"),
    "popc": ("popc", "chain(popc+popc+iadd3)", "-", "-", "-"),
    "clz": ("chain(flo+iadd3)", "chain(isetp+sel+flo+iadd3)+iadd3+mov", "-", "-", "-"),
    "bfind": ("flo", "chain(isetp+bra+flo+iadd3)", "-", "-", "-"),
    "brev": ("brev", "2*brev", "-", "-", "-"),
    "bfe": ("chain(shf+sgxt)", "chain(shf+iadd3+iadd3_x+lop3+shf)+3*shf+lop3", "-", "-", "-"),
    "bfi": ("chain(shf+lop3)", "chain(shf+lop3)+shf+2*lop3", "-", "-", "-"),
    "copysign": ("-", "-", "lop3", "lop3", "-"),
    "testp": ("-", "-", "chain(lop3+isetp)", "chain(lop3+isetp+isetp)", "-"),
    "mov": ("mov", "2*mov", "mov", "2*mov", "mov"),
}
for _opcode, _like in (("max", "min"), ("or", "and"), ("xor", "and"), ("shr", "shl")):
    _BY_TYPE[_opcode] = _BY_TYPE[_like]

# 16-bit integers live in 32-bit registers; what needs their upper half extended first costs more than _BY_TYPE says.
_NARROW = {"mul": "chain(prmt+imad)+prmt", "mad": "chain(prmt+imad)+2*prmt", "sub": "chain(prmt+iadd3)", "sad": "chain(prmt+vabsdiff)+prmt"}

_FIXED: dict[str, str] = {
    "lop3": "lop3", "shf": "shf", "prmt": "prmt", "bmsk": "bmsk", "szext": "sgxt", "dp4a": "idp", "dp2a": "idp",
    "mul24": "chain(sgxt+imad)+sgxt", "mad24": "chain(sgxt+imad)+sgxt",
    "fns": "chain(shf+lop3+4*popc+5*isetp+8*iadd3+3*sel+5*shf+4*sgxt)", "isspacep": "qspc", "createpolicy": "mov", "shfl": "shfl",
    "vote": "vote", "activemask": "vote", "elect": "chain(elect+mov)", "redux": "chain(redux+mov)",
    "bra": "bra", "brx": "chain(ldc+brx)", "call": "call", "ret": "ret", "exit": "exit", "trap": "bpt", "brkpt": "bpt",
    "nanosleep": "nanosleep", "pmevent": "nop", "griddepcontrol": "nop", "prefetch": "cctl", "prefetchu": "cctl",
    "discard": "cctl", "applypriority": "cctl", "ldu": "ldg",
}  # fmt: skip

# Functions of one float: with .ftz; without, where subnormals are scaled before and after.
_FLOAT_FUNCTIONS = {
    "rcp": ("mufu", "chain(fsetp+fsel+fmul+mufu+fmul)+fsetp+fsel"),
    "sqrt": ("mufu", "chain(fsetp+fmul+mufu+fmul)"),
    "rsqrt": ("mufu", "chain(fsetp+fmul+mufu+fmul)"),
    "lg2": ("mufu", "chain(fsetp+fmul+mufu+fadd)"),
    "ex2": ("mufu", "chain(fsetp+fmul+mufu+fmul)"),
    "tanh": ("mufu", "mufu"),
    "sin": ("chain(fmul+mufu)", "chain(fmul+mufu)"),
    "cos": ("chain(fmul+mufu)", "chain(fmul+mufu)"),
}
_RCP_RN = "chain(iadd3+lop3+isetp+bra+mufu+ffma+fadd+ffma)"
_SQRT_RN = "chain(iadd3+isetp+bra+mufu+fmul+ffma+ffma)+fmul"
_DIV_RN = "chain(mufu+5*ffma)+fchk+bra"
_RCP_RN64 = "chain(mufu+5*dfma)+2*iadd3+fsetp+bra"
_RSQRT64 = "chain(mufu+2*dmul+3*dfma)+3*mov+iadd3+isetp+bra"
_SQRT_RN64 = "chain(mufu+3*dmul+5*dfma)+3*mov+2*iadd3+isetp+bra"
_DIV_RN64 = "chain(mufu+7*dfma+dmul)+3*mov+2*fsetp+ffma+bra"

# Integer division by reciprocal.
_DIVIDE = {
    ("div", "u32"): "chain(i2f+mufu+iadd3+f2i+iadd3+imad+imad_hi+imad_hi+imad+isetp+iadd3+isetp+iadd3)+iadd3+isetp+lop3+mov",
    ("rem", "u32"): "chain(i2f+mufu+iadd3+f2i+mov+imad+imad_hi+imad_hi+imad+isetp+iadd3+isetp+iadd3)+mov+isetp+lop3",
    ("div", "s32"):
    "chain(iabs+i2f+mufu+iadd3+f2i+mov+imad+imad_hi+imad_hi+imad+isetp+iadd3+isetp+iadd3+iadd3)+2*iabs+2*mov+2*lop3+2*isetp+iadd3",
    ("rem", "s32"): "chain(iabs+i2f+mufu+iadd3+f2i+mov+imad+imad_hi+imad_hi+imad+isetp+iadd3+isetp+iadd3+iadd3)+2*iabs+2*mov+lop3+2*isetp",
    ("div", "64"): "call+chain(i2f+mufu+iadd3+f2i+20*imad_wide+17*iadd3+6*isetp+8*sel)+11*imad+3*mov+ret",
    ("rem", "64"): "call+chain(i2f+mufu+iadd3+f2i+19*imad_wide+14*iadd3+6*isetp+6*sel)+11*imad+5*mov+ret",
    ("div", "16"): "call+chain(i2f+mufu+fmul+f2i)+4*prmt+lop3+mov+ret",
    ("rem", "16"): "call+chain(i2f+mufu+fmul+f2i+imad)+4*prmt+lop3+mov+ret",
}  # fmt: skip
_MUL_HI64 = {
    "u": "3*imad_wide+chain(iadd3_x+iadd3+imad_wide)+mov",
    "s": "3*imad_wide+chain(3*iadd3+iadd3_x+imad_wide)+2*isetp+2*iadd3_x+4*sel",
}

# Special registers: read through the special-register bus, from the constant bank of the launch, or from a counter (CS2R).
_CONSTANT_SPECIALS = ("%ntid", "%nctaid", "%nsmid", "%nwarpid", "%dynamic_smem_size", "%total_smem_size", "%aggr_smem_size", "%envreg")
_COUNTER_SPECIALS = ("%clock", "%globaltimer")


def entry_for(opcode: str, modifiers: Modifiers, form: Form) -> str:
    """The timing entry of an instruction by itself. Lowering prices what ptxas joins (engine/lower/price.py)."""
    return _entry(opcode, modifiers, form.name)


def special_entry(name: str) -> str:
    """Of a mov from the special register `name`."""
    if name.startswith(_COUNTER_SPECIALS):
        return "cs2r"
    if name.startswith(_CONSTANT_SPECIALS):
        return "ldc"
    return "chain(s2r+shf)+sgxt" if name == "%warpid" else "s2r"


def _kind_of(type: str) -> int:
    """Column of `_BY_TYPE`."""
    if type in ("f32", "tf32"):
        return 2
    if type == "f64":
        return 3
    if type in ("f16", "bf16", "f16x2", "bf16x2"):
        return 4
    return 1 if type in ("b64", "u64", "s64") else 0


@lru_cache(maxsize=65536)
def _entry(opcode: str, modifiers: Modifiers, form: str) -> str:
    rule = _RULES.get(opcode)
    if rule is not None:
        return rule(modifiers, form)
    if opcode in _FIXED:
        return _FIXED[opcode]
    type = modifiers[-1] if modifiers else ""
    if opcode in _NARROW and type[1:] == "16" and _kind_of(type) == 0:
        return _NARROW[opcode]
    if opcode not in _BY_TYPE:
        raise AssertionError(f"no timing entry for {opcode}.{'.'.join(modifiers)}")
    return _BY_TYPE[opcode][_kind_of(type)]


def _multiply(opcode: str) -> Rule:
    def rule(modifiers: Modifiers, form: str) -> str:
        type = next(m for m in reversed(modifiers) if m != "cc")
        bits = type[1:]
        if _kind_of(type) > 1:
            return _BY_TYPE[opcode][_kind_of(type)]
        if bits == "16":
            return _NARROW["mul" if opcode == "mul" else "mad"] + ("+shf" if "hi" in modifiers else "")
        if "wide" in modifiers:
            return "imad_wide"
        if "hi" in modifiers:
            return _MUL_HI64[type[0]] if bits == "64" else "imad_hi"
        return _BY_TYPE[opcode][_kind_of(type)]

    return rule


def _division(opcode: str) -> Rule:
    def rule(modifiers: Modifiers, form: str) -> str:
        type = modifiers[-1]
        if type == "f64":
            return _DIV_RN64
        if type == "f32":
            if "approx" in modifiers:
                return "chain(mufu+fmul)" if "ftz" in modifiers else "chain(fsetp+fmul+mufu+fmul)+fmul"
            return "chain(fsetp+fmul+mufu+fmul)+fsetp+3*fmul" if "full" in modifiers else _DIV_RN
        return _DIVIDE[opcode, type] if type[1:] == "32" else _DIVIDE[opcode, type[1:]]

    return rule


def _float_function(opcode: str) -> Rule:
    rounded = {
        ("rcp", "f32"): _RCP_RN,
        ("sqrt", "f32"): _SQRT_RN,
        ("rcp", "f64"): _RCP_RN64,
        ("sqrt", "f64"): _SQRT_RN64,
        ("rsqrt", "f64"): _RSQRT64,
    }

    def rule(modifiers: Modifiers, form: str) -> str:
        type = modifiers[-1]
        if type == "f64" and opcode == "rcp" and "approx" in modifiers:
            return "mufu"
        if type == "f64" or (type == "f32" and "approx" not in modifiers and (opcode, type) in rounded):
            return rounded[opcode, type]
        if _kind_of(type) == 4:
            return "chain(mufu+mufu+prmt)" if type.endswith("x2") else "mufu"
        return _FLOAT_FUNCTIONS[opcode][0 if "ftz" in modifiers else 1]

    return rule


_INTEGER = re.compile(r"[bus](8|16|32|64)")


def _cvt(modifiers: Modifiers, form: str) -> str:
    types = [m for m in modifiers if re.fullmatch(r"(b|u|s|f|bf|tf)\d+(x2)?", m)]
    if "pack" in modifiers:
        return "i2ip"
    to, source = types[0], types[1]
    to_integer, from_integer = _INTEGER.fullmatch(to), _INTEGER.fullmatch(source)
    if to_integer and from_integer:
        return _cvt_integers(to, source, "sat" in modifiers)
    if to_integer:
        wide = "f2i64" if "64" in (to[1:], source[1:]) else "f2i"
        return wide + {"u8": "+lop3", "s8": "+2*prmt"}.get(to, "")
    if from_integer:
        if "64" in (to[1:], source[1:]):
            return "i2f64"
        if to == "f32" and source in ("u8", "u16", "u32", "s32"):
            return "chain(lop3+i2fp)" if source == "u8" else "i2fp"
        return "i2f"
    if any(m in modifiers for m in ("rni", "rzi", "rmi", "rpi")):
        return "f2f64" if to == "f64" else "frnd"
    if "f64" in (to, source):
        return "f2f64" if to != source else "dadd"
    if to == "tf32":
        return "chain(fsetp+iadd3+lop3)+mov"
    if to == "f32":
        return {"f32": "fadd", "f16": "hadd2", "bf16": "shf"}[source]
    return "hadd2" if to == source else "f2fp"


def _cvt_integers(to: str, source: str, saturates: bool) -> str:
    to_bits, from_bits = int(to[1:]), int(source[1:])
    if saturates:
        return "chain(vimnmx+vimnmx)" if from_bits >= 32 or to_bits < from_bits else "prmt"
    if to_bits <= from_bits:
        return "" if to_bits >= 16 or to == source else "lop3" if to[0] == "u" else "2*prmt"
    narrow = {8: "prmt" if source[0] == "s" else "lop3", 16: "prmt" if source[0] == "s" else "", 32: ""}[from_bits]
    upper = "" if to_bits < 64 else "shf" if source[0] == "s" else "mov"
    both = [x for x in (narrow, upper) if x]
    return f"chain({'+'.join(both)})" if len(both) > 1 else "".join(both)


def _ordered(access: str, modifiers: Modifiers) -> str:
    """The fences that ptxas puts around an access with an order stronger than relaxed, listed before it: the core wants the access last."""
    scope = next((m for m in modifiers if m in ("cluster", "gpu", "sys")), "cta")
    before = any(m in modifiers for m in ("release", "acq_rel", "sc"))
    after = any(m in modifiers for m in ("acquire", "acq_rel", "sc"))
    if scope == "cta":
        return f"membar_cta+{access}" if before else access
    return (f"membar_{'sys' if scope == 'sys' else 'gpu'}+errbar+errbar+" if before else "") + ("cctl+" if after else "") + access


def _space(modifiers: Modifiers) -> str:
    return next((m.partition("::")[0] for m in modifiers if m.partition("::")[0] in ("global", "shared", "local", "const", "param")), "")


def _memory(name: str) -> Rule:
    letters = {"global": "g", "shared": "s", "local": "l", "const": "c", "": ""}

    def rule(modifiers: Modifiers, form: str) -> str:
        space = _space(modifiers)
        if space == "param":
            return "ldc"
        return _ordered(name + letters[space], modifiers)

    return rule


def _atomic(name: str) -> Rule:
    def rule(modifiers: Modifiers, form: str) -> str:
        type = modifiers[-1]
        if _space(modifiers) != "shared":
            return _ordered(f"{name}g", modifiers)
        if "add" in modifiers and _kind_of(type) == 2:
            return "bssy+isetp+bra+bsync+chain(lds+fadd+atoms)"
        if "add" in modifiers and _kind_of(type) == 3:
            return "bssy+2*isetp+bra+bsync+chain(lds+dadd+atoms)"
        if _kind_of(type) in (1, 4) and not ({"exch", "cas"} & set(modifiers)):
            return "bssy+2*isetp+bra+bsync+chain(lds+iadd3+iadd3_x+atoms)"
        return "atoms"

    return rule


def _match(modifiers: Modifiers, form: str) -> str:
    return "match_any" if "any" in modifiers else "match_all"


def _fence(modifiers: Modifiers, form: str) -> str:
    if "proxy" in modifiers:
        return "membar_gpu+fence_view"
    scope = next((m for m in modifiers if m in ("cta", "cluster", "gpu", "gl", "sys")), "cta")
    if scope == "cta":
        return "membar_cta"
    return ("membar_sys" if scope == "sys" else "membar_gpu") + "+errbar+errbar+cctl"


def _bar(modifiers: Modifiers, form: str) -> str:
    if "warp" in modifiers:
        return "warpsync"
    return "bar+b2r" if "red" in modifiers else "bar"


def _cvta(modifiers: Modifiers, form: str) -> str:
    """The window of shared memory is a constant; that of local memory lies in the stack's address."""
    space = _space(modifiers)
    if space == "local":
        return "iadd3+iadd3_x"
    return "2*mov" if space in ("shared", "param") else ""


def _mov(modifiers: Modifiers, form: str) -> str:
    """Packing 32-bit halves into a pair of registers, or taking them out, is a matter of register allocation."""
    type = modifiers[-1]
    if type == "pred":
        return "plop3"
    destinations, _, sources = form.partition(":")[2].partition("<")
    if "," in destinations or "," in sources:
        return "" if type in ("b64", "b128") and "b16" not in form else "prmt"
    return "4*mov" if type == "b128" else _BY_TYPE["mov"][_kind_of(type)]


def _logic(opcode: str) -> Rule:
    def rule(modifiers: Modifiers, form: str) -> str:
        return "plop3" if modifiers[-1] == "pred" else _BY_TYPE[opcode][_kind_of(modifiers[-1])]

    return rule


_RULES: dict[str, Rule] = {
    "mul": _multiply("mul"), "mad": _multiply("mad"), "madc": _multiply("madc"), "div": _division("div"), "rem": _division("rem"),
    "cvt": _cvt, "ld": _memory("ld"), "st": _memory("st"), "atom": _atomic("atom"), "red": _atomic("red"), "match": _match,
    "membar": _fence, "fence": _fence, "bar": _bar, "barrier": _bar, "cvta": _cvta, "mov": _mov,
    **{name: _float_function(name) for name in _FLOAT_FUNCTIONS},
    **{name: _logic(name) for name in ("and", "or", "xor", "not")},
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


def all_entries() -> set[str]:
    """Every entry that the tables here can give, for checks against a GPU file."""
    found = {e for row in _BY_TYPE.values() for e in row if e != "-"} | set(_FIXED.values()) | set(_NARROW.values()) | set(_DIVIDE.values())
    found |= {e for row in _FLOAT_FUNCTIONS.values() for e in row} | set(_MUL_HI64.values())
    return found | {_RCP_RN, _SQRT_RN, _DIV_RN, _RCP_RN64, _RSQRT64, _SQRT_RN64, _DIV_RN64}


__all__ = ["all_entries", "classes", "entry_for", "slots", "special_entry"]
