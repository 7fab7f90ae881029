"""The two questions of Fukuhara and Takimoto, §4.2: each rule on the smallest program that needs it.

A loop's body is a block with its successor; ``head`` tests, unless there is none.
"""

import textwrap

import pytest

from weft.analysis.memory.stack_objects import StackObjects
from weft.analysis.questions.graph import Asked, Found, Lost, QuestionGraph
from weft.analysis.questions.kills import Kills
from weft.analysis.questions.places import Place, Places
from weft.analysis.questions.regions import Regions
from weft.analysis.questions.solution import EdgeRules, Solution
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.scalar_replacement.replacement import finite_loops

DECLARATIONS = """
declare void @weft.barrier() convergent nounwind willreturn
declare void @unknown() nounwind willreturn
declare void @may.end()
declare float @pure(float) nounwind willreturn memory(none)
"""


class Asker:
    """A function, its questions and their answers; blocks and loads are asked for by name."""

    def __init__(self, text: str, divergent: str = "", max_distance: int = 8) -> None:
        self.module = read_module(textwrap.dedent(text) + DECLARATIONS)
        verify(self.module)
        self.function: Function = next(self.module.definitions())
        self.view = cfg_of(self.function)
        self.places = Places(self.function.layout)
        self.regions = Regions(self.view, lambda block: block.name in divergent.split())
        self.kills = Kills(self.places, StackObjects(self.function, self.view))
        self.graph = QuestionGraph(self.kills, self.regions, max_distance, finite_loops(self.view))

    def block(self, name: str) -> BasicBlock:
        return next(b for b in self.function.blocks if b.name == name)

    def instruction(self, name: str) -> Instruction:
        return next(i for i in self.function.instructions() if i.name == name)

    def place(self, load: str) -> Place:
        return self.places.of_access(self.instruction(load))

    def replaced(self, esrqp: bool = False) -> list[str]:
        return [load.name for load in self.solution(esrqp).replaced]

    def solution(self, esrqp: bool = False) -> Solution:
        allows = self.regions.edge_in_region if esrqp else lambda source, target: True
        return Solution(self.graph, EdgeRules(allows))

    def insertions(self, load: str, esrqp: bool = False) -> list[str]:
        """The ends of blocks, or edges, on which loads are inserted for a load."""
        solution = self.solution(esrqp)
        states = solution.demanded((self.instruction(load),))
        return sorted(i.source.name for found in solution.insertions(states).values() for i in found.values())


def loop(body: str, step: str = "add nsw i64 %i, 1", more: str = "") -> str:
    """A loop over `i` that runs its body at least once; `a` and `b` are apart, `c` may be anywhere."""
    return f"""
    define void @f(ptr noalias %a, ptr noalias %b, ptr %c, i64 %s, i64 %n) {{
    entry:
      %private = alloca float
      {more}
      br label %body
    body:
      %i = phi i64 [ 0, %entry ], [ %next, %body ]
      {body}
      %next = {step}
      %goes.on = icmp slt i64 %next, %n
      br i1 %goes.on, label %body, label %exit
    exit:
      ret void
    }}
    """


def read(name: str, index: str, base: str = "%a") -> str:
    return f"%p.{name} = getelementptr float, ptr {base}, i64 {index}\n%{name} = load float, ptr %p.{name}\n"


def plus(name: str, index: str, offset: int) -> str:
    return f"%{name} = add nsw i64 {index}, {offset}\n"


def test_rule_1_nothing_is_available_at_the_start() -> None:
    asker = Asker(loop(read("x", "0", "%c") + "call void @unknown()\n"))
    start = [s for s in asker.graph.sources if s.block.name == "entry"]
    assert len(start) == 1 and asker.graph.sources[start[0]] == []
    assert asker.replaced() == []


