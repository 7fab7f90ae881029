"""Small kernels of every kind of instruction do for each instruction set what the interpreter does.

Each runs at one width a set, half of them at the others, all at all with ``WEFT_FUZZ``.
"""

import itertools
import os

import pytest

from codegen.kernels import agree, guarded, kernel_text, stored
from codegen.machine_code import ISAS, WIDTHS

EVERY = bool(os.environ.get("WEFT_FUZZ"))
LOAD = "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"

BODIES = {
    "contiguous": LOAD + stored("%v"),
    "contiguous masked": guarded(LOAD + stored("%v")),
    "reversed": "  %k = sub i64 63, %tid\n  %p = getelementptr i32, ptr %in, i64 %k\n"
    "  %v = load i32, ptr %p\n  %q = getelementptr i32, ptr %out, i64 %k\n  store i32 %v, ptr %q",
    "reversed masked": guarded(
        "  %k = sub i64 63, %tid\n  %p = getelementptr i32, ptr %in, i64 %k\n"
        "  %v = load i32, ptr %p\n  %q = getelementptr i32, ptr %out, i64 %k\n  store i32 %v, ptr %q"
    ),
    "stride three": "  %k = mul i64 %tid, 3\n  %p = getelementptr i32, ptr %in, i64 %k\n"
    "  %v = load i32, ptr %p\n  %q = getelementptr i32, ptr %out, i64 %k\n  store i32 %v, ptr %q",
    "gather and scatter": guarded(
        LOAD + "  %k = and i32 %v, 255\n  %g = getelementptr i32, ptr %in, i32 %k\n  %w = load i32, ptr %g\n"
        "  %s = xor i64 %tid, 5\n  %q = getelementptr i32, ptr %out, i64 %s\n  store i32 %w, ptr %q",
        "%c = icmp sgt i64 %n, %tid",
    ),
    "narrow elements": "  %p = getelementptr i8, ptr %in, i64 %tid\n  %v = load i8, ptr %p\n"
    "  %w = mul i8 %v, 7\n" + stored("%w", "i8"),
    "truth values in memory": "  %p = getelementptr i8, ptr %in, i64 %tid\n  %b = load i8, ptr %p\n"
    "  %t = trunc i8 %b to i1\n" + stored("%t", "i1"),
    "pointers in memory": guarded(
        "  %s = mul i64 %tid, 8\n  %o = getelementptr i8, ptr %out, i64 %s\n  store ptr %in, ptr %o\n"
        "  %l = load ptr, ptr %o, align 8\n  %v = load i32, ptr %l\n  store i32 %v, ptr %o\n"
        "  %h = getelementptr i8, ptr %o, i64 4\n  store i32 0, ptr %h"
    ),
    "uniform load under a mask": guarded("  %v = load i32, ptr %in\n" + stored("%v")),
    "uniform store": "  store volatile i32 0, ptr %in\n" * 0 + "  store i32 %t32, ptr %out",
    "uniform store under a mask": guarded("  store i32 %t32, ptr %out"),
    "division": guarded(
        LOAD + "  %a = sdiv i32 1000, %v\n  %b = urem i32 %t32, %v\n  %r = add i32 %a, %b\n" + stored("%r"),
        "%p0 = getelementptr i32, ptr %in, i64 %tid\n  %v0 = load i32, ptr %p0\n  %c = icmp ne i32 %v0, 0",
    ),
    "uniform division": guarded(
        "  %a = sdiv i32 1000, %u\n  %b = srem i32 %t32, %u\n  %r = add i32 %a, %b\n" + stored("%r")
    ),
    "select by a uniform condition": LOAD + "  %c = icmp sgt i32 %u, 2\n  %r = select i1 %c, i32 %v, i32 %t32\n"
    + stored("%r"),
    "intrinsics": LOAD + "  %a = call i32 @llvm.smax.i32(i32 %v, i32 20)\n"
    "  %b = call i32 @llvm.ctlz.i32(i32 %a, i1 false)\n  %c = call i32 @llvm.fshl.i32(i32 %a, i32 %b, i32 %t32)\n"
    "  %f = uitofp i32 %c to float\n  %g = call float @llvm.sqrt.f32(float %f)\n"
    "  %h = call i32 @llvm.fptosi.sat.i32.f32(float %g)\n  %r = call i32 @llvm.abs.i32(i32 %h, i1 false)\n"
    + stored("%r"),
    "powers": LOAD + "  %k = and i32 %v, 3\n  %f = sitofp i32 %t32 to double\n"
    "  %a = call double @llvm.powi.f64.i32(double %f, i32 %k)\n"
    "  %b = call double @llvm.powi.f64.i32(double %f, i32 %u)\n  %s = fadd double %a, %b\n"
    "  %r = fptoui double %s to i32\n" + stored("%r"),
    "atomics lane by lane": guarded(
        LOAD + "  %k = and i32 %v, 7\n  %q = getelementptr i32, ptr %out, i32 %k\n"
        "  %old = atomicrmw add ptr %q, i32 %v monotonic"
    ),
    "atomics on a uniform address": guarded("  %old = atomicrmw umax ptr %out, i32 %t32 monotonic"),
    "volatile": guarded("  %p = getelementptr i32, ptr %in, i64 %tid\n"
    "  %v = load volatile i32, ptr %p\n  %w = load volatile i32, ptr %in\n  %r = add i32 %v, %w\n"
    "  %q = getelementptr i32, ptr %out, i64 %tid\n  store volatile i32 %r, ptr %q"),
    "stack object of the thread": "  %s = alloca [4 x i32], align 4\n" + LOAD + "  %i = and i32 %v, 3\n"
    "  call void @llvm.memset.p0.i64(ptr %s, i8 0, i64 16, i1 false)\n"
    "  %e = getelementptr i32, ptr %s, i32 %i\n  store i32 %v, ptr %e\n"
    "  %j = and i32 %t32, 3\n  %f = getelementptr i32, ptr %s, i32 %j\n  %r = load i32, ptr %f\n" + stored("%r"),
    "stack object all threads treat alike": "  %s = alloca [4 x i32], align 4\n"
    "  call void @llvm.memset.p0.i64(ptr %s, i8 1, i64 16, i1 false)\n  %i = and i32 %u, 3\n"
    "  %e = getelementptr i32, ptr %s, i32 %i\n  store i32 %u, ptr %e\n"
    "  %f = getelementptr i32, ptr %s, i32 1\n  %r = load i32, ptr %f\n" + stored("%r"),
    "uniform loop with strided values": "  br label %head\nhead:\n"
    "  %k = phi i32 [ 0, %entry ], [ %k1, %head ]\n  %a = phi i64 [ %tid, %entry ], [ %a1, %head ]\n"
    "  %p = getelementptr i32, ptr %in, i64 %a\n  %v = load i32, ptr %p\n"
    "  %q = getelementptr i32, ptr %out, i64 %tid\n  %o = load i32, ptr %q\n  %s = add i32 %o, %v\n"
    "  store i32 %s, ptr %q\n  %a1 = add nsw i64 %a, 2\n  %k1 = add nsw i32 %k, 1\n"
    "  %m = icmp ult i32 %k1, %u\n  br i1 %m, label %head, label %done\ndone:",
    "switch on a uniform value in a divergent branch": guarded(
        "  %z = load i32, ptr %in\n  %w = add i32 %z, %u\n  %y = urem i32 %w, 3\n"
        "  switch i32 %y, label %d [ i32 0, label %a\n i32 1, label %b ]\na:\n  br label %m\nb:\n  br label %m\n"
        "d:\n  br label %m\nm:\n  %r = phi i32 [ 5, %a ], [ %t32, %b ], [ %u, %d ]\n" + stored("%r")
    ),
    "two edges of a switch to one block": "  %w = and i32 %u, 7\n"
    "  switch i32 %w, label %b [ i32 0, label %j\n i32 3, label %j ]\n"
    "b:\n  %c = icmp slt i64 %tid, %n\n  br i1 %c, label %j, label %m\n"
    "j:\n  %f = phi i32 [ 1, %entry ], [ 1, %entry ], [ %t32, %b ]\n  br label %m\n"
    "m:\n  %r = phi i32 [ %u, %b ], [ %f, %j ]\n" + stored("%r"),
    "bits of a strided value": guarded(
        LOAD + "  %b = icmp ugt i32 %v, 20\n  %l = call i64 @llvm.ctpop.i64(i64 %tid)\n"
        "  %m = trunc i64 %l to i32\n  %r = select i1 %b, i32 %m, i32 %v\n" + stored("%r")
    ),
    "calls of functions": guarded(LOAD + "  %r = call i32 @f(i32 %v, i32 %u)\n" + stored("%r")),
    "uniform call that needs an active lane": guarded(
        "  %r = call i32 @f(i32 5, i32 %u)\n  %s = add i32 %r, %t32\n" + stored("%s")
    ),
    "library function": guarded(
        LOAD + "  %f = uitofp i32 %v to double\n  %g = call double @cbrt(double %f)\n"
        "  %r = fptoui double %g to i32\n" + stored("%r")
    ),
}  # fmt: skip

DECLARED = """
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.ctlz.i32(i32, i1)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare float @llvm.sqrt.f32(float)
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare i32 @llvm.abs.i32(i32, i1)
declare i64 @llvm.ctpop.i64(i64)
declare double @llvm.powi.f64.i32(double, i32)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare double @cbrt(double) nounwind willreturn memory(none)
define internal i32 @f(i32 %a, i32 %b) noinline nounwind memory(none) {
  %q = udiv i32 %a, %b
  %r = mul i32 %q, %b
  ret i32 %r
}
"""


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_kernel_agrees_with_the_interpreter(body: str) -> None:
    text = kernel_text(body, DECLARED)
    launches = [*zip(WIDTHS, itertools.cycle(ISAS), strict=False)]
    for width, isa in launches if EVERY else launches[list(BODIES.values()).index(body) % 2 :: 2]:
        agree(text, width, isa)
