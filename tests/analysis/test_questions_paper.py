"""A.1 of Fukuhara and Takimoto as it is printed, and graphs on which its answers are wrong.

The listing keeps one answer a node, whatever it was asked, and counts visits of a node over all ways to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from analysis.test_questions import Asker
from weft.analysis.questions.graph import Asked, Found
from weft.analysis.questions.places import Place
from weft.analysis.questions.solution import EdgeRules, Solution
from weft.ir import BasicBlock, Instruction


@dataclass(slots=True)
class AsPrinted:
    """`Propagate` and `Local` of A.1, without insertion: lines 9 to 13 are never taken."""

    asker: Asker
    answer: dict[BasicBlock, tuple[bool, bool]] = field(default_factory=dict)
    query: dict[BasicBlock, Place] = field(default_factory=dict)
    visited: dict[BasicBlock, int] = field(default_factory=dict)

    def is_available(self, load: Instruction) -> bool:
        source = self.asker.graph.origins[load]
        return isinstance(source, Asked) and all(self.propagate(source.state.block, source.state.place))

    def propagate(self, n: BasicBlock, q: Place) -> tuple[bool, bool]:
        answers = []
        for p in n.predecessors:
            converted = self.asker.places.back(q, p, n)
            assert converted is not None
            answers.append(self.local(p, converted))
        if all(available for available, _ in answers):
            return True, any(real for _, real in answers)
        return False, False

    def local(self, n: BasicBlock, q: Place) -> tuple[bool, bool]:
        if not n.predecessors:
            return False, False
        if n in self.answer:
            return self.answer[n]
        if self.visited.get(n, 0) > 1:
            return False, False
        if self.query.get(n) == q:
            return True, False
        self.query[n] = q
        self.visited[n] = self.visited.get(n, 0) + 1
        source = self.asker.graph.at_end(n, q)
        if isinstance(source, Found):
            self.answer[n] = True, True
        elif isinstance(source, Asked):
            self.answer[n] = self.propagate(n, q)
        else:
            self.answer[n] = False, False
        return self.answer[n]


# entry ─▶ pre ─▶ body ─▶ exit     pre writes a[0], the body reads a[i] and writes a[i + 2]. Behind the first iteration
#                  ↺               nothing has a[1].
SHARED_ANSWERS = """
define void @shared(ptr noalias %a, i64 %n) {
entry:
  br label %pre
pre:
  store float 1.0, ptr %a
  br label %body
body:
  %i = phi i64 [ 0, %pre ], [ %i1, %body ]
  %p = getelementptr float, ptr %a, i64 %i
  %x = load float, ptr %p
  %j = add nsw i64 %i, 2
  %q = getelementptr float, ptr %a, i64 %j
  store float 2.0, ptr %q
  %i1 = add nsw i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %body, label %exit
exit:
  ret void
}
"""


def test_one_answer_a_node_is_taken_for_another_place() -> None:
    asker = Asker(SHARED_ANSWERS)
    # pre is asked for a[0], which it has, and one iteration further back for a[1], which it has not.
    assert AsPrinted(asker).is_available(asker.instruction("x"))
    assert not Solution(asker.graph, EdgeRules(lambda source, target: False)).is_replaced(
        asker.instruction("x")
    )


# The same graph. The body reads a[i] and a[i + 3]; pre has written the first three.
THREE_ITERATIONS = SHARED_ANSWERS.replace("%i, 2", "%i, 3").replace(
    "  store float 1.0, ptr %a\n",
    """
  store float 1.0, ptr %a
  %a1 = getelementptr float, ptr %a, i64 1
  store float 1.0, ptr %a1
  %a2 = getelementptr float, ptr %a, i64 2
  store float 1.0, ptr %a2
""",
)


def test_visits_of_a_node_are_used_up_by_other_places() -> None:
    asker = Asker(THREE_ITERATIONS)
    # The body is visited for a[i + 1] and a[i + 2]; when a[i + 3], which it has, is asked for, it says false.
    assert not AsPrinted(asker).is_available(asker.instruction("x"))
    assert asker.replaced() == ["x"] and asker.insertions("x") == []
