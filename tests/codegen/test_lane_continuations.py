"""Barriers at W lanes: each program against the interpreter, what is kept across barriers, and in which form.

In drawings ``==`` is a barrier and ``[m]`` a block that runs under a mask. What a barrier keeps is written as
``name[bytes]`` for a value of each lane, ``name`` for one of the lane group (``name+s`` where neighbours are s apart),
and ``name!`` for one of the work-group.
"""

import textwrap

import numpy as np
import pytest

from barrier_programs import BRANCH, DECLARATIONS, LOOP, NESTED, STRAIGHT
from codegen.machine_code import compile_kernel
from weft import interp
from weft.analysis.shapes import domain_named
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.launch_record import ErrorCode
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.codegen.widen.lanes import LaneSpace
from weft.codegen.work_groups import continuations
from weft.codegen.work_groups.barrier_checks import remark_kept_values
from weft.codegen.work_groups.continuations import GroupContinuations
from weft.codegen.work_groups.groups import build_group_entry
from weft.codegen.work_groups.vectorize_barriers import vectorize_at_barriers
from weft.diag.remarks import RemarkLog
from weft.errors import BarrierDivergence
from weft.ir import Module
from weft.ir.reader import read_module
from weft.machine.host import chosen
from weft.switches import Switches
from weft.target.passes import FINAL_FAST
from weft.transform.groups.work_items import lower_work_items

WIDTH = 4
BLOCKS = ((1, 1, 1), (3, 1, 1), (4, 1, 1), (11, 1, 1), (16, 1, 1), (6, 3, 1), (2, 3, 4), (4, 3, 1), (4, 2, 2))
WORDS = 3
IDS = """
  %x = call i64 @weft.local.id(i32 0)
  %y = call i64 @weft.local.id(i32 1)
  %z = call i64 @weft.local.id(i32 2)
  %sx = call i64 @weft.local.size(i32 0)
  %sy = call i64 @weft.local.size(i32 1)
  %sz = call i64 @weft.local.size(i32 2)
  %plane = mul i64 %sx, %sy
  %threads = mul i64 %plane, %sz
  %zrows = mul i64 %z, %sy
  %rows = add i64 %zrows, %y
  %before = mul i64 %rows, %sx
  %tid = add i64 %before, %x
  %last = sub i64 %threads, 1
  %mirror = sub i64 %last, %tid
  %at = getelementptr i32, ptr %p, i64 %tid
  %mirror.at = getelementptr i32, ptr %p, i64 %mirror
  %to = getelementptr i32, ptr %at, i64 %threads
"""


def kernel(body: str) -> str:
    text = textwrap.dedent(body).replace("IDS\n", IDS)
    return f'define void @kernel(ptr %p, i32 %n) "weft.kernel" {{\n{text}\n}}\n{DECLARATIONS}'


def check(body: str, *sizes: int, blocks: tuple[tuple[int, int, int], ...] = BLOCKS) -> None:
    """Machine code leaves the same memory as the interpreter, or ends as it does."""
    text = kernel(body)
    code = compile_kernel(text, WIDTH, passes=FINAL_FAST)
    for block in blocks:
        for n in sizes or (0, 3):
            threads = block[0] * block[1] * block[2]
            wanted = np.arange(WORDS * threads + 8, dtype=np.int32) * 3
            got = wanted.copy()
            try:
                interp.launch(read_module(text), "kernel", [wanted, n], 1, block, width=WIDTH)
            except BarrierDivergence:
                assert code.run((got, n), block) == ErrorCode.BARRIER_DIVERGENCE, (block, n)
                continue
            assert code.run((got, n), block) == ErrorCode.OK, (block, n)
            assert got.tolist() == wanted.tolist(), (block, n)


def split(body: str) -> GroupContinuations:
    return vectorized(body)[0]


def vectorized(body: str) -> tuple[GroupContinuations, VectorizationSummary]:
    return vectorized_in(read_module(kernel(body)))


def vectorized_in(module: Module) -> tuple[GroupContinuations, VectorizationSummary]:
    function = module.functions["kernel"]
    lower_work_items(module, function)
    lanes = LaneSpace((WIDTH,))
    shapes = {
        a: domain_named("product", (WIDTH,)).strided(1, 64, WIDTH) for a in function.args if a.name == "tid.x"
    }
    # What is kept in memory is to stay there.
    switches = Switches(scalar_replacement="off")
    called = FunctionVectorizer(module, lanes, lambda callee, lanes: None, chosen().isa, switches=switches)
    return vectorize_at_barriers(module, function, shapes, called)


