import re

import pytest

from weft.diag.errors import CompileError
from weft.machine.targets import AVX2
from weft.target.machine import TargetSpec
from weft.target.newgvn import MOST_LOOPS
from weft.target.passes import CANONICAL, CLEANUP, FINAL, FINAL_FAST, SROA_ONLY, WHOLE, PassList, optimize

HOST = TargetSpec.chosen()

WORK_ITEM = """
declare i64 @weft.local.id(i32) memory(none) speculatable willreturn nounwind
declare void @weft.barrier() convergent
declare i1 @weft.any(i1) convergent memory(none) willreturn nounwind
"""


def canonical(text: str) -> str:
    return optimize(text + WORK_ITEM, CANONICAL, HOST.machine)


def body(text: str, name: str = "k") -> str:
    found = re.search(rf"^define [^\n]*@{re.escape(name)}\(.*?^}}", text, re.MULTILINE | re.DOTALL)
    assert found, text
    return found[0]


def loops(function: str) -> list[tuple[str, int]]:
    """Header and number of back edges of each loop, by the order of blocks in the text."""
    order = {"entry": 0} | {
        label: i + 1 for i, label in enumerate(re.findall(r"^([\w.]+):", function, re.MULTILINE))
    }
    found: dict[str, int] = {}
    current = "entry"
    for line in function.splitlines():
        label = re.match(r"([\w.]+):", line)
        current = label[1] if label else current
        for target in re.findall(r"label %([\w.]+)", line):
            if order[target] <= order[current]:
                found[target] = found.get(target, 0) + 1
    return sorted(found.items())


def test_people_see_every_access_and_no_variable_in_memory():
    text = optimize(
        """
define void @k(ptr %p, ptr %q) {
entry:
  %x = alloca float
  %a = load float, ptr %p
  store float %a, ptr %x
  %b = load float, ptr %p
  %c = load float, ptr %x
  %sum = fadd float %b, %c
  store float %sum, ptr %q
  store float %sum, ptr %q
  ret void
}
""",
        SROA_ONLY,
        HOST.machine,
    )
    assert "alloca" not in text
    assert (text.count("load float, ptr %p"), text.count("store float %sum, ptr %q")) == (2, 2)


def test_device_functions_are_inlined_before_both_views():
    text = """
define internal float @twice(float %x) alwaysinline {
  %r = fadd float %x, %x
  ret float %r
}
define void @k(ptr %p) {
entry:
  %a = load float, ptr %p
  %b = call float @twice(float %a)
  store float %b, ptr %p
  ret void
}
"""
    for passes in (SROA_ONLY, CANONICAL):
        assert "@twice" not in optimize(text, passes, HOST.machine)


WHILE = """
; while (k < n && x < 4) { x = x * x; ++k; }
define void @k(ptr %p, i32 %n) {
entry:
  %first = load float, ptr %p
  br label %head
head:
  %k = phi i32 [ 0, %entry ], [ %k.next, %body ]
  %x = phi float [ %first, %entry ], [ %x.next, %body ]
  %more = icmp slt i32 %k, %n
  br i1 %more, label %second, label %exit
second:
  %small = fcmp olt float %x, 4.0
  br i1 %small, label %body, label %exit
body:
  %x.next = fmul float %x, %x
  %k.next = add nsw i32 %k, 1
  br label %head
exit:
  %result = phi float [ %x, %head ], [ %x, %second ]
  store float %result, ptr %p
  ret void
}
"""


def test_loop_keeps_its_test_in_the_header_and_conjunction_becomes_select():
    function = body(canonical(WHILE))
    assert re.search(r"select i1 %more, i1 %small, i1 false", function)
    assert loops(function) == [("head", 1)]
    header = function.split("head:")[1].split("br i1")[0]
    assert "phi i32" in header
    assert "fcmp" in header
    assert re.search(r"\.lcssa = phi float \[ %x, %head \]", function)