@pytest.mark.parametrize(("distance", "seen"), [(1, True), (3, True), (8, True), (9, False)])
def test_rule_2_distances_up_to_a_bound_are_seen(distance: int, seen: bool) -> None:
    asker = Asker(loop(plus("far", "%i", distance) + read("new", "%far") + read("old", "%i")))
    found = {a.by.name for s in asker.graph.sources.values() for _, a in s if isinstance(a, Found)}
    assert ("new" in found) is seen


def test_rule_3_a_question_that_comes_back_to_itself_is_available_but_not_real() -> None:
    # entry -> empty (itself) -> exit, which reads: there is nothing to find, and nothing is inserted.
    asker = Asker(
        """
        define float @f(ptr %a, i64 %n) {
        entry:
          br label %empty
        empty:
          %i = phi i64 [ 0, %entry ], [ %next, %empty ]
          %next = add nsw i64 %i, 1
          %more = icmp slt i64 %next, %n
          br i1 %more, label %empty, label %exit
        exit:
          %x = load float, ptr %a
          ret float %x
        }
        """
    )
    state = next(s for s in asker.graph.sources if s.block.name == "empty")
    assert [type(a) for _, a in asker.graph.sources[state]] == [Asked, Asked]
    assert asker.replaced() == []


@pytest.mark.parametrize(
    ("between", "changes"),
    [
        ("store float 1.0, ptr %b", False),
        ("store float 1.0, ptr %loaded", True),
        ("store float 1.0, ptr %private", False),
        ("store volatile float 1.0, ptr %b", True),
        ("%v = load volatile float, ptr %b", True),
        ("fence acquire", True),
        ("%v = atomicrmw add ptr %b, i32 1 monotonic", False),
        ("%v = atomicrmw add ptr %loaded, i32 1 monotonic", True),
        ("%v = atomicrmw add ptr %b, i32 1 acquire", True),
        ("%v = load atomic i32, ptr %b monotonic, align 4", False),
        ("%v = load atomic i32, ptr %b acquire, align 4", True),
        ("%v = cmpxchg ptr %b, i32 1, i32 2 seq_cst monotonic", True),
        ("call void @weft.barrier()", True),
        ("call void @unknown()", True),
        ("%v = call float @pure(float 1.0)", False),
        (
            "%far = add nsw i64 %i, 1\n%q = getelementptr float, ptr %a, i64 %far\nstore float 1.0, ptr %q",
            False,
        ),
        ("%far = mul i64 %i, 2\n%q = getelementptr float, ptr %a, i64 %far\nstore float 1.0, ptr %q", True),
        ("store i8 1, ptr %p.x", True),
    ],
)
def test_rule_4_what_may_change_the_place(between: str, changes: bool) -> None:
    pointer = "%loaded = load ptr, ptr %c"
    asker = Asker(loop(f"{read('x', '%i')}{between}\n{read('y', '%i')}", more=pointer))
    assert ("y" in asker.replaced()) is not changes


@pytest.mark.parametrize("between", ["fence seq_cst", "call void @weft.barrier()", "call void @unknown()"])
def test_rule_4_private_objects_are_the_threads_own(between: str) -> None:
    body = f"%x = load float, ptr %private\n{between}\n%y = load float, ptr %private"
    own = loop(body, more="store float 1.0, ptr %private")
    assert Asker(own).replaced() == ["x", "y"]
    shown = own.replace("%y = load", "store ptr %private, ptr %c\n%y = load")
    assert Asker(shown).replaced() == ["x"], "which the load at the end of the iteration before has read"


def test_rule_4_an_operand_that_is_no_sum_ends_the_question() -> None:
    # k comes out of memory: the place of the iteration before is another one.
    asker = Asker(loop("%k = load i64, ptr %b\n" + read("x", "%k")))
    source = asker.graph.origins[asker.instruction("x")]
    assert isinstance(source, Lost) and source.at is asker.instruction("k")


