"""Integer ranges over control flow: loops, conditions, promises."""

import operator

import pytest

from analysis.analysed import Analysed
from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.patience import EXECUTIONS
from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.ir.cfg_view import cfg_of

LOOP = """
define void @f(i32 range(i32 0, 100) %m, i32 %n, i1 %v) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %i1, %body ]
  %go = icmp slt i32 %i, %BOUND
  br i1 %go, label %body, label %out
body:
  %twice = mul i32 %i, 2
  %i1 = add i32 %i, 1
  br label %head
out:
  %last = add i32 %i, 0
  ret void
}
"""


def ranges_of(text: str) -> tuple[Analysed, Ranges]:
    a = Analysed(text)
    view = cfg_of(a.function)
    return a, Ranges(a.function, view, block_index(view.cfg))


def test_a_loop_counter_stays_below_its_bound() -> None:
    a, ranges = ranges_of(LOOP.replace("%BOUND", "%m"))
    assert ranges.of(a.value("i")) == Interval(0, 99)
    assert ranges.at(a.value("i"), a.block("body")) == Interval(0, 98)
    assert ranges.of(a.value("twice")) == Interval(0, 196)
    assert ranges.of(a.value("i1")) == Interval(1, 99)


def test_a_bound_of_which_nothing_is_known_still_keeps_the_counter_from_wrapping() -> None:
    a, ranges = ranges_of(LOOP.replace("%BOUND", "%n"))
    assert ranges.of(a.value("i")) == Interval(0, 2**31 - 1)
    assert ranges.at(a.value("i"), a.block("body")) == Interval(0, 2**31 - 2)
    assert ranges.of(a.value("i1")) == Interval(1, 2**31 - 1)
    (bound,) = ranges.bounds_of(a.value("i"), a.block("body"))
    assert (bound.predicate, bound.other) == ("slt", a.value("n"))


def test_the_condition_on_a_back_edge_counts() -> None:
    a, ranges = ranges_of("""
        define void @f() {
        entry:
          br label %head
        head:
          %i = phi i32 [ 0, %entry ], [ %i1, %head ]
          %i1 = add i32 %i, 1
          %go = icmp ult i32 %i1, 10
          br i1 %go, label %head, label %out
        out:
          ret void
        }
        """)  # fmt: skip
    assert ranges.of(a.value("i")) == Interval(0, 9)
    assert ranges.of(a.value("i1")) == Interval(1, 10)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("%c = icmp sgt i32 %x, 5", Interval(6, 2**31 - 1)),
        ("%c = icmp ult i32 %x, 8", Interval(0, 7)),
        ("%c = icmp eq i32 %x, 3", Interval(3, 3)),
        ("%a = icmp sge i32 %x, 2\n %b = icmp sle i32 %x, 9\n %c = and i1 %a, %b", Interval(2, 9)),
        ("%a = icmp sge i32 %x, 2\n %b = icmp sle i32 %x, 9\n %c = select i1 %a, i1 %b, i1 false", Interval(2, 9)),
        ("%a = icmp slt i32 %x, 0\n %c = xor i1 %a, true", Interval(0, 2**31 - 1)),
        (
            "%a = icmp slt i32 %x, 0\n %b = icmp sgt i32 %x, 9\n %o = or i1 %a, %b\n %c = xor i1 %o, true",
            Interval(0, 9),
        ),
    ],
)  # fmt: skip
def test_conditions_hold_behind_their_branch(condition: str, expected: Interval) -> None:
    a, ranges = ranges_of(f"""
define i32 @f(i32 %x) {{
entry:
  {condition}
  br i1 %c, label %then, label %join
then:
  %y = add i32 %x, 0
  br label %join
join:
  %z = phi i32 [ 7, %entry ], [ %y, %then ]
  ret i32 %z
}}
""")
    assert ranges.of(a.value("y")) == expected
    assert ranges.at(a.value("x"), a.block("join")) is None


def test_switches_tell_their_cases() -> None:
    a, ranges = ranges_of("""
        define void @f(i32 %x) {
        entry:
          switch i32 %x, label %other [ i32 4, label %four
                                        i32 5, label %both
                                        i32 6, label %both ]
        four:
          %y = add i32 %x, 0
          br label %other
        both:
          %z = add i32 %x, 0
          br label %other
        other:
          ret void
        }
        """)  # fmt: skip
    assert ranges.of(a.value("y")) == Interval(4, 4)
    assert ranges.of(a.value("z")) is None


