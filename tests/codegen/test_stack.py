"""Room for local arrays on the stack of a worker."""

import numpy as np
import pytest

from weft import cuda
from weft.codegen.stack import MAX_LANE_GROUP_BYTES, MAX_THREAD_BYTES, lanes_with_room, require_room
from weft.errors import UnsupportedError
from weft.ir.reader import read_module


def module(*allocas: str) -> str:
    lines = "\n".join(f"  %a{k} = alloca {text}" for k, text in enumerate(allocas))
    return f"define void @f() {{\n{lines}\n  ret void\n}}"


def test_all_stack_objects_count():
    assert require_room(read_module(module("i32", "[100 x double]", "i16, i32 8"))) == 4 + 800 + 16
    assert require_room(read_module(module())) == 0


def test_more_than_a_thread_may_have_is_refused():
    half = f"[{MAX_THREAD_BYTES // 2} x i8]"
    assert require_room(read_module(module(half, half))) == MAX_THREAD_BYTES
    with pytest.raises(UnsupportedError, match="local arrays"):
        require_room(read_module(module(half, half, "i8")))


@pytest.mark.parametrize("size", [0, 1, 4096, 4097, MAX_THREAD_BYTES])
def test_lanes_with_room_have_room_together(size):
    lanes = lanes_with_room(size)
    assert lanes & (lanes - 1) == 0
    assert lanes >= 4 and lanes * size <= MAX_LANE_GROUP_BYTES


def test_a_kernel_with_as_much_as_it_may_have_runs():
    def fill(x):
        scratch = cuda.local.array(65_536, np.float64)
        i = cuda.grid(1)
        scratch[int(x[i])] = i
        x[i] = scratch[int(x[i])]

    x = np.arange(64, dtype=np.float64)[::-1] * 1000
    cuda.jit(fill)[2, 32](x)
    assert x.tolist() == list(range(64))