def kept(body: str) -> list[str]:
    """What each barrier keeps."""
    program = split(body).split
    lines: list[str] = []
    for values in program.kept:
        found: list[str] = []
        for value in values:
            slot = program.slots.get(value)
            if slot is None:
                found.append(f"{value.name}!")
            elif slot.stride is None:
                found.append(f"{value.name}[{slot.bytes(WIDTH)}]")
            else:
                found.append(f"{value.name}+{slot.stride}" if slot.stride else value.name)
        lines.append(" ".join(sorted(found)))
    return lines


@pytest.mark.parametrize(("short", "versions"), [(continuations.SHORT, 2), (0, 0)])
def test_short_continuations_have_a_version_for_rows_of_one_lane_group(
    short: int, versions: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(continuations, "SHORT", short)
    module = read_module(kernel(STRAIGHT))
    function = module.functions["kernel"]
    program, _ = vectorized_in(module)
    assert program.in_step
    entry, _ = build_group_entry(module, function, program)
    assert sum(block.name.startswith("arm") for block in entry.blocks) == versions


def test_fig_3_values_of_the_lanes_are_vectors_in_the_frame():
    r"""
    entry              entry     (resume)
      |                  |          |
     ====      ==>      (1)       rest
      |                             |
     rest                          (0)
    """
    check(STRAIGHT)
    assert kept(STRAIGHT) == ["other[16] own[16]"]


def test_fig_4_the_counter_of_a_loop_is_kept_once_for_the_work_group():
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
    assert kept(LOOP) == ["i! other[16]", "i.next!"]


def test_remarks_say_how_much_waits_across_each_barrier():
    remarks = RemarkLog()
    remark_kept_values(split(LOOP).split, remarks)
    assert [r.message.split(": ")[1] for r in remarks] == [
        "1 vector of each lane group, 1 number of each work-group",
        "1 number of each work-group",
    ]


def test_a_barrier_in_a_uniform_branch_keeps_what_is_defined_before_it():
    r"""
    entry             entry        (resume)
     | \                | \            |
     | ====    ==>      | (1)        join
     | /                |              |
    join               (0)            (0)
    """
    check(BRANCH)
    assert kept(BRANCH) == ["own[16] seen[16]"]


EARLY_RETURN = """
entry:
  IDS
  %limit = sext i32 %n to i64
  %leaves = icmp ugt i64 %tid, %limit
  br i1 %leaves, label %exit, label %stay
stay:
  %own = load i32, ptr %at
  call void @weft.barrier()
  %twice = mul i32 %own, 2
  store i32 %twice, ptr %to
  call void @weft.barrier()
  %count = call i32 @weft.barrier.count(i1 true)
  store i32 %count, ptr %at
  br label %exit
exit:
  ret void
"""


def test_lanes_that_have_returned_are_masked_from_then_on():
    r"""
    entry            entry      (resume)
     |  \              |           |
     | stay          [stay]      [rest]
     |  ====   ==>    (1)         exit
     |  rest                       |
     |  /                         (0)
    exit
    """
    check(EARLY_RETURN, -1, 0, 2, 3, 5, 100)


def test_break_and_continue_around_barriers_of_nested_loops():
    r"""
    outer<---------+
      |            |
    inner<--+      |
     | ==== |      |
     | |  \ |      |
     | |   next    |   (continue)
     | +-> break --+
    ==== ----------+
      |
     exit
    """
    check(NESTED, 0, 1, 4, 5)


STRIDED = """
entry:
  IDS
  %turns = sext i32 %n to i64
  %whole = mul i64 %threads, %turns
  %bound = add i64 %whole, EXTRA
  br label %head
head:
  %i = phi i64 [ %tid, %entry ], [ %i.next, %body ]
  %sum = phi i32 [ 0, %entry ], [ %sum.next, %body ]
  %more = icmp slt i64 %i, %bound
  br i1 %more, label %body, label %exit
body:
  %other = load i32, ptr %mirror.at
  call void @weft.barrier()
  %sum.next = add i32 %sum, %other
  store i32 %sum.next, ptr %at
  call void @weft.barrier()
  %i.next = add i64 %i, %threads
  br label %head
exit:
  store i32 %sum, ptr %to
  ret void
"""


def test_a_strided_loop_of_equal_trip_counts():
    r"""
    head<---+       Its condition varies, as far as is known; so the barriers are under the mask of those who are
     |  \   |       still in the loop. They all are, or none is.
    exit ====
          |  |
         ====+
    """
    check(STRIDED.replace("EXTRA", "0"), 0, 1, 3)


@pytest.mark.parametrize("extra", [1, 2, 3])
def test_threads_that_leave_the_loop_earlier_and_return_do_not_take_part_any_more(extra: int):
    check(STRIDED.replace("EXTRA", str(extra)), 0, 2)


def test_a_condition_that_happens_to_be_the_same_in_all_threads():
    r"""
       entry
       /   \      Both sides run under masks of which one is empty: nobody arrives at that side's barrier.
    [====][====]
       \   /
       join
    """
    check(
        """
        entry:
          IDS
          %own = load i32, ptr %at
          %zero = mul i32 %own, 0
          %chosen = add i32 %zero, %n
          %hidden = freeze i32 %chosen
          %some = icmp sgt i32 %hidden, 2
          br i1 %some, label %then, label %else
        then:
          %a = load i32, ptr %mirror.at
          call void @weft.barrier()
          store i32 %a, ptr %at
          br label %join
        else:
          %b = load i32, ptr %at
          call void @weft.barrier()
          %twice = mul i32 %b, 2
          store i32 %twice, ptr %at
          br label %join
        join:
          ret void
        """
    )


DIVERGES = """
entry:
  IDS
  %own = load i32, ptr %at
  %limit = sext i32 %n to i64
  %some = icmp slt i64 %tid, %limit
  br i1 %some, label %then, label %else
then:
  call void @weft.barrier()
  store i32 1, ptr %at
  br label %join
else:
  ELSE
  store i32 %own, ptr %to
  br label %join
join:
  %value = phi i32 [ 1, %then ], [ %own, %else ]
  END
  store i32 %value, ptr %to
  ret void
"""


@pytest.mark.spread
@pytest.mark.parametrize("end", ["", "call void @weft.barrier()"])
@pytest.mark.parametrize("other", ["", "call void @weft.barrier()"])
def test_threads_apart_return_or_diverge_as_on_the_interpreter(other: str, end: str):
    r"""
        entry
        /   \
     ====   (==)    The others run on: those who return no longer count, those who stop elsewhere make the barrier
        \   /       divergent.
        (==)
    """
    check(DIVERGES.replace("ELSE", other).replace("END", end), 0, 2, 3, 4, 100)


def test_what_waits_is_not_spoilt_by_those_who_run_on():
    """The others pass barriers under empty masks, which save values of their own."""
    check(
        """
        entry:
          IDS
          %mine = alloca [2 x i32]
          %own = load i32, ptr %at
          store i32 %own, ptr %mine
          %limit = sext i32 %n to i64
          %some = icmp slt i64 %tid, %limit
          br i1 %some, label %wait, label %join
        wait:
          call void @weft.barrier()
          %back = load i32, ptr %mine
          %more = add i32 %back, %own
          br label %join
        join:
          %value = phi i32 [ %more, %wait ], [ 7, %entry ]
          store i32 %value, ptr %mine
          %low = icmp slt i32 %value, -5
          br i1 %low, label %never, label %exit
        never:
          call void @weft.barrier()
          store i32 0, ptr %mine
          br label %exit
        exit:
          %last.value = load i32, ptr %mine
          store i32 %last.value, ptr %to
          ret void
        """,
        0, 2, 5, 100,
    )  # fmt: skip


@pytest.mark.parametrize("what", ["count", "and", "or"])
def test_votes_are_of_the_threads_of_the_whole_group(what: str):
    check(
        f"""
          IDS
          %limit = sext i32 %n to i64
          %vote = icmp ult i64 %tid, %limit
          %total = call i32 @weft.barrier.{what}(i1 %vote)
          store i32 %total, ptr %at
          ret void
        """,
        0, 1, 3, 4, 5, 16, 100,
    )  # fmt: skip


def test_the_result_of_a_vote_is_kept_across_other_barriers_of_a_loop():
    check(
        """
        entry:
          IDS
          br label %head
        head:
          %i = phi i32 [ 0, %entry ], [ %i.next, %head ]
          %wide = sext i32 %i to i64
          %vote = icmp ule i64 %tid, %wide
          %total = call i32 @weft.barrier.count(i1 %vote)
          store i32 %total, ptr %at
          call void @weft.barrier()
          %other = load i32, ptr %mirror.at
          %sum = add i32 %other, %total
          %i.next = add i32 %i, 1
          call void @weft.barrier()
          store i32 %sum, ptr %to
          %more = icmp slt i32 %i.next, %n
          br i1 %more, label %head, label %exit
        exit:
          ret void
        """,
        1, 4,
    )  # fmt: skip


def test_a_value_strided_in_the_lanes_is_kept_as_that_of_lane_zero():
    body = """
    entry:
      IDS
      br label %head
    head:
      %i = phi i64 [ %x, %entry ], [ %i.next, %head ]
      %k = phi i32 [ 0, %entry ], [ %k.next, %head ]
      %from = getelementptr i32, ptr %p, i64 %i
      %value = load i32, ptr %from
      call void @weft.barrier()
      store i32 %value, ptr %to
      call void @weft.barrier()
      %i.next = add i64 %i, 1
      %k.next = add i32 %k, 1
      %more = icmp slt i32 %k.next, %n
      br i1 %more, label %head, label %exit
    exit:
      ret void
    """
    check(body, 1, 3)
    assert kept(body) == ["i+1 k! value[16]", "i+1 k!"]


SCOPE = """
  IDS
  %row = OF
  %from = getelementptr i32, ptr %p, i64 %row
  %value = load i32, ptr %from
  call void @weft.barrier()
  store i32 %value, ptr %to
  call void @weft.barrier()
  %again = load i32, ptr %to
  %sum = add i32 %again, %value
  store i32 %sum, ptr %at
  ret void
"""


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("add i64 %y, 1", "value"),
        ("add i64 %z, 1", "value"),
        ("lshr i64 %x, 2", "value"),
        ("lshr i64 %x, 5", "value"),
        ("lshr i64 %x, 1", "value[16]"),
        ("add i64 %sx, 1", "value!"),
    ],
)
def test_the_same_in_a_lane_group_is_not_the_same_in_the_work_group(value: str, form: str):
    """`threadIdx.y`, `tid // W` and `p[tid >> 5]` are uniform in lane groups, and differ among them."""
    body = SCOPE.replace("OF", value)
    check(body, 0)
    assert kept(body) == [form, form]


