"""Launches: the geometry of threads, shared memory, barriers among lane groups, arguments, printing."""

import numpy as np
import pytest

from weft import interp
from weft.errors import BarrierDivergence, InterpError, LaunchError
from weft.interp import execute
from weft.ir.reader import read_module

IDS = "\n".join(f"declare i64 @weft.{n}(i32)" for n in ("local.id", "group.id", "local.size", "num.groups"))


def ids_kernel() -> str:
    """A kernel that stores local id, group id, sizes of all dimensions for each thread, 12 numbers each."""
    body, number = "", 0
    for name in ("local.id", "group.id", "local.size", "num.groups"):
        for dimension in range(3):
            body += f"  %v{number} = call i64 @weft.{name}(i32 {dimension})\n"
            number += 1
    body += """  %a = mul i64 %v2, %v7
  %b = add i64 %a, %v1
  %c = mul i64 %b, %v6
  %thread = add i64 %c, %v0
  %d = mul i64 %v5, %v10
  %e = add i64 %d, %v4
  %f = mul i64 %e, %v9
  %group = add i64 %f, %v3
  %g = mul i64 %v6, %v7
  %size = mul i64 %g, %v8
  %h = mul i64 %group, %size
  %i = add i64 %h, %thread
"""
    for n in range(12):
        body += (
            f"  %p{n} = getelementptr [12 x i64], ptr %out, i64 %i, i64 {n}\n  store i64 %v{n}, ptr %p{n}\n"
        )
    return f"{IDS}\ndefine void @k(ptr %out) {{\n{body}  ret void\n}}"


@pytest.mark.parametrize(("grid", "block"), [(3, 5), ((2, 3), (4, 2)), ((2, 1, 3), (3, 2, 2))])
@pytest.mark.parametrize("width", [None, 4])
def test_every_thread_has_its_ids_and_sizes(grid: object, block: object, width: int | None) -> None:
    gx, gy, gz = (*np.atleast_1d(grid).tolist(), 1, 1)[:3]
    bx, by, bz = (*np.atleast_1d(block).tolist(), 1, 1)[:3]
    out = np.full((gz, gy, gx, bz, by, bx, 12), -1, np.int64)
    interp.launch(read_module(ids_kernel()), "k", [out], grid, block, width=width)  # type: ignore[arg-type]
    z, y, x, tz, ty, tx = np.indices((gz, gy, gx, bz, by, bx))
    sizes = [np.full_like(x, n) for n in (bx, by, bz, gx, gy, gz)]
    assert np.array_equal(out, np.stack([tx, ty, tz, x, y, z, *sizes], axis=-1))


def test_a_grid_larger_than_the_lanes_is_run_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execute, "MAX_LANES", 64)
    out = np.zeros((7, 16, 12), np.int64)
    interp.launch(read_module(ids_kernel()), "k", [out], 7, 16)
    assert np.array_equal(out[:, :, 3], np.repeat(np.arange(7)[:, None], 16, 1))


REVERSE = f"""{IDS}
declare void @weft.barrier()
declare ptr addrspace(3) @weft.shared(i32)
declare ptr addrspace(3) @weft.shared.dynamic()
define void @k(ptr %x) "weft.shared"="64:8,8:8" {{
  %t = call i64 @weft.local.id(i32 0)
  %g = call i64 @weft.group.id(i32 0)
  %n = call i64 @weft.local.size(i32 0)
  %s = call ptr addrspace(3) SHARED
  %base = mul i64 %g, %n
  %i = add i64 %base, %t
  %p = getelementptr i64, ptr %x, i64 %i
  %v = load i64, ptr %p
  %q = getelementptr i64, ptr addrspace(3) %s, i64 %t
  store i64 %v, ptr addrspace(3) %q
  call void @weft.barrier()
  %m = sub i64 %n, 1
  %r = sub i64 %m, %t
  %o = getelementptr i64, ptr addrspace(3) %s, i64 %r
  %w = load i64, ptr addrspace(3) %o
  store i64 %w, ptr %p
  ret void
}}"""


@pytest.mark.parametrize("width", [None, 2, 3])
@pytest.mark.parametrize("shared", ["@weft.shared(i32 0)", "@weft.shared.dynamic()"])
def test_each_group_has_shared_memory_of_its_own(width: int | None, shared: str) -> None:
    x = np.arange(5 * 8)
    interp.launch(
        read_module(REVERSE.replace("SHARED", shared)), "k", [x], 5, 8, width=width, dynamic_shared=64
    )
    assert np.array_equal(x.reshape(5, 8), np.arange(40).reshape(5, 8)[:, ::-1])


def test_shared_memory_has_the_size_it_was_declared_with() -> None:
    with pytest.raises(InterpError, match=r"store of 8 bytes at offset 8 of shared array 1, which has 8"):
        interp.launch(
            read_module(REVERSE.replace("SHARED", "@weft.shared(i32 1)")), "k", [np.arange(8)], 1, 8
        )


