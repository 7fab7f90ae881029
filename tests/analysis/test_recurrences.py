"""What loops of few rounds carry is followed round after round, and holds for what the interpreter computes."""

import os
import random

import numpy as np
import pytest

from analysis.test_ranges import ranges_of
from transform.chain import returned
from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.recurrences import MOST_ROUNDS

#   entry ──> head <──> body
#              └─> out
DESCENT = """
define i64 @f(i64 %d, i1 %v) {
entry:
  br label %head
head:
  %node = phi i64 [ 0, %entry ], [ %next, %body ]
  %k = phi i64 [ 0, %entry ], [ %k1, %body ]
  %more = icmp ult i64 %k, 6
  br i1 %more, label %body, label %out
body:
  %twice = shl i64 %node, 1
  %left = or disjoint i64 %twice, 1
  %right = add i64 %twice, 2
  %next = select i1 %v, i64 %left, i64 %right
  %k1 = add nuw nsw i64 %k, 1
  br label %head
out:
  %leaf = phi i64 [ %node, %head ]
  ret i64 %leaf
}
"""


def test_a_node_is_doubled_as_often_as_the_loop_goes_around() -> None:
    a, ranges = ranges_of(DESCENT)
    assert ranges.of(a.value("node")) == Interval(0, 126)
    assert ranges.of(a.value("leaf")) == Interval(63, 126)


@pytest.mark.parametrize(
    ("old", "new", "node", "leaf"),
    [
        # It begins at what is known of something else.
        ("[ 0, %entry ], [ %next", "[ %start, %entry ], [ %next", Interval(3, 574), Interval(255, 574)),
        # Nobody knows where it begins.
        ("[ 0, %entry ], [ %next", "[ %d, %entry ], [ %next", None, None),
        # Nobody knows how often it is doubled.
        ("ult i64 %k, 6", "ult i64 %k, %d", None, None),
        # It is doubled too often, and wraps around.
        ("ult i64 %k, 6", "ult i64 %k, 63", None, None),
        (
            "ult i64 %k, 6",
            "ult i64 %k, 40",
            Interval(0, (1 << 41) - 2),
            Interval((1 << 40) - 1, (1 << 41) - 2),
        ),
        # Rounds are too many to be followed, whatever comes of them.
        ("ult i64 %k, 6", f"ult i64 %k, {MOST_ROUNDS + 1}", None, None),
        # It may be left early.
        ("%more = icmp", "%few = icmp", Interval(0, 126), Interval(0, 126)),
    ],
)
def test_what_is_known_of_others(old: str, new: str, node: Interval | None, leaf: Interval | None) -> None:
    text = DESCENT.replace(old, new)
    assert text != DESCENT
    text = text.replace("entry:\n", "entry:\n  %low = and i64 %d, 4\n  %start = add nsw i64 %low, 3\n")
    if "%few" in new:
        text = text.replace("  br i1 %more", "  %more = and i1 %few, %v\n  br i1 %more")
    a, ranges = ranges_of(text)
    assert ranges.of(a.value("node")) == node
    assert ranges.of(a.value("leaf")) == leaf


def test_numbers_that_go_around_in_turn_are_followed_together() -> None:
    a, ranges = ranges_of("""
        define i64 @f(i64 %n) {
        entry:
          br label %head
        head:
          %a = phi i64 [ 0, %entry ], [ %b, %body ]
          %b = phi i64 [ 1, %entry ], [ %sum, %body ]
          %k = phi i32 [ 0, %entry ], [ %k1, %body ]
          %more = icmp slt i32 %k, 10
          br i1 %more, label %body, label %out
        body:
          %sum = add i64 %a, %b
          %k1 = add nsw i32 %k, 1
          br label %head
        out:
          %last = phi i64 [ %a, %head ]
          ret i64 %last
        }
    """)
    assert ranges.of(a.value("b")) == Interval(1, 89)
    assert ranges.of(a.value("last")) == Interval(55, 55)


