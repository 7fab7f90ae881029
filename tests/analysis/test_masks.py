"""What the form of a mask says."""

import pytest

from analysis.analysed import Analysed
from weft.analysis.masks import implies, only_loses_threads
from weft.ir import FALSE, TRUE

TEXT = """
define void @f(i1 %a, i1 %b, i1 %c) {
entry:
  %ab = select i1 %a, i1 %b, i1 false
  %abc = select i1 %ab, i1 %c, i1 false
  %ac = select i1 %a, i1 %c, i1 false
  %and = and i1 %a, %c
  %or = select i1 %ab, i1 true, i1 %ac
  %wide = select i1 %a, i1 true, i1 %b
  %mix = select i1 %c, i1 %ab, i1 %ac
  br label %head
head:
  %live = phi i1 [ %ab, %entry ], [ %less, %head ]
  %back = phi i1 [ %ab, %entry ], [ %c, %head ] shadow(false)
  %less = select i1 %live, i1 %c, i1 false
  %any = call i1 @weft.any(i1 %live)
  br i1 %any, label %head, label %out
out:
  ret void
}
"""


@pytest.fixture(scope="module")
def a() -> Analysed:
    return Analysed(TEXT)


@pytest.mark.parametrize(
    ("narrow", "wide", "expected"),
    [
        ("ab", "a", True), ("ab", "b", True), ("abc", "b", True), ("a", "ab", False), ("ac", "c", True),
        ("and", "c", False),
        ("or", "a", True), ("or", "b", False), ("wide", "a", False), ("mix", "a", True), ("mix", "b", False),
        ("live", "a", True), ("live", "ab", True), ("less", "live", True), ("live", "less", False),
        ("back", "a", False),
    ],
)  # fmt: skip
def test_implication(a: Analysed, narrow: str, wide: str, expected: bool) -> None:
    assert implies(a.value(narrow), a.value(wide)) is expected


def test_all_and_none(a: Analysed) -> None:
    assert implies(a.value("a"), None) and implies(a.value("a"), TRUE) and implies(FALSE, a.value("b"))
    assert not implies(None, a.value("a")) and not implies(TRUE, a.value("a"))


def test_a_mask_that_is_narrowed_around_its_loop_only_loses_threads(a: Analysed) -> None:
    blocks = a.divergence.engine.blocks
    (loop,) = a.divergence.engine.control.propagation.loops.loops
    lost = {name: only_loses_threads(a.value(name), loop, blocks) for name in ("a", "live", "back", "less")}
    assert lost == {"a": True, "live": True, "back": False, "less": False}
