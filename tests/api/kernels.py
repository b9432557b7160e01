"""Small PTX modules for the tests of the API, and how to write one."""

from __future__ import annotations

HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"

SAXPY = (
    HEAD
    + """
.file 1 "saxpy.cu"
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)
{
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f<4>;
  .reg .b64 %rd<6>;
  .loc 1 4 1
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  ld.param.f32 %f1, [a];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p, %r5, %r1;
  @%p bra DONE;
  .loc 1 5 3
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  ld.global.f32 %f3, [%rd5];
  fma.rn.f32 %f3, %f1, %f2, %f3;
  st.global.f32 [%rd5], %f3;
DONE:
  ret;
}
"""
)

SPIN = HEAD + ".visible .entry spin(.param .u64 out)\n{\nLOOP:\n  bra LOOP;\n}\n"


def entry(params: str, body: str, before: str = "", name: str = "k", directives: str = "") -> str:
    """A module with one kernel that declares a few registers of each kind."""
    registers = ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .f32 %f<8>; .reg .b64 %d<16>; .reg .f64 %g<8>;"
    return f"{HEAD}{before}\n.visible .entry {name}({params}) {directives}\n{{\n{registers}\n{body}\nret;\n}}\n"
