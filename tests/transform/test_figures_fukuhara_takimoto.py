"""Figures 2 to 6 of Fukuhara and Takimoto (paper 004), with drawings of the graphs before and behind scalar
replacement.

A line of a drawing is a block: its name, a question mark where its branch is divergent, what it reads, its successors.
Blocks have the numbers of the paper. The expressions of Fig. 2 and 3 are loads here, too.
"""

from types import SimpleNamespace

import pytest

from weft.analysis.divergence.facts import FunctionFacts
from weft.analysis.questions.places import Place, Places
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.scalar_replacement.policy import POLICIES, Policy, PolicyName
from weft.transform.scalar_replacement.replacement import ReplacementSummary, replace_loads

WIDE = Policy(PolicyName.SRQP, keeps_convergent=False, wide=True)
"""SRQP with the paper's anticipation, where the bytes are known to be there."""

FIG_2 = """
define float @partially_redundant(ptr %A, ptr %x, i1 %c) {
1:
  %a = load i64, ptr %x
  %p = getelementptr float, ptr %A, i64 %a
  br i1 %c, label %2, label %3
2:
  br label %4
3:
  %before = load float, ptr %p
  br label %4
4:
  %again = load float, ptr %p
  ret float %again
}
"""

FIG_3 = """
define float @empty_loop(ptr %A, i64 %a, i32 %m, ptr %x) {
1:
  %p = getelementptr float, ptr %A, i64 %a
  br label %3
3:
  %k = phi i32 [ 0, %1 ], [ %k1, %3 ]
  %k1 = add nsw i32 %k, 1
  %empty = icmp slt i32 %k1, %m
  br i1 %empty, label %3, label %4
4:
  br label %5
5:
  %j = phi i32 [ 0, %4 ], [ %j1, %5 ]
  %e = load float, ptr %p
  %j1 = add nsw i32 %j, 1
  %more = icmp slt i32 %j1, %m
  br i1 %more, label %5, label %7
7:
  ret float %e
}
"""

FIG_4 = """
define float @across_iterations(ptr noalias ARRAY %A, i1 %c2, i1 %c4) {
1:
  br label %2
2:
  %i = phi i64 [ 0, %1 ], [ %i1, %9 ]
  %s = phi float [ 0.0, %1 ], [ %s2, %9 ]
  br i1 %c2, label %3, label %4
3:
  br label %8
4:
  br i1 %c4, label %5, label %6
5:
  %ip = add nsw i64 %i, 1
  %p5 = getelementptr float, ptr %A, i64 %ip
  %next = load float, ptr %p5
  br label %7
6:
  br label %7
7:
  %u = phi float [ %next, %5 ], [ 1.0, %6 ]
  br label %8
8:
  %v = phi float [ 2.0, %3 ], [ %u, %7 ]
  %p8 = getelementptr float, ptr %A, i64 %i
  %this = load float, ptr %p8
  %s1 = fadd float %s, %v
  %s2 = fadd float %s1, %this
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, 100
  br i1 %more, label %9, label %end
9:
  br label %2
end:
  ret float %s2
}
"""
KNOWN_RANGE = FIG_4.replace("ARRAY", "dereferenceable(404)")
TOO_SHORT = FIG_4.replace("ARRAY", "dereferenceable(400)")
NO_RANGE = FIG_4.replace("ARRAY ", "")

FIG_5 = """
define float @arms(ptr dereferenceable(400) %A, i1 %c1, i1 %c4, i64 noundef %n) {
1:
  %i = and i64 %n, 63
  %p = getelementptr float, ptr %A, i64 %i
  br i1 %c1, label %2, label %3
2:
  %first = load float, ptr %p
  br label %4
3:
  br label %4
4:
  %u = phi float [ %first, %2 ], [ 0.0, %3 ]
  br i1 %c4, label %5, label %6
5:
  %second = load float, ptr %p
  br label %7
6:
  br label %7
7:
  %v = phi float [ %second, %5 ], [ %u, %6 ]
  ret float %v
}
"""


def of_places(place: Place) -> str:
    """``A[i + 1]``, for places of floats with one index."""
    index = " ".join(f"{'' if c == 4 else c // 4}{m[0][0].name}" for m, c in place.terms)
    offset = f"{place.offset // 4:+}" if place.offset or not index else ""
    return f"{place.base.name}[{index}{offset}]".replace("[+0", "[0")


