"""Barriers become ends of continuations: each program against the interpreter, and what it keeps across them.

In drawings ``==`` is a barrier. After the split, continuation k resumes behind barrier k, and ``(k)`` ends one.
"""

import textwrap

import numpy as np
import pytest

from barrier_programs import BRANCH, DECLARATIONS, LOOP, NESTED, STRAIGHT
from weft.diag.errors import UnsupportedError
from weft.interp import Memory, Program, launch, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.groups.single_lane import run_single_lane
from weft.transform.groups.work_items import lower_work_items
from weft.transform.splitting.barriers import BarrierProgram, split_at_barriers
from weft.transform.splitting.continuations import frame_arguments

THREADS = 8
IDS = """
  %tid = call i64 @weft.local.id(i32 0)
  %at = getelementptr i32, ptr %p, i64 %tid
  %mirror = xor i64 %tid, 7
  %mirror.at = getelementptr i32, ptr %p, i64 %mirror
  %to = getelementptr i32, ptr %at, i64 8
"""


def kernel(body: str) -> Module:
    text = textwrap.dedent(body).replace("IDS\n", IDS)
    return read_module(f"define void @k(ptr %p, i32 %n) {{\n{text}\n}}\n{DECLARATIONS}")


def split(body: str) -> tuple[Module, BarrierProgram]:
    module = kernel(body)
    lower_work_items(module, module.functions["k"])
    program = split_at_barriers(module, module.functions["k"])
    for function in module.definitions():
        run_single_lane(function)
    verify(module)
    return module, program


def written_before(body: str, n: int) -> list[int]:
    data = np.arange(4 * THREADS, dtype=np.int32)
    launch(kernel(body), "k", [data, n], 1, THREADS)
    return data.tolist()


def written_after(body: str, n: int) -> list[int]:
    """Run the continuations thread by thread, as a work-group of lane groups of one thread does."""
    module, program = split(body)
    code = Program(module)
    memory = Memory()
    data = np.arange(4 * THREADS, dtype=np.int32)
    votes = np.zeros(2, np.int32)
    frames = np.full((THREADS, max(program.frame_bytes, 64)), 0xEE, np.uint8)
    pointer, vote_pointer = memory.map_array(data), memory.map_array(votes)
    frame_pointers = [memory.map_array(frame) for frame in frames]
    state: dict[int, int] = dict.fromkeys(range(THREADS), 0)
    while state:
        (number,) = set(state.values())
        continuation = program.continuations[number]
        for thread in list(state):
            ids = [thread, 0, 0, 0, 0, 0, THREADS, 1, 1, 1, 1, 1, 0, 0, 0]
            arguments = [pointer, n, *ids, frame_pointers[thread], vote_pointer, 0, 0]
            outcome = run_function(code, continuation.function.name, arguments, 1, memory=memory)
            assert outcome is not None
            state[thread] = int(np.broadcast_to(outcome.data, (1,))[0])
            assert state[thread] in continuation.ends
            if not state[thread]:
                del state[thread]
        votes[:] = 0, votes[0]
    return data.tolist()


def check(body: str, *sizes: int) -> None:
    for n in sizes or (0, 3):
        assert written_after(body, n) == written_before(body, n)


def kept(body: str) -> str:
    """What each barrier keeps, and where: name, offset, bytes."""
    _, program = split(body)
    lines = []
    for number, values in enumerate(program.kept, 1):
        slots = sorted((program.slots[v].offset, program.slots[v].size, v.name) for v in values)
        lines.append(f"{number}: " + ", ".join(f"{name}@{offset}+{size}" for offset, size, name in slots))
    return "\n".join(line.rstrip() for line in lines)


def ends(body: str) -> list[list[int]]:
    _, program = split(body)
    return [sorted(c.ends) for c in program.continuations]


EARLY_RETURN = """
entry:
  %tid = call i64 @weft.local.id(i32 0)
  %at = getelementptr i32, ptr %p, i64 %tid
  %leaves = icmp ugt i64 %tid, 4
  br i1 %leaves, label %exit, label %stay
stay:
  %own = load i32, ptr %at
  call void @weft.barrier()
  %twice = mul i32 %own, 2
  %to = getelementptr i32, ptr %at, i64 8
  store i32 %twice, ptr %to
  br label %exit
exit:
  ret void
"""


