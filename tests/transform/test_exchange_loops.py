"""Loops that update memory by compare and exchange become atomic operations, and leave what they left."""

from typing import Any

import numpy as np
import pytest

from weft import cuda, opencl
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.exchange_loops import make_exchanges_atomic

FUNCTION = """
define i32 @f(ptr %p, float %v, i32 %n) {{
entry:
  %first = load i32, ptr %p
  br label %again
again:
{body}
out:
  %r = phi i32 [ {result}, %again ]
  ret i32 %r
}}
declare i32 @llvm.umax.i32(i32, i32) nounwind willreturn memory(none)
"""
GUESS = "  %old = phi i32 [ %first, %entry ], [ %now, %again ]\n"
LOADED = "  %was = load volatile float, ptr %p\n  %old = bitcast float %was to i32\n"
SUM = "  %was = bitcast i32 %old to float\n  %new = fadd float %v, %was\n  %w = bitcast float %new to i32\n"
EXCHANGE = (
    "  %x = cmpxchg ptr %p, i32 %old, i32 %w seq_cst monotonic\n  %now = extractvalue { i32, i1 } %x, 0\n"
)
FOUND = "  %c = icmp eq i32 %now, %old\n  br i1 %c, label %out, label %again\n"
DONE = "  %c = extractvalue { i32, i1 } %x, 1\n  br i1 %c, label %out, label %again\n"

ATOMIC = {
    "sum, guessed": (GUESS + SUM + EXCHANGE + FOUND, "%now", "fadd"),
    "sum, loaded": (
        LOADED + "  %new = fadd float %was, %v\n  %w = bitcast float %new to i32\n" + EXCHANGE + DONE, "%w", "fadd",
    ),
    "difference": (GUESS + "  %w = sub i32 %old, %n\n" + EXCHANGE + FOUND, "%old", "sub"),
    "greatest": (GUESS + "  %w = call i32 @llvm.umax.i32(i32 %n, i32 %old)\n" + EXCHANGE + DONE, "%old", "umax"),
    "the other way round": (
        GUESS + "  %w = xor i32 %old, %n\n" + EXCHANGE
        + "  %c = icmp ne i32 %old, %now\n  br i1 %c, label %again, label %out\n", "%w", "xor",
    ),
}  # fmt: skip

OTHERS = {
    "no operation for it": GUESS + "  %w = sub i32 %n, %old\n" + EXCHANGE + FOUND,
    "a product": GUESS + "  %w = mul i32 %old, %n\n" + EXCHANGE + FOUND,
    "what changes": GUESS + "  %y = mul i32 %old, 3\n  %w = add i32 %old, %y\n" + EXCHANGE + FOUND,
    "a store": GUESS + "  %w = add i32 %old, %n\n  store i32 %n, ptr %p\n" + EXCHANGE + FOUND,
    "leaves at once": GUESS + "  %w = add i32 %old, %n\n" + EXCHANGE
    + "  %c = icmp eq i32 %now, %old\n  br i1 %c, label %again, label %out\n",
    "another place": "  %q = getelementptr i8, ptr %p, i64 4\n  %old = load i32, ptr %q\n  %w = add i32 %old, %n\n"
    + EXCHANGE + FOUND,
    "another number": GUESS + "  %w = add i32 %old, %n\n" + EXCHANGE
    + "  %c = icmp eq i32 %now, %n\n  br i1 %c, label %out, label %again\n",
    "parts": GUESS + "  %h = bitcast i32 %old to <2 x i16>\n  %s = add <2 x i16> %h, splat (i16 1)\n"
    "  %w = bitcast <2 x i16> %s to i32\n" + EXCHANGE + FOUND,
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMIC)
def test_updates_are_atomic_operations(name: str) -> None:
    body, result, rmw = ATOMIC[name]
    module = read_module(FUNCTION.format(body=body, result=result))
    assert make_exchanges_atomic(module.functions["f"]) == 1
    verify(module)
    left = list(module.functions["f"].instructions())
    (update,) = (i for i in left if i.op == "atomicrmw")
    assert update.attrs["rmw"] == rmw and update.attrs["ordering"] == "seq_cst"
    assert not any(i.op in ("cmpxchg", "load") for i in left)


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay_loops(name: str) -> None:
    module = read_module(FUNCTION.format(body=OTHERS[name], result="%w"))
    assert make_exchanges_atomic(module.functions["f"]) == 0


CL = """
void add(volatile global float *p, float v) {
  union { uint u; float f; } old, now;
  do { old.f = *p; now.f = old.f + v; } while (atomic_cmpxchg((volatile global uint *)p, old.u, now.u) != old.u);
}
kernel void k(global const uchar *x, global float *sums) {
  int i = get_global_id(0);
  if (x[i] % 3) add(sums + x[i] % 5, (float)x[i]);
}"""
CUDA = """
__global__ void k(const unsigned char *x, float *sums) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x[i] % 3) {
    float v = x[i];
    int *p = (int *)(sums + x[i] % 5), old = *p, assumed;
    do {
      assumed = old;
      old = atomicCAS(p, assumed, __float_as_int(v + __int_as_float(assumed)));
    } while (assumed != old);
  }
}"""


@pytest.mark.parametrize(
    "options",
    [{}, {"width": 1}, {"without": ("exchange-loops",)}],
    ids=["lanes", "one", "loops"],
)
def test_sums_that_many_threads_add_to(options: dict[str, Any]) -> None:
    x = np.random.default_rng(1).integers(0, 256, 512, dtype=np.uint8)
    expected = [float(x[(x % 5 == k) & (x % 3 != 0)].sum()) for k in range(5)]
    for kernel in (opencl.Program(CL, **options).k, cuda.Module(CUDA, **options)["k"]):
        sums = np.zeros(5, np.float32)
        if isinstance(kernel, opencl.Kernel):
            kernel(512, 64, x, sums)
        else:
            kernel[8, 64](x, sums)
        assert sums.tolist() == expected
        if not options:
            assert not any("cmpxchg" in remark.message for remark in kernel.remarks)
