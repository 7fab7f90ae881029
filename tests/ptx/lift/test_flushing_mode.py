"""Kernels that flush all their numbers run in a mode of the processor, and compute what is written out otherwise."""

import platform

import numpy as np
import pytest

from weft import ptx

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry f(.param .u64 .ptr x, .param .u64 .ptr y) {
	.reg .pred %p;
	.reg .b32 %i, %j;
	.reg .b64 %a, %b, %o;
	.reg .f64 %d;
	.reg .f32 %u, %v, %w, %r, %s, %t;
	.shared .align 4 .f32 kept[64];
	ld.param.u64 %a, [x];
	ld.param.u64 %b, [y];
	mov.u32 %i, %tid.x;
	mul.wide.u32 %o, %i, 12;
	add.s64 %a, %a, %o;
	mul.wide.u32 %o, %i, 4;
	add.s64 %b, %b, %o;
	ld.f32 %u, [%a];
	ld.f32 %v, [%a+4];
	ld.f32 %w, [%a+8];
"""
TAIL = """	st.f32 [%b], %r;
	ret;
}
"""
BODIES = {
    "add": "add.ftz.f32 %r, %u, %v;",
    "subtract and compare": "sub.ftz.f32 %s, %u, %v;\nsetp.eq.ftz.f32 %p, %s, 0f00000000;\nselp.f32 %r, %s, %w, %p;",
    "copy by one": "mul.ftz.f32 %r, %u, 0f3F800000;",
    "add nothing": "add.ftz.f32 %r, %u, 0f80000000;",
    "half": "mul.ftz.f32 %s, %u, 0f3F000000;\nmul.ftz.f32 %r, %s, 0f40000000;",
    "fma": "fma.rn.ftz.f32 %r, %u, %v, %w;",
    "quotient": "div.rn.ftz.f32 %r, %u, %v;",
    "reciprocal": "rcp.approx.ftz.f32 %r, %u;",
    "root": "abs.ftz.f32 %s, %u;\nsqrt.rn.ftz.f32 %r, %s;",
    "inverse root": "abs.ftz.f32 %s, %u;\nrsqrt.approx.ftz.f32 %r, %s;",
    "sign": "neg.ftz.f32 %r, %u;",
    "size": "abs.ftz.f32 %r, %u;",
    "least": "min.ftz.f32 %r, %u, %v;",
    "compare": "setp.lt.ftz.f32 %p, %u, %v;\nselp.f32 %r, 0f3F800000, 0f40000000, %p;",
    "large sum": "abs.ftz.f32 %s, %u;\nfma.rn.ftz.f32 %t, %s, 0f3E6D3389, 0f3F800000;\nrcp.approx.ftz.f32 %r, %t;",
    "square of a choice": """sub.ftz.f32 %s, %u, %v;
	max.ftz.f32 %s, %s, 0f00000000;
	fma.rn.ftz.f32 %r, %s, %s, 0f00000000;""",
    "power": "mul.ftz.f32 %s, %u, 0f7E800000;\nex2.approx.ftz.f32 %r, %s;",
    "logarithm": "lg2.approx.ftz.f32 %s, %u;\nmul.ftz.f32 %r, %s, 0f00800000;",
    "around a loop": """mov.f32 %r, %u;
	mov.u32 %j, 0;
LOOP:
	mul.ftz.f32 %r, %r, 0f3F000000;
	add.ftz.f32 %r, %r, %v;
	add.s32 %j, %j, 1;
	setp.lt.u32 %p, %j, %i;
	@%p bra LOOP;""",
    "over a barrier": """mul.ftz.f32 %s, %u, %v;
	mul.wide.u32 %o, %i, 4;
	mov.u64 %a, kept;
	add.s64 %a, %a, %o;
	st.shared.f32 [%a], %w;
	bar.sync 0;
	ld.shared.f32 %t, [%a];
	fma.rn.ftz.f32 %r, %t, %s, %w;""",
}
KEPT = {
    "not all": "add.ftz.f32 %s, %u, %v;\nadd.f32 %r, %s, %w;",
    "not what is compared": "add.ftz.f32 %s, %u, %v;\nsetp.lt.f32 %p, %w, %v;\nselp.f32 %r, %s, %u, %p;",
    "doubles": "add.ftz.f32 %s, %u, %v;\ncvt.f64.f32 %d, %w;\nadd.f64 %d, %d, %d;\ncvt.rn.f32.f64 %r, %d;",
}
MESSAGE = "the processor flushes the numbers of f that are subnormal"
on_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="a mode of x86")


def _numbers() -> np.ndarray:
    """Numbers around the least normal one, and others of all kinds."""
    rng = np.random.default_rng(11)
    near = rng.integers(-(1 << 25), 1 << 25, (64, 3)) * 2.0 ** rng.integers(-152, -148, (64, 3))
    far = rng.normal(size=(64, 3)) * 2.0 ** rng.integers(-70, 70, (64, 3))
    x = np.where(rng.random((64, 3)) < 0.7, near, far).astype(np.float32)
    x[:6, 0] = 0.0, -0.0, np.inf, -np.inf, np.nan, 1.0
    return x


def _run(body: str, x: np.ndarray, **options: object) -> tuple[np.ndarray, list[str]]:
    kernel = ptx.Module(HEAD + body + "\n" + TAIL, **options)["f"]
    y = np.ones(64, np.float32)
    kernel[1, 64](x, y)
    return y, [remark.message for remark in kernel.remarks]


@pytest.mark.spread
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("width", [1, 8])
def test_the_mode_computes_what_is_written_out(name: str, width: int) -> None:
    x = _numbers()
    y, remarks = _run(BODIES[name], x, width=width)
    wanted, others = _run(BODIES[name], x, width=width, without=("flushing-mode",))
    assert list(np.nan_to_num(y).view(np.uint32)) == list(np.nan_to_num(wanted).view(np.uint32))
    assert list(np.isnan(y)) == list(np.isnan(wanted))
    assert MESSAGE not in others
    assert (MESSAGE in remarks) == (platform.machine() in ("x86_64", "AMD64"))


@pytest.mark.parametrize("name", KEPT)
def test_what_is_not_flushed_stays(name: str) -> None:
    x = _numbers()
    y, remarks = _run(KEPT[name], x)
    wanted, _ = _run(KEPT[name], x, without=("flushing-mode",))
    assert MESSAGE not in remarks
    assert list(np.nan_to_num(y).view(np.uint32)) == list(np.nan_to_num(wanted).view(np.uint32))


@on_x86
def test_the_mode_ends_with_the_kernel() -> None:
    _, remarks = _run(BODIES["fma"], _numbers())
    assert MESSAGE in remarks
    assert np.float32(2.0**-126) * np.float32(0.5) == np.float32(2.0**-127)
    assert np.float32(2.0**-127) + np.float32(0) > 0
