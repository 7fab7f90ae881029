"""How many threads come to a block, and what votes in it are worth to lane groups of several widths."""

import pytest

from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.shapes import domain_named
from weft.costs.active_threads import active_shares
from weft.costs.lane_groups import WidthModel
from weft.costs.regions import RegionCosts
from weft.ir import BasicBlock
from weft.ir.reader import read_module
from weft.machine.targets import AVX2, AVX512, SSE4, Isa

NESTED = """
define void @k(ptr %p, i64 %tid.x, i64 %n) "weft.kernel" {
A:
  %at = getelementptr i32, ptr %p, i64 %tid.x
  %v = load i32, ptr %at
  %all = icmp sgt i64 %n, 7
  br i1 %all, label %U, label %D
U:
  %a = icmp ult i32 %v, 77
  br i1 %a, label %B, label %D
B:
  %w = mul i32 %v, %v
  %b = icmp ult i32 %w, 77
  br i1 %b, label %C, label %D
C:
  %x = mul i32 %w, %w
  %y = mul i32 %x, %x
  %z = udiv i32 %x, %y
  store i32 %z, ptr %at
  br label %D
D:
  ret void
}
"""
r"""
    A         uniform
    | \
    U? |      all threads
    | \|
    B? |      half of them
    | \|
    C  |      a quarter, or what stores make of it
     \ |
       D
"""


def analysed(text: str) -> tuple[Divergence, dict[str, BasicBlock]]:
    kernel = read_module(text).functions["k"]
    domain = domain_named("product", (16,))
    divergence = analyze_divergence(
        kernel, domain=domain, initial={kernel.args[1]: domain.strided(1, 64, 16)}, width=16
    )
    return divergence, {b.name: b for b in kernel.blocks}


def test_behind_divergent_branches_there_are_fewer_threads() -> None:
    divergence, blocks = analysed(NESTED)
    shares = active_shares(divergence, divergence.facts.probability)
    assert shares[blocks["A"]] == shares[blocks["U"]] == shares[blocks["D"]] == 1.0
    assert 0.3 < shares[blocks["B"]] < 0.7
    assert shares[blocks["C"]] < 0.7 * shares[blocks["B"]]


@pytest.mark.parametrize("isa", [SSE4, AVX2, AVX512], ids=lambda isa: isa.name)
def test_that_none_of_a_few_threads_goes_on_is_likelier(isa: Isa) -> None:
    divergence, blocks = analysed(NESTED)
    costs = RegionCosts.of(divergence, 4, isa)
    alike = costs.probability.taken(blocks["B"], blocks["C"])
    chances, constants = costs.chances(blocks["B"], blocks["C"]), costs.constants
    assert chances.none > constants.together * (1 - alike) + (1 - constants.together) * (1 - alike) ** 4
    assert chances.all < constants.together * alike + (1 - constants.together) * alike**4


BOUNDED = """
define void @k(ptr %p, i64 %tid.x, i64 %n) "weft.kernel" {{
A:
  %above = icmp ne i64 %tid.x, 0
  %below = icmp slt i64 %tid.x, %n
  %first = icmp eq i64 %tid.x, 0
  %beyond = icmp sge i64 %tid.x, %n
  {condition}
  br i1 %c, label %B, label %D
B:
  %at = getelementptr i32, ptr %p, i64 %tid.x
  store i32 1, ptr %at
  br label %D
D:
  ret void
}}
"""
BOTH, EITHER = "%c = select i1 {}, i1 {}, i1 false", "%c = select i1 {}, i1 true, i1 {}"


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        (BOTH.format("%above", "%below"), True),
        (BOTH.format("%first", "%below"), False),
        (EITHER.format("%first", "%beyond"), False),
        (BOTH.format("%first", "%above"), False),
    ],
    ids=["inside", "first", "outside", "first-but-not-first"],
)
def test_bounds_are_told_from_what_one_thread_does(condition: str, passes: bool) -> None:
    """A number that is known not to be negative is compared with 0 for being another one."""
    divergence, blocks = analysed(BOUNDED.format(condition=condition))
    chances = RegionCosts.of(divergence, 16, AVX2).chances(blocks["A"], blocks["B"])
    assert (chances.all > 0.8 and chances.none < 0.1) == passes
    assert (chances.none > 0.8 and chances.all < 0.1) != passes


@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
def test_votes_are_worth_more_to_wider_lane_groups(isa: Isa) -> None:
    # All else is as many instructions for each thread at any of these widths.
    divergence, _ = analysed(NESTED)
    model, base = WidthModel(divergence, isa), isa.lanes(32)
    one, four = model.cycles_of_thread(base), model.cycles_of_thread(4 * base)
    assert four < 0.99 * one


PAIRS = """
define void @k(ptr %p, i64 %tid.x, i64 %n) "weft.kernel" {
entry:
  %at = getelementptr i32, ptr %p, i64 %tid.x
  br label %head
head:
  %j = phi i64 [ 0, %entry ], [ %j.next, %latch ]
  %c = icmp PREDICATE i64 %j, %tid.x
  br i1 %c, label %other, label %latch
other:
  %v = load i32, ptr %at
  %w = mul i32 %v, %v
  store i32 %w, ptr %at
  br label %latch
latch:
  %j.next = add nuw nsw i64 %j, 1
  %more = icmp slt i64 %j.next, %n
  br i1 %more, label %head, label %done
done:
  ret void
}
"""


@pytest.mark.parametrize("isa", [SSE4, AVX2, AVX512], ids=lambda isa: isa.name)
def test_all_pairs_but_with_itself_are_hardly_ever_skipped(isa: Isa) -> None:
    """A lane group meets its own threads in few rounds of ``if j != i``, but ``j < i`` for half of them."""
    chances = {}
    for predicate in ("ne", "slt"):
        divergence, blocks = analysed(PAIRS.replace("PREDICATE", predicate))
        chances[predicate] = RegionCosts.of(divergence, 16, isa).chances(blocks["head"], blocks["other"])
    assert chances["ne"].none < 0.1 and chances["ne"].all > 0.8
    assert chances["slt"].none > 0.3