def test_rule_5_a_load_or_a_store_of_the_place_answers() -> None:
    text = loop(f"{read('x', '%i')}store float 2.0, ptr %p.x\n{read('y', '%i')}{read('z', '%i')}")
    asker = Asker(text)
    y, z = (asker.graph.origins[asker.instruction(name)] for name in "yz")
    assert isinstance(y, Found) and y.by.op == "store" and str(y.value.type) == "float"
    assert isinstance(z, Found) and z.by is asker.instruction("y")


def test_rule_5_other_types_do_not_answer() -> None:
    asker = Asker(
        loop("%x = load i32, ptr %a\n%y = load float, ptr %a\nstore i32 0, ptr %a\n%z = load float, ptr %a")
    )
    assert isinstance(asker.graph.origins[asker.instruction("z")], Lost)


STEPS = {
    "counter up": ("%i", "%far = add nsw i64 %i, 1", "add nsw i64 %i, 1"),
    "counter down": ("%i", "%far = sub nsw i64 %i, 1", "add nsw i64 %i, -1"),
    "by two": ("%i", "%far = add nsw i64 %i, 4", "add nsw i64 %i, 2"),
    "scaled": ("%old", "%old = shl i64 %i, 1\n%far = add i64 %old, 2", "add nsw i64 %i, 1"),
    "rows": ("%old", "%old = mul i64 %i, %s\n%j = add i64 %i, 1\n%far = mul i64 %j, %s", "add nsw i64 %i, 1"),
    "32 bits": (
        "%old",
        "%t = trunc nsw i64 %i to i32\n%u = add nsw i32 %t, 1\n%old = sext i32 %t to i64\n%far = sext i32 %u to i64",
        "add nsw i64 %i, 1",
    ),
}


@pytest.mark.parametrize("name", STEPS)
def test_rule_6_operands_are_converted(name: str) -> None:
    index, before, step = STEPS[name]
    asker = Asker(
        loop(f"{before}\n{read('new', '%far')}{read('old', index).replace('%old =', '%old.x =')}", step)
    )
    found = [a.by.name for s in asker.graph.sources.values() for _, a in s if isinstance(a, Found)]
    assert "new" in found


WRAPS = """
%t = trunc i64 %i to i32
%u = add i32 %t, 1
%o = %EXTENSION% i32 %t to i64
%far = %EXTENSION% i32 %u to i64
"""


@pytest.mark.parametrize("extension", ["sext", "zext"])
def test_rule_6_what_may_wrap_is_converted_modulo_its_bits(extension: str) -> None:
    sums = WRAPS.replace("%EXTENSION%", extension)
    asker = Asker(loop(f"{sums}{read('new', '%far')}{read('old', '%o')}"))
    found = [a.by.name for s in asker.graph.sources.values() for _, a in s if isinstance(a, Found)]
    assert "new" in found
    # A store one element further does not change it, though the sum may wrap; one of bytes may.
    store = "%q = getelementptr float, ptr %a, i64 %far\nstore float 1.0, ptr %q\n"
    stored = f"{sums}{read('x', '%o')}{store}{read('y', '%o')}"
    assert "y" in Asker(loop(stored)).replaced()
    assert (
        "y" not in Asker(loop(stored.replace("%q = getelementptr float", "%q = getelementptr i8"))).replaced()
    )


def test_rule_6_extensions_are_told_apart() -> None:
    sums = WRAPS.replace("%o = %EXTENSION%", "%o = sext").replace("%EXTENSION%", "zext")
    asker = Asker(loop(f"{sums}{read('new', '%far')}{read('old', '%o')}"))
    assert not any(
        isinstance(a, Found) and a.by.name == "new" for s in asker.graph.sources.values() for _, a in s
    )


def test_rule_6_pointers_that_count_are_converted() -> None:
    asker = Asker(
        """
        define void @f(ptr %a, ptr %end) {
        entry:
          br label %body
        body:
          %p = phi ptr [ %a, %entry ], [ %q, %body ]
          %old = load float, ptr %p
          %q = getelementptr float, ptr %p, i64 1
          %new = load float, ptr %q
          %more = icmp ne ptr %q, %end
          br i1 %more, label %body, label %exit
        exit:
          ret void
        }
        """
    )
    assert asker.replaced() == ["old"] and asker.insertions("old") == ["entry"]


