"""Sums that conditions between numbers keep from being negative, beside what the interpreter computes."""

import itertools
import random

import numpy as np
import pytest

from analysis.analysed import Analysed
from weft import interp
from weft.analysis.integers.differences import Differences
from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.transform.numbers.known_numbers import replace_known_numbers


def is_known(text: str, name: str = "x", block: str = "body") -> bool:
    """Whether a value of a program is known not to be negative in a block."""
    a = Analysed(text)
    view = cfg_of(a.function)
    differences = Differences(Ranges(a.function, view, block_index(view.cfg)))
    return differences.is_not_negative(a.value(name), a.block(block))


def loop(
    sums: str, *, start: str = "0", test: str = "icmp slt i64 %i, %k", step: str = "add nsw i64 %i, 1"
) -> str:
    """A loop over i up to k, which is positive, of an array of n elements."""
    return f"""
define void @f(i64 range(i64 1, 4611686018427387904) %k, i64 range(i64 1, 4611686018427387904) %n) {{
entry:
  br label %head
head:
  %i = phi i64 [ {start}, %entry ], [ %next, %body ]
  %go = {test}
  br i1 %go, label %body, label %out
body:
  {sums}
  %next = {step}
  br label %head
out:
  ret void
}}
"""


@pytest.mark.parametrize(
    "sums",
    [
        "%d = sub i64 %k, %i\n  %x = add i64 %d, -1",
        "%not = xor i64 %i, -1\n  %x = add i64 %k, %not",
        "%d = sub i64 %k, %i\n  %s = shl nsw i64 %d, 1\n  %x = add i64 %s, -2",
        "%m = call i64 @llvm.smax.i64(i64 %k, i64 %n)\n  %x = sub i64 %m, %i",
        "%narrow = trunc i64 %i to i32\n  %x = sub i64 %k, %i",
    ],
)
def test_what_is_left_of_a_loop_is_not_negative(sums: str) -> None:
    assert is_known(loop(sums) + "declare i64 @llvm.smax.i64(i64, i64)\n")


@pytest.mark.parametrize(
    "sums",
    [
        "%d = sub i64 %k, %i\n  %x = add i64 %d, -2",
        "%x = sub i64 %n, %i",
        "%x = sub i64 %i, %k",
        "%m = call i64 @llvm.smin.i64(i64 %k, i64 %n)\n  %x = sub i64 %m, %i",
        "%twice = shl i64 %i, 1\n  %x = sub i64 %k, %twice",
    ],
)
def test_what_may_be_negative_is_not_known(sums: str) -> None:
    assert not is_known(loop(sums) + "declare i64 @llvm.smin.i64(i64, i64)\n")


def test_a_rising_counter_is_not_less_than_its_start() -> None:
    rises = {"start": "%n", "test": "icmp slt i64 %i, 4611686018427387904"}
    assert is_known(loop("%x = sub i64 %i, %n", **rises))
    assert not is_known(loop("%x = sub i64 %i, %n", **rises, step="add nsw i64 %i, -1"))


def test_a_falling_counter_does_not_exceed_its_start() -> None:
    falls = {"start": "%n", "test": "icmp sgt i64 %i, 0", "step": "add nsw i64 %i, -1"}
    assert is_known(loop("%x = sub i64 %n, %i", **falls))
    assert not is_known(loop("%x = sub i64 %n, %i", start="%n", test="icmp sgt i64 %i, 0"))


def test_a_counter_that_wraps_around_is_not_followed() -> None:
    text = loop("%x = sub i64 %i, %n", start="%n", test="icmp ne i64 %i, %k", step="add i64 %i, 1")
    assert not is_known(text)


def test_a_frozen_number_need_not_be_what_it_was_frozen_from() -> None:
    # The sum may be poison, of which a frozen one makes any number.
    assert not is_known(loop("%d = sub nsw i64 %k, %i\n  %x = freeze i64 %d"))


@pytest.mark.parametrize(
    ("test", "sums", "expected"),
    [
        ("icmp sle i64 %a, %b", "%x = sub nsw i64 %b, %a", True),
        ("icmp sle i64 %a, %b", "%d = sub nsw i64 %b, %a\n  %x = add nsw i64 %d, -1", False),
        ("icmp sgt i64 %a, %b", "%d = sub nsw i64 %a, %b\n  %x = add nsw i64 %d, -1", True),
        ("icmp sge i64 %a, %b", "%d = sub nsw i64 %a, %b\n  %x = add nsw i64 %d, -1", False),
        ("icmp eq i64 %a, %b", "%x = sub nsw i64 %a, %b", True),
        ("icmp ult i64 %a, %k", "%d = sub nsw i64 %k, %a\n  %x = add nsw i64 %d, -1", True),
        ("icmp ult i64 %a, %b", "%x = sub nsw i64 %b, %a", False),
        ("icmp ult i64 %k, %b", "%x = sub nsw i64 %b, %k", False),
        ("icmp ugt i64 %k, %a", "%x = sub nsw i64 %k, %a", True),
        ("icmp ult i64 %a, %b", "%x = sub i64 %b, %a", False),
        ("icmp sle i64 %a, %b", "%x = sub i64 %b, %a", False),
    ],
)
def test_conditions_say_what_their_predicates_mean(test: str, sums: str, expected: bool) -> None:
    text = f"""
define void @f(i64 %a, i64 %b, i64 range(i64 0, 1024) %k) {{
entry:
  %go = {test}
  br i1 %go, label %body, label %out
body:
  {sums}
  br label %out
out:
  ret void
}}
"""
    assert is_known(text) == expected


