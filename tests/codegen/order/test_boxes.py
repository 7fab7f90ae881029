"""Lane groups that are boxes of threads: which form each access takes, and that code does what the interpreter does."""

import os
import re
from math import prod

import numpy as np
import pytest

from codegen.kernels import vector_function
from codegen.machine_code import ISAS, X86_64, compile_kernel
from weft import cuda, interp
from weft.codegen.order.boxes import box_of
from weft.interp import Program
from weft.ir.reader import read_module
from weft.machine.host import is_runnable
from weft.machine.targets import AVX512, Isa
from weft.options import CompileOptions
from weft.passes.lower_kernel import lower_kernel
from weft.target.machine import TargetSpec
from weft.target.passes import FINAL_FAST

EVERY = bool(os.environ.get("WEFT_FUZZ"))
BLOCK = (8, 4, 1)
WORDS = 2048


def kernel_text(body: str, guard: str = "true") -> str:
    """A kernel that stores ``%v`` of `body` for each thread of whom `guard` holds."""
    return f"""
define void @kernel(ptr noalias %in, ptr noalias %out, i64 %n, i32 %u) nounwind "weft.kernel" {{
entry:
  %x = call i64 @weft.local.id(i32 0)
  %y = call i64 @weft.local.id(i32 1)
  %width = call i64 @weft.local.size(i32 0)
  %row = mul i64 %y, %width
  %number = add i64 %row, %x
  %pitched = mul i64 %y, %n
  %twice = shl i64 %x, 1
  %back = sub i64 14, %twice
  %down = sub i64 7, %x
  %odd = add i64 %x, %pitched
  %odd32 = trunc i64 %odd to i32
  %some = icmp ugt i32 %odd32, %u
  br i1 {guard}, label %then, label %end
then:
{body}
  %at = getelementptr i32, ptr %out, i64 %number
  store i32 %v, ptr %at, align 4
  br label %end
end:
  ret void
}}
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
"""


def load_of(index: str, name: str = "v") -> str:
    """The element of ``%in`` at a value, or at the sum of two."""
    a, _, b = index.partition(" + ")
    return f"""
  %i.{name} = add i64 {a}, {b or 0}
  %p.{name} = getelementptr i32, ptr %in, i64 %i.{name}
  %{name} = load i32, ptr %p.{name}, align 4"""


FORMS = {
    "%number": (r"load <16 x i32>", 1),
    "%x + %pitched": (r"load <8 x i32>", 2),
    "%x": (r"load <8 x i32>", 1),
    "%pitched": (r"load i32", 2),
    "%y": (r"load <2 x i32>", 1),
    "%down + %pitched": (r"load <8 x i32>", 2),
    "%twice + %pitched": (r"load <8 x i32>", 4),
    "%back + %pitched": (r"load <8 x i32>", 4),
}
"""By index: the loads of a lane group of 8 by 2 threads, and how many."""

MASKED = {
    "%number": (r"masked.load.v16i32", 1),
    "%x + %pitched": (r"masked.load.v8i32", 2),
    "%x": (r"masked.load.v8i32", 2),
    "%pitched": (r"= load i32", 2),
    "%back + %pitched": (r"masked.load.v8i32", 4),
}


def widened(text: str) -> str:
    """The SIMD function of a kernel for lane groups of 8 by 2 threads, before LLVM's final passes."""
    options = CompileOptions(width=16, block=BLOCK)
    return vector_function(lower_kernel(read_module(text), "kernel", options, TargetSpec.of_isa(AVX512)))


@pytest.mark.parametrize("index", FORMS)
def test_a_load_is_made_of_runs(index: str) -> None:
    pattern, count = FORMS[index]
    text = widened(kernel_text(load_of(index)))
    assert len(re.findall(pattern, text)) == count, text
    assert len(re.findall(r"= load|masked|gather", text)) == count, text
    assert len(re.findall(r"store <16 x i32>", text)) == 1


@pytest.mark.parametrize("index", MASKED)
def test_a_load_under_a_mask_is_made_of_runs(index: str) -> None:
    pattern, count = MASKED[index]
    text = widened(kernel_text(load_of(index), "%some"))
    assert len(re.findall(pattern, text)) == count, text
    assert "gather" not in text


