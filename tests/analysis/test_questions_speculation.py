"""The question of speculation (Fukuhara and Takimoto, §5.2 and A.2): each rule on the smallest graph that needs it.

The load asked for is ``x``; it reads ``a[0]``. All bytes are there for every thread, unless a test says otherwise.
"""

import pytest

from analysis.test_questions import Asker
from weft.analysis.questions.speculation import Speculation

HEAD = "define float @f(ptr %a, ptr noalias %b, ptr %c, i1 %c0, i1 %c1, i1 %c2) {\n"


def hoists(text: str, divergent: str, is_there: bool = True) -> list[str] | None:
    """The blocks at whose ends ``x`` may be read instead; None where it stays."""
    asker = Asker(HEAD + text + "}\n", divergent)
    speculation = Speculation(asker.graph, asker.regions.is_divergent, lambda place, block: is_there)
    found = speculation.hoists(asker.instruction("x"))
    return None if found is None else sorted(hoist.block.name for hoist in found)


def arm(above: str = "", inside: str = "") -> str:
    """A branch `n` with `x` in one of its arms; `above` stands before the branch."""
    return f"""
    start:
      br label %n
    n:
      {above}
      br i1 %c0, label %then, label %out
    then:
      {inside}
      %x = load float, ptr %a
      br label %out
    out:
      ret float 0.0
    """


def nested(between: str = "", above: str = "") -> str:
    """A branch `m` in an arm of the branch `n`, with `x` in one of its arms."""
    return f"""
    start:
      br label %n
    n:
      {above}
      br i1 %c0, label %m, label %out
    m:
      {between}
      br i1 %c1, label %then, label %out
    then:
      %x = load float, ptr %a
      br label %out
    out:
      ret float 0.0
    """


STORE = "store float 1.0, ptr %a"


def test_rule_1_the_start_has_no_room() -> None:
    assert hoists("start:\n %x = load float, ptr %a\n ret float %x\n", "") is None
    # What starts a function is a branch here: rule (4) comes to it before the start does.
    assert hoists(arm(), "n") == ["n"]


def test_rule_2_a_question_that_comes_back_to_itself_is_answered_by_true() -> None:
    text = """
    start:
      br label %n
    n:
      br i1 %c0, label %body, label %out
    body:
      %i = phi i64 [ 0, %n ], [ %next, %body ]
      %x = load float, ptr %a
      %next = add nsw i64 %i, 1
      %more = icmp slt i64 %next, 9
      br i1 %more, label %body, label %out
    out:
      ret float 0.0
    """
    assert hoists(text, "n") == ["n"]


def test_rule_3_1_a_changed_place_is_read_at_the_end_of_the_divergent_branch() -> None:
    assert not hoists(arm(above=STORE), "n"), "n itself tells the value: nothing is to be read"
    assert hoists(arm(above="store float 1.0, ptr %c"), "n") == ["n"]
    assert hoists(nested(between="store float 1.0, ptr %c"), "n m") == ["m"]
    # An operand that n computes is a definition: the load goes to n and no further.
    defined = arm(above="%p = load ptr, ptr %b").replace("%x = load float, ptr %a", "%x = load float, ptr %p")
    assert hoists(defined, "n") == ["n"]


def test_rule_3_1_b_not_where_the_load_does_not_depend_on_the_branch() -> None:
    behind = """
    start:
      br label %n
    n:
      store float 1.0, ptr %c
      br i1 %c0, label %left, label %right
    left:
      br label %join
    right:
      br label %join
    join:
      %x = load float, ptr %a
      ret float %x
    """
    assert hoists(behind, "n") is None


def test_rule_3_2_nor_where_the_branch_does_not_diverge() -> None:
    assert hoists(arm(above="store float 1.0, ptr %c"), "") is None


def test_rule_4_1_a_as_far_up_as_possible() -> None:
    assert hoists(nested(), "n m") == ["n"]


def test_rule_4_1_b_else_at_the_branch() -> None:
    # n does not diverge, and changes the place: above m the answer is false.
    assert hoists(nested(above="store float 1.0, ptr %c"), "m") == ["m"]


DIAMOND_IN_ARM = """
    start:
      br label %n
    n:
      br i1 %c0, label %d, label %out
    d:
      br i1 %c1, label %left, label %right
    left:
      br label %join
    right:
      br label %join
    join:
      %x = load float, ptr %a
      br label %out
    out:
      ret float 0.0
"""


def test_rule_4_2_branches_that_the_load_does_not_depend_on_are_passed() -> None:
    assert hoists(DIAMOND_IN_ARM, "n d") == ["n"]
    # And where nothing above them diverges there is no answer.
    assert hoists(DIAMOND_IN_ARM, "d") is None


def test_rule_5_1_a_uniform_branch_is_passed_where_the_place_is_read_on_both_ways() -> None:
    both = nested().replace("br i1 %c1, label %then, label %out", "br i1 %c1, label %then, label %other")
    both = both.replace("out:\n", "other:\n %y = load float, ptr %a\n br label %out\n    out:\n")
    assert hoists(both, "n") == ["n"]
    # (b): a branch that the load does not depend on is passed as well.
    assert hoists(DIAMOND_IN_ARM, "n") == ["n"]


def test_rule_5_2_a_uniform_branch_is_not_passed_otherwise() -> None:
    assert hoists(nested(), "n") is None


def test_rule_6_other_nodes_are_passed_to_all_that_come_before() -> None:
    text = nested().replace("then:\n", "then:\n br label %further\n    further:\n")
    assert hoists(text, "n m") == ["n"]


def merge(right: str = "", behind: str = "br label %done", divergent_arm: bool = False) -> str:
    """`join` is reached from an arm of the divergent branch `n`, and from `right`, where `x` may not go further up."""
    way = "br i1 %c2, label %right, label %none" if divergent_arm else "br label %right"
    return f"""
    start:
      br i1 %c1, label %n, label %u
    n:
      br i1 %c0, label %left, label %out
    left:
      br label %join
    u:
      {way}
    right:
      {right}
      br label %join
    none:
      br label %out
    join:
      {behind}
    done:
      %x = load float, ptr %a
      br label %out
    out:
      ret float 0.0
    """


CHANGED = "store float 1.0, ptr %c"


def test_a2_lines_4_and_7_to_9_loads_go_to_the_ends_of_predecessors_that_refuse() -> None:
    #        start
    #       /     \         n may be read at its end; right changes the place, so it refuses, but is in the CDRND, and
    #      n?      u        join is down-safe: the load is inserted at the end of right as well.
    #     / \      |
    #  out  left  right
    #         \   /
    #          join
    assert hoists(merge(CHANGED), "n") == ["n", "right"]


def test_a2_line_7_not_into_what_depends_on_a_divergent_branch() -> None:
    assert hoists(merge(CHANGED, divergent_arm=True), "n u") is None
    assert hoists(merge(CHANGED, divergent_arm=True), "n") == ["n", "right"]


def test_a2_line_7_not_where_the_meeting_is_not_down_safe() -> None:
    maybe = "br i1 %c2, label %done, label %out"
    assert hoists(merge(CHANGED, behind=maybe), "n") is None


def test_a2_line_5_all_that_refuse_refuse_for_the_meeting() -> None:
    # Neither way may have it further up: nothing is hoisted, and nothing inserted.
    both = merge(CHANGED).replace("left:\n", "left:\n store float 1.0, ptr %c\n")
    assert hoists(both, "n") is None


@pytest.mark.parametrize("text", [arm(), nested()])
def test_bytes_must_be_there_for_threads_that_did_not_read_them(text: str) -> None:
    assert hoists(text, "n m", is_there=False) is None