def test_promises_of_attributes_metadata_and_ids_count() -> None:
    a, ranges = ranges_of("""
        declare i32 @g()
        define void @f(ptr %p, i32 range(i32 -4, 4) %x) {
        entry:
          %t = call i64 @weft.local.id(i32 0)
          %l = load i32, ptr %p, !range !0
          %r = call range(i32 1, 9) i32 @g()
          %s = add i32 %x, 0
          ret void
        }
        !0 = !{i32 0, i32 5, i32 8, i32 10}
        """)  # fmt: skip
    found = {name: ranges.of(a.value(name)) for name in ("t", "l", "r", "s")}
    assert found == {
        "t": Interval(0, 1023), "l": Interval(0, 9), "r": Interval(1, 8), "s": Interval(-4, 3),
    }  # fmt: skip


def test_a_predicated_branch_says_nothing_of_threads_that_passed_it_by() -> None:
    text = """
        define void @f(i1 %v, i32 %x) {
        entry:
          br label %test
        test: predicate(%v)
          %c = icmp slt i32 %x, 8
          br i1 %c, label %inside, label %out
        inside: PREDICATE
          %y = add i32 %x, 0
          br label %out
        out:
          ret void
        }
        """
    a, ranges = ranges_of(text.replace("PREDICATE", ""))
    assert ranges.of(a.value("y")) is None
    a, ranges = ranges_of(text.replace("PREDICATE", "predicate(%v)"))
    assert ranges.of(a.value("y")) == Interval(-(2**31), 7)


def test_frozen_poison_may_be_any_value() -> None:
    a, ranges = ranges_of("""
        define void @f(i1 %c) {
        entry:
          br label %loop
        loop:
          %p = phi i32 [ poison, %entry ], [ %p, %loop ]
          %frozen = freeze i32 %p
          br i1 %c, label %loop, label %exit
        exit:
          %x = phi i32 [ %frozen, %loop ]
          %y = select i1 %c, i32 5, i32 %x
          ret void
        }
        """)  # fmt: skip
    assert ranges.of(a.value("y")) is None


@pytest.mark.parametrize(
    ("multiple", "masked", "wanted"),
    [
        ("shl i32 %m, 1", "and i32 %m, %n", Interval(0, 198)),
        ("mul i32 %m, 3", "and i32 %n, %m", Interval(0, 297)),
        ("add i32 %m, 0", "and i32 %m, %n", Interval(-99, 99)),
        ("shl i32 %n, 1", "and i32 %n, %m", None),
        ("shl i32 %m, 1", "or i32 %m, 1", Interval(-127, 197)),
    ],
)
def test_some_bits_of_a_natural_number_are_no_more_than_it(multiple, masked, wanted) -> None:
    a, ranges = ranges_of(f"""
        define void @f(i32 range(i32 0, 100) %m, i32 %n) {{
          %a = {multiple}
          %b = {masked}
          %low = sub i32 %a, %b
          ret void
        }}""")
    assert ranges.of(a.value("low")) == wanted


DIFFERENCE = """
define void @f(i8 range(i8 %A) %a, i8 range(i8 %B) %b) {
entry:
  %x = add i8 %a, 0
  %y = add i8 %b, 0
  %asked = icmp %CONDITION
  br i1 %asked, label %behind, label %out
behind:
  %difference = sub i8 %x, %y
  ret void
out:
  ret void
}
"""
RANGES = ((0, 100), (-3, 5), (-128, 0), (-100, 100), (0, 127))


@pytest.mark.parametrize("condition", ["sge i8 %x, %y", "sgt i8 %x, %y", "sle i8 %y, %x", "slt i8 %y, %x"])
def test_what_is_taken_from_a_number_that_is_not_less_leaves_a_natural_number(condition: str) -> None:
    a, ranges = ranges_of(
        DIFFERENCE.replace("%CONDITION", condition).replace("%A", "0, 100").replace("%B", "-3, 100")
    )
    assert ranges.of(a.value("difference")) == Interval(0, 102)


@pytest.mark.parametrize("predicate", ["slt", "sle", "sgt", "sge", "eq", "ne", "ult", "ule", "ugt", "uge"])
@pytest.mark.parametrize("of_a", RANGES)
@pytest.mark.parametrize("of_b", RANGES)
def test_differences_behind_conditions_are_in_their_ranges(predicate: str, of_a: tuple, of_b: tuple) -> None:
    text = DIFFERENCE.replace("%CONDITION", f"{predicate} i8 %x, %y")
    a, ranges = ranges_of(text.replace("%A", "{}, {}".format(*of_a)).replace("%B", "{}, {}".format(*of_b)))
    found = ranges.of(a.value("difference")) or Interval(-128, 127)
    for x in range(*of_a):
        for y in range(*of_b):
            if EVALUATE[predicate](x, y):
                assert found.lo <= (x - y + 128) % 256 - 128 <= found.hi