# The loop tests its counter behind the round: entry ──> body <──┐
#                                                         ├─────┘
#                                                         └──> out
def test_a_loop_that_is_left_at_its_end_hands_on_what_it_has_computed() -> None:
    a, ranges = ranges_of("""
        define i64 @f(i1 %v) {
        entry:
          br label %body
        body:
          %node = phi i64 [ 1, %entry ], [ %next, %body ]
          %k = phi i64 [ 0, %entry ], [ %k1, %body ]
          %bit = zext i1 %v to i64
          %twice = mul i64 %node, 2
          %next = add i64 %twice, %bit
          %k1 = add nuw nsw i64 %k, 1
          %more = icmp ne i64 %k1, 4
          br i1 %more, label %body, label %out
        out:
          %leaf = phi i64 [ %next, %body ]
          %behind = phi i64 [ %node, %body ]
          ret i64 %leaf
        }
    """)
    assert ranges.of(a.value("node")) == Interval(1, 15)
    assert ranges.of(a.value("leaf")) == Interval(16, 31)
    assert ranges.of(a.value("behind")) == Interval(8, 15)


def test_what_is_computed_behind_the_test_has_no_value_in_the_round_that_leaves() -> None:
    a, ranges = ranges_of("""
        define i64 @f(i64 %n) {
        entry:
          br label %head
        head:
          %offset = phi i64 [ 512, %entry ], [ %half, %body ]
          %d = phi i64 [ 1, %entry ], [ %twice, %body ]
          %more = icmp slt i64 %d, 512
          br i1 %more, label %body, label %out
        body:
          %half = ashr i64 %offset, 1
          %twice = shl i64 %d, 1
          br label %head
        out:
          ret i64 %d
        }
    """)
    assert ranges.of(a.value("offset")) == Interval(1, 512)
    assert ranges.of(a.value("half")) == Interval(1, 256)


def test_what_is_loaded_may_have_been_stored_in_any_round() -> None:
    """The element before is that of the round before, or 127: less the next number, it is in [-64, 124]."""
    a, ranges = ranges_of("""
        define i64 @f(i64 %n) {
        entry:
          %own = alloca [16 x i64], align 16
          store i64 127, ptr %own
          br label %head
        head:
          %a = phi i64 [ 1, %entry ], [ %next, %body ]
          %c = phi i64 [ 0, %entry ], [ %less, %body ]
          %k = phi i64 [ 0, %entry ], [ %k1, %body ]
          %more = icmp slt i64 %k, 6
          br i1 %more, label %body, label %out
        body:
          %twice = mul i64 %a, 2
          %next = add i64 %twice, 1
          %k1 = add nsw i64 %k, 1
          %here = getelementptr i64, ptr %own, i64 %k1
          store i64 %next, ptr %here
          %before = getelementptr i64, ptr %own, i64 %k
          %old = load i64, ptr %before
          %less = sub i64 %old, %next
          br label %head
        out:
          %last = phi i64 [ %c, %head ]
          ret i64 %last
        }
    """)
    for name in ("c", "less", "last"):
        known = ranges.of(a.value(name))
        assert known is None or (known.holds(-64) and (name == "last" or known.holds(124))), name


BINARY = ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor")


