"""What lanes look up next is asked for where it is one of two places, and far away."""

import numpy as np
import pytest

import weft
from codegen.kernels import kernel_text, stored, widened
from codegen.test_forms import lines
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.machine import TargetSpec


def descent(following: str) -> str:
    """A loop that looks up `%node`, and then what comes of `following`."""
    return (
        "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n  br label %down\ndown:\n"
        "  %node = phi i32 [ 0, %entry ], [ %next, %down ]\n  %deep = phi i32 [ 0, %entry ], [ %deeper, %down ]\n"
        "  %i = zext i32 %node to i64\n  %q = getelementptr i32, ptr %in, i64 %i\n  %x = load i32, ptr %q, align 4\n"
        f"  %is = icmp sgt i32 %x, %v\n{following}"
        "  %deeper = add nuw nsw i32 %deep, 1\n  %more = icmp ult i32 %next, 1000\n"
        "  br i1 %more, label %down, label %done\ndone:\n  %r = phi i32 [ %deeper, %down ]\n" + stored("%r")
    )


LEFT = "  %twice = shl i32 %node, 1\n  %left = or disjoint i32 %twice, 1\n"
HEAP = LEFT + "  %right = add i32 %twice, 2\n  %next = select i1 %is, i32 %left, i32 %right\n"
BY_A_BIT = LEFT + "  %bit = zext i1 %is to i32\n  %next = add i32 %left, %bit\n"
FAR_APART = (
    "  %three = mul i32 %node, 3\n  %five = mul i32 %node, 5\n  %left = add i32 %three, 1\n"
    "  %right = add i32 %five, 2\n  %next = select i1 %is, i32 %left, i32 %right\n"
)
LOOKED_UP = "  %next = select i1 %is, i32 %x, i32 %v\n"
FORESEEN = "  %three = mul i32 %node, 3\n  %next = add i32 %three, 1\n"
BESIDE = "  %one = add i32 %node, 1\n  %two = add i32 %node, 2\n  %next = select i1 %is, i32 %one, i32 %two\n"


@pytest.mark.parametrize("following", [HEAP, BY_A_BIT])
@pytest.mark.parametrize("isa", [SSE2, AVX2])
def test_children_side_by_side_are_asked_for_at_once(following: str, isa) -> None:
    text = widened(kernel_text(descent(following)), 8, isa)
    assert len(lines(text, r"call void @llvm.prefetch.p0")) == 8
    # Only where some lane is a megabyte away.
    assert lines(text, r"and <8 x i32> .*splat \(i32 -262144\)")


def test_places_apart_are_asked_for_both() -> None:
    assert len(lines(widened(kernel_text(descent(FAR_APART)), 8, AVX2), "call void @llvm.prefetch")) == 16


@pytest.mark.parametrize(
    ("following", "isa"), [(LOOKED_UP, AVX2), (FORESEEN, AVX2), (BESIDE, AVX2), (HEAP, AVX512)]
)
def test_others_are_not_asked_for(following: str, isa) -> None:
    assert "prefetch" not in widened(kernel_text(descent(following)), 8, isa)


def depths(tree, wanted, out):
    for i in weft.prange(out.size):
        node = 0
        steps = 0
        while node < tree.size:
            node = 2 * node + (2 if tree[node] < wanted[i] else 1)
            steps += 1 if node % 3 else 2
        out[i] = steps


def test_trees_that_are_far_away() -> None:
    """The tree has three megabytes, so that some places are asked for, others behind its end, too."""
    rng = np.random.default_rng(1)
    tree, wanted = rng.random(3 << 18, np.float32), rng.random(100, np.float32)
    expected, out = np.zeros(100, np.int64), np.zeros(100, np.int64)
    depths(tree, wanted, expected)
    compiled = weft.jit(depths, width=8)
    compiled(tree, wanted, out)
    assert out.tolist() == expected.tolist()


def nearest(points, queries, out):
    for i in weft.prange(out.size):
        nodes = np.empty(16, np.int32)
        best = np.float32(3e38)
        node = 0
        top = 0
        while True:
            if node < points.shape[0]:
                dx = queries[i, 0] - points[node, 0]
                dy = queries[i, 1] - points[node, 1]
                best = min(best, dx * dx + dy * dy)
                nodes[top] = 2 * node + 1 + (dx > 0)
                top += 1
                node = 2 * node + 2 - (dx > 0)
            else:
                if top == 0:
                    break
                top -= 1
                node = nodes[top]
        out[i] = best


def test_rows_that_are_counted_in_bytes_of_32_bits() -> None:
    """Indices of the nodes are narrowed to such numbers, which reach further than indices of gathers."""
    rng = np.random.default_rng(2)
    points, queries, out = (
        rng.random((127, 2), np.float32),
        rng.random((100, 2), np.float32),
        np.zeros(100, np.float32),
    )
    compiled = weft.jit(nearest, width=8)
    for _ in range(3):
        compiled(points, queries, out)
    np.testing.assert_array_equal(out, ((queries[:, None] - points) ** 2).sum(axis=2).min(axis=1))
    if not TargetSpec.chosen().isa.mask_registers:
        # Of rows of any length, and of these.
        assert sum("may look next" in remark.message for remark in compiled.remarks) == 2