def test_continue_gives_no_second_back_edge_and_no_second_loop():
    function = body(
        canonical("""
define void @k(ptr %p, i32 %n) {
entry:
  br label %head
head:
  %k = phi i32 [ 0, %entry ], [ %k.next, %latch ]
  %s = phi float [ 0.0, %entry ], [ %s.next, %latch ]
  %more = icmp slt i32 %k, %n
  br i1 %more, label %body, label %exit
body:
  %k.next = add nsw i32 %k, 1
  %at = getelementptr float, ptr %p, i32 %k
  %v = load float, ptr %at
  %negative = fcmp olt float %v, 0.0
  br i1 %negative, label %latch, label %add
add:
  %root.at = getelementptr float, ptr %at, i32 %n
  %root = load float, ptr %root.at
  %sum = fadd float %s, %root
  br label %latch
latch:
  %s.next = phi float [ %s, %body ], [ %sum, %add ]
  br label %head
exit:
  store float %s, ptr %p
  ret void
}
""")
    )
    assert loops(function) == [("head", 1)]
    assert function.count("load float") == 2


def test_short_counted_loop_is_not_unrolled():
    text = """
define void @k(ptr %p) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %body ]
  %more = icmp slt i64 %i, 4
  br i1 %more, label %body, label %exit
body:
  %at = getelementptr float, ptr %p, i64 %i
  %v = load float, ptr %at
  %w = fmul float %v, %v
  store float %w, ptr %at
  %i.next = add i64 %i, 1
  br label %head
exit:
  ret void
}
"""
    assert loops(body(canonical(text))) == [("head", 1)]
    assert not loops(body(optimize(text, FINAL, HOST.machine)))


