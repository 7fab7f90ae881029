"""Kernels in PTX for tests of register allocation."""

AVG_SQUARE = """.version 6.0
.target sm_20
.address_size 32
.visible .entry avgSquare()
{
  .reg .b32 %d, %s, %c, %t0, %N, %i, %t1, %m, %t2, %t3, %t4, %v, %q;
  .reg .pred %p;
  mov.u32 %d, 0;
  mov.f32 %s, 0f00000000;
  ld.global.u32 %c, [0];
  mul.lo.s32 %t0, %c, %c;
  mov.u32 %N, %tid.x;
  add.s32 %N, %N, %t0;
  mov.u32 %i, %tid.x;
L9:
  setp.eq.s32 %p, %i, %N;
  @%p bra L23;
  shl.b32 %t1, %i, 2;
  ld.global.u32 %m, [4];
  add.u32 %t1, %m, %t1;
  ld.global.f32 %t2, [%t1];
  add.rn.f32 %s, %t2, %s;
  add.s32 %d, %d, 1;
  ld.global.u32 %c, [0];
  add.s32 %i, %i, %c;
  bra L9;
L23:
  cvt.rn.f32.s32 %q, %d;
  div.rn.f32 %t3, %s, %q;
  mov.u32 %t4, %tid.x;
  shl.b32 %t4, %t4, 2;
  ld.global.u32 %v, [8];
  add.u32 %t4, %v, %t4;
  st.global.f32 [%t4], %t3;
  ret;
}
"""
"""The paper's avgSquare in μ-SIMD (Fig. 16). Addresses are sums in registers, ids are moved, and ``i == N`` stands for
``i >= N``, which is uniform only if sums do not wrap, and PTX does not say so."""


def kernel(body: str, target: str = "sm_75", version: str = "9.1", directives: str = "") -> str:
    """A kernel ``k(out)`` of one dimension: ``%i`` is the thread's number, ``%out`` the address of its two words.

    `body` may use ``%r0`` to ``%r19`` and ``%p0`` to ``%p3``, ``%d0`` to ``%d7``, and ``%f0`` to ``%f3``.
    """
    return f""".version {version}
.target {target}
.address_size 64
.visible .entry k(.param .u64 .ptr .align 1 out, .param .u32 n) {directives}
{{
  .reg .b32 %r<20>, %i;
  .reg .b64 %d<8>, %out;
  .reg .f32 %f<4>;
  .reg .pred %p<4>;
  mov.u32 %i, %tid.x;
  ld.param.u64 %out, [out];
  mul.wide.u32 %d7, %i, 8;
  add.u64 %out, %out, %d7;
{body}
  ret;
}}
"""


SHARED_COUNTER = kernel("""
  mov.u32 %r0, 0;
  mov.u32 %r1, 0;
  and.b32 %r2, %i, 3;
L:
  add.u32 %r0, %r0, 1;
  setp.le.u32 %p0, %r0, %r2;
  mul.lo.u32 %r3, %r0, %i;
  xor.b32 %r5, %r3, %r1;
  mul.lo.u32 %r6, %r5, %r3;
  xor.b32 %r7, %r6, %r5;
  mul.lo.u32 %r4, %r7, %r6;
  add.u32 %r4, %r4, %r3;
  add.u32 %r4, %r4, %r5;
  add.u32 %r1, %r1, %r4;
  @%p0 bra L;
  st.global.u32 [%out], %r1;
  st.global.u32 [%out+4], %r3;
""")
"""The counter %r0 is the same in all threads that are in the loop, which they leave one after the other."""

UNIFORM_COUNTER = kernel("""
  mov.u32 %r0, 0;
  mov.u32 %r1, 0;
  ld.param.u32 %r2, [n];
L:
  add.u32 %r0, %r0, 1;
  setp.lt.u32 %p0, %r0, %r2;
  xor.b32 %r4, %r0, %r1;
  and.b32 %r5, %i, 1;
  setp.eq.u32 %p1, %r5, 0;
  @%p1 bra M;
  mul.lo.u32 %r3, %r4, %i;
  xor.b32 %r5, %r3, %r1;
  mul.lo.u32 %r6, %r5, %r3;
  xor.b32 %r7, %r6, %r5;
  add.u32 %r7, %r7, %r6;
  add.u32 %r7, %r7, %r5;
  add.u32 %r7, %r7, %r3;
  add.u32 %r1, %r1, %r7;
M:
  add.u32 %r1, %r4, %r1;
  @%p0 bra L;
  st.global.u32 [%out], %r1;
  st.global.u32 [%out+4], %r0;
""")
"""The counter is the same in all threads, all go around equally often, and part on the way."""
