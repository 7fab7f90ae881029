"""Loads behind ways that meet, of addresses that these have chosen."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from codegen.machine_code import ISAS, compile_kernel
from weft import cuda, prange
from weft.interp import Memory, Program, run_function
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.targets import Isa
from weft.transform.parted_loads import part_loads

CHOSEN = """
define void @chosen(ptr %in, ptr %out, i64 %t) {
entry:
  %o = getelementptr i32, ptr %out, i64 %t
  switch i64 %t, label %join [ i64 0, label %one
                               i64 1, label %two
                               i64 2, label %join ]
one:
  %a = getelementptr i32, ptr %in, i64 %t
  br label %join
two:
  %u = add i64 %t, 3
  %b = getelementptr i32, ptr %in, i64 %u
  br label %join
join:
  %p = phi ptr [ %in, %entry ], [ %in, %entry ], [ %a, %one ], [ %b, %two ]
  %v = load i32, ptr %p, align 4
  store i32 %v, ptr %o, align 4
  ret void
}
"""


def parsed(text: str) -> Function:
    module = read_module(text)
    verify(module)
    (function,) = module.definitions()
    return function


def what_is_left(function: Function) -> list[int]:
    """Memory behind a warp of four threads."""
    memory, out = Memory(), np.full(4, -1, np.int32)
    arrays = [memory.map_array(np.arange(10, 18, dtype=np.int32)), memory.map_array(out)]
    assert function.module is not None
    threads = np.arange(4, dtype=np.int64)
    run_function(Program(function.module), function.name, [*arrays, threads], 4, memory=memory)
    return out.tolist()


def test_each_way_loads_from_its_own_address() -> None:
    function = parsed(CHOSEN)
    assert part_loads(function) == 1
    verify(function.module)
    assert what_is_left(function) == what_is_left(parsed(CHOSEN)) == [10, 14, 10, 10]
    loads = [i for i in function.instructions() if i.op == "load"]
    # The two edges from the entry go through one new block.
    assert len(loads) == 3 and not any(i.type.is_pointer for i in function.instructions() if i.is_phi)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("%v = load i32", "%v = load volatile i32", "volatile"),
        ("%v = load", "store i32 0, ptr %out\n  %v = load", "behind a store"),
        ("%u = add i64 %t, 3", "%u = load i64, ptr %in", "looked up on its way"),
        ("%u = add i64 %t, 3", "%u = xor i64 %t, 1", "of no neighbours"),
    ],
)
def test_other_loads_stay(old: str, new: str, why: str) -> None:
    assert part_loads(parsed(CHOSEN.replace(old, new))) == 0, why


def test_a_loop_keeps_the_load_from_an_address_that_it_moves() -> None:
    function = parsed(
        """
define void @walk(ptr %in, ptr %out, i64 %n) {
entry:
  br label %head
head:
  %p = phi ptr [ %in, %entry ], [ %q, %head ]
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %v = load i32, ptr %p, align 4
  store i32 %v, ptr %out, align 4
  %q = getelementptr i8, ptr %p, i64 4
  %next = add i64 %i, 1
  %c = icmp slt i64 %next, %n
  br i1 %c, label %head, label %done
done:
  ret void
}
"""
    )
    assert part_loads(function) == 0


def test_kernels_and_loops_do_the_same_with_it_and_without() -> None:
    def by_thread(x, way, out):
        i = cuda.grid(1)
        if 0 < i < out.size - 1:
            out[i] = x[i - 1] if way[i] == 0 else (x[i + 1] if way[i] == 1 else x[i])

    def by_loop(x, way, out):
        for i in prange(1, out.size - 1):
            if way[i] == 0:
                a = x[i - 1]
            elif way[i] == 1:
                a = x[i + 1]
            else:
                a = x[i]
            out[i] = a

    draw = np.random.default_rng(3)
    x, way = draw.random(70).astype(np.float32), draw.integers(0, 3, 70).astype(np.int8)
    wanted = np.zeros_like(x)
    by_loop(x, way, wanted)
    for without in ((), ("parted-loads",)):
        for run in (cuda.jit(without=without)(by_thread)[2, 64], weft.jit(without=without)(by_loop)):
            out = np.zeros_like(x)
            run(x, way, out)
            assert np.array_equal(out, wanted)


BEHIND_A_LOOP = """
define void @kernel(ptr %in, ptr %out, i64 %t) {
entry:
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %head ]
  %next = add i64 %k, 1
  %place = getelementptr i32, ptr %in, i64 %t
  %seen = load volatile i32, ptr %place, align 4
  %more = icmp ult i64 %next, %t
  br i1 %more, label %head, label %behind
behind:
  %p = phi ptr [ %place, %head ]
  %rounds = phi i64 [ %k, %head ]
  %v = load i32, ptr %p, align 4
  %number = trunc i64 %rounds to i32
  %sum = add i32 %v, %number
  %o = getelementptr i32, ptr %out, i64 %t
  store i32 %sum, ptr %o, align 4
  ret void
}
"""


def test_what_leaves_a_loop_stays_where_its_exits_lead() -> None:
    """Lanes that had left the loop got what the last one of them had in it."""
    function = parsed(BEHIND_A_LOOP)
    assert part_loads(function) == 0
    assert what_is_left(function) == [10, 11, 13, 15]


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_lanes_keep_their_numbers_of_rounds_behind_a_loop(isa: Isa) -> None:
    text = BEHIND_A_LOOP.replace("i64 %t)", 'i64 %n) "weft.kernel"').replace(
        "entry:", "entry:\n  %t = call i64 @weft.local.id(i32 0)"
    )
    code = compile_kernel(read_module(text + "declare i64 @weft.local.id(i32)\n"), 8, isa)
    given, out = np.arange(10, 26, dtype=np.int32), np.zeros(16, np.int32)
    code((given, out, 0), (16, 1, 1), 1)
    assert out.tolist() == [10, *(10 + 2 * t - 1 for t in range(1, 16))]
