"""Nests whose innermost loop has few iterations: boxes of several rows, in a version for these."""

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import prange
from weft.frontend.python.typeof import typeof

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
SHORT = "where its innermost loop has few iterations"


def products(a, b):
    for n in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            for i in prange(a.shape[2]):
                b[n, j, i] = a[n, j, 0] * a[n, 0, i] + 1


def channels(a, b):
    for j in prange(a.shape[0]):
        for c in prange(a.shape[1]):
            if a[j, c] > 3:
                b[j, c] += a[j, c] * 2


def total(a, b):
    found = 0.0
    for j in prange(a.shape[0]):
        for c in prange(a.shape[1]):
            found += a[j, c] * b[j, 0]
    return found


OUTER = {products: (3, 5), channels: (7,), total: (9,)}


@pytest.mark.spread
@pytest.mark.parametrize(("level", "dtype", "function"), pairs(LEVELS, [np.float32, np.float64], list(OUTER)))
def test_any_number_of_columns(function, dtype, level, monkeypatch) -> None:
    outer = OUTER[function]
    monkeypatch.setenv("WEFT_CPU", level)
    monkeypatch.setenv("WEFT_CHECK", "0")
    compiled = weft.jit(function)
    for columns in (0, 1, 2, 3, 4, 5, 7, 8, 9, 33):
        if columns == 0 and function is not channels:
            continue
        a = np.random.default_rng(1).integers(0, 9, (*outer, columns)).astype(dtype)
        b = np.random.default_rng(2).integers(0, 9, (*outer, columns)).astype(dtype)
        wanted = b.copy()
        expected = function(a, wanted)
        assert compiled(a, b) == expected
        assert np.array_equal(b, wanted), columns


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize(
    ("level", "dtype", "has"),
    [
        ("x86-64-v4", np.float32, "as a box of 4x4"),
        ("x86-64-v4", np.float64, "as a box of 2x4"),
        ("x86-64-v3", np.float32, "as a box of 2x4"),
        ("x86-64-v3", np.float64, ""),
    ],
)
def test_rows_of_four_fill_a_register_together(level, dtype, has, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    compiled = weft.jit(channels)
    a = typeof(np.zeros((2, 2), dtype))
    compiled.compile((a, a))
    said = [str(r) for r in compiled.remarks if SHORT in str(r)]
    assert len(said) == bool(has)
    assert all(has in one for one in said)


@pytest.mark.usefixtures("looked_at")
def test_nests_that_leave_out_a_border_have_no_such_version() -> None:
    @weft.jit
    def cross(a, b):
        for j in prange(1, a.shape[0] - 1):
            for i in prange(1, a.shape[1] - 1):
                b[j, i] = a[j - 1, i] + a[j, i - 1] + a[j, i + 1] + a[j + 1, i]

    a = typeof(np.zeros((2, 2), np.float32))
    cross.compile((a, a))
    assert SHORT not in " ".join(map(str, cross.remarks))


def test_a_nest_in_llvm_ir_has_it_where_the_brush_is_chosen() -> None:
    def loop(counter: str, bound: str, body: str) -> str:
        return f"""{counter}.pre:
  br label %{counter}
{counter}:
  %{counter}.n = phi i64 [ 0, %{counter}.pre ], [ %{counter}.next, %{counter}.latch ]
  %{counter}.more = icmp ult i64 %{counter}.n, {bound}
  br i1 %{counter}.more, label %{counter}.body, label %{counter}.exit
{counter}.body:
{body}{counter}.latch:
  %{counter}.next = add nuw nsw i64 %{counter}.n, 1
  br label %{counter}
{counter}.exit:
"""

    access = """  %row = mul i64 %j.n, %columns
  %at = add i64 %row, %i.n
  %p = getelementptr float, ptr %a, i64 %at
  %v = load float, ptr %p
  %w = fadd float %v, 1.0
  store float %w, ptr %p
  br label %i.latch
"""
    nest = loop("j", "%rows", "  br label %i.pre\n" + loop("i", "%columns", access) + "  br label %j.latch\n")
    text = f"define void @f(ptr %a, i64 %rows, i64 %columns) {{\nentry:\n  br label %j.pre\n{nest}  ret void\n}}\n"
    chosen = weft.vectorize_ir(text, function="f", loop="nest", brush="auto", target="x86-64-v4")
    assert SHORT in " ".join(map(str, chosen.remarks))
    asked = weft.vectorize_ir(text, function="f", loop="nest", brush="4x8", target="x86-64-v4")
    assert SHORT not in " ".join(map(str, asked.remarks))
