"""Lane functions: a call by one thread runs them in as many lanes as their attribute says."""

import numpy as np
import pytest

from weft import interp
from weft.errors import InterpError
from weft.ir.reader import read_module

LEFT_EARLY = """
declare i32 @weft.lane.id()
define void @body(ptr %out) "weft.lanes"="4" {
entry:
  %lane = call i32 @weft.lane.id()
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %again = icmp ult i32 %i, %lane
  br i1 %again, label %loop, label %done
done:
  %place = getelementptr i32, ptr %out, i32 %lane
  store i32 %next, ptr %place
  ret void
}
define void @f(ptr %out) {
entry:
  call void @body(ptr %out)
  ret void
}"""


def run(text: str) -> list[int]:
    out = np.zeros(4, np.int32)
    memory = interp.Memory()
    memory.map_array(out)
    interp.run_function(read_module(text), "f", [out.ctypes.data], 1, memory=memory)
    return out.tolist()


def test_lanes_keep_their_values() -> None:
    assert run(LEFT_EARLY) == [1, 2, 3, 4]


def test_passive_lanes_of_an_oblivious_one_do_not() -> None:
    # A lane that has left the loop uses what others go on computing.
    oblivious = LEFT_EARLY.replace('"weft.lanes"="4"', '"weft.lanes"="4" "weft.oblivious"')
    with pytest.raises(InterpError, match="poison"):
        run(oblivious.replace("ptr %out, i32 %lane", "ptr %out, i32 %next"))