FIG_3 = """
a:
  IDS
  %own = load i32, ptr %at
  %many = icmp sgt i32 %n, 2
  br i1 %many, label %b, label %c
b:
  %left = load i32, ptr %mirror.at
  call void @weft.barrier()
  %sum = add i32 %left, %own
  store i32 %sum, ptr %to
  br label %d
c:
  %twice = mul i32 %own, 2
  store i32 %twice, ptr %to
  call void @weft.barrier()
  %right = load i32, ptr %mirror.at
  store i32 %right, ptr %to
  br label %d
d:
  %i = phi i32 [ 0, %b ], [ 1, %c ], [ %i.next, %d2 ]
  %seen = load i32, ptr %mirror.at
  call void @weft.barrier()
  %mixed = add i32 %seen, %i
  store i32 %mixed, ptr %to
  %i.next = add i32 %i, 1
  %again = icmp slt i32 %i.next, %n
  br i1 %again, label %d2, label %e
d2:
  br label %d
e:
  ret void
"""


def test_fig_3_each_barrier_is_the_start_of_a_function_of_its_own():
    r"""The paper's text: a search from the entry stops at barriers; from behind each that it hits, another begins.

          a                a            (b)       (c)       (d)
         / \              / \            |         |         |
        b   c            b1  c1          b2        c2        d3
       === ===          (2)  (3)         |         |        /  \
        b   c     ==>                    d1        d1      d2   e
         \ /                            (4)       (4)      |    |
          d<-+              F1           F2        F3      d1  (end)    F4
         === |                                            (4)
          d  |          next: F2, F3   next: F4  next: F4  next: F4, return
         / \-+
        e
    """
    check(FIG_3, 0, 2, 3, 5)
    assert ends(FIG_3) == [[1, 2], [3], [3], [0, 3]]
    _, program = split(FIG_3)
    origins = [{v.name for v in c.origins.values()} for c in program.continuations]
    assert "own" in origins[0] and "mixed" not in origins[0]
    assert "sum" in origins[1] and "right" not in origins[1]
    assert "right" in origins[2] and "sum" not in origins[2]
    assert {"mixed", "seen"} <= origins[3] and not {"sum", "right"} & origins[3]


def test_fig_4_what_is_kept_is_as_large_as_the_largest_continuation_needs():
    """liveValSize: a frame serves all barriers, whose values lie one over the other."""
    _, program = split(FIG_3)
    ends = [[s.offset + s.size for s in (program.slots[v] for v in values)] for values in program.kept]
    assert [max(found, default=0) for found in ends] == [8, 0, 8]
    assert max(map(max, filter(None, ends))) <= program.frame_bytes


def test_one_barrier_makes_two_continuations():
    r"""
    entry              entry     (resume)
      |                  |          |
     ====      ==>      (1)       rest
      |                             |
     rest                          (0)
    """
    check(STRAIGHT)
    assert ends(STRAIGHT) == [[1], [0]]


def test_only_loaded_values_are_kept_and_addresses_are_computed_again():
    assert kept(STRAIGHT) == "1: own@0+4, other@4+4"


def test_barriers_in_a_loop():
    r"""
       entry            entry      (resume 1)  (resume 2)
         |                |            |           |
        head<---+        head        tail        head
        /  \    |        /  \          |         /  \
     exit  body |     exit  body      (2)     exit  body
            |   |      |     |                 |     |
           ==== |     (0)   (1)               (0)   (1)
            |   |
           ==== |
            +---+
    """
    check(LOOP, 0, 1, 4)
    assert ends(LOOP) == [[0, 1], [2], [0, 1]]
    assert kept(LOOP) == "1: other@0+4, i@4+4\n2: i.next@0+4"


def test_break_and_continue_around_barriers_of_nested_loops():
    r"""
    outer<---------+
      |            |
    inner<--+      |
     | |    |      |
     | ==== |      |
     | |  \ |      |
     | |   next    |   (continue)
     | +-> break --+
    ==== ----------+
      |
     exit
    """
    check(NESTED, 0, 1, 4, 5)


