"""How fast PTX is read: one kernel of a library-sized module from cold, and instructions a second.

    python benchmarks/ptx_parse.py [--megabytes 46]

The module is made here: kernels in nvcc's style (declarations, .loc, inline assembly, vectors, comments), each with its own names and
constants.
The last line is a JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HEAD = """//
// Made by benchmarks/ptx_parse.py
//
.version 9.0
.target sm_90
.address_size 64

.file 1 "kernels.cu"
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 p0, .param .b64 p1);
.extern .shared .align 16 .b8 dynamic[];
"""


def kernel(number: int, blocks: int) -> str:
    """One kernel of some 24 instructions a block."""
    name = f"_Z12kernel_{number:06d}PKfPfi"
    lines = [
        f"\t// .globl\t{name}",
        f".global .align 4 .b8 table_{number}[32] = {{{', '.join(str((number * 7 + i) % 256) for i in range(32))}}};",
        f".visible .entry {name}(",
        f"\t.param .u64 {name}_param_0,\n\t.param .u64 {name}_param_1,\n\t.param .u32 {name}_param_2\n)",
        ".maxntid 256, 1, 1\n{",
        f"\t.reg .pred \t%p<{2 * blocks + 2}>;\n\t.reg .f32 \t%f<{8 * blocks + 8}>;\n\t.reg .b32 \t%r<{8 * blocks + 8}>;",
        f"\t.reg .b64 \t%rd<{4 * blocks + 8}>;\n",
        f"\tld.param.u64 \t%rd1, [{name}_param_0];\n\tld.param.u64 \t%rd2, [{name}_param_1];\n\tld.param.u32 \t%r1, [{name}_param_2];",
        "\tmov.u32 \t%r2, %tid.x;",
    ]
    for block in range(blocks):
        r, f, rd, p = 8 * block + 3, 8 * block + 1, 4 * block + 3, 2 * block + 1
        lines.append(f"""
$L__BB{number}_{block}:                                // in Loop: Header=BB{number}_0 Depth=1
	.loc	1 {10 + block % 300} {5 + block % 40}
	mad.lo.s32 	%r{r}, %r{r - 1}, {block + number}, %r1;
	setp.ge.s32 	%p{p}, %r{r}, %r1;
	@%p{p} bra 	$L__BB{number}_{blocks};
	mul.wide.s32 	%rd{rd}, %r{r}, 4;
	add.s64 	%rd{rd + 1}, %rd1, %rd{rd};
	.loc	1 {11 + block % 300} {9 + block % 40}
	ld.global.nc.v4.f32 	{{%f{f}, %f{f + 1}, %f{f + 2}, %f{f + 3}}}, [%rd{rd + 1}+{16 * (block % 64)}];
	fma.rn.f32 	%f{f + 4}, %f{f}, 0f3F{block % 256:02X}0000, %f{f + 1};
	fma.rn.f32 	%f{f + 5}, %f{f + 2}, %f{f + 3}, %f{f + 4};
	shr.u32 	%r{r + 1}, %r{r}, {block % 31};
	and.b32  	%r{r + 2}, %r{r + 1}, 31;
	xor.b32  	%r{r + 3}, %r{r + 2}, %r2;
	// begin inline asm
	{{ .reg .pred q; setp.ne.b32 q, %r{r + 3}, 0; selp.b32 %r{r + 4}, 1, 0, q; }}
	// end inline asm
	shfl.sync.bfly.b32 	%r{r + 5}|%p{p + 1}, %r{r + 4}, 16, 31, -1;
	cvt.rn.f32.s32 	%f{f + 6}, %r{r + 5};
	add.ftz.f32 	%f{f + 7}, %f{f + 5}, %f{f + 6};
	add.s64 	%rd{rd + 2}, %rd2, %rd{rd};
	st.global.f32 	[%rd{rd + 2}+4], %f{f + 7};
	bar.sync 	0;
	mov.u32 	%r{r + 6}, %ctaid.x;
	add.s32 	%r{r + 7}, %r{r + 6}, %r{r + 5};""")
    lines.append(f"\n$L__BB{number}_{blocks}:\n\tret;\n\n}}")
    return "\n".join(lines)


def module(megabytes: float) -> str:
    parts, size, number = [HEAD], len(HEAD), 0
    while size < megabytes * 1e6:
        parts.append(kernel(number, 4 + (number * 37) % 120))
        size += len(parts[-1]) + 1
        number += 1
    return "\n".join(parts)


COLD = """
import sys, time
start = time.perf_counter()
from warpsight.isa.ptx import PtxModule
imported = time.perf_counter()
module = PtxModule.from_path(sys.argv[1])
names = module.kernel_names
kernel = module.kernel(names[len(names) // 2])
print(time.perf_counter() - imported, imported - start, len(names), len(kernel.body))
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=float, default=46)
    options.add_argument("--runs", type=int, default=3)
    chosen = options.parse_args()
    from warpsight.isa.ptx import PtxModule

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "library.ptx"
        path.write_text(module(chosen.megabytes))
        size = path.stat().st_size
        command = [sys.executable, "-c", COLD, str(path)]
        cold = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(chosen.runs)]
        one = statistics.median(float(run[0]) for run in cold)
        imports, kernels, statements = float(cold[0][1]), cold[0][2], cold[0][3]
        print(f"{size / 1e6:.1f} MB, {kernels} kernels: one of {statements} statements in {one:.3f} s from cold (imports {imports:.3f} s)")
        parsed = PtxModule.from_path(path)
        names = parsed.kernel_names[:400]
        rates = []
        for i in range(chosen.runs):
            start, count = time.perf_counter(), 0
            for name in names[i :: chosen.runs]:
                count += len(parsed.kernel(name).body)
            rates.append(count / (time.perf_counter() - start))
        rate = statistics.median(rates)
        print(f"parsing: {rate / 1e3:.0f} k statements/s")
        print(json.dumps({"ptx_one_kernel_cold": {"seconds": round(one, 4), "megabytes": size / 1e6}, "ptx_parse": {"rate": round(rate)}}))


if __name__ == "__main__":
    main()
