"""Questions of the threads that take an arm: equal conditions answer for each other, wherever they are computed."""

from types import SimpleNamespace
from typing import Any

import pytest

from analysis.test_questions import Asker
from weft.analysis.questions.assumptions import any_of
from weft.analysis.questions.conditions import Conditions
from weft.analysis.questions.graph import QuestionGraph
from weft.analysis.questions.solution import EdgeRules, Solution
from weft.analysis.questions.speculation import Speculation
from weft.graph.loops import loop_forest
from weft.transform.scalar_replacement.replacement import finite_loops

IN_VAIN: Any = SimpleNamespace(useful=None)
"""In the stead of a graph, which does not say where questions are in vain."""

HEAD = "define void @f(ptr noalias %a, ptr noalias %b, ptr noalias %k, i32 %n, i1 %c, i1 %d) {\n"


def replaced(text: str, masks: bool = True, divergent: str = "entry join body") -> dict[str, list[str]]:
    """The loads that are replaced, each with the blocks at whose ends loads are inserted for it.

    They are the same if nothing was asked before, so that nothing is known to be in vain.
    """
    asker = Asker(HEAD + text + "}\n", divergent)
    conditions = Conditions(asker.regions, loop_forest(asker.view.cfg))
    found, of_all = (
        _answers(
            QuestionGraph(
                asker.kills,
                asker.regions,
                is_finite=finite_loops(asker.view),
                conditions=conditions,
                asked=asked,
            ),
            EdgeRules(asker.regions.edge_in_region, masks=masks),
        )
        for asked in (None, IN_VAIN)
    )
    assert found == of_all
    return found


def _answers(graph: QuestionGraph, rules: EdgeRules) -> dict[str, list[str]]:
    solution = Solution(graph, rules)
    return {
        load.name: sorted(
            i.source.name
            for found in solution.insertions(solution.demanded((load,))).values()
            for i in found.values()
        )
        for load in solution.replaced
    }


def two_arms(first: str, second: str, between: str = "", entry: str = "") -> str:
    """`x` is read where `first` is true, and again, as `y`, where `second` is."""
    return f"""
    entry:
      {entry}
      br i1 {first}, label %one, label %join
    one:
      %x = load float, ptr %a
      br label %join
    join:
      {between}
      br i1 {second}, label %two, label %out
    two:
      %y = load float, ptr %a
      br label %out
    out:
      ret void
    """


def test_the_arm_of_the_same_condition_has_the_value() -> None:
    assert replaced(two_arms("%c", "%c")) == {"y": []}


def test_the_arm_of_another_condition_has_it_for_some_threads() -> None:
    assert replaced(two_arms("%c", "%d")) == {}
    # Those that need it and are not in the first arm read it where they leave the branch, if that does not diverge.
    assert replaced(two_arms("%c", "%d"), divergent="join") == {"y": ["entry"]}


def test_the_arm_of_the_opposite_has_it_not() -> None:
    assert replaced(two_arms("%c", "%not", "%not = xor i1 %c, true")) == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("icmp slt i32 %n, 4", "icmp slt i32 %n, 4"),
        ("icmp slt i32 %n, 4", "xor i1 %reverse, true"),
        ("and i1 %reverse, %d", "and i1 %reverse, %d"),
    ],
)
def test_conditions_are_equal_by_what_they_are_computed_from(first: str, second: str) -> None:
    reverse = "%reverse = icmp sge i32 %n, 4"
    assert replaced(two_arms("%p", "%q", f"%q = {second}", f"{reverse}\n%p = {first}")) == {"y": []}


@pytest.mark.parametrize("both", ["and i1 %c, %d", "select i1 %c, i1 %d, i1 false"])
def test_a_conjunction_implies_its_parts(both: str) -> None:
    assert replaced(two_arms("%c", "%both", f"%both = {both}")) == {"y": []}
    assert replaced(two_arms("%both", "%c", entry=f"%both = {both}")) == {}


def test_a_number_that_was_read_anew_is_another_condition() -> None:
    read = "%{0} = load i32, ptr %k\n%{0}.less = icmp slt i32 %{0}, 4"
    store = "store i32 7, ptr %k\n"
    text = two_arms("%m.less", "%o.less", store + read.format("o"), read.format("m"))
    assert "y" not in replaced(text)


def test_a_store_in_between_changes_the_value() -> None:
    assert replaced(two_arms("%c", "%c", "store i32 1, ptr %a")) == {}


def test_ways_that_no_thread_of_the_condition_comes_by_need_no_value() -> None:
    # A store in the other arm is none of these threads' business.
    text = two_arms("%c", "%c").replace("label %join\n", "label %other\n", 1)
    text = text.replace("join:", "other:\n store float 1.0, ptr %a\n br label %join\n join:")
    assert replaced(text) == {"y": []}


