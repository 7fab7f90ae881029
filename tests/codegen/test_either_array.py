"""Lanes that each choose one of two arrays: addresses are numbers of 32 bits until they are extended, once."""

import numpy as np
import pytest

import weft
from codegen.kernels import agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS
from codegen.test_forms import lines
from weft import cuda
from weft.machine.targets import AVX2, AVX512

TABLE = f"@table = internal constant [64 x i32] [{', '.join(f'i32 {7 * k}' for k in range(64))}]"
LOADED = (
    "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n  %k = and i32 %v, 31\n"
    "  %odd = and i32 %v, 32\n  %c = icmp eq i32 %odd, 0\n  %few = and i32 %u, 7\n"
)
CHOSEN = (
    "  %a = getelementptr i32, ptr %in, i32 %few\n  %b = getelementptr i32, ptr @table, i32 {second}\n"
    "  %q = select i1 %c, ptr %a, ptr %b\n  %g = getelementptr i32, ptr %q, i32 %k\n"
    "  %w = load i32, ptr %g, align 4\n"
)
SAME = CHOSEN.format(second="3")
"""The second array is counted on by a constant, the first one by what all lanes share."""

OWN = "  %m = xor i32 %k, 21\n" + CHOSEN.format(second="%m")
BODIES = {
    "shared": LOADED + SAME + stored("%w"),
    "own": LOADED + OWN + stored("%w"),
    "masked": LOADED
    + guarded(SAME + stored("%w"), "%less = trunc i64 %n to i32\n  %c.1 = icmp slt i32 %t32, %less").replace(
        "br i1 %c, label %then", "br i1 %c.1, label %then"
    ),
}


def of_an_array(body: str) -> str:
    text = kernel_text(body, TABLE)
    return text.replace("ptr noalias %in", 'ptr noalias "weft.array.bytes"="1024" %in')


@pytest.mark.parametrize("isa", [AVX2, AVX512])
@pytest.mark.parametrize("name", BODIES)
def test_numbers_are_chosen_before_they_are_extended(name: str, isa) -> None:
    text = widened(of_an_array(BODIES[name]), 8, isa)
    assert lines(text, r"select <8 x i1> .*<8 x i32>") and lines(text, r"select <8 x i1> .*<8 x ptr>")


def test_where_memory_may_lie_before_a_base_addresses_are_of_64_bits() -> None:
    body = BODIES["shared"].replace("%few = and i32 %u, 7", "%few = add i32 %u, -3")
    assert lines(widened(of_an_array(body), 8, AVX512), r"select <8 x i1> .*<8 x i32>")
    assert not lines(widened(kernel_text(body, TABLE), 8, AVX512), r"select <8 x i1> .*<8 x i32>")


@pytest.mark.spread
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", BODIES)
def test_lanes_access_what_the_interpreter_does(name: str, isa) -> None:
    for width in (4, 16):
        agree(of_an_array(BODIES[name]), width, isa)


@pytest.mark.parametrize("width", [8, 16])
def test_trees_are_descended_by_indices_from_either_end(width: int) -> None:
    @cuda.jit(width=width)
    def kernel(left, right, keys, wanted, found):
        i = cuda.grid(1)
        if i < found.size:
            node = np.int32(0)
            for _ in range(wanted[i] & 7):
                node = left[node] if wanted[i] < keys[node] else right[node]
            found[i] = node

    @weft.jit(width=width)
    def loop(left, right, keys, wanted, found):
        for i in weft.prange(found.size):
            node = np.int32(0)
            for _ in range(wanted[i] & 7):
                node = left[node] if wanted[i] < keys[node] else right[node]
            found[i] = node

    rng = np.random.default_rng(17)
    size = 90
    left = rng.integers(-size, size, size).astype(np.int32)
    right = rng.integers(-size, size, size + 11).astype(np.int32)
    keys = rng.integers(0, 1000, size).astype(np.int32)
    wanted = rng.integers(0, 1000, 133).astype(np.int32)
    expected = np.zeros(wanted.size, np.int32)
    for i, one in enumerate(wanted):
        node = 0
        for _ in range(one & 7):
            node = left[node] if one < keys[node] else right[node]
        expected[i] = node
    found = np.full_like(expected, -7)
    kernel[3, 64](left, right, keys, wanted, found)
    np.testing.assert_array_equal(found, expected)
    found[...] = -7
    loop(left, right, keys, wanted, found)
    np.testing.assert_array_equal(found, expected)
