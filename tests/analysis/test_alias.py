"""Alias analysis: objects, offsets, escape; and agreement with addresses that were really accessed."""

import pytest

from analysis.analysed import Analysed
from weft.analysis.memory.alias import Alias, AliasAnalysis, locate
from weft.ir.cfg_view import cfg_of
from weft.ir.layout import DataLayout

TEXT = """
@g = global [16 x i32] zeroinitializer
@h = internal global [16 x i32] zeroinitializer
declare void @take(ptr)
declare ptr addrspace(3) @weft.shared(i32)
define void @f(ptr %p, ptr noalias %q, ptr %r, i64 %i, i64 %j) {
entry:
  %A = alloca [16 x i32]
  %B = alloca [16 x i32]
  %C = alloca [16 x i32]
  call void @take(ptr %C)
  %s0 = call ptr addrspace(3) @weft.shared(i32 0)
  %s0b = call ptr addrspace(3) @weft.shared(i32 0)
  %s1 = call ptr addrspace(3) @weft.shared(i32 1)
  %a1 = getelementptr i32, ptr %A, i64 1
  %a2 = getelementptr [16 x i32], ptr %A, i64 0, i64 2
  %ai = getelementptr i32, ptr %A, i64 %i
  %ai1 = getelementptr i32, ptr %ai, i64 1
  %aj = getelementptr i32, ptr %A, i64 %j
  %pi = getelementptr { i32, i32 }, ptr %p, i64 %i
  %pj1 = getelementptr { i32, i32 }, ptr %p, i64 %j, i32 1
  %pi1 = getelementptr { i32, i32 }, ptr %p, i64 %i, i32 1
  %aij = getelementptr i32, ptr %ai, i64 %j
  %aji = getelementptr i32, ptr %aj, i64 %i
  %sel = select i1 true, ptr %A, ptr %B
  %qp = select i1 true, ptr %q, ptr %p
  %g3 = getelementptr i32, ptr @g, i64 3
  ret void
}
"""


@pytest.fixture(scope="module")
def analysed() -> Analysed:
    return Analysed(TEXT)


@pytest.mark.parametrize(
    ("a", "b", "size", "expected"),
    [
        ("a1", "a2", 4, Alias.NO),
        ("a1", "a2", 8, Alias.MAY),
        ("a1", "a1", 4, Alias.MUST),
        ("ai", "ai1", 4, Alias.NO),
        ("ai", "aj", 4, Alias.MAY),
        ("aij", "aji", 4, Alias.MUST),
        ("pi", "pj1", 4, Alias.NO),  # fields of one struct, whatever the element
        ("pi", "pj1", 8, Alias.MAY),
        ("pi1", "pj1", 4, Alias.MAY),
        ("A", "B", 64, Alias.NO),
        ("A", "p", 4, Alias.NO),  # A does not escape
        ("C", "p", 4, Alias.NO),  # no argument leads to what the function makes itself
        ("C", "A", 4, Alias.NO),
        ("p", "r", 4, Alias.MAY),
        ("q", "C", 4, Alias.NO),
        ("q", "p", 4, Alias.NO),  # what q owns, no other argument leads to while the function runs
        ("q", "qp", 4, Alias.MAY),  # but what may be derived from q does
        ("p", "qp", 4, Alias.MAY),
        ("sel", "B", 4, Alias.MAY),
        ("sel", "p", 4, Alias.NO),
        ("s0", "s0b", 4, Alias.MUST),
        ("s0", "s1", 4, Alias.NO),
        ("g3", "q", 4, Alias.NO),
        ("g3", "p", 4, Alias.MAY),
        ("g3", "A", 4, Alias.NO),
    ],
)
def test_pointers(analysed: Analysed, a: str, b: str, size: int, expected: Alias) -> None:
    engine = analysed.divergence.engine
    analysis = AliasAnalysis(engine.objects, DataLayout())
    x, y = analysed.value(a), analysed.value(b)
    assert analysis.alias(x, size, y, size) is expected
    assert analysis.alias(y, size, x, size) is expected


def test_terms_stand_in_an_order_that_follows_from_the_text(analysed: Analysed) -> None:
    """Code is made from them: where the compiler's objects lie in memory must not show."""
    i, j = (analysed.value(name) for name in "ij")
    assert list(locate(analysed.value("aij"), DataLayout()).terms) == [j, i]
    assert list(locate(analysed.value("aji"), DataLayout()).terms) == [i, j]


def test_globals_by_name_are_objects(analysed: Analysed) -> None:
    analysis = AliasAnalysis(analysed.divergence.engine.objects, DataLayout())
    g, h = (analysed.module.globals[name] for name in "gh")
    assert analysis.alias(g, 64, h, 64) is Alias.NO
    assert cfg_of(analysed.function).blocks


def test_random_programs_access_no_common_byte_where_no_alias_is_claimed() -> None:
    from analysis.alias_soundness import check_program

    assert sum(check_program(seed) for seed in range(60)) > 2000
