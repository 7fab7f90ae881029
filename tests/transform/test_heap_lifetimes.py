"""What is kept on the heap, what lies on the stack, and frames that are none (`heap_lifetimes`)."""

from weft.ir.heap import heap_call
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.loops.heap_lifetimes import settle_heap
from weft.transform.stack_addresses import sink_stack_addresses

DECLARED = """
declare void @weft_heap_enter(ptr)
declare noalias align 64 ptr @weft_heap_allocate(ptr, i64, i64)
declare ptr @weft_heap_mark(ptr)
declare void @weft_heap_keep(ptr, ptr, ptr)
declare void @weft_heap_sweep(ptr, ptr)
declare void @weft_heap_leave(ptr, ptr)
declare void @weft_heap_fail(ptr, i64)
declare i64 @weft_heap_error(ptr)
declare i64 @weft_heap_bytes(i64, i64)
declare void @use(ptr)
"""

LOOP = """
define void @f(i64 %n, ptr %parent) {{
entry:
  %frame = alloca [2 x i64], align 8
  call void @weft_heap_enter(ptr %frame)
  %mark = call ptr @weft_heap_mark(ptr %frame)
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %old = phi ptr [ null, %entry ], [ %carried, %latch ]
  %go = icmp slt i64 %i, %n
  br i1 %go, label %body, label %done
body:
  %size = call i64 @weft_heap_bytes(i64 8, i64 {count})
  %new = call ptr @weft_heap_allocate(ptr %frame, i64 %size, i64 0)
  %none = icmp eq ptr %new, null
  br i1 %none, label %failing, label %fine
failing:
  call void @weft_heap_fail(ptr %frame, i64 1)
  br label %done
fine:
  {middle}
  br label %latch
latch:
  %carried = phi ptr [ {result}, %fine ]
  %next = add i64 %i, 1
  call void @weft_heap_keep(ptr %frame, ptr %mark, ptr %new)
  call void @weft_heap_keep(ptr %frame, ptr %mark, ptr %carried)
  call void @weft_heap_sweep(ptr %frame, ptr %mark)
  br label %head
done:
  call void @weft_heap_leave(ptr %frame, ptr %parent)
  ret void
}}
"""


def settled(count: str, middle: str, result: str):
    module = read_module(DECLARED + LOOP.format(count=count, middle=middle, result=result))
    settle_heap(module)
    verify(module)
    function = module.functions["f"]
    return function, [heap_call(i) for i in function.instructions() if heap_call(i)]


def test_what_the_next_iteration_reads_is_kept() -> None:
    _, calls = settled("%n", "call void @use(ptr %old)", "%new")
    assert calls.count("keep") == 2 and calls.count("allocate") == 1


def test_what_nothing_reads_is_not_kept() -> None:
    function, calls = settled("%n", "call void @use(ptr %new)", "%old")
    assert calls.count("keep") == 0 and calls.count("sweep") == 1
    assert not any(i.is_phi and i.name == "old" for i in function.instructions())


def test_a_small_array_of_one_iteration_lies_on_the_stack_and_its_frame_is_gone() -> None:
    function, calls = settled("4", "store double 1.0, ptr %new", "%old")
    assert calls == []
    (slot,) = [i for i in function.entry.instructions if i.op == "alloca" and i.attrs["align"] == 64]
    assert sorted(u.op for u in slot.instruction_users()) == ["call", "store"]


def test_a_small_array_that_is_handed_on_stays_on_the_heap() -> None:
    assert "allocate" in settled("4", "call void @use(ptr %new)", "%old")[1]
    _, calls = settled("4", "call void @use(ptr %old)", "%new")
    assert "allocate" in calls and calls.count("keep") == 2


def test_a_large_one_stays_too() -> None:
    assert "allocate" in settled("513", "store double 1.0, ptr %new", "%old")[1]


def test_a_frame_that_a_called_function_gets_is_one() -> None:
    assert settled("4", "call void @use(ptr %frame)", "%old")[1].count("enter") == 1


def test_places_in_stack_objects_are_computed_at_their_uses() -> None:
    module = read_module(
        """
define void @g(i1 %c, i64 %k) {
entry:
  %a = alloca [4 x double]
  %b = alloca [4 x double]
  %second = getelementptr i8, ptr %a, i64 8
  %further = getelementptr double, ptr %second, i64 %k
  %other = getelementptr i8, ptr %b, i64 8
  br i1 %c, label %left, label %right
left:
  store double 1.0, ptr %further
  br label %end
right:
  br label %end
end:
  %p = phi ptr [ %second, %left ], [ %other, %right ]
  store double 2.0, ptr %p
  ret void
}
"""
    )
    function = module.functions["g"]
    sink_stack_addresses(function)
    verify(module)
    entry, left, right, _ = function.blocks
    assert [i.op for i in entry.instructions] == ["alloca", "alloca", "br"]
    assert [i.op for i in left.instructions].count("getelementptr") == 3
    assert [i.op for i in right.instructions] == ["getelementptr", "br"]
