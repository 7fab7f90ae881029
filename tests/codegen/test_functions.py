"""Functions that are called and not inlined run once for all active lanes, each in a version for its arguments."""

import re

import pytest

from codegen.kernels import agree, guarded, kernel_text, stored
from codegen.machine_code import ISAS
from weft.diag.remarks import RemarkKind
from weft.errors import UnsupportedError
from weft.ir.reader import read_module
from weft.machine.host import chosen
from weft.machine.targets import AVX2
from weft.options import CompileOptions
from weft.passes.lower_kernel import lower_kernel
from weft.target.machine import TargetSpec

ISA_LETTER = {"sse2": "b", "sse4": "b", "avx2": "d", "avx512": "e", "neon": "n"}.get(
    chosen().isa.name, "_LLVM_"
)

LOAD = "  %p = getelementptr i32, ptr %in, i64 %tid\n  %v = load i32, ptr %p, align 4\n"

SCALE = """
define internal i32 @scale(i32 %a, i32 %b) noinline nounwind {
  %m = mul i32 %a, %b
  %s = add i32 %m, %b
  ret i32 %s
}
"""

COUNT_DOWN = """
define internal i32 @steps(i32 %n) noinline nounwind {
entry:
  %done = icmp slt i32 %n, 1
  br i1 %done, label %exit, label %again
again:
  %half = sdiv i32 %n, 2
  %r = call i32 @steps(i32 %half)
  %s = add i32 %r, 1
  br label %exit
exit:
  %result = phi i32 [ 0, %entry ], [ %s, %again ]
  ret i32 %result
}
"""

PARITY = """
define internal i32 @even(i32 %n) noinline nounwind {
entry:
  %done = icmp eq i32 %n, 0
  br i1 %done, label %exit, label %again
again:
  %m = sub i32 %n, 1
  %r = call i32 @odd(i32 %m)
  br label %exit
exit:
  %result = phi i32 [ 1, %entry ], [ %r, %again ]
  ret i32 %result
}
define internal i32 @odd(i32 %n) noinline nounwind {
entry:
  %done = icmp eq i32 %n, 0
  br i1 %done, label %exit, label %again
again:
  %m = sub i32 %n, 1
  %r = call i32 @even(i32 %m)
  br label %exit
exit:
  %result = phi i32 [ 0, %entry ], [ %r, %again ]
  ret i32 %result
}
"""

FILL = """
define internal void @fill(ptr %to, i32 %n, i32 %value) noinline nounwind {
entry:
  %some = icmp sgt i32 %n, 0
  br i1 %some, label %head, label %exit
head:
  %i = phi i32 [ 0, %entry ], [ %j, %head ]
  %p = getelementptr i32, ptr %to, i32 %i
  %w = add i32 %value, %i
  store i32 %w, ptr %p
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %head, label %exit.loop
exit.loop:
  br label %exit
exit:
  ret void
}
"""

FILL_CALL = (
    LOAD + "  %s = alloca [8 x i32], align 4\n  %n.here = and i32 %v, 7\n"
    "  store i32 7, ptr %s\n  call void @fill(ptr %s, i32 %n.here, i32 %u)\n"
    "  %back = load i32, ptr %s\n  %old = getelementptr i32, ptr %out, i64 %tid\n"
    "  call void @fill(ptr %old, i32 1, i32 %back)"
)

VOTE = """
declare i1 @weft.any(i1) convergent nounwind willreturn memory(none)
declare i32 @weft.shfl.idx.i32(i32, i32) convergent nounwind willreturn memory(none)
define internal i32 @ask(i32 %a) noinline nounwind convergent {
entry:
  %big = icmp sgt i32 %a, 40
  %some = call i1 @weft.any(i1 %big)
  %first = call i32 @weft.shfl.idx.i32(i32 %a, i32 1)
  %r = select i1 %some, i32 %first, i32 -1
  ret i32 %r
}
"""


def text_of(body: str, functions: str, width: int = 8) -> str:
    """The module before LLVM's final passes."""
    module = read_module(kernel_text(body, functions))
    return lower_kernel(module, "kernel", CompileOptions(width=width), TargetSpec.chosen()).text


