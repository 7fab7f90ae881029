"""Lanes that share a stack ask for what they look up at a node where they put it there (`ask_at_pushes`)."""

import numpy as np
import pytest

from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.rewrites.asked_pushes import ask_at_pushes

#   entry ──▶ head ──▶ body ──▶ push ──▶ head     a sum of what the nodes of a tree hold, in all lanes
#              ├──▶ done          └──▶ head
WALK = """
define void @f(ptr %tree, ptr %sums, i32 %n) {{
entry:
  %stack = alloca [64 x i32]
  store i32 0, ptr %stack
  br label %head
head:
  %top = phi i64 [ 1, %entry ], [ %less, %body ], [ %higher, %push ]
  %sum = phi <32 x float> [ zeroinitializer, %entry ], [ %r, %body ], [ %r, %push ]
  %more = icmp sgt i64 %top, 0
  br i1 %more, label %body, label %done
body:
  %less = add nsw i64 %top, -1
  %from = getelementptr i32, ptr %stack, i64 %less
  %node = load i32, ptr %from
  %far = sext i32 %node to i64
  %at = getelementptr {element}, ptr %tree, i64 %far
  %held = load float, ptr %at
  %one = insertelement <32 x float> poison, float %held, i64 0
  %all = shufflevector <32 x float> %one, <32 x float> poison, <32 x i32> zeroinitializer
  {work}
  %r = fadd <32 x float> %sum, %q
  %twice = shl nsw i32 %node, 1
  %left = add nsw i32 %twice, 1
  %right = add nsw i32 %twice, 2
  %inner = icmp slt i32 %left, %n
  br i1 %inner, label %push, label %head
push:
  %first = getelementptr i32, ptr %stack, i64 %less
  store i32 %left, ptr %first
  %next = add nsw i64 %less, 1
  %second = getelementptr i32, ptr %stack, i64 %next
  store i32 %right, ptr %second
  %higher = add nsw i64 %less, 2
  br label %head
done:
  store <32 x float> %sum, ptr %sums, align 4
  ret void
}}
"""
LONG = """%a = fmul <32 x float> %all, %all
  %b = fadd <32 x float> %a, %all
  %c = fmul <32 x float> %b, %all
  %d = fsub <32 x float> %c, %a
  %e = fmul <32 x float> %d, %all
  %q = fadd <32 x float> %e, %b"""
SHORT = "%q = fmul <32 x float> %all, %all"


def _asked(text: str, isa: Isa = AVX512) -> int:
    module = read_module(text)
    asked = ask_at_pushes(module.functions["f"], isa)
    verify(module)
    assert write_module(module).count("call void @llvm.prefetch") == asked
    return asked


@pytest.mark.parametrize("isa", [SSE2, AVX2, AVX512])
def test_children_in_lines_of_their_own_are_asked_for_but_the_next(isa: Isa) -> None:
    assert _asked(WALK.format(element="[32 x float]", work=LONG), isa) == 1


def test_a_stack_that_is_chosen_beside_a_spare_place_is_one() -> None:
    chosen = WALK.format(element="[32 x float]", work=LONG).replace(
        "%first = getelementptr i32, ptr %stack, i64 %less",
        "%spare = getelementptr i32, ptr %stack, i64 %less\n"
        "  %first = select i1 %inner, ptr %spare, ptr %sums",
    )
    assert _asked(chosen) == 1


def test_what_is_looked_up_at_once_of_the_node_that_is_next_is_not_asked_for() -> None:
    """The walk looks its nodes up behind a vote, or else their line is loaded in the next round as soon."""
    at_once = WALK.format(element="float", work=LONG)
    voted = at_once.replace(
        "  %at = getelementptr", "  br i1 %more, label %look, label %head\nlook:\n  %at = getelementptr"
    )
    voted = voted.replace("%less, %body ], [ %higher", "%less, %body ], [ %less, %look ], [ %higher")
    voted = voted.replace("[ %r, %body ]", "[ %sum, %body ], [ %r, %look ]")
    assert _asked(at_once) == 0 and _asked(voted) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (LONG, SHORT),  # requests would take longer than they save
        ("ptr %tree, i64 %far", "ptr %tree, i64 %top"),  # the place is not that of the node
        ("ptr %tree, i64 %far", "ptr %stack, i64 %far"),  # stacks are near
        ("load i32, ptr %from", "load volatile i32, ptr %from"),
        (
            "getelementptr i32, ptr %stack, i64 %less\n  store",
            "getelementptr i32, ptr %sums, i64 %less\n  store",
        ),
    ],
)
def test_what_is_not_asked_for(old: str, new: str) -> None:
    text = WALK.format(element="[32 x float]", work=LONG)
    if "%sums" in new:
        text = text.replace(
            "%second = getelementptr i32, ptr %stack", "%second = getelementptr i32, ptr %sums"
        )
    changed = text.replace(old, new)
    assert changed != text
    assert _asked(changed) == 0


def test_sums_are_what_they_were() -> None:
    tree = np.arange(31 * 32, dtype=np.float32)
    results: list[list[float]] = []
    for asks in (False, True):
        module = read_module(WALK.format(element="[32 x float]", work=LONG))
        if asks:
            assert ask_at_pushes(module.functions["f"], AVX512)
        memory, sums = Memory(), np.zeros(32, np.float32)
        arguments = [memory.map_array(tree), memory.map_array(sums), 31]
        run_function(Program(module), "f", arguments, 1, memory=memory)
        results.append(sums.tolist())
    assert results[0][0] != 0
    assert results[0] == results[1]


@cuda.jit(fastmath=True)
def within(points, boxes, queries, radius, counts):
    i = cuda.grid(1)
    if i < counts.size:
        stack = cuda.local.array(32, np.int32)
        x = queries[i, 0]
        y = queries[i, 1]
        found = np.int32(0)
        stack[0] = 0
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            ox = max(boxes[node, 0] - x, x - boxes[node, 1], 0.0)
            oy = max(boxes[node, 2] - y, y - boxes[node, 3], 0.0)
            if cuda.any_sync(cuda.activemask(), ox * ox + oy * oy <= radius):
                dx = x - points[node, 0]
                dy = y - points[node, 1]
                if dx * dx + dy * dy <= radius:
                    found += 1
                left = 2 * node + 1
                if left < points.shape[0]:
                    stack[top] = left
                    stack[top + 1] = left + 1
                    top += 2
        counts[i] = found


def test_kernels_that_vote_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CACHE", "0")
    rng = np.random.default_rng(3)
    points = rng.random((255, 2))
    boxes = np.tile([0.0, 1.0, 0.0, 1.0], (255, 1))
    queries = rng.random((100, 2))
    counts = np.zeros(100, np.int32)
    within[4, 32](points, boxes, queries, 0.04, counts)
    squared = ((queries[:, None] - points) ** 2).sum(axis=2)
    np.testing.assert_array_equal(counts, (squared <= 0.04).sum(axis=1))
    assert "prefetch" in str(within.inspect_asm())
