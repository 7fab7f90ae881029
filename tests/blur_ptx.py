"""A kernel in PTX that keeps loaded values for later iterations, where its buffers are apart."""

PTX = """
.version 7.0
.target sm_75
.address_size 64
.visible .entry blur(.param .u64 a, .param .u64 out, .param .u32 n, .param .u32 w)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .reg .f32 %f<6>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [out];
  ld.param.u32 %r1, [n];
  ld.param.u32 %r2, [w];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r6, %r3, %r4, %r5;
  mul.wide.u32 %rd3, %r2, 4;
  mul.wide.u32 %rd4, %r6, 4;
  add.s64 %rd1, %rd1, %rd4;
  add.s64 %rd2, %rd2, %rd4;
  mov.u32 %r7, 0;
next:
  setp.ge.s32 %p, %r7, %r1;
  @%p bra done;
  add.s64 %rd5, %rd1, %rd3;
  add.s64 %rd6, %rd5, %rd3;
  ld.global.f32 %f1, [%rd1];
  ld.global.f32 %f2, [%rd5];
  ld.global.f32 %f3, [%rd6];
  add.f32 %f4, %f1, %f2;
  add.f32 %f5, %f4, %f3;
  st.global.f32 [%rd2], %f5;
  mov.u64 %rd1, %rd5;
  add.s64 %rd2, %rd2, %rd3;
  add.s32 %r7, %r7, 1;
  bra next;
done:
  ret;
}
"""
