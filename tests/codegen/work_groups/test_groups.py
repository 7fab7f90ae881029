"""The entry point that the runtime launches, run by the interpreter with a launch record in memory."""

import numpy as np
import pytest

from barrier_programs import DECLARATIONS
from weft.codegen.launch_record import ErrorCode
from weft.codegen.loops import counted_loop
from weft.codegen.work_groups.continuations import thread_by_thread
from weft.codegen.work_groups.groups import build_group_entry
from weft.codegen.work_groups.lane_groups import ThreadKernel
from weft.interp import Memory, Program, launch, run_function
from weft.ir import Builder, ConstInt, Function, Module
from weft.ir.reader import read_module
from weft.ir.types import I64, FunctionType, pointer
from weft.ir.verifier import verify
from weft.transform.groups.single_lane import run_single_lane
from weft.transform.groups.work_items import lower_work_items
from weft.transform.splitting.barriers import barriers_of, split_at_barriers

LINEAR = """
  %x = call i64 @weft.local.id(i32 0)
  %y = call i64 @weft.local.id(i32 1)
  %z = call i64 @weft.local.id(i32 2)
  %sx = call i64 @weft.local.size(i32 0)
  %sy = call i64 @weft.local.size(i32 1)
  %sz = call i64 @weft.local.size(i32 2)
  %gx = call i64 @weft.group.id(i32 0)
  %gy = call i64 @weft.group.id(i32 1)
  %gz = call i64 @weft.group.id(i32 2)
  %nx = call i64 @weft.num.groups(i32 0)
  %ny = call i64 @weft.num.groups(i32 1)
  %p0 = mul i64 %z, %sy
  %p1 = add i64 %p0, %y
  %p2 = mul i64 %p1, %sx
  %thread = add i64 %p2, %x
  %g0 = mul i64 %gz, %ny
  %g1 = add i64 %g0, %gy
  %g2 = mul i64 %g1, %nx
  %group = add i64 %g2, %gx
  %s0 = mul i64 %sx, %sy
  %size = mul i64 %s0, %sz
  %first = mul i64 %group, %size
  %index = add i64 %first, %thread
  %at = getelementptr i32, ptr %out, i64 %index
"""

COUNT = f"""
define void @k(ptr %out, i32 %n) {{
{LINEAR}
  %old = load i32, ptr %at
  %new = add i32 %old, %n
  store i32 %new, ptr %at
  ret void
}}
{DECLARATIONS}
"""

REVERSE = f"""
define void @k(ptr %out, i32 %n) "weft.shared"="512:4" {{
{LINEAR}
  %shared = call ptr addrspace(3) @weft.shared(i32 0)
  %mine = getelementptr i32, ptr addrspace(3) %shared, i64 %thread
  %value = trunc i64 %index to i32
  store i32 %value, ptr addrspace(3) %mine
  %odd = trunc i32 %value to i1
  %odds = call i32 @weft.barrier.count(i1 %odd)
  %last = sub i64 %size, 1
  %mirror = sub i64 %last, %thread
  %other.at = getelementptr i32, ptr addrspace(3) %shared, i64 %mirror
  %other = load i32, ptr addrspace(3) %other.at
  %sum = add i32 %other, %n
  %all = add i32 %sum, %odds
  call void @weft.barrier()
  store i32 %all, ptr %at
  ret void
}}
{DECLARATIONS}
"""

DIVERGES = f"""
define void @k(ptr %out, i32 %n) {{
entry:
{LINEAR}
  %wide = sext i32 %n to i64
  %here = icmp ult i64 %index, %wide
  br i1 %here, label %a, label %b
a:
  call void @weft.barrier()
  br label %exit
b:
  call void @weft.barrier()
  br label %exit
exit:
  ret void
}}
{DECLARATIONS}
"""


