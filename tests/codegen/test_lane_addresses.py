"""Gathers and scatters by 32-bit numbers: where they are enough, and where they are not."""

import re
from itertools import permutations

import numpy as np
import pytest

from codegen.kernels import agree, kernel_text, stored, widened
from codegen.machine_code import ISAS
from codegen.test_forms import lines
from weft import cuda
from weft.runtime.array_memory import LARGE, LONG, has_large_array

LOAD = "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"


def gathered(index: str, type: str = "i64") -> str:
    return f"  %g = getelementptr i32, ptr %in, {type} {index}\n  %w = load i32, ptr %g\n" + stored("%w")


def small(text: str) -> str:
    return text.replace('"weft.kernel"', '"weft.kernel" "weft.small.arrays"')


def test_index_that_fits_is_taken_as_it_is() -> None:
    body = LOAD + "  %k = and i32 %v, 255\n  %x = sext i32 %k to i64\n" + gathered("%x")
    assert lines(widened(kernel_text(body)), r"getelementptr i32, ptr %in, <8 x i32> %k")


def test_members_of_structures_are_numbers_of_elements() -> None:
    body = (
        LOAD + "  %k = and i32 %v, 31\n  %g = getelementptr [3 x i32], ptr %in, i32 %k, i32 2\n"
        "  %w = load i32, ptr %g\n" + stored("%w")
    )
    text = widened(kernel_text(body))
    assert lines(text, r"mul <8 x i32> %k, splat \(i32 3\)") and lines(text, r"add <8 x i32> splat \(i32 2\)")


def test_index_of_unknown_range_needs_64_bits_unless_arrays_are_small() -> None:
    body = LOAD + "  %x = zext i32 %v to i64\n  %y = mul i64 %x, %n\n" + gathered("%y")
    wanted = r"getelementptr i32, ptr %in, <8 x i32>"
    assert not lines(widened(kernel_text(body)), wanted)
    assert lines(widened(small(kernel_text(body))), wanted)


def test_products_of_what_lanes_share_are_computed_in_32_bits() -> None:
    """Where addresses take no more of them, and all else is known of lane 0."""
    body = "  %u64 = sext i32 %u to i64\n  %far = mul i64 %u64, %tid\n  %y = sub i64 %far, %n\n"
    assert lines(widened(small(kernel_text(body + gathered("%y")))), r"mul <8 x i32>")
    other = "  %k = trunc i64 %far to i32\n" + stored("%k").replace("%at", "%own")
    assert not lines(widened(small(kernel_text(body + other + gathered("%y")))), r"mul <8 x i32>")
    shift = "  %few = and i64 %n, 15\n  %far = shl i64 %tid, %few\n  %y = sub i64 %far, %n\n"
    assert lines(widened(small(kernel_text(shift + gathered("%y")))), r"shl <8 x i32>")


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_the_sum_is_formed_in_the_order_of_the_text(order: tuple[str, ...]) -> None:
    """And not in that of addresses in the compiler's memory: the same kernel has the same code each time."""
    numbers = "".join(
        f"  %{name} = {what}\n"
        for name, what in (("a", "urem i32 %v, 5"), ("b", "urem i32 %v, 6"), ("c", "urem i32 %v, 7"))
    )
    first, second, third = order
    index = f"  %s = add nsw i32 %{first}, %{second}\n  %x = add nsw i32 %s, %{third}\n"
    found = lines(widened(kernel_text(LOAD + numbers + index + gathered("%x", "i32"))), r"= add <8 x i32> ")
    assert [re.findall(r"%([abc])\b", line) for line in found] == [[third, second], [first]]


@pytest.mark.spread
@pytest.mark.parametrize("assume_small", [False, True])
@pytest.mark.parametrize(
    "index",
    [
        "  %k = and i32 %v, 127\n  %x = zext i32 %k to i64\n  %y = xor i64 %x, 5\n",
        "  %k = urem i32 %v, 60\n  %x = zext i32 %k to i64\n  %z = sub nsw i64 %x, 70\n  %c = icmp slt i64 %z, 0\n"
        "  %d = select i1 %c, i64 %n, i64 0\n  %e = add i64 %d, %z\n  %y = call i64 @llvm.abs.i64(i64 %e, i1 false)\n",
        # Products beyond 2^32, which cancel out but for the thread's number, once or twice.
        "  %far = mul i64 %n, 8589934592\n  %far1 = or i64 %far, 1\n  %z = mul i64 %far1, %tid\n"
        "  %less = mul i64 %far, %tid\n  %few = and i64 %n, 1\n  %e = shl i64 %z, %few\n  %f = shl i64 %less, %few\n"
        "  %y = sub i64 %e, %f\n",
        "  %k = urem i32 %v, 200\n  %x = zext i32 %k to i64\n  %far = mul i64 %n, 100000000000\n"
        "  %z = add i64 %far, %x\n  %y = sub i64 %z, %far\n",
    ],
)
def test_kernel_agrees_with_the_interpreter(index: str, assume_small: bool) -> None:
    text = kernel_text(LOAD + index + gathered("%y"), "declare i64 @llvm.abs.i64(i64, i1)")
    for width, isa in zip((4, 16, 32), ISAS, strict=False):
        agree(small(text) if assume_small else text, width, isa)


def test_span_of_arrays_counts_not_their_bytes() -> None:
    base = np.zeros(LARGE + 8, np.uint8)
    assert has_large_array((1, base)) and has_large_array((1.0, (2, base[::1024])))
    assert has_large_array((base[:LONG],)) and has_large_array((np.empty((LONG, 0)),))
    assert not has_large_array((3, base[: LONG - 1], (base[:5],), base[: LARGE - 2].view(np.uint16)))


def test_arrays_of_more_than_2_gib_are_gathered_from_by_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    # Checked launches copy their arrays.
    monkeypatch.setenv("WEFT_CHECK", "0")

    @cuda.jit(width=16)
    def pick(values, where, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = values[where[i]]

    where = np.array([0, 5, LARGE - 1, LARGE, LARGE + 7, -1, -8] * 9)
    values, out = np.zeros(LARGE + 8, np.uint8), np.zeros(where.size, np.uint8)
    values[where] = np.arange(1, where.size + 1)
    pick[1, 64](values, where, out)
    np.testing.assert_array_equal(out, values[where])
    near = where % 8
    pick[1, 64](values[:8], near, out)
    np.testing.assert_array_equal(out, values[near])
