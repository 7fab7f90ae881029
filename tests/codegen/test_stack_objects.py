"""Stack objects of lanes: which are interleaved, what accesses to them become, and that they mean the same."""

import itertools

import numpy as np
import pytest

from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS, WIDTHS
from codegen.test_forms import lines
from weft import opencl

LOAD = "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"
ARRAY = "  %s = alloca [8 x i32], align 4\n  call void @llvm.lifetime.start.p0(ptr %s)\n" + LOAD
FILL = (
    "  br label %fill\nfill:\n  %k = phi i64 [ 0, %entry ], [ %k1, %fill ]\n  %kt = trunc i64 %k to i32\n"
    "  %fv = add i32 %v, %kt\n  %e = getelementptr [8 x i32], ptr %s, i64 0, i64 %k\n  store i32 %fv, ptr %e\n"
    "  %k1 = add nuw nsw i64 %k, 1\n  %more = icmp ult i64 %k1, 8\n  br i1 %more, label %fill, label %filled\n"
    "filled:\n"
)
DECLARED = """
declare void @llvm.lifetime.start.p0(ptr)
declare void @use(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def picked(index: str) -> str:
    """``%r``: the element at an index."""
    return f"  %a = getelementptr i32, ptr %s, {index}\n  %r = load i32, ptr %a\n" + stored("%r")


UNIFORM_INDEX = ARRAY + FILL + "  %i = and i32 %u, 7\n" + picked("i32 %i")
ROWS_IN_BYTES = (
    ARRAY + FILL + "  %i = urem i32 %u, 3\n  %row = zext i32 %i to i64\n  %o = mul nuw nsw i64 %row, 12\n"
    "  %first = getelementptr i8, ptr %s, i64 %o\n  %a = getelementptr i32, ptr %first, i64 1\n"
    "  %r = load i32, ptr %a\n" + stored("%r")
)
"""As LLVM writes the places of an array of rows of three."""
COUNTED_IN_BYTES = (
    "  %s = alloca [32 x i8], align 4\n" + LOAD + "  br label %fill\nfill:\n"
    "  %k = phi i64 [ 28, %entry ], [ %k1, %fill ]\n  %fv = add i32 %v, 5\n"
    "  %e = getelementptr i8, ptr %s, i64 %k\n  store i32 %fv, ptr %e\n  %k1 = sub i64 %k, 4\n"
    "  %more = icmp ne i64 %k1, -4\n  br i1 %more, label %fill, label %filled\nfilled:\n"
    "  %c = icmp sgt i32 %v, 20\n  %o = select i1 %c, i64 8, i64 20\n"
    "  %a = getelementptr i8, ptr %s, i64 %o\n  %q = load i32, ptr %a\n"
    "  %x = xor i32 %v, 1\n  %own = and i32 %x, 28\n  %nw = zext i32 %own to i64\n"
    "  %b = getelementptr i8, ptr %s, i64 %nw\n  store i32 9, ptr %b\n"
    "  %z = load i32, ptr %s\n  %r = add i32 %q, %z\n" + stored("%r")
)
"""As compilers count a loop by what they add to an address."""
OWN_INDEX = ARRAY + FILL + "  %i = and i32 %v, 7\n" + picked("i32 %i")


def test_elements_of_all_lanes_lie_side_by_side() -> None:
    text = widened(kernel_text(UNIFORM_INDEX, DECLARED), 16)
    assert lines(text, r"%s = alloca \[512 x i8\], align 64")
    assert lines(text, r"store <16 x i32> .*, ptr %e") and lines(text, r"load <16 x i32>, ptr %a")
    assert "gather" not in text and "scatter" not in text


def test_index_of_each_lane_gathers_by_32_bit_numbers() -> None:
    text = widened(kernel_text(OWN_INDEX, DECLARED), 16)
    assert lines(text, r"mul <16 x i32> .*, splat \(i32 16\)")
    assert lines(text, r"add <16 x i32> .*<i32 0, i32 1, i32 2")
    assert lines(text, r"getelementptr i32, ptr %s, <16 x i32>") and lines(
        text, r"masked.gather.v16i32.v16p0"
    )


def test_elements_that_are_counted_in_bytes() -> None:
    text = widened(kernel_text(COUNTED_IN_BYTES, DECLARED), 16)
    assert lines(text, r"store <16 x i32> .*, ptr %e") and lines(text, r"ashr <16 x i64> .*splat \(i64 2\)")


@pytest.mark.parametrize(
    "product",
    [
        "  %w = zext i32 %i to i64\n  %o = mul i64 %w, 12\n",
        "  %w = zext i32 %i to i64\n  %o = shl i64 %w, 3\n",
        "  %w = mul nsw i32 %i, 12\n  %o = zext nneg i32 %w to i64\n",
        "  %w = mul nuw i32 %i, 12\n  %o = zext i32 %w to i64\n",
        "  %m = sub i32 0, %i\n  %w = mul nsw i32 %m, -12\n  %o = sext i32 %w to i64\n",
        "  %w = mul nuw i32 %i, 12\n  %o = sext i32 %w to i64\n",
    ],
)
def test_rows_that_are_counted_in_bytes(product: str) -> None:
    index = "  %i = urem i32 %v, 3\n" + product + "  %first = getelementptr i8, ptr %s, i64 %o\n"
    body = ARRAY + FILL + index + "  %a = getelementptr i32, ptr %first, i64 1\n  %r = load i32, ptr %a\n"
    for width, isa in zip((4, 8, 16), ISAS, strict=False):
        agree(kernel_text(body + stored("%r"), DECLARED), width, isa, (Launch(),))
    text = widened(kernel_text(ROWS_IN_BYTES, DECLARED), 16)
    assert lines(text, r"load <16 x i32>, ptr %a") and "gather" not in text and "scatter" not in text


def test_accesses_under_a_mask_stay_vector_accesses() -> None:
    body = (
        ARRAY + guarded("  %e = getelementptr i32, ptr %s, i32 %u\n  store i32 %v, ptr %e") + picked("i32 %u")
    )
    text = widened(kernel_text(body, DECLARED), 16)
    assert lines(text, r"masked.store.v16i32.p0\(.*ptr align 64 %e, <16 x i1>") and lines(
        text, "load <16 x i32>"
    )


@pytest.mark.parametrize(
    "escape",
    [
        "  call void @use(ptr %s)\n",
        "  %x = ptrtoint ptr %s to i64\n  %y = trunc i64 %x to i32\n  store i32 %y, ptr %s\n",
        "  store ptr %s, ptr %out\n",
        "  store i8 1, ptr %s\n",
        "  %m = getelementptr i8, ptr %s, i64 2\n  %z = load i32, ptr %m, align 2\n  store i32 %z, ptr %s\n",
        "  %x = atomicrmw add ptr %s, i32 1 monotonic\n",
        "  store volatile i32 1, ptr %s\n",
        "  call void @llvm.memset.p0.i64(ptr %s, i8 0, i64 %n, i1 false)\n",
    ],
    ids=["call", "number", "memory", "other size", "between elements", "atomic", "volatile", "memset"],
)
def test_other_objects_lie_lane_after_lane(escape: str) -> None:
    text = widened(
        kernel_text(ARRAY + escape + FILL + "  %i = and i32 %v, 7\n" + picked("i32 %i"), DECLARED), 8
    )
    assert "i32 14, i32 15" not in text and not lines(text, r"mul <8 x i32> .*, splat \(i32 8\)")


TWO = "  %s = alloca [4 x i32], align 4\n  %z = alloca [4 x i32], align 4\n" + LOAD

KERNELS = {
    "uniform index": UNIFORM_INDEX,
    "own index": OWN_INDEX,
    "rows in bytes": ROWS_IN_BYTES,
    "counted in bytes": COUNTED_IN_BYTES,
    "index along the lanes": ARRAY + FILL + "  %i = and i64 %tid, 7\n" + picked("i64 %i"),
    "stack of each lane": "  %s = alloca [32 x i32], align 16\n" + LOAD + "  %top = urem i32 %v, 30\n  br label %push\n"
    "push:\n  %h0 = phi i32 [ 0, %entry ], [ %n1, %push ]\n  %e = getelementptr i32, ptr %s, i32 %h0\n"
    "  %x = mul i32 %h0, %t32\n  store i32 %x, ptr %e\n  %n1 = add nsw i32 %h0, 1\n"
    "  %c = icmp ule i32 %h0, %top\n  br i1 %c, label %push, label %popping\npopping:\n"
    "  %m = phi i32 [ %n1, %push ]\n  br label %pop\npop:\n  %k = phi i32 [ %m, %popping ], [ %k1, %pop ]\n"
    "  %sum = phi i32 [ 0, %popping ], [ %sum1, %pop ]\n  %k1 = add nsw i32 %k, -1\n"
    "  %f = getelementptr i32, ptr %s, i32 %k1\n  %y = load i32, ptr %f\n  %h = mul i32 %sum, 3\n"
    "  %sum1 = add i32 %h, %y\n  %d = icmp sgt i32 %k1, 0\n  br i1 %d, label %pop, label %done\ndone:\n"
    + stored("%sum1"),
    "one of two objects for all lanes": TWO + "  store i32 %v, ptr %s\n  store i32 %t32, ptr %z\n"
    "  %c = icmp sgt i32 %u, 2\n  %b = select i1 %c, ptr %s, ptr %z\n  %r = load i32, ptr %b\n" + stored("%r"),
    "one of two objects for each lane": TWO + "  store i32 %v, ptr %s\n  store i32 %t32, ptr %z\n"
    "  %c = icmp sgt i32 %v, 20\n  %b = select i1 %c, ptr %s, ptr %z\n  %r = load i32, ptr %b\n" + stored("%r"),
    "object or memory": TWO + "  store i32 %v, ptr %s\n  %c = icmp sgt i32 %v, 20\n"
    "  %b = select i1 %c, ptr %s, ptr %in\n  %r = load i32, ptr %b\n" + stored("%r"),
    "whole object": "  %s = alloca [8 x i32], align 4\n" + LOAD
    + "  call void @llvm.memset.p0.i64(ptr %s, i8 0, i64 32, i1 false)\n" + FILL + "  %i = and i32 %v, 7\n"
    + picked("i32 %i"),
    "bytes": "  %s = alloca [4 x i8]\n" + LOAD + "  %b = trunc i32 %v to i8\n  %i = and i32 %v, 3\n"
    "  %e = getelementptr i8, ptr %s, i32 %i\n  store i8 %b, ptr %e\n  %r = load i8, ptr %e\n" + stored("%r", "i8"),
    "comparison of places": TWO + "  %i = and i32 %v, 3\n  %a = getelementptr i32, ptr %s, i32 %i\n"
    "  store i32 %v, ptr %a\n  %l = load i32, ptr %a\n"
    "  %e = getelementptr i32, ptr %s, i32 2\n  %q = icmp eq ptr %a, %e\n  %r = select i1 %q, i32 %l, i32 5\n"
    + stored("%r"),
    "records": "  %s = alloca [4 x { i32, i64 }], align 8\n" + LOAD + "  %i = and i32 %u, 3\n"
    "  %e = getelementptr { i32, i64 }, ptr %s, i32 %i\n  store i32 %v, ptr %e\n"
    "  %g = getelementptr { i32, i64 }, ptr %s, i32 %i, i32 1\n  store i64 %tid, ptr %g\n"
    "  %x = load i32, ptr %e\n  %y = load i64, ptr %g\n  %z = trunc i64 %y to i32\n  %r = add i32 %x, %z\n"
    + stored("%r"),
}  # fmt: skip


@pytest.mark.parametrize("body", KERNELS.values(), ids=KERNELS)
def test_kernel_agrees_with_the_interpreter(body: str) -> None:
    launches = (Launch(), Launch(45, 64))
    for k, (width, isa) in enumerate(zip(WIDTHS[1::2], itertools.cycle(ISAS), strict=False)):
        masked = k % 2 and "br " not in body and "alloca" not in body.split("\n", 1)[1]
        agree(kernel_text(guarded(body) if masked else body, DECLARED), width, isa, launches)


def test_null_is_not_apart_in_lanes_as_stack_objects_are() -> None:
    body = (
        ARRAY + "  %cells = alloca [2 x ptr]\n  store i32 %v, ptr %s\n  %c = icmp eq i32 %u, 3\n"
        "  %q = select i1 %c, ptr null, ptr %s\n  %i = and i32 %v, 1\n  %j = xor i32 %i, 1\n"
        "  %e = getelementptr ptr, ptr %cells, i32 %i\n  store ptr %q, ptr %e\n"
        "  %f = getelementptr ptr, ptr %cells, i32 %j\n  store ptr %q, ptr %f\n"
        "  %k = and i32 %u, 1\n  %g = getelementptr ptr, ptr %cells, i32 %k\n  %l = load ptr, ptr %g\n"
        "  %same = icmp eq ptr %l, null\n  %r = zext i1 %same to i32\n" + stored("%r")
    )
    agree(kernel_text(body, DECLARED), 4, None, (Launch(), Launch(u=64)))


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", ""])
def test_local_arrays_of_c_lie_element_by_element_across_barriers(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clang marks where their lives begin and end, which is no use of an address that is not known."""
    pytest.importorskip("ziglang")
    monkeypatch.setenv("WEFT_CPU", level)
    source = """
    kernel void k(global const float *x, global float *out, int n) {
      local float t[32];
      int l = get_local_id(0);
      float c[8];
      for (int k = 0; k < 8; k++) c[k] = 0;
      for (int i = 0; i < n; i++) {
        t[l] = x[32 * i + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 8; k++) c[k] += t[(l + k) % 32];
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      for (int k = 0; k < 8; k++) out[8 * l + k] = c[k];
    }"""
    x = np.random.default_rng(7).random((3, 32), np.float32)
    total = np.zeros((32, 8), np.float32)
    for row in x:
        total += np.stack([np.roll(row, -k) for k in range(8)], 1)
    for debug in (False, True):
        kernel = opencl.Program(source, debug=debug).k
        out = np.zeros((32, 8), np.float32)
        kernel(32, 32, x, out, 3)
        assert out.tolist() == total.tolist()
        if not debug:
            lines = {
                r.span.line
                for r in kernel.remarks
                if r.span and "its addresses are not neighbours" in r.message
            }
            assert lines.isdisjoint({6, 10})
