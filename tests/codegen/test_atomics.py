"""Atomic operations of all lanes on one address: one operation, and what each lane sees."""

import itertools

import numpy as np
import pytest

from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.test_forms import lines
from weft import cuda

LOAD = "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"
COUNTER = "  %c64 = getelementptr i32, ptr %out, i64 200\n"
OPERATIONS = ("add", "sub", "and", "or", "xor", "max", "min", "umax", "umin")


def atomic(operation: str, value: str = "%v", result: str = "%old") -> str:
    return COUNTER + f"  {result} = atomicrmw {operation} ptr %c64, i32 {value} monotonic\n"


def test_unused_results_need_one_operation_and_a_reduction() -> None:
    text = widened(kernel_text(LOAD + atomic("add")), 16)
    assert lines(text, r"call i32 @llvm.vector.reduce.add.v16i32\(<16 x i32> %v\)")
    assert len(lines(text, "atomicrmw")) == 1 and not lines(text, "cttz")


def test_same_value_of_all_lanes_is_multiplied_by_their_number() -> None:
    text = widened(kernel_text(guarded(atomic("add", "%u"))), 16)
    assert lines(text, r"call i16 @llvm.ctpop.i16") and lines(text, r"mul i32 %u") and "reduce" not in text
    assert lines(widened(kernel_text(atomic("umax", "%u")), 16), r"atomicrmw umax ptr %c64, i32 %u")


def test_passive_lanes_bring_nothing_and_no_lane_does_nothing() -> None:
    text = widened(kernel_text(guarded(LOAD + atomic("min"))), 16)
    assert lines(text, r"select <16 x i1> %c, <16 x i32> .*, <16 x i32> splat \(i32 2147483647\)")
    assert lines(text, r"br i1 %\d+, label %atomic, label %atomic.done")


def test_used_results_are_prefixes() -> None:
    text = widened(kernel_text(LOAD + atomic("add") + stored("%old")), 16)
    assert len(lines(text, "atomicrmw")) == 1 and len(lines(text, "shufflevector")) == 6


def test_addresses_of_each_lane_stay_lane_by_lane() -> None:
    text = widened(kernel_text(LOAD + "  %q = getelementptr i32, ptr %out, i64 %tid\n"
                               "  %o = atomicrmw add ptr %q, i32 %v monotonic\n" + stored("%o")), 16)  # fmt: skip
    assert len(lines(text, "atomicrmw add ptr")) == 16


KERNELS = {
    **{f"{op} unused": LOAD + atomic(op) for op in OPERATIONS},
    **{f"{op} used": LOAD + atomic(op) + stored("%old") for op in OPERATIONS},
    "xor of one value": atomic("xor", "%u"),
    "sub of one value": atomic("sub", "%u") + stored("%old"),
    "bytes": LOAD + COUNTER + "  %b = trunc i32 %v to i8\n  %o = atomicrmw add ptr %c64, i8 %b monotonic\n"
    "  %r = zext i8 %o to i32\n" + stored("%r"),
}  # fmt: skip


@pytest.mark.spread
@pytest.mark.parametrize(
    ("name", "width"), list(zip(KERNELS, itertools.cycle((4, 16, 64, 8, 32)), strict=False))
)
@pytest.mark.parametrize("masked", [False, True])
def test_kernel_agrees_with_the_interpreter(name: str, width: int, masked: bool) -> None:
    body = KERNELS[name]
    agree(kernel_text(guarded(body) if masked else body), width, None, (Launch(45, 30), Launch(64, 0)))


@pytest.mark.parametrize("fastmath", [False, True])
def test_float_sums_are_combined_only_under_fastmath(fastmath: bool) -> None:
    @cuda.jit(fastmath=fastmath, width=8)
    def total(values, out):
        i = cuda.grid(1)
        if i < values.size:
            cuda.atomic.add(out, 0, values[i])

    values, out = np.arange(100, dtype=np.float32), np.zeros(1, np.float32)
    total[2, 64](values, out)
    assert out[0] == values.sum()
    (text,) = total.inspect_llvm().values()
    assert ("vector.reduce.fadd" in text) is fastmath
