"""Sums of ids that do not wrap around are computed in 64 bits; what may wrap around is extended where it ends."""

import numpy as np
import pytest

from weft import cuda, opencl
from weft.ir.reader import read_module
from weft.ir.writer import write_module
from weft.transform.numbers.wide_sums import widen_sums


def changed(lines: str) -> str:
    text = f"define i64 @f(i64 %id, i64 %other, i32 %n) {{\n{lines}\n  ret i64 %p\n}}\n"
    module = read_module(text)
    count = widen_sums(module.functions["f"])
    return write_module(module) if count else ""


def test_sums_and_products_are_wide() -> None:
    found = changed("""  %i = trunc i64 %id to i32
  %m = mul nsw i32 %i, 9
  %s = add nsw i32 %m, -1
  %p = sext i32 %s to i64""")
    assert "sext i32 %i to i64" in found
    assert "mul nsw i64 %1, 9" in found
    assert "add nsw i64 %2, -1" in found
    assert "i32 %m" not in found


def test_counters_that_are_written_out_are_constants() -> None:
    chain = "\n".join(f"  %c{k} = add nuw nsw i32 {f'%c{k - 1}' if k else '0'}, 1" for k in range(20))
    found = changed(f"""{chain}
  %i = trunc i64 %id to i32
  %m = mul nsw i32 %i, 20
  %s = add nsw i32 %m, %c19
  %p = sext i32 %s to i64""")
    assert "add nsw i64 %2, 20" in found and "i32 %c" not in found


def test_what_may_wrap_around_is_extended_as_it_is() -> None:
    found = changed("""  %i = trunc i64 %id to i32
  %j = trunc i64 %other to i32
  %u = add i32 %i, %j
  %s = add nsw i32 %u, 1
  %p = sext i32 %s to i64""")
    assert "sext i32 %u to i64" in found
    assert "add nsw i64 %1, 1" in found


@pytest.mark.parametrize(
    "last",
    ["%s = add i32 %i, 1", "%s = add nsw i32 %i, %n", "%s = xor i32 %i, 1", "%s = trunc i64 %other to i32"],
)
def test_others_stay(last: str) -> None:
    assert not changed(f"  %i = trunc i64 %id to i32\n  {last}\n  %p = sext i32 %s to i64")


def test_threads_that_read_rows_of_three_are_neighbours() -> None:
    """Once lanes asked at run time whether they are; numbers of both doors are as those of NumPy."""
    body = (
        """int i = {}; if (i < n) q[i] = p[i * 3] + 2 * p[i * 3 + 1] + 3 * p[i * 3 + 2] + p[i + 1] - p[i];"""
    )
    source = "__kernel void f(__global const int *restrict p, int n, __global int *restrict q) {"
    program = opencl.Program(source + body.format("(int)get_global_id(0)") + "}")
    module = cuda.Module(
        'extern "C" __global__ void f(const int *__restrict__ p, int n, int *__restrict__ q) {'
        + body.format("blockIdx.x * blockDim.x + threadIdx.x")
        + "}"
    )
    p = np.random.default_rng(3).integers(-99, 99, 3 * 100).astype(np.int32)
    wanted = (p.reshape(100, 3) * np.arange(1, 4, dtype=np.int32)).sum(1) + p[1:101] - p[:100]
    for run in (
        lambda q: program.kernel("f")((128,), (32,), p, np.int32(100), q),
        lambda q: module["f"][4, 32](p, np.int32(100), q),
    ):
        q = np.zeros(100, np.int32)
        run(q)
        assert list(q) == list(wanted)
    for kernel in (program.kernel("f"), module["f"]):
        assert not any("turn out to be neighbours" in remark.message for remark in kernel.remarks)