EVALUATE = {
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "ult": lambda x, y: x % 256 < y % 256,
    "ule": lambda x, y: x % 256 <= y % 256,
    "ugt": lambda x, y: x % 256 > y % 256,
    "uge": lambda x, y: x % 256 >= y % 256,
}


def test_bits_are_less_than_a_multiple_that_does_not_wrap_only() -> None:
    a, ranges = ranges_of("""
        define void @f(i8 range(i8 0, 100) %m, i8 %n) {
          %a = shl i8 %m, 1
          %b = and i8 %m, %n
          %low = sub i8 %a, %b
          ret void
        }""")
    assert ranges.of(a.value("low")) is None


SUMS = """
define void @f(ptr %p, i1 %v, i64 %start, i64 range(i64 0, 5) %m) {
entry:
  br label %outer
outer:
  %y = phi i64 [ -1, %entry ], [ %y1, %next ]
  %sum = phi i64 [ FIRST, %entry ], [ %behind, %next ]
  %down = phi i64 [ 0, %entry ], [ %down1, %next ]
  %more = icmp slt i64 %y, 2
  br i1 %more, label %before, label %out
before:
  br label %inner
inner:
  %x = phi i64 [ 0, %before ], [ %x1, %body ]
  %part = phi i64 [ %sum, %before ], [ %part1, %body ]
  %go = icmp slt i64 %x, %m
  br i1 %go, label %body, label %next
body:
  %byte = load i8, ptr %p
  %wide = zext i8 %byte to i64
  %added = ADDED
  %part1 = select i1 %v, i64 %added, i64 %part
  %x1 = add i64 %x, 1
  br label %inner
next:
  %behind = phi i64 [ %part, %inner ]
  %sixth = and i64 %behind, 7
  %down0 = sub i64 %down, %sixth
  %down1 = sub i64 %down0, 2
  %y1 = add i64 %y, 1
  br label %outer
out:
  %last = add i64 %sum, 1
  ret void
}
"""


def summing(first: str, added: str) -> str:
    return SUMS.replace("FIRST", first).replace("ADDED", added)


def test_sums_of_loops_are_bounded_by_what_rounds_add() -> None:
    text = summing("10", "add i64 %part, %wide")
    a, ranges = ranges_of(text)
    # Three rounds of at most four bytes each.
    assert ranges.of(a.value("sum")) == Interval(10, 10 + 12 * 255)
    assert ranges.of(a.value("last")) == Interval(11, 11 + 12 * 255)
    assert ranges.of(a.value("part")) == Interval(10, 10 + 16 * 255)
    assert ranges.of(a.value("down")) == Interval(-27, 0)
    # It is no sum if it begins anew, is multiplied, or begins anywhere.
    for first, added in (
        ("10", "add i64 %wide, 1"),
        ("10", "mul i64 %part, %wide"),
        ("%start", "add i64 %part, %wide"),
        ("10", "sub i64 %wide, %part"),
    ):
        a, ranges = ranges_of(summing(first, added))
        found = ranges.of(a.value("sum"))
        assert found is None or found.hi > 1 << 32 or "wide, 1" in added, (added, found)


def test_sums_that_may_wrap_around_are_not_bounded() -> None:
    text = summing("10", "add i64 %part, %wide")
    a, ranges = ranges_of(
        text.replace("i64 %y, 2", "i64 %y, 200").replace("i64", "i32").replace("ptr %p,", "ptr %p, i32 %r,")
    )
    assert ranges.of(a.value("sum")) == Interval(10, 10 + 201 * 4 * 255)
    # Nobody knows how often the loop around runs.
    a, ranges = ranges_of(text.replace("i64 %y, 2", "i64 %y, %start"))
    found = ranges.of(a.value("sum"))
    assert found is None or found.hi > 1 << 60


#   A stack: pushed on one way, popped on the other, where it is not empty.
STACK = """
define void @f(ptr %p, i1 %w, i32 %from) {
entry:
  %start = sext i32 %from to i64
  br label %head
head:
  %top = phi i64 [ START, %entry ], [ %next, %latch ]
  %place = getelementptr i1, ptr %p, i64 %top
  %v = load i1, ptr %place
  br i1 %v, label %push, label %test
push:
  %up = add i64 %top, STEP
  br label %latch
test:
  %empty = icmp TEST
  br i1 %empty, label %out, label %pop
pop:
  %down = add i64 %top, -1
  br label %latch
latch:
  %next = phi i64 [ %up, %push ], [ %down, %pop ]
  br label %head
out:
  ret void
}
"""