VOTES = f"""{IDS}
declare i32 @weft.barrier.count(i1)
declare i32 @weft.barrier.and(i1)
declare i32 @weft.barrier.or(i1)
define void @k(ptr %x, ptr %out) {{
  %t = call i64 @weft.local.id(i32 0)
  %g = call i64 @weft.group.id(i32 0)
  %n = call i64 @weft.local.size(i32 0)
  %base = mul i64 %g, %n
  %i = add i64 %base, %t
  %p = getelementptr i8, ptr %x, i64 %i
  %v = load i8, ptr %p
  %c = icmp ne i8 %v, 0
  %count = call i32 @weft.barrier.count(i1 %c)
  %and = call i32 @weft.barrier.and(i1 %c)
  %or = call i32 @weft.barrier.or(i1 %c)
  %q = getelementptr [3 x i32], ptr %out, i64 %i
  store i32 %count, ptr %q
  %r = getelementptr i32, ptr %q, i64 1
  store i32 %and, ptr %r
  %s = getelementptr i32, ptr %q, i64 2
  store i32 %or, ptr %s
  ret void
}}"""


@pytest.mark.parametrize("width", [None, 2])
def test_a_barrier_counts_over_the_whole_group(width: int | None) -> None:
    x = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0]], np.int8)
    out = np.zeros((3, 4, 3), np.int32)
    interp.launch(read_module(VOTES), "k", [x, out], 3, 4, width=width)
    assert out[:, 0].tolist() == [[4, 1, 1], [2, 0, 1], [0, 0, 0]]
    assert (out == out[:, :1]).all()


# Lane group g of 4 threads runs g rounds of the first loop before all meet at the barrier.
WAITING = f"""{IDS}
declare void @weft.barrier()
declare i1 @weft.any(i1)
declare ptr addrspace(3) @weft.shared(i32)
define void @k(ptr %out) "weft.shared"="128:8" {{
entry:
  %t = call i64 @weft.local.id(i32 0)
  %group = lshr i64 %t, 2
  %s = call ptr addrspace(3) @weft.shared(i32 0)
  br label %work
work:
  %i = phi i64 [ 0, %entry ], [ %i1, %work ]
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %group
  br i1 %more, label %work, label %meet
meet:
  %p = getelementptr i64, ptr addrspace(3) %s, i64 %t
  store i64 %i1, ptr addrspace(3) %p
  call void @weft.barrier()
  %other = xor i64 %t, 12
  %q = getelementptr i64, ptr addrspace(3) %s, i64 %other
  %v = load i64, ptr addrspace(3) %q
  %o = getelementptr i64, ptr %out, i64 %t
  store i64 %v, ptr %o
  ret void
}}"""