def test_a_strided_loop_of_equal_trip_counts():
    check(
        """
entry:
  %tid = call i64 @weft.local.id(i32 0)
  %first = trunc i64 %tid to i32
  br label %head
head:
  %i = phi i32 [ %first, %entry ], [ %i.next, %body ]
  %more = icmp slt i32 %i, 24
  br i1 %more, label %body, label %exit
body:
  %index = sext i32 %i to i64
  %at = getelementptr i32, ptr %p, i64 %index
  %mirror = xor i64 %index, 7
  %mirror.at = getelementptr i32, ptr %p, i64 %mirror
  %seen = load i32, ptr %mirror.at
  call void @weft.barrier()
  %more.seen = add i32 %seen, %n
  store i32 %more.seen, ptr %at
  %i.next = add i32 %i, 8
  br label %head
exit:
  ret void
"""
    )


def test_a_barrier_in_a_uniform_branch_joins_what_was_defined_on_both_sides():
    r"""
    entry             entry        (resume)
     | \                | \            |
     | ====    ==>      | (1)        join
     | /                |              |
    join              join            (0)
                        |
                       (0)
    """
    check(BRANCH, 1, 5)
    assert ends(BRANCH) == [[0, 1], [0]]


def test_threads_that_have_returned_do_not_take_part():
    check(EARLY_RETURN)
    assert ends(EARLY_RETURN) == [[0, 1], [0]]


@pytest.mark.parametrize("kind", ["count", "and", "or"])
@pytest.mark.parametrize("bound", [0, 3, 9])
def test_reduction_barriers(kind: str, bound: int):
    check(
        f"""
  %tid = call i64 @weft.local.id(i32 0)
  %at = getelementptr i32, ptr %p, i64 %tid
  %vote = icmp ult i64 %tid, {bound}
  %total = call i32 @weft.barrier.{kind}(i1 %vote)
  %bit = icmp ugt i64 %tid, 5
  %again = call i32 @weft.barrier.count(i1 %bit)
  %sum = mul i32 %total, %again
  store i32 %sum, ptr %at
  ret void
"""
    )


def test_a_stack_object_keeps_its_place_across_barriers():
    body = """
  %tid = call i64 @weft.local.id(i32 0)
  %object = alloca [4 x i32], align 4
  %at = getelementptr i32, ptr %p, i64 %tid
  %slot = getelementptr i32, ptr %object, i64 2
  %own = load i32, ptr %at
  store i32 %own, ptr %slot
  call void @weft.barrier()
  %back = load i32, ptr %slot
  %more = add i32 %back, %n
  store i32 %more, ptr %at
  ret void
"""
    check(body)
    assert kept(body) == "1:"


def test_an_object_in_the_frame_has_no_marks_of_its_life_on_the_stack():
    body = """
  %tid = call i64 @weft.local.id(i32 0)
  %object = alloca [4 x i32], align 4
  call void @llvm.lifetime.start.p0(ptr %object)
  %at = getelementptr i32, ptr %p, i64 %tid
  %index = and i32 %n, 3
  %slot = getelementptr i32, ptr %object, i32 %index
  store i32 %n, ptr %slot
  call void @weft.barrier()
  %back = load i32, ptr %slot
  call void @llvm.lifetime.end.p0(ptr %object)
  store i32 %back, ptr %at
  ret void
"""
    check(body)
    assert "call void @llvm.lifetime" not in write_module(split(body)[0])


def test_an_object_whose_address_is_in_memory_is_kept_too():
    body = """
  %tid = call i64 @weft.local.id(i32 0)
  %object = alloca i32, align 4
  %pointer = alloca ptr, align 8
  %at = getelementptr i32, ptr %p, i64 %tid
  %own = load i32, ptr %at
  store i32 %own, ptr %object
  store ptr %object, ptr %pointer
  call void @weft.barrier()
  %where = load ptr, ptr %pointer
  %back = load i32, ptr %where
  %more = add i32 %back, 5
  store i32 %more, ptr %at
  ret void
"""
    check(body)


def apart(body: str) -> set[str]:
    """The parameters of a kernel's continuations to whose memory nothing else leads, where all say the same."""
    (names,) = {
        frozenset(a.name for a in c.function.args if "noalias" in a.attributes)
        for c in split(body)[1].continuations
    }
    return set(names)


def test_nothing_else_leads_to_what_is_kept_unless_objects_are_kept_too():
    assert apart(STRAIGHT) == {"frame", "votes", "common"}
    object_in_frame = """
  %object = alloca i32, align 4
  %at = getelementptr i32, ptr %p, i64 0
  %pointer = alloca ptr, align 8
  store ptr %object, ptr %pointer
  call void @weft.barrier()
  %where = load ptr, ptr %pointer
  store i32 5, ptr %where
  %back = load i32, ptr %object
  store i32 %back, ptr %at
  ret void
"""
    assert apart(object_in_frame) == {"votes", "common"}


