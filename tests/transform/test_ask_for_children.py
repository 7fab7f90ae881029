"""A walk that turns back asks for both places that it may look up next (`ask_for_children`)."""

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.ask_for_children import ask_for_children

#   entry ──> head ──> body ─┬─> down ──> next ──> head
#              └─> done      └─> back ────┘
WALK = """
define i64 @f(ptr %tree, ptr %stack, float %x, i64 %n) {
entry:
  br label %head
head:
  %node = phi i64 [ 0, %entry ], [ %following, %next ]
  %side = phi i1 [ false, %entry ], [ %far, %next ]
  %more = icmp slt i64 %node, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr float, ptr %tree, i64 %node
  %p = load float, ptr %at
  %far = fcmp ogt float %p, %x
  %twice = shl i64 %node, 1
  br i1 %far, label %down, label %back
down:
  %left = add i64 %twice, 1
  %right = add i64 %twice, 2
  %child = select i1 %far, i64 %right, i64 %left
  br label %next
back:
  %popped = load i64, ptr %stack
  br label %next
next:
  %following = phi i64 [ %child, %down ], [ %popped, %back ]
  br label %head
done:
  %last = phi i64 [ %node, %head ]
  ret i64 %last
}
"""


def _requests(text: str) -> int:
    module = read_module(text)
    ask_for_children(module.functions["f"])
    verify(module)
    return write_module(module).count("call void @llvm.prefetch")


def test_children_in_one_line_are_one_request() -> None:
    assert _requests(WALK) == 1


def test_children_in_two_lines_are_two() -> None:
    assert _requests(WALK.replace("add i64 %twice, 2", "add i64 %twice, 20")) == 2


def test_a_condition_that_is_there_already_is_taken_both_ways() -> None:
    two = WALK.replace(
        "%right = add i64 %twice, 2", "%bit = zext i1 %side to i64\n  %away = mul i64 %bit, 99"
    )
    two = two.replace("%child = select i1 %far, i64 %right, i64 %left", "%child = add i64 %left, %away")
    assert _requests(two) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[ %popped, %back ]", "[ %node, %back ]"),  # it never turns back
        ("i64 %right, i64 %left", "i64 %left, i64 %left"),  # there is one place
        ("i64 %right, i64 %left", "i64 %popped, i64 %popped"),  # both come from what is looked up
        ("load float, ptr %at", "load volatile float, ptr %at"),
    ],
)
def test_what_is_not_asked_for(old: str, new: str) -> None:
    text = WALK.replace(old, new)
    if "%popped, i64" in new:
        text = text.replace("  %popped = load i64, ptr %stack\n", "")
        text = text.replace("  %twice = shl", "  %popped = load i64, ptr %stack\n  %twice = shl")
    assert text != WALK
    assert _requests(text) == 0


def nearest(tree, queries, out):
    for i in prange(out.size):
        nodes = np.empty(16, np.int32)
        gaps = np.empty(16, tree.dtype)
        best = tree.dtype.type(3e38)
        gap = tree.dtype.type(0)
        node = 0
        top = 0
        while True:
            if gap < best and node < tree.size:
                step = queries[i] - tree[node]
                best = min(best, step * step)
                near = 2 * node + 2 if step > 0 else 2 * node + 1
                nodes[top] = 4 * node + 3 - near
                gaps[top] = step * step
                top += 1
                node = near
                gap = tree.dtype.type(0)
            else:
                if top == 0:
                    break
                top -= 1
                node = nodes[top]
                gap = gaps[top]
        out[i] = best


@cuda.jit(width=1)
def nearest_by_threads(tree, queries, out):
    i = cuda.grid(1)
    if i < out.size:
        nodes = cuda.local.array(16, np.int32)
        best = np.float32(3e38)
        node = 0
        top = 0
        while True:
            if node < tree.size:
                step = queries[i] - tree[node]
                best = min(best, step * step)
                near = 2 * node + 2 if step > 0 else 2 * node + 1
                nodes[top] = 4 * node + 3 - near
                top += 1
                node = near
            else:
                if top == 0:
                    break
                top -= 1
                node = nodes[top]
        out[i] = best


def _problem(dtype: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    points = np.sort(rng.random(63)).astype(dtype)
    levels = [points[(1 << 5 - level) - 1 :: 1 << 6 - level] for level in range(6)]
    tree, queries = np.concatenate(levels), rng.random(40).astype(dtype)
    return tree, queries, ((queries[:, None] - points) ** 2).min(axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_loops_by_themselves_ask(dtype: type) -> None:
    tree, queries, expected = _problem(dtype)
    out = np.zeros_like(queries)
    walk = weft.jit(nearest, width=1)
    walk(tree, queries, out)
    np.testing.assert_array_equal(out, expected)
    assert any("prefetch" in text for text in walk.inspect_asm().values())


def test_threads_by_themselves_ask() -> None:
    tree, queries, expected = _problem(np.float32)
    out = np.zeros_like(queries)
    nearest_by_threads[2, 32](tree, queries, out)
    np.testing.assert_array_equal(out, expected)
    assert "prefetch" in str(nearest_by_threads.inspect_asm())