def test_lane_groups_that_arrive_at_different_times_wait_for_each_other() -> None:
    out = np.zeros(16, np.int64)
    interp.launch(read_module(WAITING), "k", [out], 1, 16, width=4)
    rounds = np.maximum(1, np.arange(16) // 4)
    assert np.array_equal(out, rounds[np.arange(16) ^ 12])


# Every lane group takes one of two ways, each with a barrier of its own.
TWO_BARRIERS = f"""{IDS}
declare void @weft.barrier()
define void @k(i64 %limit) {{
  %t = call i64 @weft.local.id(i32 0)
  %c = icmp ult i64 %t, %limit
  br i1 %c, label %a, label %b
a:
  call void @weft.barrier()
  ret void
b:
  call void @weft.barrier()
  ret void
}}"""


@pytest.mark.parametrize("limit", [4, 6])
def test_a_group_whose_threads_stand_at_two_barriers_is_divergent(limit: int) -> None:
    with pytest.raises(BarrierDivergence, match="barrier reached by"):
        interp.launch(read_module(TWO_BARRIERS), "k", [limit], 1, 8, width=4)


def test_all_threads_at_one_of_two_barriers_is_fine() -> None:
    interp.launch(read_module(TWO_BARRIERS), "k", [0], 2, 8, width=4)
    interp.launch(read_module(TWO_BARRIERS), "k", [8], 2, 8)


def test_a_value_from_before_a_barrier_is_still_there_behind_it() -> None:
    """Lane groups wait in the middle of a block while others execute that same block."""
    text = f"""{IDS}
declare void @weft.barrier()
define void @k(ptr %out) {{
entry:
  %t = call i64 @weft.local.id(i32 0)
  %late = icmp uge i64 %t, 4
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i1, %again ]
  %i1 = add i64 %i, 1
  %wait = icmp ult i64 %i1, 3
  %spin = and i1 %late, %wait
  br i1 %spin, label %again, label %meet
again:
  br label %loop
meet:
  %before = mul i64 %t, %i1
  call void @weft.barrier()
  %o = getelementptr i64, ptr %out, i64 %t
  store i64 %before, ptr %o
  ret void
}}"""
    out = np.zeros(8, np.int64)
    interp.launch(read_module(text), "k", [out], 1, 8, width=4)
    assert out.tolist() == [0, 1, 2, 3, 12, 15, 18, 21]


@pytest.mark.parametrize(("grid", "block"), [(0, 1), (1, -1), ((1, 1, 1, 1), 1), ((), 1)])
def test_a_launch_needs_one_to_three_positive_extents(grid: object, block: object) -> None:
    with pytest.raises(LaunchError, match="positive extents"):
        interp.launch(read_module(ids_kernel()), "k", [np.zeros(12, np.int64)], grid, block)  # type: ignore[arg-type]


def test_the_number_of_arguments_is_checked() -> None:
    with pytest.raises(InterpError, match="takes 1 arguments, not 2"):
        interp.launch(read_module(ids_kernel()), "k", [np.zeros(12), 3], 1, 1)


def test_kernels_with_horizontal_operations_run_in_lane_groups_of_32() -> None:
    text = f"""{IDS}
declare i64 @weft.popcount(i1)
declare i32 @weft.lane.id()
declare i32 @weft.num.lanes()
define void @k(ptr %out) {{
  %t = call i64 @weft.local.id(i32 0)
  %n = call i64 @weft.popcount(i1 true)
  %l = call i32 @weft.lane.id()
  %w = call i32 @weft.num.lanes()
  %p = getelementptr [3 x i64], ptr %out, i64 %t
  store i64 %n, ptr %p
  %l64 = zext i32 %l to i64
  %q = getelementptr i64, ptr %p, i64 1
  store i64 %l64, ptr %q
  %w64 = zext i32 %w to i64
  %r = getelementptr i64, ptr %p, i64 2
  store i64 %w64, ptr %r
  ret void
}}"""
    out = np.zeros((40, 3), np.int64)
    interp.launch(read_module(text), "k", [out], 1, 40)
    assert out[:, 0].tolist() == [32] * 32 + [8] * 8
    assert out[:, 1].tolist() == [*range(32), *range(8)]
    assert (out[:, 2] == 32).all()


def test_shuffles_read_the_chosen_lane_and_matches_find_equal_ones() -> None:
    text = f"""{IDS}
declare i64 @weft.shfl.idx.i64(i64, i32)
declare i64 @weft.match.any.i64(i64)
define void @k(ptr %out) {{
  %t = call i64 @weft.local.id(i32 0)
  %v = mul i64 %t, 10
  %t32 = trunc i64 %t to i32
  %up = add i32 %t32, 1
  %s = call i64 @weft.shfl.idx.i64(i64 %v, i32 %up)
  %half = lshr i64 %t, 1
  %m = call i64 @weft.match.any.i64(i64 %half)
  %p = getelementptr [2 x i64], ptr %out, i64 %t
  store i64 %s, ptr %p
  %q = getelementptr i64, ptr %p, i64 1
  store i64 %m, ptr %q
  ret void
}}"""
    out = np.zeros((8, 2), np.int64)
    interp.launch(read_module(text), "k", [out], 1, 8, width=4)
    # The source lane counts within the lane group, where lane 5 does not exist: the own value stays.
    assert out[:, 0].tolist() == [10, 20, 30, 30, 40, 50, 60, 70]
    assert out[:, 1].tolist() == [3, 3, 12, 12] * 2


def test_print_writes_one_line_for_each_active_thread(capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""{IDS}
declare void @weft.print(ptr, ptr)
@format = internal constant [6 x i8] c"siufb\\00"
@word = internal constant [3 x i8] c"at\\00"
define void @k() {{
entry:
  %t = call i64 @weft.local.id(i32 0)
  %c = icmp ne i64 %t, 1
  br i1 %c, label %say, label %end
say:
  %s = alloca [5 x i64]
  store ptr @word, ptr %s
  %p1 = getelementptr i64, ptr %s, i64 1
  %minus = sub i64 0, %t
  store i64 %minus, ptr %p1
  %p2 = getelementptr i64, ptr %s, i64 2
  store i64 %t, ptr %p2
  %p3 = getelementptr i64, ptr %s, i64 3
  %f = uitofp i64 %t to double
  %h = fdiv double %f, 2.0
  store double %h, ptr %p3
  %p4 = getelementptr i64, ptr %s, i64 4
  store i64 1, ptr %p4
  call void @weft.print(ptr @format, ptr %s)
  br label %end
end:
  ret void
}}"""
    interp.launch(read_module(text), "k", [], 1, 3)
    assert capsys.readouterr().out == "at 0 0 0.0 True\nat -2 2 1.0 True\n"