def in_a_loop(condition: str, body: str = "", entry: str = "", test_first: bool = True) -> str:
    """`x` is read in an arm of a loop."""
    test = (
        "%more = icmp slt i64 %i, 9\n br i1 %more, label %body, label %out"
        if test_first
        else "br label %body"
    )
    end = (
        "br label %head"
        if test_first
        else "%more = icmp slt i64 %next, 9\n br i1 %more, label %head, label %out"
    )
    return f"""
    entry:
      {entry}
      br label %head
    head:
      %i = phi i64 [ 0, %entry ], [ %next, %latch ]
      %first = phi i1 [ true, %entry ], [ false, %latch ]
      {test}
    body:
      {body}
      br i1 {condition}, label %arm, label %latch
    arm:
      %p = getelementptr float, ptr %a, i64 %i
      %x = load float, ptr %p
      %i1 = add nsw i64 %i, 1
      %p1 = getelementptr float, ptr %a, i64 %i1
      %y = load float, ptr %p1
      br label %latch
    latch:
      %next = add nsw i64 %i, 1
      {end}
    out:
      ret void
    """


def test_a_condition_that_a_loop_leaves_alone_hands_values_on() -> None:
    assert replaced(in_a_loop("%c", test_first=False)) == {"x": ["entry"]}
    read = "%m = load i32, ptr %k\n%less = icmp slt i32 %m, 4"
    assert replaced(in_a_loop("%less", entry=read, test_first=False)) == {"x": ["entry"]}


def test_without_masks_nothing_is_inserted_for_a_condition() -> None:
    assert replaced(in_a_loop("%c", test_first=False), masks=False) == {}


def test_a_condition_that_is_computed_anew_does_not() -> None:
    body = "%q = getelementptr i32, ptr %k, i64 %i\n%m = load i32, ptr %q\n%less = icmp slt i32 %m, 4"
    assert replaced(in_a_loop("%less", body, test_first=False)) == {}
    assert replaced(in_a_loop("%even", "%even = icmp slt i64 %i, 4", test_first=False)) == {}


def test_what_a_phi_takes_tells_where_threads_come_from() -> None:
    # Only the first iteration takes the arm, so nothing is handed on by those before.
    assert replaced(in_a_loop("%first", test_first=False)) == {}


def test_hoists_keep_the_mask_of_the_arm_around_them() -> None:
    text = """
    entry:
      br i1 %c, label %one, label %join
    one:
      br i1 %d, label %inner, label %join
    inner:
      %x = load float, ptr %a
      br label %join
    join:
      br i1 {second}, label %two, label %out
    two:
      %y = load float, ptr %a
      br label %out
    out:
      ret void
    """
    for second, wanted in (("%c", ["one"]), ("%d", None)):
        asker = Asker(HEAD + text.format(second=second) + "}\n", "entry one join")
        conditions = Conditions(asker.regions, loop_forest(asker.view.cfg))
        graph = QuestionGraph(asker.kills, asker.regions, conditions=conditions)
        speculation = Speculation(graph, asker.regions.is_divergent, lambda place, block: False)
        found = speculation.hoists(asker.instruction("x"))
        assert (found and [hoist.block.name for hoist in found]) == wanted


def test_conditions_are_not_looked_at_where_no_way_leads_to_a_value() -> None:
    """The windows of a filter: the places of its arms are never the same, and each arm has a condition of its own."""
    arms = "".join(
        f"""
    next{k}:
      %row{k} = mul i64 %s, {k}
      %at{k} = add i64 %i, %row{k}
      %in{k} = icmp slt i64 %at{k}, %m
      br i1 %in{k}, label %arm{k}, label %next{k + 1}
    arm{k}:
      %p{k} = getelementptr float, ptr %a, i64 %at{k}
      %x{k} = load float, ptr %p{k}
      store float %x{k}, ptr %b
      br label %next{k + 1}
    """
        for k in range(4)
    )
    asker = Asker(f"""
    define void @f(ptr noalias %a, ptr noalias %b, i64 %n, i64 %m, i64 %s) {{
    entry:
      br label %next0.head
    next0.head:
      %i = phi i64 [ 0, %entry ], [ %j, %next4 ]
      br label %next0
    {arms}
    next4:
      %j = add i64 %i, 1
      %on = icmp slt i64 %j, %n
      br i1 %on, label %next0.head, label %out
    out:
      ret void
    }}
    """)
    conditions = Conditions(asker.regions, loop_forest(asker.view.cfg))
    asked = QuestionGraph(asker.kills, asker.regions)
    assert len(asked.sources) > 40 and not asked.promising
    graph = QuestionGraph(asker.kills, asker.regions, conditions=conditions, asked=asked)
    assert 0 < len(graph.sources) <= 4
    assert len(QuestionGraph(asker.kills, asker.regions, conditions=conditions, asked=IN_VAIN).sources) > 80


def test_threads_of_several_conditions_are_named_in_few_words() -> None:
    asker = Asker(HEAD + two_arms("%c", "%d") + "}\n")
    conditions = Conditions(asker.regions, loop_forest(asker.view.cfg))
    c, d = (
        next(iter(conditions.of_edge(asker.block(a), asker.block(b))))
        for a, b in (("entry", "one"), ("join", "two"))
    )
    assert any_of([]) == () and any_of([(c,), ()]) == () and any_of([(c,), (c.opposite,)]) == ()
    assert any_of([(c, d), (c.opposite, d)]) == ((d,),)
    assert any_of([(c, d), (c,)]) == ((c,),)
    assert set(any_of([(c, d), (c.opposite, d.opposite)])) == {(c, d), (c.opposite, d.opposite)}
    # Two at a time, down to all threads.
    assert any_of([(c, d), (c, d.opposite), (c.opposite, d), (c.opposite, d.opposite)]) == ()
