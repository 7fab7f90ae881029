"""Scalar replacement on random kernels: the same memory, no thread reads more, nothing out of bounds."""

import os

import pytest

from transform.replaced_loads import NAMES, check, replaced
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName

FUZZ = int(os.environ.get("WEFT_FUZZ") or 0)


@pytest.mark.parametrize("seed", range(max(3, FUZZ)))
def test_random_kernels_do_the_same_with_fewer_loads(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_small_ones_by_one_policy_each(name: str) -> None:
    small = [seed for seed in range(100, 234) if seed % 4]
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
