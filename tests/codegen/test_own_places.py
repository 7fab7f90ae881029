"""Lanes' own stack objects at places of lanes' own: passive lanes have rows there, two stacks may be one of pairs."""

import itertools

import numpy as np
import pytest

from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS, WIDTHS
from codegen.test_forms import lines
from weft import cuda
from weft.machine.targets import AVX2, AVX512, SSE2

FILLED = (
    "  %s = alloca [8 x i32], align 4\n  %g = alloca [8 x float], align 4\n"
    "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n  %i = and i32 %v, 7\n"
    "  br label %fill\nfill:\n  %k = phi i32 [ 0, %entry ], [ %k1, %fill ]\n  %e = xor i32 %k, %i\n"
    "  %w = add i32 %v, %k\n  %f = sitofp i32 %w to float\n"
    "  %sa = getelementptr i32, ptr %s, i32 %e\n  %ga = getelementptr float, ptr %g, i32 %e\n"
    "  store i32 %w, ptr %sa, align 4\n  store float %f, ptr %ga, align 4\n"
    "  %k1 = add nuw nsw i32 %k, 1\n  %more = icmp ult i32 %k1, 8\n  br i1 %more, label %fill, label %filled\n"
    "filled:\n  %moved = lshr i32 %v, 3\n  %j = and i32 %moved, 7\n"
    "  %a = getelementptr i32, ptr %s, i32 %j\n  %b = getelementptr float, ptr %g, i32 %j\n"
)
PUSH = "  store i32 7, ptr %a, align 4\n  store float 3.0, ptr %b, align 4"
POP = "  %x = load i32, ptr %a, align 4\n  %y = load float, ptr %b, align 4\n"
SUM = "  %z = fptosi float %y to i32\n  %r = add i32 %x, %z\n"
PAIRS = FILLED + POP + SUM + stored("%r")
MASKED = FILLED + guarded(POP + SUM + stored("%r"))
PUT_UNDER_A_MASK = FILLED + guarded(PUSH) + POP + SUM + stored("%r")
APART = FILLED + "  store i32 5, ptr %s, align 4\n" + POP + SUM + stored("%r")
"""One of both is stored to by itself."""
ONE = FILLED.replace("store float %f, ptr %ga, align 4", "") + guarded(
    POP.splitlines()[0] + "\n" + stored("%x")
)


@pytest.mark.parametrize("isa", [SSE2, AVX2])
def test_two_stacks_are_one_of_pairs(isa) -> None:
    text = widened(kernel_text(PAIRS), 16, isa)
    assert len(lines(text, "store i64")) == 16 and len(lines(text, "load i64, ptr %.*, align 8")) == 16
    assert "gather" not in text and "scatter" not in text


def test_objects_that_are_accessed_by_themselves_stay_apart() -> None:
    text = widened(kernel_text(APART), 16, AVX2)
    assert not lines(text, "store i64") and len(lines(text, r"call .*weft.gather.n4")) == 2


def test_where_masks_are_registers_gathers_stay_instructions() -> None:
    text = widened(kernel_text(PAIRS), 16, AVX512)
    assert len(lines(text, "masked.gather")) == 2 and len(lines(text, "masked.scatter")) == 2


def test_passive_lanes_read_a_row_of_zeros() -> None:
    text = widened(kernel_text(ONE), 8, AVX2)
    # Eight rows of eight elements, and one of zeros.
    assert lines(text, r"%s = alloca \[288 x i8\]") and lines(text, r"store <32 x i8> zeroinitializer")
    assert lines(text, r"select <8 x i1> .*<i32 64, i32 65, i32 66, i32 67, i32 68, i32 69, i32 70, i32 71>")
    assert "%nothing" not in text


def test_passive_lanes_write_a_row_of_their_own() -> None:
    text = widened(kernel_text(PUT_UNDER_A_MASK), 8, AVX2)
    assert lines(text, r"select <8 x i1> .*<i32 64, i32 65") and "%spare" not in text
    assert lines(text, r"%pairs = alloca \[576 x i8\], align 64")


KERNELS = {
    "pairs": PAIRS,
    "under a mask": MASKED,
    "put under a mask": PUT_UNDER_A_MASK,
    "apart": APART,
    "one": ONE,
}


@pytest.mark.parametrize(
    ("name", "isa", "width"),
    [(n, i, w) for (n, i), w in zip(itertools.product(KERNELS, ISAS), itertools.cycle(WIDTHS))],
)
def test_means_the_same(name: str, isa, width: int) -> None:
    agree(kernel_text(KERNELS[name]), width, isa, (Launch(),))


def test_half_a_pair_that_is_not_set_leaves_the_other_alone() -> None:
    """A push may have what no path has set."""

    @cuda.jit(width=8)
    def last(values, out):
        i = cuda.grid(1)
        if i < out.size:
            nodes, gaps = cuda.local.array(4, np.int32), cuda.local.array(4, np.float32)
            top = np.int32(values[i] & 1)
            nodes[top] = values[i]
            gaps[top] = np.float32(1) / np.float32(values[i] & 1)
            out[i] = nodes[top] if gaps[top] > 2 else -nodes[top]

    values, out = np.arange(1, 20, dtype=np.int32), np.zeros(19, np.int32)
    last[1, 32](values, out)
    assert out.tolist() == [-v if v & 1 else v for v in values.tolist()]