def drawing(function: Function, divergent: str) -> str:
    places = Places(function.layout)
    lines = []
    for block in function.blocks:
        reads = [of_places(places.of_access(i)) for i in block if i.op == "load" and i.type.is_float]
        name = block.name + ("?" if block.name in divergent.split() else "")
        following = " ".join(successor.name for successor in block.successors)
        lines.append(f"{name:9}{' '.join(reads):15} -> {following}".rstrip(" ->"))
    return "\n".join(lines)


def replaced(text: str, policy: Policy, divergent: str = "") -> tuple[str, Function, ReplacementSummary]:
    """Both drawings, and the function behind the pass."""
    module = read_module(text)
    verify(module)
    function = next(module.definitions())

    def diverges(block: BasicBlock) -> bool:
        return block.name in divergent.split()

    before = drawing(function, divergent)
    summary = replace_loads(
        function,
        policy,
        lambda: SimpleNamespace(
            function=function, facts=FunctionFacts(function), is_divergent_branch=diverges
        ),
    )
    verify(module)
    return f"before\n{before}\n\nbehind {policy.name}\n{drawing(function, divergent)}", function, summary


def reads_of(function: Function, block: str) -> list[Instruction]:
    return [i for b in function.blocks if b.name == block for i in b if i.op == "load" and i.type.is_float]


SRQP, ESRQP, SSRQP = (POLICIES[name] for name in (PolicyName.SRQP, PolicyName.ESRQP, PolicyName.SSRQP))

FIGURES = {
    "fukuhara_2_srqp": (FIG_2, SRQP, ""),
    "fukuhara_3_srqp": (FIG_3, SRQP, ""),
    "fukuhara_4_srqp_wide": (KNOWN_RANGE, WIDE, ""),
    "fukuhara_4_srqp": (NO_RANGE, SRQP, ""),
    "fukuhara_5_ssrqp": (FIG_5, SSRQP, "1 4"),
    "fukuhara_6_esrqp": (KNOWN_RANGE, ESRQP, "2 4"),
    "fukuhara_6_ssrqp": (KNOWN_RANGE, SSRQP, "2 4"),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures(name: str, golden) -> None:
    golden(replaced(*FIGURES[name])[0] + "\n", f"{name}.txt")


def test_fig_2_inserts_into_node_2_so_that_node_4_reads_nothing() -> None:
    _, function, summary = replaced(*FIGURES["fukuhara_2_srqp"])
    assert (summary.removed, summary.inserted) == (1, 1)
    assert reads_of(function, "2") and not reads_of(function, "4")


def test_fig_3_inserts_behind_the_empty_loop_not_before_it() -> None:
    _, function, _ = replaced(*FIGURES["fukuhara_3_srqp"])
    assert reads_of(function, "4") and not reads_of(function, "1") and not reads_of(function, "5")


def test_fig_4_f_takes_a_known_range_since_it_reads_one_element_more() -> None:
    _, function, summary = replaced(*FIGURES["fukuhara_4_srqp_wide"])
    assert summary.removed == 1
    assert [len(reads_of(function, b)) for b in ("1", "3", "6", "5", "8")] == [1, 1, 1, 1, 0]
    for text in (NO_RANGE, TOO_SHORT):
        for policy in (WIDE, SRQP):
            assert not replaced(text, policy)[2].changed, "A[N] may be out of bounds"


def test_fig_5_hoists_to_node_1_and_reads_no_more() -> None:
    _, function, summary = replaced(*FIGURES["fukuhara_5_ssrqp"])
    assert (summary.removed, summary.hoisted) == (2, 1)
    assert reads_of(function, "1") and not reads_of(function, "2") and not reads_of(function, "5")


def test_fig_5_stays_where_the_bytes_may_not_be_there() -> None:
    text = FIG_5.replace("dereferenceable(400) ", "")
    assert not replaced(text, SSRQP, "1 4")[2].changed
    assert not replaced(FIG_5.replace("(400)", "(200)"), SSRQP, "1 4")[2].changed


def test_fig_6_inserts_nothing_into_arms_and_hoists_to_node_2() -> None:
    assert not replaced(*FIGURES["fukuhara_6_esrqp"])[2].changed
    _, function, summary = replaced(*FIGURES["fukuhara_6_ssrqp"])
    assert (summary.removed, summary.inserted, summary.hoisted) == (2, 1, 1)
    assert [len(reads_of(function, b)) for b in ("1", "2", "3", "5", "6", "8")] == [1, 1, 0, 0, 0, 0]
