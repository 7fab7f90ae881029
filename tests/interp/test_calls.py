"""Calls: one run for all active threads, recursion, indirect calls, arguments by value, library functions."""

import math

import numpy as np
import pytest

from weft import interp
from weft.errors import InterpError, UnsupportedError
from weft.interp.threads.active import ActiveSet
from weft.ir.block import BasicBlock
from weft.ir.reader import read_module


def run(text: str, *arguments: object, width: int = 4, hooks: tuple = ()) -> interp.Outcome:
    return interp.run_function(read_module(text), "f", list(arguments), width, hooks=hooks)  # type: ignore[arg-type]


class Blocks:
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_block(self, machine: interp.machine.Machine, block: BasicBlock, active: ActiveSet) -> None:
        self.names.append(block.name)


CONDITIONAL = """
define i32 @g(i32 %x) {
body:
  %r = mul i32 %x, 3
  ret i32 %r
}
define i32 @f(i32 %x, i1 %p) {
entry:
  br i1 %p, label %call, label %end
call:
  %y = call i32 @g(i32 %x)
  br label %end
end:
  %r = phi i32 [ 0, %entry ], [ %y, %call ]
  ret i32 %r
}"""


def test_a_callee_runs_once_for_the_active_threads() -> None:
    blocks = Blocks()
    outcome = run(CONDITIONAL, np.arange(4), np.array([True, False, True, False]), hooks=(blocks,))
    assert outcome.data.tolist() == [0, 0, 6, 0]
    assert blocks.names == ["entry", "call", "body", "end"]


def test_a_callee_does_not_run_for_an_empty_set() -> None:
    text = CONDITIONAL.replace("call:", "call: predicate(%never)").replace(
        "entry:", "entry:\n  %never = icmp ult i32 %x, 0"
    )
    blocks = Blocks()
    run(text, np.arange(4), True, hooks=(blocks,))
    assert "body" not in blocks.names


def test_recursion_ends_for_each_thread_on_its_own() -> None:
    text = """
define i32 @f(i32 %n) {
  %small = icmp ult i32 %n, 2
  br i1 %small, label %end, label %more
end:
  ret i32 %n
more:
  %a = sub i32 %n, 1
  %b = sub i32 %n, 2
  %x = call i32 @f(i32 %a)
  %y = call i32 @f(i32 %b)
  %r = add i32 %x, %y
  ret i32 %r
}"""
    assert run(text, np.arange(10), width=10).data.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


def test_a_recursion_without_end_is_a_fault() -> None:
    with pytest.raises(InterpError, match="calls are nested more than"):
        run("define i32 @f(i32 %n) {\n  %x = call i32 @f(i32 %n)\n  ret i32 %x\n}", 1)


def test_stack_objects_end_with_their_function() -> None:
    text = """
define ptr @g() {
  %p = alloca i32
  store i32 1, ptr %p
  ret ptr %p
}
define i32 @f() {
  %p = call ptr @g()
  %x = load i32, ptr %p
  ret i32 %x
}"""
    with pytest.raises(InterpError, match="load of 4 bytes at"):
        run(text)


def test_a_stack_object_larger_than_the_stack_is_a_fault() -> None:
    with pytest.raises(InterpError, match="more than a thread's stack"):
        run("define i32 @f(i64 %n) {\n  %p = alloca i8, i64 %n\n  ret i32 0\n}", -1)


def test_each_thread_has_its_own_stack_object() -> None:
    text = """
define i32 @f(i32 %x) {
  %p = alloca i32
  store i32 %x, ptr %p
  %y = load i32, ptr %p
  ret i32 %y
}"""
    assert run(text, np.array([5, 6, 7, 8])).data.tolist() == [5, 6, 7, 8]


def test_a_thread_cannot_reach_the_stack_object_of_its_neighbour() -> None:
    text = """
define i32 @f() {
  %p = alloca [4 x i8]
  %q = getelementptr i8, ptr %p, i64 4
  store i8 1, ptr %q
  ret i32 0
}"""
    with pytest.raises(InterpError, match="offset 4 of local variable %p, which has 4"):
        run(text)


INDIRECT = """
define internal i32 @one(i32 %x) {
  ret i32 1
}
define internal i32 @twice(i32 %x) {
  %r = add i32 %x, %x
  ret i32 %r
}
define internal i64 @other() {
  ret i64 0
}
define i32 @f(i32 %x, i1 %p) {
  %g = select i1 %p, ptr @one, ptr FALSE
  %r = call i32 %g(i32 %x)
  ret i32 %r
}"""


def test_an_indirect_call_runs_each_target_for_the_threads_that_have_it() -> None:
    outcome = run(INDIRECT.replace("FALSE", "@twice"), np.arange(4), np.array([True, False, False, True]))
    assert outcome.data.tolist() == [1, 2, 4, 1]


@pytest.mark.parametrize("target", ["null", "@other"])
def test_an_indirect_call_of_something_else_is_a_fault(target: str) -> None:
    with pytest.raises(InterpError, match=r"where no function of this type is .*thread 1"):
        run(INDIRECT.replace("FALSE", target), np.arange(4), np.array([True, False, False, True]))