@pytest.mark.spread
@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("guard", ["true", "%some"])
def test_runs_load_what_threads_would(guard: str, isa: Isa) -> None:
    names = [f"v{k}" for k in range(len(FORMS))]
    body = "".join(map(load_of, FORMS, names)) + "\n  %s0 = mul i32 %v0, 3"
    for k in range(1, len(names)):
        total = "v" if k == len(names) - 1 else f"s{k}"
        body += f"\n  %m{k} = xor i32 %s{k - 1}, %v{k}\n  %{total} = mul i32 %m{k}, 5"
    text = kernel_text(body, guard)
    given = np.random.default_rng(3).integers(0, 1 << 30, WORDS, dtype=np.int32)
    groups = ((16, BLOCK), (8, (2, 3, 1)), (16, (4, 6, 2)), (4, (1, 7, 1)), (64, (8, 7, 1)))
    # Each shape at one level, and each level with some.
    for width, block in groups if EVERY else groups[ISAS.index(isa) :: len(ISAS)]:
        wanted, got = np.zeros(prod(block), np.int32), np.zeros(prod(block), np.int32)
        interp.launch(Program(read_module(text)), "kernel", (given, wanted, 19, 40), 1, block, width=width)
        code = compile_kernel(text, width, isa, level=0, passes=FINAL_FAST, block=block)
        code((given, got, 19, 40), block)
        np.testing.assert_array_equal(got, wanted, f"{block} at {width}")


def test_what_rows_have_in_common_is_computed_for_one_of_them() -> None:
    body = load_of("%number") + "\n  %in.x = icmp ult i64 %x, %n\n  %in.y = icmp ult i64 %y, %n"
    body += "\n  %both = and i1 %in.x, %in.y\n  %w = select i1 %both, i32 %v, i32 %u"
    text = widened(kernel_text(body).replace("store i32 %v", "store i32 %w"))
    assert len(re.findall(r"icmp \w+ <(8|2) x i64>", text)) == 2, text
    assert "icmp ult <16" not in text


def test_boxes_have_rows_first() -> None:
    assert box_of((8, 8, 1), 16).extents == (8, 2)
    assert box_of((8, 8, 1), 64).extents == (8, 8)
    assert box_of((4, 4, 4), 32).extents == (4, 4, 2)
    assert box_of((1, 64, 1), 16).extents == (1, 16)
    assert box_of((3, 5, 1), 16).extents == (4, 4)
    assert box_of((2, 3, 8), 16).extents == (2, 4, 2)
    assert box_of((5, 1, 1), 16).extents == (8,)


PRODUCT = """
define void @kernel(ptr noalias %a, ptr noalias %b, ptr noalias %c) nounwind "weft.kernel" {
entry:
  %x = call i64 @weft.local.id(i32 0)
  %y = call i64 @weft.local.id(i32 1)
  %row = mul i64 %y, 16
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %more, %loop ]
  %ka = add i64 %row, %k
  %pa = getelementptr float, ptr %a, i64 %ka
  %va = load float, ptr %pa, align 4
  %kb = mul i64 %k, 16
  %ib = add i64 %kb, %x
  %pb = getelementptr float, ptr %b, i64 %ib
  %vb = load float, ptr %pb, align 4
  %term = fmul fast float %va, %vb
  %more = fadd fast float %sum, %term
  %k1 = add i64 %k, 1
  %on = icmp ult i64 %k1, 16
  br i1 %on, label %loop, label %done
done:
  %at = add i64 %row, %x
  %pc = getelementptr float, ptr %c, i64 %at
  store float %more, ptr %pc, align 4
  ret void
}
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
"""


@pytest.mark.parametrize(
    ("isa", "rows"),
    list(zip(X86_64, ["8 by 2", "16 by 2", "16 by 4"], strict=True)),
    ids=lambda v: getattr(v, "name", v),
)
def test_rows_that_share_loads_fill_the_registers(isa: Isa, rows: str) -> None:
    """In a product of tiles the elements of ``b`` are the rows', and sums of several rows hide each other's latency."""
    options = CompileOptions(block=(16, 16, 1))
    lowered = lower_kernel(read_module(PRODUCT), "kernel", options, TargetSpec.of_isa(isa))
    (made,) = [r.message for r in lowered.remarks if "threads at a time" in r.message]
    assert f"{rows} of a work-group of 16 by 16" in made


def copies_of_rows(count: int) -> str:
    """Copies of rows whose length is known at run time only."""
    return "".join(
        f"""
  %at{k} = mul i64 %y, %n
  %place{k} = add i64 %at{k}, %x
  %from{k} = getelementptr float, ptr %d{k}, i64 %place{k}
  %copied{k} = load float, ptr %from{k}, align 4
  %to{k} = getelementptr float, ptr %e{k}, i64 %place{k}
  store float %copied{k}, ptr %to{k}, align 4"""
        for k in range(count)
    )


