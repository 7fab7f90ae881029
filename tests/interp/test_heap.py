"""The heap of compiled functions: blocks live as long as their frames keep them."""

import pytest

from weft import interp
from weft.errors import InterpError
from weft.ir.reader import read_module

DECLARATIONS = """
declare void @weft_heap_enter(ptr)
declare ptr @weft_heap_allocate(ptr, i64, i64)
declare ptr @weft_heap_mark(ptr)
declare void @weft_heap_keep(ptr, ptr, ptr)
declare void @weft_heap_sweep(ptr, ptr)
declare void @weft_heap_leave(ptr, ptr)
declare void @weft_heap_fail(ptr, i64)
declare i64 @weft_heap_error(ptr)
declare i64 @weft_heap_bytes(i64, i64)
"""


def run(body: str) -> int:
    text = f"{DECLARATIONS}define i64 @f(i64 %n) {{\nentry:\n"
    text += "%frame = alloca [3 x i64]\n%caller = alloca [3 x i64]\n"
    text += f"call void @weft_heap_enter(ptr %caller)\ncall void @weft_heap_enter(ptr %frame)\n{body}\n}}"
    return int(interp.run_function(read_module(text), "f", [8], 1).data[0])


BLOCKS = """
%old = call ptr @weft_heap_allocate(ptr %frame, i64 %n, i64 1)
%mark = call ptr @weft_heap_mark(ptr %frame)
%young = call ptr @weft_heap_allocate(ptr %frame, i64 %n, i64 1)
%other = call ptr @weft_heap_allocate(ptr %frame, i64 %n, i64 1)
store i64 1, ptr %old
store i64 2, ptr %young
store i64 3, ptr %other
"""


def test_blocks_that_are_kept_survive_a_sweep_and_the_older_ones_too() -> None:
    swept = f"""{BLOCKS}
call void @weft_heap_keep(ptr %frame, ptr %mark, ptr %young)
call void @weft_heap_sweep(ptr %frame, ptr %mark)
%a = load i64, ptr %old
%b = load i64, ptr %young
%sum = add i64 %a, %b
ret i64 %sum"""
    assert run(swept) == 3
    with pytest.raises(InterpError, match="at offset"):
        run(swept.replace("ptr %old\n%b", "ptr %other\n%b"))


def test_what_a_frame_keeps_goes_to_its_caller_with_the_greatest_error() -> None:
    left = f"""{BLOCKS}
call void @weft_heap_fail(ptr %frame, i64 3)
call void @weft_heap_fail(ptr %frame, i64 2)
%end = getelementptr i8, ptr %other, i64 8
call void @weft_heap_keep(ptr %frame, ptr null, ptr %end)
call void @weft_heap_leave(ptr %frame, ptr %caller)
%a = load i64, ptr %other
%b = call i64 @weft_heap_error(ptr %caller)
%sum = add i64 %a, %b
ret i64 %sum"""
    assert run(left) == 6
    with pytest.raises(InterpError, match="at offset"):
        run(left.replace("load i64, ptr %other", "load i64, ptr %young"))


def test_too_many_bytes() -> None:
    assert run("%all = call i64 @weft_heap_bytes(i64 %n, i64 5)\nret i64 %all") == 40
    assert run("%all = call i64 @weft_heap_bytes(i64 %n, i64 -5)\nret i64 %all") % (1 << 64) == (1 << 64) - 1
    none = "%p = call ptr @weft_heap_allocate(ptr %frame, i64 -1, i64 0)\n%a = ptrtoint ptr %p to i64\nret i64 %a"
    assert run(none) == 0
