"""Mappings are the same for C, Python and LLVM IR; expressions are in the names of each."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

import weft
from weft.loops.analysis import analyze_file

LLVM = """
define void @transpose(i64 %n, ptr noalias %a, ptr noalias %b) {
entry:
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i1, %next ]
  br label %columns
columns:
  %j = phi i64 [ 0, %rows ], [ %j1, %columns ]
  %r = mul nsw i64 %i, 64
  %p = add nsw i64 %r, %j
  %from = getelementptr inbounds float, ptr %a, i64 %p
  %x = load float, ptr %from
  %c = mul nsw i64 %j, 64
  %q = add nsw i64 %c, %i
  %to = getelementptr inbounds float, ptr %b, i64 %q
  store float %x, ptr %to
  %j1 = add nuw nsw i64 %j, 1
  %more = icmp slt i64 %j1, 64
  br i1 %more, label %columns, label %next
next:
  %i1 = add nuw nsw i64 %i, 1
  %again = icmp slt i64 %i1, 64
  br i1 %again, label %rows, label %end
end:
  ret void
}
"""


def test_llvm(tmp_path: Path) -> None:
    file = tmp_path / "t.ll"
    file.write_text(LLVM)
    outer = next(loop for loop in analyze_file(file).loops if loop.depth == 1)
    costs = [(a.kind, a.cost.transactions) for a in outer.accesses if a.cost is not None]
    assert costs == [
        ("load", {"x=j, y=i": "1", "x=i, y=j": "32"}),
        ("store", {"x=j, y=i": "32", "x=i, y=j": "1"}),
    ]
    assert outer.mapping is not None and outer.mapping.assumptions == ()


def matmul(a, b, c):
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def test_python() -> None:
    m = np.ones((4, 4))
    outer = next(loop for loop in weft.loops.analyze(matmul, m, m, m).loops if loop.depth == 1)
    assert outer.mapping is not None and outer.mapping.best == "x=j, y=i"
    assert outer.mapping.operations == "2*a.shape[1]*c.shape[0]*c.shape[1]"
    areas = {a.array: a.overlaps for a in outer.mapping.near}
    assert set(areas) == {"a", "b"}
    # A row of a is read by all of j, a column of b by all of i.
    assert areas["a"]["i"] is None and areas["a"]["j"] is not None
    assert areas["b"]["j"] is None and areas["b"]["i"] is not None
    data = weft.loops.analyze(matmul, m, m, m).to_data()["loops"]
    assert data[-1]["mapping"] is None or "best" in data[-1]["mapping"]
