"""What a source says of unrolling a loop reaches LLVM in lanes, whatever door it comes by."""

import numpy as np
import pytest

from weft import cuda, opencl, ptx

THREADS = 64


def body(mark: str) -> str:
    return f"float s = 0;\n{mark}\nfor (int k = 0; k < 8; k++) s = s * 0.5f + x[i + k * 64];\ny[i] = s;"


def of_opencl(mark, x, y):
    head = (
        "kernel void f(global const float *restrict x, global float *restrict y) { int i = get_global_id(0);"
    )
    kernel = opencl.Program(f"{head}{body(mark)} }}").kernel("f")
    kernel((THREADS,), (THREADS,), x, y)
    return kernel


def of_cuda(mark, x, y):
    head = 'extern "C" __global__ void f(const float *__restrict__ x, float *__restrict__ y) { int i = threadIdx.x;'
    kernel = cuda.Module(f"{head}{body(mark)} }}").f
    kernel[1, THREADS](x, y)
    return kernel


PTX = """.version 8.0
.target sm_80
.address_size 64
{0}.visible .entry f(.param .u64 .ptr x, .param .u64 .ptr y) {1}{{
	.reg .pred %p;
	.reg .b32 %i, %k;
	.reg .b64 %a, %b, %o;
	.reg .f32 %s, %v;
	ld.param.u64 %a, [x];
	ld.param.u64 %b, [y];
	mov.u32 %i, %tid.x;
	mul.wide.u32 %o, %i, 4;
	add.s64 %a, %a, %o;
	add.s64 %b, %b, %o;
	mov.f32 %s, 0f00000000;
	mov.u32 %k, 0;
LOOP:
	{2}ld.f32 %v, [%a];
	fma.rn.f32 %s, %s, 0f3F000000, %v;
	add.s64 %a, %a, 256;
	add.s32 %k, %k, 1;
	setp.lt.s32 %p, %k, 8;
	@%p bra LOOP;
	st.f32 [%b], %s;
	ret;
}}
"""
PRAGMA = '.pragma "nounroll";\n'


def of_ptx(mark, x, y):
    places = ["", "", ""]
    if mark:
        places[int(mark)] = PRAGMA
    kernel = ptx.Module(PTX.format(*places))["f"]
    kernel[1, THREADS](x, y)
    return kernel


@pytest.mark.parametrize(
    ("door", "mark", "rolled"),
    [
        *((door, mark, bool(mark)) for door in (of_opencl, of_cuda) for mark in ("", "#pragma unroll 1")),
        (of_opencl, "#pragma nounroll", True),
        (of_cuda, "#pragma unroll", False),
        *((of_ptx, mark, bool(mark)) for mark in ("", "0", "1", "2")),
    ],
)
def test_loops_stay_where_the_source_says_so(door, mark, rolled):
    x = np.arange(8 * THREADS, dtype=np.float32) % 13
    y, wanted = np.zeros(THREADS, np.float32), np.zeros(THREADS, np.float32)
    for row in x.reshape(8, THREADS):
        wanted = wanted * np.float32(0.5) + row
    kernel = door(mark, x, y)
    np.testing.assert_allclose(y, wanted, rtol=1e-5)
    text = kernel.inspect_llvm()
    text = text if isinstance(text, str) else next(iter(text.values()))
    # A version for whole lane groups, and perhaps others for parts, have a product for each iteration.
    assert (text.count("splat (float 5.000000e-01)") <= 4) == rolled