def versions(text: str) -> list[str]:
    """The names of the functions for several lanes, without instruction set."""
    return [
        name.replace(f"_ZGV{ISA_LETTER}", "", 1)
        for name in re.findall(r"define [^@\n]*@(_ZGV[\w.]+)\(", text)
    ]


PROGRAMS = {
    "a function of two": (LOAD + "  %r = call i32 @scale(i32 %v, i32 %u)\n" + stored("%r"), SCALE),
    "under a mask": (guarded(LOAD + "  %r = call i32 @scale(i32 %v, i32 %t32)\n" + stored("%r")), SCALE),
    "recursion": (LOAD + "  %r = call i32 @steps(i32 %v)\n" + stored("%r"), COUNT_DOWN),
    "recursion of uniform depth": ("  %r = call i32 @steps(i32 %u)\n" + stored("%r"), COUNT_DOWN),
    "recursion under a mask": (guarded(LOAD + "  %r = call i32 @steps(i32 %v)\n" + stored("%r")), COUNT_DOWN),
    "functions that call each other": (
        LOAD + "  %k = and i32 %v, 31\n  %r = call i32 @even(i32 %k)\n  %q = call i32 @odd(i32 %u)\n"
        "  %x = shl i32 %q, 1\n  %y = add i32 %r, %x\n" + stored("%y"),
        PARITY,
    ),
    "loops and stores": (FILL_CALL, FILL),
    "loops and stores under a mask": (guarded(FILL_CALL), FILL),
    "horizontal operations": (LOAD + "  %r = call i32 @ask(i32 %v)\n" + stored("%r"), VOTE),
    "horizontal operations under a mask": (
        guarded(LOAD + "  %r = call i32 @ask(i32 %v)\n" + stored("%r"), "%c = icmp slt i64 %tid, %n"), VOTE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_vectorized_calls_mean_the_same(program: str) -> None:
    body, functions = PROGRAMS[program]
    agree(kernel_text(body, functions), 8, ISAS[len(program) % len(ISAS)])


@pytest.mark.parametrize("width", [2, 32])
def test_recursion_ends_at_every_width(width: int) -> None:
    agree(kernel_text(*PROGRAMS["recursion under a mask"]), width, None)


def test_versions_are_named_after_the_vector_function_abi() -> None:
    text = text_of(LOAD + "  %r = call i32 @scale(i32 %v, i32 %u)\n" + stored("%r"), SCALE)
    assert versions(text) == ["N8vu_scale", "M8vu_scale"]
    assert re.search(r"define internal <8 x i32> @_ZGV.N8vu_scale\(<8 x i32> %a, i32 %b\)", text)
    assert re.search(
        r"define internal <8 x i32> @_ZGV.M8vu_scale\(<8 x i32> %a, i32 %b, <8 x i1> %mask\)", text
    )


def test_strided_arguments_are_passed_as_their_value_in_the_first_lane() -> None:
    body = (
        "  %down = sub i32 9, %t32\n  %r = call i32 @scale(i32 %down, i32 %t32)\n  %by4 = mul i32 %t32, 4\n"
        "  %q = call i32 @scale(i32 %by4, i32 %r)\n"
    )
    assert versions(text_of(body + stored("%q"), SCALE))[:2] == ["N8ln1l_scale", "N8l4v_scale"]


def test_a_uniform_result_is_one_value() -> None:
    text = text_of("  %r = call i32 @scale(i32 %u, i32 3)\n" + stored("%r"), SCALE)
    assert re.search(r"define internal i32 @_ZGV.N8uu_scale\(i32 %a, i32 %b\)", text)


def test_a_uniform_result_stays_a_scalar_in_the_caller() -> None:
    body = (
        "  %r = call i32 @steps(i32 %u)\n  %k = and i32 %r, 31\n  %p = getelementptr i32, ptr %in, i32 %k\n"
        "  %v = load i32, ptr %p\n  %w = add i32 %v, %t32\n"
    )
    text = text_of(guarded(body + stored("%w")), COUNT_DOWN)
    kernel = text[text.index("@kernel.w8(") :]
    assert re.search(r"and i32 %\d+, 31", kernel) and "gather" not in kernel
    agree(kernel_text(guarded(body + stored("%w")), COUNT_DOWN), 8, None)


def test_equal_calls_share_a_version() -> None:
    body = (
        LOAD
        + "  %r = call i32 @scale(i32 %v, i32 %u)\n  %q = call i32 @scale(i32 %r, i32 %u)\n"
        + stored("%q")
    )
    assert versions(text_of(body, SCALE)) == ["N8vu_scale", "M8vu_scale"]


def test_a_recursion_that_doubles_a_step_has_few_versions() -> None:
    tree = COUNT_DOWN.replace("sdiv i32 %n, 2", "mul i32 %n, 2").replace(
        "icmp slt i32 %n, 1", "icmp sgt i32 %n, 999"
    )
    text = text_of("  %k = add i32 %t32, 1\n  %r = call i32 @steps(i32 %k)\n" + stored("%r"), tree)
    assert len(versions(text)) <= 6


def test_masked_calls_are_skipped_where_no_lane_is_active() -> None:
    text = text_of(guarded(LOAD + "  %r = call i32 @scale(i32 %v, i32 %u)\n" + stored("%r")), SCALE)
    kernel = text[text.index("@kernel.w8(") :]
    # Without mask registers, the first lane tells of a prefix of lanes whether any of them is active.
    asked = r"icmp (ne i8 %\d+, 0|slt i32 %t32, %n32)\n  br i1 %\d+, label %call, label %call.done"
    assert re.search(asked, kernel)


OBJECT = "  %o = alloca i32, i32 %a\n  store volatile i32 %a, ptr %o\n"
"""A stack object of variable size, which has no vector form."""


def test_functions_that_cannot_be_vectorized_run_lane_by_lane() -> None:
    functions = SCALE.replace(
        "  %m = mul", "  %n = or i32 %b, 1\n" + OBJECT.replace("i32 %a\n", "i32 %n\n") + "  %m = mul"
    )
    body = guarded(LOAD + "  %r = call i32 @scale(i32 %v, i32 %u)\n" + stored("%r"))
    assert not versions(text_of(body, functions))
    agree(kernel_text(body, functions), 8, None)


def test_remarks_tell_versions_and_what_runs_lane_by_lane() -> None:
    body = LOAD + "  %r = call i32 @steps(i32 %v)\n  %q = call i32 @outside(i32 %r)\n" + stored("%q")
    module = read_module(kernel_text(body, COUNT_DOWN + "declare i32 @outside(i32)\n"))
    lowered = lower_kernel(module, "kernel", CompileOptions(width=8), TargetSpec.chosen())
    of_kind = {kind: [r.message for r in lowered.remarks.of_kind(kind)] for kind in RemarkKind}
    assert any("v_steps runs 8 threads at a time, called once" in m for m in of_kind[RemarkKind.VECTORIZED])
    assert of_kind[RemarkKind.LANE_BY_LANE] == ["the call of outside runs once for each active lane"]


def test_warp_operations_cannot_run_lane_by_lane() -> None:
    functions = VOTE.replace("entry:\n", "entry:\n" + OBJECT)
    with pytest.raises(UnsupportedError, match="ask uses warp operations"):
        text_of(LOAD + "  %r = call i32 @ask(i32 %v)\n" + stored("%r"), functions)


def test_a_recursive_function_as_text(golden) -> None:
    body = guarded(LOAD + "  %r = call i32 @steps(i32 %v)\n" + stored("%r"))
    module = read_module(kernel_text(body, COUNT_DOWN))
    text = lower_kernel(module, "kernel", CompileOptions(width=4), TargetSpec.of_isa(AVX2)).text
    found = re.search(r"^define[^\n]*@_ZGVdM4v_steps\(.*?^}", text, re.M | re.S)
    assert found is not None
    golden(found.group(0) + "\n", "recursion.ll")