def random_loop(random: random.Random, bits: int, inside: bool) -> tuple[str, str]:
    """A loop that carries two numbers; what it returns has what they become, and the least and greatest of one.

    That is the first number, or what it becomes in a round if `inside`; its name comes second.
    """
    type = f"i{bits}"
    pool, lines = ["%a", "%b", "%c", *map(str, random.sample(range(-5, 9), 3))], list[str]()
    for n in range(random.randint(2, 6)):
        x, y = random.choice(pool[:3] + pool[6:]), random.choice(pool)
        kind = random.random()
        if kind < 0.2:
            lines.append(f"%t{n} = icmp {random.choice(('slt', 'ult', 'eq'))} {type} {x}, {y}")
            lines.append(f"%v{n} = select i1 %t{n}, {type} {y}, {type} {x}")
        else:
            op = random.choice(BINARY)
            y = str(random.randint(0, 3)) if op in ("shl", "lshr", "ashr") else y
            lines.append(f"%v{n} = {op} {type} {x}, {y}")
        pool.append(f"%v{n}")
    made = pool[6:]
    first, second = random.choice(made), random.choice([*made, "%a"])
    rounds, step = random.randint(1, 9), random.choice((1, 1, 2))
    stop = random.choice(("", "%some = icmp ugt {t} %a, 3\n  %more = and i1 %counts, %some"))
    stop = stop.format(t=type) or "%more = or i1 %counts, false"
    followed = first if inside else "%a"
    lines += (
        f"%less = icmp slt {type} {followed}, %least",
        f"%lower = select i1 %less, {type} {followed}, {type} %least",
        f"%greater = icmp sgt {type} {followed}, %most",
        f"%higher = select i1 %greater, {type} {followed}, {type} %most",
    )
    head, body = (
        "\n  ".join(part) for part in (lines[len(lines) if inside else -4 :], lines if inside else lines[:-4])
    )
    extremes = ("%least", "%most") if inside else ("%lower", "%higher")
    text = f"""
define i64 @f({type} %c) {{
entry:
  br label %head
head:
  %a = phi {type} [ {random.randint(-3, 4)}, %entry ], [ {first}, %body ]
  %b = phi {type} [ {random.choice(("%c", "1", "0"))}, %entry ], [ {second}, %body ]
  %k = phi i32 [ 0, %entry ], [ %k1, %body ]
  %least = phi {type} [ 127, %entry ], [ %lower, %body ]
  %most = phi {type} [ -128, %entry ], [ %higher, %body ]
  {head}
  %counts = icmp slt i32 %k, {rounds}
  {stop}
  br i1 %more, label %body, label %out
body:
  {body}
  %k1 = add nsw i32 %k, {step}
  br label %head
out:
  %x = phi {type} [ %a, %head ]
  %y = phi {type} [ %b, %head ]
  %lo = phi {type} [ {extremes[0]}, %head ]
  %hi = phi {type} [ {extremes[1]}, %head ]
  %x64 = zext {type} %x to i64
  %y64 = zext {type} %y to i64
  %lo64 = zext {type} %lo to i64
  %hi64 = zext {type} %hi to i64
  %ys = shl i64 %y64, {bits}
  %ls = shl i64 %lo64, {2 * bits}
  %hs = shl i64 %hi64, {3 * bits}
  %xy = or i64 %x64, %ys
  %lh = or i64 %ls, %hs
  %r = or i64 %xy, %lh
  ret i64 %r
}}
"""
    return text, followed[1:]


def test_ranges_hold_for_what_random_loops_compute() -> None:
    told = 0
    for seed in range(2000 if os.environ.get("WEFT_FUZZ") else 80):
        rng = random.Random(seed)
        text, followed = random_loop(rng, 8, inside=seed % 2 == 1)
        a, ranges = ranges_of(text)
        found = {name: ranges.of(a.value(name)) for name in ("x", "y", followed)}
        told += sum(f is not None for f in found.values())
        for c in (0, 1, -1, 7, -128, 127, rng.randint(-128, 127)):
            (result,) = returned("f", [np.int8(c)], 1)(a.function.module, "FR")
            x, y, lo, hi = ((int(result) >> s & 255 ^ 128) - 128 for s in (0, 8, 16, 24))
            extremes = (lo, hi) if lo <= hi else ()
            told_of = [(x, found["x"]), (y, found["y"]), *((e, found[followed]) for e in extremes)]
            for value, known in told_of:
                assert known is None or known.holds(value), (seed, c, value, known, text)
    assert told > 40