def test_an_object_used_before_the_barrier_only_stays_on_the_stack():
    body = """
  %tid = call i64 @weft.local.id(i32 0)
  %object = alloca [16 x i32], align 4
  %at = getelementptr i32, ptr %p, i64 %tid
  store i32 7, ptr %object
  %back = load i32, ptr %object
  call void @weft.barrier()
  store i32 %back, ptr %at
  ret void
"""
    check(body)
    assert split(body)[1].frame_bytes == 64


def test_values_that_are_computed_from_ids_and_parameters_are_never_kept():
    body = """
  %tid = call i64 @weft.local.id(i32 0)
  %scaled = mul i64 %tid, 3
  %narrow = trunc i64 %scaled to i32
  %moved = add i32 %narrow, %n
  %even = icmp eq i32 %moved, 6
  call void @weft.barrier()
  %at = getelementptr i32, ptr %p, i64 %tid
  %value = select i1 %even, i32 %moved, i32 %narrow
  store i32 %value, ptr %at
  ret void
"""
    check(body)
    assert kept(body) == "1:"


def test_a_flag_is_kept_as_a_byte():
    body = """
  %tid = call i64 @weft.local.id(i32 0)
  %at = getelementptr i32, ptr %p, i64 %tid
  %own = load i32, ptr %at
  %odd = trunc i32 %own to i1
  %flag = freeze i1 %odd
  call void @weft.barrier()
  %value = select i1 %flag, i32 -1, i32 4
  store i32 %value, ptr %at
  ret void
"""
    check(body)
    assert kept(body) == "1: flag@0+1"


def test_values_of_different_barriers_share_bytes():
    body = """
  %tid = call i64 @weft.local.id(i32 0)
  %at = getelementptr i32, ptr %p, i64 %tid
  %a = load i32, ptr %at
  call void @weft.barrier()
  %far = getelementptr i32, ptr %at, i64 8
  %b = load i32, ptr %far
  %c = add i32 %a, %b
  store i32 %c, ptr %at
  call void @weft.barrier()
  store i32 %b, ptr %at
  ret void
"""
    check(body)
    assert kept(body) == "1: a@0+4\n2: b@0+4"


def test_a_barrier_in_a_called_function_is_refused():
    module = read_module(
        f"""
        define void @k(ptr %p) {{
          call void @inner()
          call void @weft.barrier()
          ret void
        }}
        define void @inner() {{
          call void @weft.barrier()
          ret void
        }}
        {DECLARATIONS}
        """
    )
    with pytest.raises(UnsupportedError, match="recursive function 'inner'"):
        split_at_barriers(module, module.functions["k"])


HANDED_ON = """
entry:
IDS
  %own = load i32, ptr %at
  %other = load i32, ptr %mirror.at
  call void @weft.barrier()
  store i32 %other, ptr %at
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %again ]
  %sum = phi i32 [ %own, %entry ], [ %more, %again ]
  call void @weft.barrier()
  %there = load i32, ptr %mirror.at
  %more = add i32 %sum, %there
  %leave = icmp ugt i32 %more, 30
  br i1 %leave, label %exit, label %again
again:
  %next = add i32 %i, 1
  %goes.on = icmp ult i32 %next, %n
  br i1 %goes.on, label %loop, label %exit
exit:
  %left = phi i32 [ 0, %loop ], [ %own, %again ]
  %result = add i32 %left, %more
  store i32 %result, ptr %to
  ret void
"""


def test_what_a_part_does_not_compute_is_saved_once() -> None:
    """`own` stays in the frame across the rounds of the loop; its sum and its count are saved in each."""
    check(HANDED_ON, 1, 2, 5)
    _, program = split(HANDED_ON)
    saved: list[set[str]] = []
    for continuation in program.continuations:
        frame = frame_arguments(continuation.function)[0]
        stores = [i for i in continuation.function.instructions() if i.op == "store"]
        own = [i for i in stores if frame in (i.pointer, *getattr(i.pointer, "operands", ()))]
        saved.append({i.operands[0].name.split(".")[0] for i in own})
    assert saved == [{"other", "own"}, {"sum", "i"}, {"sum", "i"}]
