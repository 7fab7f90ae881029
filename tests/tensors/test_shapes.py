"""Tensor shapes: a stride for each dimension of the nest (Moll, Fig. 11.5)."""

import pytest

from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import domain_named
from weft.ir.reader import read_module

PROGRAM = """
define void @body(ptr noalias readonly %A, ptr noalias readonly %B, ptr noalias readonly %C, i64 %n, i64 %i, i64 %j,
    i64 %k, ptr noalias %out) {
  %i12 = mul nsw i64 %i, 12
  %j6 = mul nsw i64 %j, 6
  %affine = sub nsw i64 %i12, %j6
  %A.i = getelementptr inbounds i64, ptr %A, i64 %i
  %a = load i64, ptr %A.i, align 8
  %a2 = mul nsw i64 %a, 2
  %j10 = mul nsw i64 %j, 10
  %one.varying = add nsw i64 %a2, %j10
  %row = mul nsw i64 %i, %n
  %place = add nsw i64 %row, %j
  %B.ij = getelementptr inbounds i64, ptr %B, i64 %place
  %b = load i64, ptr %B.ij, align 8
  %k5 = mul nsw i64 %k, 5
  %two.varying = add nsw i64 %b, %k5
  %C.i = getelementptr inbounds i64, ptr %C, i64 %i
  %c = load i64, ptr %C.i, align 8
  %B.k = getelementptr inbounds i64, ptr %B, i64 %k
  %b.k = load i64, ptr %B.k, align 8
  %product = mul nsw i64 %c, %b.k
  %B.j = getelementptr inbounds i64, ptr %B, i64 %j
  %b.j = load i64, ptr %B.j, align 8
  %C.b = getelementptr inbounds i64, ptr %C, i64 %b.j
  %indirect = load i64, ptr %C.b, align 8
  store i64 %affine, ptr %out, align 8
  ret void
}
"""


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("i", (1, 0, 0)),
        ("j", (0, 1, 0)),
        ("k", (0, 0, 1)),
        ("affine", (12, -6, 0)),
        ("one.varying", (None, 10, 0)),
        ("two.varying", (None, None, 5)),
        ("product", (None, 0, None)),
        ("indirect", (0, None, 0)),
    ],
)
def test_figure_11_5(name, shape) -> None:
    function = read_module(PROGRAM).functions["body"]
    domain = domain_named("product", (4, 4, 4))
    counters = {a.name: a for a in function.args if a.name in "ijk"}
    initial = dict.fromkeys(function.args, domain.uniform(64))
    for d, c in enumerate("ijk"):
        initial[counters[c]] = domain.strided(tuple(int(d == e) for e in range(3)), 64, 1)
    divergence = analyze_divergence(function, domain=domain, initial=initial, width=64)
    value = counters.get(name) or next(i for i in function.instructions() if i.name == name)
    assert divergence.shape(value).strides == shape
