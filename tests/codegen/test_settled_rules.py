"""What docs/design.md settles about poison, empty masks and calls, seen in the code and in what it does."""

import re

import numpy as np
import pytest

from codegen.kernels import guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS, compile_kernel
from weft import interp
from weft.ir.reader import read_module

VOTES = """
declare i1 @weft.any(i1) convergent nounwind willreturn memory(none)
declare i1 @weft.all(i1) convergent nounwind willreturn memory(none)
declare i64 @weft.ballot(i1) convergent nounwind willreturn memory(none)
declare i64 @weft.match.any.i64(i64) convergent nounwind willreturn memory(none)
"""
LOADED = """
  %p = getelementptr i32, ptr %in, i64 %tid
  %v = load i32, ptr %p
"""
MAY_BE_POISON = f"""{LOADED}
  %w = add nsw i32 %v, 2147483647
  %c2 = icmp sgt i32 %w, %u
  %w64 = sext i32 %w to i64
"""


@pytest.mark.parametrize(
    "vote",
    [
        "%s = call i1 @weft.any(i1 %c2)\n  %r = zext i1 %s to i32",
        "%s = call i1 @weft.all(i1 %c2)\n  %r = zext i1 %s to i32",
        "%s = call i64 @weft.ballot(i1 %c2)\n  %r = trunc i64 %s to i32",
        "%s = call i64 @weft.match.any.i64(i64 %w64)\n  %r = trunc i64 %s to i32",
    ],
    ids=["any", "all", "ballot", "match"],
)
def test_what_lanes_tell_each_other_is_frozen(vote: str) -> None:
    """One lane's poison would else be everyone's: the mask is one integer."""
    text = widened(kernel_text(guarded(f"{MAY_BE_POISON}  {vote}\n" + stored("%r")), VOTES))
    frozen = re.findall(r"(%\S+) = freeze <8 x i(?:1|64)> ", text)
    assert frozen
    assert not re.findall(r"bitcast <8 x i1> (%c2|%w64) to", text)


def test_a_uniform_branch_under_a_mask_is_frozen() -> None:
    body = guarded(f"""
  %q = getelementptr i32, ptr %out, i64 %tid
  store i32 1, ptr %q
  %far = add nsw i32 %u, 2147483647
  %k = icmp sgt i32 %far, 0
  br i1 %k, label %yes, label %exit
yes:
{LOADED}{stored("%v")}""")
    text = widened(kernel_text(body))
    conditions = re.findall(r"br i1 (%\S+), label %(?:exit|yes), label", text)
    assert len(conditions) == 1 and f"{conditions[0]} = freeze i1" in text


def test_facts_about_active_lanes_are_not_told_of_passive_ones() -> None:
    """``assume``, ``range``, ``noundef``, and no-wrap flags of what runs once for all lanes."""
    declarations = (
        "declare void @llvm.assume(i1)\n!0 = !{i32 1, i32 100}\n!1 = !{}\n"
        "declare noundef i32 @llvm.smax.i32(i32, i32) nounwind speculatable willreturn memory(none)\n"
    )
    body = """
  %p = getelementptr i32, ptr %in, i64 %tid
  %v = load i32, ptr %p, !range !0, !noundef !1
  %few = icmp slt i32 %v, %u
  call void @llvm.assume(i1 %few)
  %square = mul nuw nsw i32 %u, %u
  %q = udiv exact i32 %square, 3
  %r = add i32 %v, %q
"""
    text = widened(kernel_text(guarded(body + stored("%r")), declarations))
    code = text.partition("{\n")[2]
    assert "assume" not in code and "!range" not in code and "noundef" not in code
    assert not re.findall(r"(mul|udiv) (nuw|nsw|exact).* i32 %", code)


CALLS = """
define internal void @note(ptr %place, i32 %x) nounwind noinline {
  %o = atomicrmw add ptr %place, i32 %x monotonic
  ret void
}
define internal i32 @together(i32 %x) nounwind noinline {
  %odd = trunc i32 %x to i1
  %set = call i64 @weft.ballot(i1 %odd)
  %r = trunc i64 %set to i32
  ret i32 %r
}
define internal i32 @down(i32 %x) nounwind noinline {
entry:
  %more = icmp sgt i32 %x, 0
  br i1 %more, label %again, label %end
again:
  %less = sub i32 %x, 1
  %deeper = call i32 @down(i32 %less)
  %set = call i64 @weft.ballot(i1 true)
  %here = trunc i64 %set to i32
  %sum = add i32 %deeper, %here
  br label %end
end:
  %r = phi i32 [ 1, %entry ], [ %sum, %again ]
  ret i32 %r
}
"""


@pytest.mark.spread
@pytest.mark.parametrize("n", [0, 1, 5, 16])
@pytest.mark.parametrize(
    "body",
    [
        "  call void @note(ptr %out, i32 %u)",
        "  call void @note(ptr %out, i32 %t32)",
        "  %r = call i32 @together(i32 %t32)\n" + stored("%r"),
        "  %bits = and i32 %t32, 3\n  %r = call i32 @down(i32 %bits)\n" + stored("%r"),
        "  %x = load i32, ptr %nowhere\n  %r = add i32 %x, 1\n" + stored("%r"),
        "  store i32 %u, ptr %nowhere",
        "  %r = sdiv i32 %t32, %n32\n" + stored("%r"),
        "  %r = srem i32 %u, %n32\n" + stored("%r"),
    ],
    ids=[
        "same argument",
        "own argument",
        "ballot",
        "recursion",
        "load",
        "store",
        "division",
        "scalar remainder",
    ],
)
def test_what_no_thread_does_does_not_happen(body: str, n: int) -> None:
    """With n = 0 the guarded part has no thread: no call, no access through null, no division by zero."""
    nowhere = "  %none = icmp eq i64 %n, 0\n  %nowhere = select i1 %none, ptr null, ptr %in\n"
    text = kernel_text(nowhere + guarded(body), CALLS + VOTES)
    isa, width = ISAS[n % len(ISAS)], (4, 8, 16)[n % 3]
    given = np.arange(64, dtype=np.int32)
    wanted, got = np.full(64, 7, np.int32), np.full(64, 7, np.int32)
    interp.launch(read_module(text), "kernel", (given, wanted, n, 3), 1, 16, width=width)
    compile_kernel(text, width, isa)((given, got, n, 3), 16)
    np.testing.assert_array_equal(got, wanted)
