"""Registers that hold no subnormal number are not flushed again, and all others are."""

import numpy as np

from weft import ptx
from weft.ptx.lift.flushing import flushed_registers
from weft.ptx.reader import read_module

TEXT = """.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 .ptr x, .param .u64 .ptr y, .param .u32 n) {
	.reg .pred %p;
	.reg .b32 %i, %k, %n;
	.reg .b64 %a, %b, %o;
	.reg .f32 %v, %s, %t, %c, %m, %d, %e, %q, %r;
	ld.param.u64 %a, [x];
	ld.param.u64 %b, [y];
	ld.param.u32 %n, [n];
	mov.u32 %i, %tid.x;
	mul.wide.u32 %o, %i, 4;
	add.s64 %a, %a, %o;
	add.s64 %b, %b, %o;
	ld.f32 %v, [%a];
	mov.f32 %s, 0f00000000;
	mov.f32 %c, 0f00400000;
	mov.f32 %d, %v;
	cvt.rn.f32.u32 %e, %i;
	mov.u32 %k, 0;
LOOP:
	add.ftz.f32 %t, %s, %v;
	mul.ftz.f32 %t, %t, 0f3F000000;
	mov.f32 %s, %t;
	add.s32 %k, %k, 1;
	setp.lt.u32 %p, %k, %n;
	@%p bra LOOP;
	mul.f32 %m, %s, 0f3F000000;
	add.ftz.f32 %q, %m, %d;
	add.ftz.f32 %q, %q, %c;
	add.ftz.f32 %r, %q, %s;
	fma.rn.ftz.f32 %r, %e, 0f00000000, %r;
	st.f32 [%b], %r;
	ret;
}
"""
LEAST = np.float32(2.0**-126)


def flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < LEAST, np.copysign(np.float32(0), x), x).astype(np.float32)


def test_what_is_written_decides() -> None:
    (function,) = read_module(TEXT).functions()
    assert flushed_registers(function) == {"%t", "%s", "%e", "%q", "%r"}


def test_the_result_is_that_of_flushing_everything() -> None:
    rng = np.random.default_rng(5)
    x = (rng.integers(-16, 17, 64) * 2.0 ** rng.integers(-132, -122, 64)).astype(np.float32)
    y = np.ones(64, np.float32)
    ptx.Module(TEXT)["f"][1, 64](x, y, 3)
    s = np.zeros(64, np.float32)
    for _ in range(3):
        s = flushed(flushed(s + flushed(x)) * np.float32(0.5))
    q = flushed(flushed(s * np.float32(0.5)) + flushed(x))
    wanted = flushed(flushed(q) + s)
    assert list(y.view(np.uint32)) == list((wanted + np.float32(0)).view(np.uint32))