class Launch:
    """A kernel's entry point, and the memory that a launch record leads to."""

    def __init__(self, text: str, grid: tuple[int, int, int], block: tuple[int, int, int], n: int) -> None:
        module = read_module(text)
        kernel = module.functions["k"]
        lower_work_items(module, kernel)
        has_barriers = bool(barriers_of(kernel))
        program = (
            thread_by_thread(split_at_barriers(module, kernel)) if has_barriers else ThreadKernel(kernel)
        )
        for function in module.definitions():
            run_single_lane(function)
        self.entry, self.needs = build_group_entry(module, kernel, program)
        verify(module)
        self.program = Program(module)
        self.out = np.zeros(int(np.prod(grid) * np.prod(block)), np.int32)
        self.error = np.zeros(8, np.int64)
        memory = self.memory = Memory()
        arena = np.zeros(1 << 16, np.uint8)
        arenas = np.array([0, memory.map_array(arena)], np.uint64)
        arguments = np.array([memory.map_array(self.out), n], np.uint64)
        record = np.array(
            [
                *grid,
                *block,
                memory.map_array(arguments),
                memory.map_array(arenas),
                0,
                memory.map_array(self.error),
            ],
            np.uint64,
        )
        self.arrays = (arena, arenas, arguments, record)
        self.record = memory.map_array(record)

    def run(self, begin: int, end: int) -> int:
        """Run groups on worker 1."""
        outcome = run_function(
            self.program, self.entry.name, [self.record, begin, end, 1], 1, memory=self.memory
        )
        assert outcome is not None
        return int(np.broadcast_to(outcome.data, (1,))[0])


def test_each_thread_of_the_groups_asked_for_runs_once():
    given = Launch(COUNT, (3, 2, 2), (2, 3, 2), 5)
    assert given.run(2, 7) == ErrorCode.OK
    assert given.out.tolist() == [0] * 24 + [5] * 60 + [0] * 60
    assert given.run(7, 7) == ErrorCode.OK
    assert given.out.sum() == 300


@pytest.mark.parametrize(
    ("grid", "block"), [((2, 1, 1), (7, 1, 1)), ((1, 2, 1), (3, 2, 1)), ((1, 1, 2), (2, 2, 2))]
)
def test_barriers_reductions_and_shared_memory_as_on_the_interpreter(grid, block):
    given = Launch(REVERSE, grid, block, 100)
    expected = np.zeros_like(given.out)
    launch(read_module(REVERSE), "k", [expected, 100], grid, block)
    assert given.run(0, int(np.prod(grid))) == ErrorCode.OK
    assert given.out.tolist() == expected.tolist()


def test_threads_at_different_barriers_stop_the_launch_with_the_group_and_both_barriers():
    given = Launch(DIVERGES, (3, 1, 1), (4, 1, 1), 6)
    assert given.run(0, 1) == ErrorCode.OK
    assert given.run(2, 3) == ErrorCode.OK
    assert given.run(0, 3) == ErrorCode.BARRIER_DIVERGENCE
    assert given.error[:3].tolist() == [1, 1, 2]


def test_the_arena_holds_shared_memory_and_a_frame_for_each_thread():
    plain = Launch(COUNT, (1, 1, 1), (1, 1, 1), 0).needs
    given = Launch(REVERSE, (1, 1, 1), (1, 1, 1), 0).needs
    assert given.fixed - plain.fixed == 512
    assert plain.per_lane_group == 0
    assert given.per_lane_group == 64 + 8


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 5, 1), (2, 9, 3), (4, 4, 1), (5, 2, 1)])
def test_a_counted_loop_counts_as_range_does(start: int, stop: int, step: int):
    module = Module("m")
    function = Function("f", FunctionType(I64, (pointer(), I64, I64)), ("out", "start", "stop"))
    module.add_function(function)
    builder = Builder(function.add_block("entry"))
    out, first, end = function.args
    with counted_loop(builder, function, first, end, "i", step) as counter:
        builder.store(ConstInt(I64, 1), builder.gep(I64, out, (counter,)), align=8)
    builder.ret(ConstInt(I64, 0))
    verify(module)
    seen = np.zeros(10, np.int64)
    memory = Memory()
    run_function(module, "f", [memory.map_array(seen), start, stop], 1, memory=memory)
    assert np.flatnonzero(seen).tolist() == list(range(start, stop, step))