def test_an_argument_by_value_is_a_copy() -> None:
    text = """
%pair = type { i32, i32 }
define internal i32 @g(ptr byval(%pair) align 4 %p) {
  %x = load i32, ptr %p
  store i32 99, ptr %p
  ret i32 %x
}
define i32 @f(i32 %x) {
  %p = alloca %pair
  store i32 %x, ptr %p
  %a = call i32 @g(ptr byval(%pair) align 4 %p)
  %b = load i32, ptr %p
  %r = add i32 %a, %b
  ret i32 %r
}"""
    assert run(text, np.arange(4)).data.tolist() == [0, 2, 4, 6]


def test_structs_are_passed_and_returned() -> None:
    text = """
define internal { i32, i64 } @g({ i32, i64 } %s) {
  %a = extractvalue { i32, i64 } %s, 0
  %b = add i32 %a, 1
  %r = insertvalue { i32, i64 } %s, i32 %b, 0
  ret { i32, i64 } %r
}
define i32 @f(i32 %x) {
  %s = insertvalue { i32, i64 } zeroinitializer, i32 %x, 0
  %t = call { i32, i64 } @g({ i32, i64 } %s)
  %r = extractvalue { i32, i64 } %t, 0
  ret i32 %r
}"""
    assert run(text, np.arange(4)).data.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("name", ["expm1", "erf", "cbrt", "lgamma", "log1p"])
def test_library_functions_are_those_of_the_c_library(name: str) -> None:
    text = f"""
declare double @{name}(double)
define double @f(double %x) {{
  %r = call double @{name}(double %x)
  ret double %r
}}"""
    x = np.linspace(0.1, 3, 50)
    outcome = run(text, x, width=50)
    assert outcome.data.tolist() == pytest.approx([getattr(math, name)(v) for v in x], rel=4e-16)


def test_single_precision_functions_are_rounded_once_in_single_precision() -> None:
    text = """
declare float @hypotf(float, float)
define float @f(float %x) {
  %r = call float @hypotf(float %x, float 1.0)
  ret float %r
}"""
    x = np.array([0.5, 1.5, 1e30, 3.0], np.float32)
    outcome = run(text, x)
    assert outcome.data.dtype == np.float32
    assert np.allclose(outcome.data, np.hypot(x.astype(np.float64), 1), rtol=1e-7)


@pytest.mark.parametrize(
    "call",
    [
        "call i32 @unknown(i32 %x)",
        'call i32 asm "bsf $1,$0", "=r,r"(i32 %x)',
        "call i32 @llvm.mystery.i32(i32 %x)",
    ],
)
def test_what_the_interpreter_does_not_know_it_refuses_when_it_is_reached(call: str) -> None:
    text = f"""
declare i32 @unknown(i32)
declare i32 @llvm.mystery.i32(i32)
define i32 @f(i32 %x, i1 %p) {{
entry:
  br i1 %p, label %do, label %end
do:
  %r = {call}
  br label %end
end:
  ret i32 1
}}"""
    assert run(text, 1, False).data.tolist() == [1] * 4
    with pytest.raises(UnsupportedError, match="cannot execute"):
        run(text, 1, True)


def test_abort_is_a_fault() -> None:
    with pytest.raises(InterpError, match=r"abort\(\)"):
        run("declare void @abort()\ndefine i32 @f() {\n  call void @abort()\n  unreachable\n}")


POINTERS_OUTSIDE = """
declare double @sqrt(double)
declare double @fabs(double)
define double @f(double %x, i1 %p) {
  %g = select i1 %p, ptr @sqrt, ptr @fabs
  %r = call double %g(double %x)
  ret double %r
}"""


def test_pointers_may_lead_to_library_functions() -> None:
    outcome = run(POINTERS_OUTSIDE, np.array([4.0, -4.0, 9.0, -9.0]), np.array([True, False, True, False]))
    assert outcome.data.tolist() == [2.0, 4.0, 3.0, 9.0]
    with pytest.raises(UnsupportedError, match="the external function @fabulous"):
        run(POINTERS_OUTSIDE.replace("@fabs", "@fabulous"), -1.0, False)


CALLEE_WITH_A_LOOP = """
define i32 @g(i32 %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %again = icmp ult i32 %next, %x
  br i1 %again, label %loop, label %done
done:
  ret i32 %next
}
define i32 @f(i32 %x) {
  %r = call i32 @g(i32 %x)
  ret i32 %r
}"""


def test_a_callee_keeps_what_passive_threads_have_also_where_its_caller_does_not() -> None:
    # The passes that allow that have worked on the caller.
    module = read_module(CALLEE_WITH_A_LOOP)
    outcome = interp.run_function(module, "f", [np.arange(1, 5)], 4, semantics="OBL")
    assert outcome.data.tolist() == [1, 2, 3, 4]
    assert outcome.flags is None
