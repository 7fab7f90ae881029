"""Scalar replacement on random kernels: the same memory, no thread reads more, nothing out of bounds."""

import os

import pytest

from transform.replaced_loads import NAMES, check, check_counts, replaced, run
from weft.interp import Program
from weft.ir.reader import read_module
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName

FUZZ = int(os.environ.get("WEFT_FUZZ") or 0)


@pytest.mark.parametrize("seed", range(max(3, FUZZ)))
def test_random_kernels_do_the_same_with_fewer_loads(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("name", NAMES)
def test_fifty_small_ones_by_one_policy_each(name: str) -> None:
    small = [seed for seed in range(100, 167) if seed % 4]
    for seed in small[NAMES.index(name) :: len(NAMES)]:
        check(seed, (name,))


TWO_ARMS = """
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
define void @kernel(ptr ATTRIBUTES %a, ptr noalias %out) "weft.kernel" {
entry:
  %t = call i64 @weft.local.id(i32 0)
  %odd = trunc i64 %t to i1
  %p = getelementptr i32, ptr %a, i64 5
  br i1 %odd, label %then, label %else
then:
  %x = load i32, ptr %p, align 4
  br label %join
else:
  OTHER
  br label %join
join:
  %z = phi i32 [ %x, %then ], [ %y, %else ]
  store i32 %z, ptr %out
  ret void
}
"""


@pytest.mark.parametrize(
    ("attributes", "other", "align"),
    [
        ("", "%y = load i32, ptr %p, align 4", 4),
        ("", "%y = load i32, ptr %p, align 2", 2),
        ("dereferenceable(40)", "%q = getelementptr i32, ptr %a, i64 6\n%y = load i32, ptr %q, align 4", 1),
        ("dereferenceable(40) align 16", "%q = getelementptr i32, ptr %a, i64 6\n%y = load i32, ptr %q", 4),
    ],
)
def test_hoisted_loads_are_aligned_as_the_threads_that_do_them_know(
    attributes: str, other: str, align: int
) -> None:
    text = TWO_ARMS.replace("ATTRIBUTES", attributes).replace("OTHER", other)
    module, summary = replaced(text, POLICIES[PolicyName.SSRQP])
    hoisted = [i for i in next(module.definitions()).entry if i.op == "load"]
    assert len(hoisted) == summary.hoisted > 0 and {i.alignment for i in hoisted} == {align}


ARM_IN_A_LOOP = """
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
define void @kernel(ptr noalias %given, ptr noalias %own, ptr noalias %woven, i32 noundef %n, i64 noundef %s)
"weft.kernel" {
entry:
  %t = call i64 @weft.local.id(i32 0)
  %p = getelementptr i32, ptr %own, i64 %t
  %odd = trunc i64 %t to i1
  %half = lshr i64 %t, 1
  %other = trunc i64 %half to i1
  br label %LOOP
  OUTER
head:
  %i = phi i32 [ 0, %ENTRY ], [ %next, %latch ]
  TEST
body:
  br i1 %other, label %one, label %join
one:
  store i32 %i, ptr %given
  br label %join
join:
  br i1 %odd, label %two, label %latch
two:
  %x = load i32, ptr %p
  store i32 %x, ptr %woven
  br label %latch
latch:
  %next = add nsw i32 %i, 1
  br i1 GOES, label %head, label %DONE
  AGAIN
exit:
  ret void
}
"""
# The second condition keeps some threads from the value of the round before.
OUTER = """
outer:
  %o = phi i32 [ 0, %entry ], [ %o.next, %done ]
  br i1 %other, label %change, label %inner
change:
  %q = getelementptr i32, ptr %p, i64 %s
  store i32 %o, ptr %q
  br label %inner
inner:
  br label %head
"""
AGAIN = """
done:
  %o.next = add nsw i32 %o, 1
  %o.more = icmp slt i32 %o.next, %n
  br i1 %o.more, label %outer, label %exit
"""
SHAPES = {
    "tests behind": {"%LOOP": "%head", "%ENTRY": "%entry", "TEST": "br label %body", "%DONE": "%exit"},
    "tests first": {
        "%LOOP": "%head",
        "%ENTRY": "%entry",
        "TEST": "%first = icmp slt i32 %i, %n\n br i1 %first, label %body, label %exit",
        "GOES": "true",
        "%DONE": "%exit",
    },
    "nest": {
        "%LOOP": "%outer",
        "%ENTRY": "%inner",
        "TEST": "br label %body",
        "%DONE": "%done",
        "OUTER": OUTER,
        "AGAIN": AGAIN,
    },
}


@pytest.mark.spread
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("shape", "goes"), [("tests behind", True), ("tests first", True), ("nest", False)])
def test_threads_of_two_arms_are_not_served_by_a_load_each(shape: str, goes: bool, name: PolicyName) -> None:
    """Above the first join the threads that read later are two kinds, which one masked load serves, or none does."""
    text = ARM_IN_A_LOOP
    marks = {"GOES": "%more", "OUTER": "", "AGAIN": ""} | SHAPES[shape]
    for mark, by in marks.items():
        text = text.replace(mark, by)
    if "%more" in text:
        text = text.replace("  br i1 %more", "  %more = icmp slt i32 %next, %n\n  br i1 %more")
    module, summary = replaced(text, POLICIES[name])
    assert summary.removed == ((goes and name is not PolicyName.ESRQP) or name is PolicyName.SRQP)
    for rounds in (0, 1, 3):
        before = run(Program(read_module(text)), rounds, 0)
        after = run(Program(module), rounds, 0, before.loads.extents)
        assert after.memory == before.memory
        check_counts(name, before.loads, after.loads)
        if rounds == 3 and summary.removed and goes:
            assert (before.loads.issued, after.loads.issued) == (3, 1)