COMPARISONS = ("slt", "sle", "sgt", "sge", "eq", "ult", "ule", "ugt", "uge")


def random_program(seed: int) -> str:
    """Nested conditions and loops on numbers of 4 bits; of sums of these it is asked whether they are negative."""
    rng = random.Random(seed)
    numbers = ["%a", "%b", "%c", "0", "1", "3"]
    lines = ["define i32 @f(i4 %a, i4 %b, i4 %c) {", "entry:"]
    count = itertools.count()
    loops: list[str] = []
    block, seen = "entry", "0"
    for depth in range(rng.randint(2, 5)):
        inside = f"in{depth}"
        if rng.random() < 0.4 and not loops:
            i, fuel, head = f"%i{depth}", f"%fuel{depth}", f"head{depth}"
            step, total = rng.choice(["1", "1", "-1"]), f"%total{depth}"
            lines += [
                f"  br label %{head}", f"{head}:",
                f"  {i} = phi i4 [ {rng.choice(numbers)}, %{block} ], [ {i}.next, %latch ]",
                f"  {fuel} = phi i32 [ 0, %{block} ], [ {fuel}.next, %latch ]",
                f"  {total} = phi i32 [ {seen}, %{block} ], [ %seen.last, %latch ]",
                f"  {fuel}.more = icmp ult i32 {fuel}, 20",
                f"  br i1 {fuel}.more, label %fed{depth}, label %out", f"fed{depth}:",
            ]  # fmt: skip
            loops += [f"  {i}.next = add i4 {i}, {step}", f"  {fuel}.next = add i32 {fuel}, 1", head]
            numbers.append(i)
            numbers.append(i)
            seen = total
        left, right = rng.choice(numbers[:3] + numbers[6:]), rng.choice(numbers)
        lines += [
            f"  %go{depth} = icmp {rng.choice(COMPARISONS)} i4 {left}, {right}",
            f"  br i1 %go{depth}, label %{inside}, label %out",
            f"{inside}:",
        ]
        block = inside
        for _ in range(rng.randint(1, 3)):
            k = next(count)
            op = rng.choice(["add", "sub", "sub", "sub nsw", "add nsw", "xor", "call"])
            left, right = rng.choice(numbers[:3] + numbers[6:]), rng.choice(numbers)
            if op == "call":
                name = rng.choice(["smin", "smax"])
                lines.append(f"  %v{k} = call i4 @llvm.{name}.i4(i4 {left}, i4 {right})")
            else:
                lines.append(f"  %v{k} = {op} i4 {left}, {'-1' if op == 'xor' else right}")
            lines += [
                f"  %negative{k} = icmp slt i4 %v{k}, 0",
                f"  %one{k} = zext i1 %negative{k} to i32",
                f"  %three{k} = mul i32 {seen}, 3",
                f"  %seen{k} = add i32 %three{k}, %one{k}",
            ]
            if "nsw" not in op:  # No branch may depend on what is poison.
                numbers.append(f"%v{k}")
            seen = f"%seen{k}"
    outs = [line for line in lines if line.endswith("label %out")]
    if loops:
        *steps, head = loops
        lines += [
            "  br label %latch",
            "latch:",
            *steps,
            f"  %seen.last = add i32 {seen}, 0",
            f"  br label %{head}",
        ]
    else:
        lines.append(f"  ret i32 {seen}")
    assert outs
    result = next((line.split(" = ")[0].strip() for line in lines if line.startswith("  %total")), "7")
    lines += ["out:", f"  ret i32 {result if _is_reached_from_loop(lines) else 7}", "}"]
    return "\n".join([*lines, "declare i4 @llvm.smin.i4(i4, i4)", "declare i4 @llvm.smax.i4(i4, i4)"])


def _is_reached_from_loop(lines: list[str]) -> bool:
    """Whether every way out has passed the header of the loop, if there is one."""
    first_out = next(k for k, line in enumerate(lines) if line.endswith("label %out"))
    return any(line.startswith("head") for line in lines[:first_out])


VALUES = np.array(list(itertools.product(range(-8, 8), repeat=3)), np.int8)


@pytest.mark.parametrize("seed", range(60))
def test_programs_compute_the_same_without_what_is_known(seed: int) -> None:
    text = random_program(seed)
    before, after = read_module(text), read_module(text)
    replace_known_numbers(after.functions["f"])
    arguments = [VALUES[:, k] for k in range(3)]
    results = [interp.run_function(m, "f", arguments, len(VALUES)) for m in (before, after)]
    fine = [np.zeros(len(VALUES)) if r.flags is None else np.asarray(r.flags) for r in results]
    defined = fine[0] == 0
    assert np.array_equal(results[0].data[defined], results[1].data[defined])


def test_many_such_programs_are_simplified() -> None:
    def count(seed: int) -> int:
        return replace_known_numbers(read_module(random_program(seed)).functions["f"])

    assert sum(count(seed) > 0 for seed in range(60)) > 20


def test_a_minimum_that_is_known_and_compared_can_be_replaced() -> None:
    # The comparison says something of the minimum, which is asked for its sign, too, and replaced first.
    text = """
define i1 @f(i64 range(i64 0, 8) %a, i64 %b) {
entry:
  %least = call i64 @llvm.smin.i64(i64 %a, i64 0)
  %c = xor i64 %b, 5
  %go = icmp sge i64 %c, %least
  br i1 %go, label %body, label %out
body:
  %negative = icmp slt i64 %c, 0
  ret i1 %negative
out:
  ret i1 true
}
declare i64 @llvm.smin.i64(i64, i64)
"""
    assert replace_known_numbers(read_module(text).functions["f"]) == 2