def test_rule_7_all_predecessors_must_have_it_or_be_given_it() -> None:
    #      entry
    #     /     \
    #  left     right        only left reads
    #     \     /
    #      join              reads again
    text = """
        define float @f(ptr %a, i1 %c) {
        entry:
          br i1 %c, label %left, label %right
        left:
          %x = load float, ptr %a
          br label %join
        right:
          br label %join
        join:
          %y = load float, ptr %a
          ret float %y
        }
        """
    asker = Asker(text, divergent="entry")
    assert asker.replaced() == ["y"] and asker.insertions("y") == ["right"]
    assert asker.replaced(esrqp=True) == [], "right is in an arm of a divergent branch"
    assert Asker(text).replaced(esrqp=True) == ["y"]


ANTICIPATED = """
define float @f(ptr %a, ptr %b, i1 %c, i1 %d, i64 %n) {{
entry:
  br i1 %c, label %left, label %right
left:
  %x = load float, ptr %a
  br label %join
right:
  br label %join
join:
  {between}
  br i1 %d, label %more, label %less
more:
  %y = load float, ptr %a
  ret float %y
less:
  {other}
}}
"""


@pytest.mark.parametrize(
    ("between", "other", "anticipated"),
    [
        ("", "%z = load float, ptr %a\n  ret float %z", True),
        ("", "ret float 0.0", False),
        ("", "store float 0.0, ptr %b\n  %z = load float, ptr %a\n  ret float %z", False),
        ("", "call void @may.end()\n  %z = load float, ptr %a\n  ret float %z", False),
        ("", "br label %less", False),
    ],
    ids=["read on both ways", "rule 1: the end", "rule 3: changed", "may not come back", "never ends"],
)
def test_anticipation(between: str, other: str, anticipated: bool) -> None:
    text = ANTICIPATED.format(between=between, other=other)
    if "br label %less" in other:
        text = text.replace("less:", "less:\n  br label %round\nround:")
        text = text.replace("br label %less\n}", "br label %round\n}")
    assert ("y" in Asker(text).replaced()) is anticipated


def test_a_neighbour_does_not_anticipate() -> None:
    # The paper lets a read of a[0] answer for a[1]: here a[1] is read on one way only.
    next_one = "%q = getelementptr float, ptr %a, i64 1"
    text = ANTICIPATED.format(between=next_one, other="%z = load float, ptr %q\n  ret float %z")
    assert "y" not in Asker(text).replaced()


def test_loads_that_stay_pay_for_nothing() -> None:
    #        entry                 What b reads is read on both ways behind it. But on the one over z by a load that
    #       /     \                 stays, as nothing may be inserted into q, an arm of a divergent branch. With a load
    #      b0      dq?             at the end of r a thread that comes this way would read twice.
    #     /  \    /  \
    #    l    r  q    none
    #     \  /   |
    #      b     |
    #     / \    |
    #  more   z -+
    text = """
        define float @f(ptr %a, i1 %c, i1 %d, i1 %e, i1 %t) {
        entry:
          br i1 %c, label %b0, label %dq
        b0:
          br i1 %d, label %l, label %r
        l:
          %x = load float, ptr %a
          br label %b
        r:
          br label %b
        b:
          br i1 %e, label %more, label %z
        more:
          %y = load float, ptr %a
          ret float %y
        dq:
          br i1 %t, label %q, label %none
        q:
          br label %z
        none:
          ret float 0.0
        z:
          %again = load float, ptr %a
          ret float %again
        }
        """
    asker = Asker(text, divergent="dq")
    assert asker.replaced(esrqp=True) == []
    assert asker.replaced() == ["y", "again"]