def test_a_branch_on_what_differs_among_lane_groups_is_no_branch_of_the_work_group():
    """What it chooses is kept for each lane group, though each sees one value only."""
    body = """
    entry:
      IDS
      %own = load i32, ptr %p
      %first = icmp eq i64 %y, 0
      br i1 %first, label %then, label %join
    then:
      br label %join
    join:
      %chosen = phi i32 [ %own, %entry ], [ 5, %then ]
      call void @weft.barrier()
      store i32 %chosen, ptr %to
      ret void
    """
    check(body)
    assert kept(body) == ["chosen"]


ACCUMULATORS = """
entry:
  IDS
  %mine = alloca [3 x i32], align 16
  store i32 0, ptr %mine, align 16
  %second = getelementptr i8, ptr %mine, i64 4
  store i32 1, ptr %second, align 4
  %third = getelementptr [3 x i32], ptr %mine, i64 0, i64 2
  store i32 2, ptr %third, align 8
  br label %round
round:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
  %other = load i32, ptr %mirror.at
  call void @weft.barrier()
  br label %inner
inner:
  %j = phi i64 [ 0, %round ], [ %j.next, %inner ]
  %place = getelementptr i32, ptr %mine, i64 %j
  %old = load i32, ptr %place, align 4
  %new = add i32 %old, %other
  store i32 %new, ptr %place, align 4
  %j.next = add i64 %j, 1
  %again = icmp ult i64 %j.next, 3
  br i1 %again, label %inner, label %latch
latch:
  %first = load i32, ptr %mine, align 16
  store i32 %first, ptr %at
  call void @weft.barrier()
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %round, label %exit
exit:
  %result = load i32, ptr %third, align 8
  store i32 %result, ptr %to
  ret void
"""


def test_accumulators_of_the_threads_lie_side_by_side():
    check(ACCUMULATORS, 1, 3)
    program, summary = vectorized(ACCUMULATORS)
    assert not {what for _, what in summary.notes.notes} & {
        "gather",
        "scatter",
        "interleaved",
        "lane by lane",
    }
    assert program.split.frame_bytes == 128


def test_stack_objects_of_each_thread_and_one_for_all():
    body = """
      IDS
      %each = alloca [4 x i32]
      %all = alloca [4 x i32]
      %narrow = trunc i64 %tid to i32
      %place = and i64 %tid, 3
      %in.each = getelementptr i32, ptr %each, i64 %place
      %in.all = getelementptr i32, ptr %all, i64 2
      store i32 %narrow, ptr %each
      store i32 %narrow, ptr %in.each
      store i32 %n, ptr %in.all
      call void @weft.barrier()
      %a = load i32, ptr %in.each
      %b = load i32, ptr %in.all
      %sum = add i32 %a, %b
      store i32 %sum, ptr %at
      ret void
    """
    check(body)
    # 16 bytes for each of the lanes, and 16 for all of them.
    assert split(body).split.frame_bytes == 128
    assert kept(body) == [""]
