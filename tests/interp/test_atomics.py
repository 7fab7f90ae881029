"""Atomic operations of one lane group: the active lanes take turns, lowest first."""

import numpy as np
import pytest

from weft import interp
from weft.interp.memory.atomics import turns
from weft.ir.reader import read_module

OPERATIONS = {
    "add": lambda old, v: (old + v) & 0xFFFFFFFF,
    "sub": lambda old, v: (old - v) & 0xFFFFFFFF,
    "and": lambda old, v: old & v,
    "or": lambda old, v: old | v,
    "xor": lambda old, v: old ^ v,
    "nand": lambda old, v: ~(old & v) & 0xFFFFFFFF,
    "max": lambda old, v: max(old, v, key=lambda x: x - (x >> 31 << 32)),
    "min": lambda old, v: min(old, v, key=lambda x: x - (x >> 31 << 32)),
    "umax": max,
    "umin": min,
    "xchg": lambda old, v: v,
    "uinc_wrap": lambda old, v: 0 if old >= v else old + 1,
    "udec_wrap": lambda old, v: v if old == 0 or old > v else old - 1,
    "usub_cond": lambda old, v: old - v if old >= v else old,
    "usub_sat": lambda old, v: old - v if old >= v else 0,
}


def atomic(op: str, uses_result: bool) -> interp.Program:
    result = "  ret i32 %o" if uses_result else "  ret i32 0"
    return interp.Program(
        read_module(f"""
define i32 @f(ptr %x, i32 %v, i1 %p) {{
entry:
  br i1 %p, label %do, label %end
do:
  %o = atomicrmw {op} ptr %x, i32 %v monotonic
{result}
end:
  ret i32 -1
}}""")
    )


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("uses_result", [True, False])
def test_lanes_take_turns(op: str, uses_result: bool) -> None:
    rng = np.random.default_rng(5)
    lanes = 50
    x = rng.integers(0, 2**32, 4, dtype=np.uint32)
    index, values = rng.integers(0, 4, lanes), rng.integers(0, 2**32, lanes, dtype=np.uint32)
    values[::3] %= 5
    active = rng.random(lanes) < 0.8
    want, old = x.tolist(), [0xFFFFFFFF] * lanes
    for lane in range(lanes):
        if active[lane]:
            old[lane] = want[index[lane]]
            want[index[lane]] = OPERATIONS[op](want[index[lane]], int(values[lane]))
    memory = interp.Memory()
    base = memory.map_array(x)
    outcome = interp.run_function(
        atomic(op, uses_result), "f", [base + 4 * index, values, active], lanes, memory=memory
    )
    assert x.tolist() == want
    if uses_result:
        assert outcome.data.tolist() == old


def test_float_additions_happen_in_the_order_of_lanes() -> None:
    program = interp.Program(
        read_module("""
define float @f(ptr %x, float %v) {
  %o = atomicrmw fadd ptr %x, float %v monotonic
  ret float 0.0
}""")
    )
    values = np.array([1e8, 1.0, -1e8, 1.0], np.float32)
    x = np.zeros(1, np.float32)
    memory = interp.Memory()
    interp.run_function(program, "f", [memory.map_array(x), values], 4, memory=memory)
    total = np.float32(0)
    for v in values:
        total += v
    assert x[0] == total == 1.0


def test_one_thread_wins_a_compare_and_exchange() -> None:
    program = interp.Program(
        read_module("""
define i32 @f(ptr %x, i32 %v) {
  %pair = cmpxchg ptr %x, i32 0, i32 %v monotonic monotonic
  %old = extractvalue { i32, i1 } %pair, 0
  %won = extractvalue { i32, i1 } %pair, 1
  %r = select i1 %won, i32 -1, i32 %old
  ret i32 %r
}""")
    )
    x = np.zeros(1, np.int32)
    memory = interp.Memory()
    outcome = interp.run_function(program, "f", [memory.map_array(x), np.array([7, 8, 9])], 3, memory=memory)
    assert outcome.data.tolist() == [0xFFFFFFFF, 7, 7] and x[0] == 7


def test_turns_have_every_access_once_and_no_address_twice() -> None:
    offsets = np.random.default_rng(2).integers(0, 6, 40).astype(np.uint64)
    rounds = turns(offsets)
    assert sorted(np.concatenate(rounds).tolist()) == list(range(40))
    for turn in rounds:
        assert np.unique(offsets[turn]).size == turn.size
    for address in range(6):
        order = [int(a) for turn in rounds for a in turn if offsets[a] == address]
        assert order == sorted(order)