def stack(start: str = "0", step: str = "1", test: str = "eq i64 %top, 0") -> str:
    return STACK.replace("START", start).replace("STEP", step).replace("TEST", test)


def test_what_is_popped_where_there_is_something_is_never_negative() -> None:
    for step in ("1", "2", "30"):
        a, ranges = ranges_of(stack(step=step))
        top, down = ranges.of(a.value("top")), ranges.of(a.value("down"))
        assert top is not None and down is not None
        assert top.lo == down.lo == 0 and top.hi <= int(step) * EXECUTIONS


def on_an_object(access: str = "store i32 1, ptr %kept", push: str = "1", **more: str) -> str:
    """The same, with 32 places in a stack object, at which is pushed before the height is raised."""
    text = stack(step=push, **more).replace("entry:\n", "entry:\n  %s = alloca [32 x i32], align 4\n")
    put = f"push:\n  %kept = getelementptr i32, ptr %s, i64 %top\n  {access}\n"
    return text.replace("push:\n", put)


@pytest.mark.parametrize(("push", "most"), [("1", 32), ("2", 33)])
def test_a_stack_is_no_higher_than_its_object(push: str, most: int) -> None:
    a, ranges = ranges_of(on_an_object(push=push))
    top = ranges.of(a.value("top"))
    assert top is not None and (top.lo, top.hi) == (0, most)


@pytest.mark.parametrize(
    "text",
    [
        on_an_object("%u = add i32 0, 1"),  # nothing is accessed
        on_an_object()
        .replace("ptr %s, i64 %top\n", "ptr %s, i64 %from64\n")
        .replace("entry:\n", "entry:\n  %from64 = sext i32 %from to i64\n"),
        on_an_object().replace(
            "getelementptr i32, ptr %s", "getelementptr i32, ptr %p"
        ),  # an array of any size
        on_an_object().replace(
            "getelementptr i32, ptr %s", "getelementptr [64 x i32], ptr %s"
        ),  # may wrap around
    ],
)
def test_other_accesses_do_not_bound_a_stack(text: str) -> None:
    a, ranges = ranges_of(text)
    top = ranges.of(a.value("top"))
    assert top is not None and top.hi > 1 << 40


@pytest.mark.parametrize(
    "text",
    [
        stack(test="eq i64 %top, 1"),  # it is popped at 0, too
        stack(step="200"),  # which may wrap around within years
        stack(step="%start"),
        stack(start="%start"),  # which may begin below the test
        stack().replace("br i1 %v", "br i1 %w"),  # the rounds of which LLVM may count
        stack().replace("i64 %top\n  %v", "i64 0\n  %v"),
    ],
)
def test_what_may_become_negative_is_not_bounded_by_0(text: str) -> None:
    a, ranges = ranges_of(text)
    top = ranges.of(a.value("top"))
    assert top is None or top.lo < 0


def test_a_counter_of_32_bits_wraps_around_within_seconds() -> None:
    a, ranges = ranges_of(stack().replace("i64", "i32").replace("sext i32 %from to i32", "add i32 %from, 0"))
    assert ranges.of(a.value("top")) is None


@pytest.mark.parametrize(
    ("part", "least", "most"),
    [
        ("%low = and i64 %y, %m\n  %part = add nuw i64 %low, %s", 0, 2 * (100 + 7)),
        ("%low = and i64 %y, %m\n  %mine = and i64 %low, -8\n  %part = add nuw nsw i64 %mine, %s", 0, 2 * (100 + 7)),
        ("%low = and i64 %y, %m\n  %part = add i64 %low, %s", None, None),
        ("%low = and i64 %m, %m\n  %part = add nuw i64 %low, %s", None, None),
        ("%low = and i64 %y, %m\n  %part = add nuw i64 %low, %y", None, None),
    ],
)  # fmt: skip
def test_a_butterfly_takes_a_part_of_a_sum_from_its_double(
    part: str, least: int | None, most: int | None
) -> None:
    a, ranges = ranges_of(f"""
        define void @f(i64 range(i64 0, 101) %y, i64 range(i64 0, 8) %s, i64 %m) {{
        entry:
          %x = add nuw nsw i64 %y, %s
          %two = shl nuw nsw i64 %x, 1
          {part}
          %lower = sub nsw i64 %two, %part
          ret void
        }}
    """)
    found = ranges.of(a.value("lower"))
    assert found is not None
    assert (found == Interval(least, most)) if least is not None and most is not None else found.lo < 0