def test_whole_pipeline_unrolls_short_loops_where_a_function_has_few_of_them():
    few, many = (
        loops(body(optimize(short_loops(count), WHOLE, HOST.machine)))
        for count in (MOST_LOOPS // 2, MOST_LOOPS + 1)
    )
    assert not few
    assert len(many) == MOST_LOOPS + 1


def short_loops(count: int) -> str:
    """A function with so many loops of three rounds, one behind the other."""
    text = ["define void @k(ptr %p) {", "entry:", "  br label %loop0"]
    for n in range(count):
        text += [
            f"loop{n}:",
            f"  %i{n} = phi i64 [ 0, %{f'loop{n - 1}' if n else 'entry'} ], [ %next{n}, %loop{n} ]",
            f"  store volatile i64 %i{n}, ptr %p",
            f"  %next{n} = add nuw nsw i64 %i{n}, 1",
            f"  %more{n} = icmp ult i64 %next{n}, 3",
            f"  br i1 %more{n}, label %loop{n}, label %loop{n + 1}",
        ]
    return "\n".join([*text, f"loop{count}:", "  ret void", "}"])


def test_branch_that_is_known_again_after_a_barrier_is_not_threaded_past_it():
    function = body(
        canonical("""
define void @k(ptr %p, i1 %c) {
entry:
  %id = call i64 @weft.local.id(i32 0)
  %at = getelementptr i32, ptr %p, i64 %id
  br i1 %c, label %left, label %right
left:
  store i32 1, ptr %at
  br label %meet
right:
  %other = getelementptr i32, ptr %at, i64 %id
  store i32 2, ptr %other
  br label %meet
meet:
  call void @weft.barrier()
  br i1 %c, label %again, label %exit
again:
  store i32 3, ptr %at
  br label %exit
exit:
  ret void
}
""")
    )
    assert function.count("call void @weft.barrier") == 1
    assert function.count("br i1 %c") == 2


def test_votes_under_different_masks_are_not_merged_but_ids_are():
    function = body(
        canonical("""
define i64 @k(i1 %c, i1 %d) {
entry:
  %a = call i1 @weft.any(i1 %c)
  %i = call i64 @weft.local.id(i32 0)
  br i1 %d, label %then, label %exit
then:
  %b = call i1 @weft.any(i1 %c)
  %j = call i64 @weft.local.id(i32 0)
  %same = icmp eq i1 %a, %b
  %n = zext i1 %same to i64
  %s = add i64 %n, %j
  br label %exit
exit:
  %r = phi i64 [ %i, %entry ], [ %s, %then ]
  ret i64 %r
}
""")
    )
    assert function.count("call i1 @weft.any") == 2
    assert function.count("call i64 @weft.local.id") == 1


def test_redundant_load_goes_and_no_load_moves_to_another_path():
    function = body(
        canonical("""
define float @k(ptr %p, i1 %c) {
entry:
  br i1 %c, label %then, label %exit
then:
  %a = load float, ptr %p
  %b = load float, ptr %p
  %s = fadd float %a, %b
  br label %exit
exit:
  %x = phi float [ %s, %then ], [ 0.0, %entry ]
  %y = load float, ptr %p
  %r = fadd float %x, %y
  ret float %r
}
""")
    )
    assert function.count("load float") == 2


def test_newgvn_makes_no_phis():
    text = """
define i32 @k(i1 %c, i32 %a, i32 %b) {
entry:
  br i1 %c, label %left, label %right
left:
  %x = add i32 %a, 1
  br label %meet
right:
  %y = add i32 %b, 1
  br label %meet
meet:
  %p = phi i32 [ %a, %left ], [ %b, %right ]
  %q = phi i32 [ %x, %left ], [ %y, %right ]
  %z = add i32 %p, 1
  %r = mul i32 %q, %z
  ret i32 %r
}
"""
    function = body(optimize(text, PassList("newgvn", ("newgvn",)), HOST.machine))
    assert "%z = add i32 %p, 1" in function


def test_cleanup_folds_what_became_constant():
    text = """
define i32 @k(ptr %p) {
entry:
  %c = icmp ult i32 3, 4
  br i1 %c, label %then, label %exit
then:
  br label %exit
exit:
  %r = phi i32 [ 1, %then ], [ 2, %entry ]
  ret i32 %r
}
"""
    assert "ret i32 1" in body(optimize(text, CLEANUP, HOST.machine))
    assert "br" not in body(optimize(text, CLEANUP, HOST.machine)).split()


@pytest.mark.parametrize("pipeline", [FINAL, FINAL_FAST])
def test_pipelines_do_not_vectorize(pipeline):
    text = """
define void @k(ptr noalias %p, ptr noalias %q) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a.at = getelementptr float, ptr %p, i64 %i
  %a = load float, ptr %a.at
  %b = fmul float %a, 3.0
  %b.at = getelementptr float, ptr %q, i64 %i
  store float %b, ptr %b.at
  %next = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %next, 4096
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
"""
    result = body(optimize(text, pipeline, HOST.machine))
    assert " x float>" not in result
    assert result.count("fmul float") == (1 if not pipeline.unroll else result.count("fmul float"))


def test_explicit_vectors_stay_as_wide_as_they_are():
    text = """
define void @k(ptr %p) {
  %v = load <32 x float>, ptr %p, align 4
  %w = fmul <32 x float> %v, %v
  store <32 x float> %w, ptr %p, align 4
  ret void
}
"""
    assert "fmul <32 x float>" in optimize(text, FINAL, HOST.machine)


def test_pass_that_is_not_offered_is_refused():
    with pytest.raises(ValueError, match="licm"):
        PassList("wrong", ("sroa", "licm"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define i32 @k() { ret i64 0 }", "doesn't match function result type"),
        ("define i32 @k() {\n  %a = add i32 %b, 1\n  %b = add i32 %a, 1\n  ret i32 %a\n}", "dominate"),
        ('target triple = "nvptx64-nvidia-cuda"', "cannot be compiled for"),
    ],
)
def test_module_that_llvm_refuses_is_a_compile_error(text, message):
    with pytest.raises(CompileError, match=message):
        optimize(text, CANONICAL, HOST.machine)


def test_complaint_names_the_line_of_the_text_that_was_given():
    with pytest.raises(CompileError, match=":3:"):
        optimize("; first\ndefine i32 @k() {\n  ret i64 0\n}", CANONICAL, HOST.machine)


def test_same_text_gives_same_text():
    assert canonical(WHILE) == canonical(WHILE)


def test_several_rounds_of_a_short_loop_are_one_behind_widening():
    """Counts of one thread beside lanes had a round a time, and took 1.45 times as long."""
    text = """
define void @count(ptr %counts, ptr %keys, i64 %n) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %head ]
  %at = getelementptr i8, ptr %keys, i64 %k
  %key = load i8, ptr %at
  %digit = zext i8 %key to i64
  %slot = getelementptr i32, ptr %counts, i64 %digit
  %known = load i32, ptr %slot
  %more = add i32 %known, 1
  store i32 %more, ptr %slot
  %next = add i64 %k, 1
  %again = icmp ult i64 %next, %n
  br i1 %again, label %head, label %done
done:
  ret void
}
"""
    for pipeline, several in ((FINAL, True), (FINAL_FAST, False)):
        stores = body(optimize(text, pipeline, TargetSpec.of_isa(AVX2).machine), "count").count("store i32")
        assert (stores > 1) == several