@pytest.mark.parametrize(
    ("isa", "rows"),
    list(zip(X86_64, ["8 by 2", "16 by 2", "16 by 4"], strict=True)),
    ids=lambda v: getattr(v, "name", v),
)
def test_addresses_of_rows_are_no_work_of_each_thread(isa: Isa, rows: str) -> None:
    """What a row of a box is multiplied by for its address does not keep rows from sharing what they load."""
    arrays = "".join(f", ptr noalias %d{k}, ptr noalias %e{k}" for k in range(12))
    text = PRODUCT.replace("ptr noalias %c)", f"ptr noalias %c, i64 %n{arrays})")
    text = text.replace("  %row = mul", f"{copies_of_rows(12)}\n  %row = mul")
    options = CompileOptions(block=(16, 16, 1))
    lowered = lower_kernel(read_module(text), "kernel", options, TargetSpec.of_isa(isa))
    (made,) = [r.message for r in lowered.remarks if "threads at a time" in r.message]
    assert f"{rows} of a work-group of 16 by 16" in made


TURN = """
define void @kernel(ptr noalias %a, ptr noalias %c, i64 %n) nounwind "weft.kernel" "weft.shared"="4224:64" {
entry:
  %x = call i64 @weft.local.id(i32 0)
  %y = call i64 @weft.local.id(i32 1)
  %gx = call i64 @weft.group.id(i32 0)
  %gy = call i64 @weft.group.id(i32 1)
  %from.row = mul i64 %y, %n
  %from = add i64 %from.row, %x
  %pa = getelementptr float, ptr %a, i64 %from
  %v = load float, ptr %pa, align 4
  %tile = call ptr addrspace(3) @weft.shared(i32 0)
  %put.row = mul i64 %y, 33
  %put = add i64 %put.row, %x
  %pput = getelementptr float, ptr addrspace(3) %tile, i64 %put
  store float %v, ptr addrspace(3) %pput, align 4
  call void @weft.barrier()
  %get.row = mul i64 %x, PITCH
  %get = add i64 %get.row, %y
  %pget = getelementptr float, ptr addrspace(3) %tile, i64 %get
  %w = load float, ptr addrspace(3) %pget, align 4
  %pc = getelementptr float, ptr %c, i64 %from
  store float %w, ptr %pc, align 4
  ret void
}
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.group.id(i32) nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
declare void @weft.barrier() convergent nounwind
"""


@pytest.mark.parametrize("pitch", ["33", "%n"])
@pytest.mark.parametrize("isa", X86_64, ids=lambda v: getattr(v, "name", v))
def test_what_is_turned_has_boxes(isa: Isa, pitch: str) -> None:
    """Rows gather columns of a tile; boxes load pieces of its rows and turn them, if it is known how long these are."""
    lowered = lower_kernel(
        read_module(TURN.replace("PITCH", pitch)),
        "kernel",
        CompileOptions(block=(32, 32, 1)),
        TargetSpec.of_isa(isa),
    )
    (made,) = [r.message for r in lowered.remarks if "threads at a time" in r.message]
    assert (" by 4 of" in made or " by 2 of" in made) == (pitch == "33"), made


@pytest.mark.spread
@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize(("columns", "rows", "pad"), [(32, 8, 1), (16, 16, 0), (32, 4, 3)])
def test_tiles_are_turned(
    level: str, columns: int, rows: int, pad: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    if not is_runnable():
        pytest.skip("this machine does not run it")
    pitch = columns + pad

    def turn(source, target):
        tile = cuda.shared.array((columns, pitch), dtype=np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.blockIdx.x * columns + tx, cuda.blockIdx.y * columns + ty
        for k in range(0, columns, rows):
            if x < source.shape[1] and y + k < source.shape[0]:
                tile[ty + k, tx] = source[y + k, x]
        cuda.syncthreads()
        x, y = cuda.blockIdx.y * columns + tx, cuda.blockIdx.x * columns + ty
        for k in range(0, columns, rows):
            if x < target.shape[1] and y + k < target.shape[0]:
                target[y + k, x] = tile[tx, ty + k]

    kernel = cuda.jit(turn)
    for height, width in ((columns, 2 * columns), (columns + 3, columns + 7)):
        source = np.arange(height * width, dtype=np.float32).reshape(height, width)
        target = np.zeros((width, height), np.float32)
        kernel[(-(-width // columns), -(-height // columns)), (columns, rows)](source, target)
        np.testing.assert_array_equal(target, source.T)
