"""Barriers that order nothing go, all others stay."""

import textwrap

import pytest

from weft.codegen.work_groups.barrier_checks import check_barriers
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.groups.work_items import WORK_ITEM_PARAMETERS
from weft.transform.splitting.barriers import barriers_of

ITEMS = ", ".join(f"{p.type} %{p.name}" for p in WORK_ITEM_PARAMETERS)
ATTRIBUTES = '"weft.kernel"'
DECLARATIONS = """
declare void @weft.barrier() convergent
declare i32 @weft.barrier.count(i1) convergent
declare void @llvm.lifetime.start.p0(i64, ptr)
"""


def left(body: str) -> tuple[int, RemarkLog]:
    """How many barriers stay, and the remarks."""
    text = f"define void @k(ptr %p, i32 %n, {ITEMS}) {ATTRIBUTES} {{\n{textwrap.dedent(body)}\n}}\n{DECLARATIONS}"
    module = read_module(text)
    kernel, remarks = module.functions["k"], RemarkLog()
    check_barriers(kernel, remarks)
    verify(module)
    return len(barriers_of(kernel)), remarks


@pytest.mark.parametrize(
    ("between", "count"),
    [
        ("", 1),
        ("%x = add i32 %n, 1", 1),
        ("store i32 3, ptr %mine", 1),
        ("%x = load i32, ptr %p", 2),
        ("store i32 1, ptr %own", 2),
        ("%x = atomicrmw add ptr %p, i32 1 monotonic", 2),
        ("fence seq_cst", 2),
        ("store ptr %mine, ptr %own", 2),
        ("%v = call i32 @weft.barrier.count(i1 true)", 1),
    ],
)
def test_two_barriers_are_one_unless_memory_that_others_see_is_accessed_between_them(
    between: str, count: int
):
    body = f"""
      %mine = alloca i32
      %own = getelementptr ptr, ptr %p, i64 %tid.x
      store i32 1, ptr %own
      call void @weft.barrier()
      {between}
      call void @weft.barrier()
      store i32 2, ptr %own
      ret void
    """
    barriers, remarks = left(body)
    assert barriers == count
    assert bool(remarks.of_kind(RemarkKind.TRANSFORM)) == (count == 1)


def test_barriers_at_the_begin_and_the_end_order_nothing():
    body = """
      call void @weft.barrier()
      %own = getelementptr i32, ptr %p, i64 %tid.x
      store i32 1, ptr %own
      call void @weft.barrier()
      ret void
    """
    assert left(body)[0] == 0


def test_a_barrier_is_needed_if_one_way_to_it_accesses_memory():
    r"""
      ====
      /  \
    store |
      \  /
      ====
    """
    body = """
    entry:
      %own = getelementptr i32, ptr %p, i64 %tid.x
      store i32 1, ptr %own
      call void @weft.barrier()
      %some = icmp sgt i32 %n, 2
      br i1 %some, label %write, label %join
    write:
      store i32 2, ptr %own
      br label %join
    join:
      call void @weft.barrier()
      store i32 3, ptr %own
      ret void
    """
    assert left(body)[0] == 2
    assert left(body.replace("store i32 2, ptr %own\n", ""))[0] == 1


def test_the_barrier_at_the_end_of_a_loop_serves_the_one_at_its_begin():
    body = """
    entry:
      %own = getelementptr i32, ptr %p, i64 %tid.x
      store i32 1, ptr %own
      call void @weft.barrier()
      br label %loop
    loop:
      %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]
      call void @weft.barrier()
      %x = load i32, ptr %p
      call void @weft.barrier()
      store i32 %x, ptr %own
      call void @weft.barrier()
      %i.next = add i32 %i, 1
      %more = icmp slt i32 %i.next, %n
      br i1 %more, label %loop, label %exit
    exit:
      %y = load i32, ptr %p
      store i32 %y, ptr %own
      ret void
    """
    assert left(body)[0] == 3


def test_a_barrier_that_threads_may_reach_apart_stays_and_is_warned_of():
    body = """
    entry:
      %some = icmp sgt i64 %tid.x, 2
      br i1 %some, label %wait, label %exit
    wait:
      call void @weft.barrier()
      br label %on
    on:
      call void @weft.barrier()
      br label %exit
    exit:
      store i32 1, ptr %p
      ret void
    """
    barriers, remarks = left(body)
    assert barriers == 2
    assert [str(r.kind) for r in remarks] == ["barrier"]
