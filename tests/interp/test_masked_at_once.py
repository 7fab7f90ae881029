"""Masked accesses that are made at once do what they do element by element, which is how hooks see them."""

from __future__ import annotations

import numpy as np
import pytest

from weft import interp
from weft.interp import Program
from weft.interp.memory.memory import Memory
from weft.ir.reader import read_module

LANES, COUNT = 6, 4

PROGRAM = Program(
    read_module("""
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <4 x i1>, <4 x i32>)
declare void @llvm.masked.store.v4i32.p0(<4 x i32>, ptr, <4 x i1>)
declare <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr>, <4 x i1>, <4 x i32>)
declare void @llvm.masked.scatter.v4i32.v4p0(<4 x i32>, <4 x ptr>, <4 x i1>)

define <4 x i32> @rows(ptr %in, ptr %out, i32 %i, <4 x i32> %k, <4 x i1> %m, i1 %c) {
entry:
  br i1 %c, label %then, label %exit
then:
  %p = getelementptr i32, ptr %in, i32 %i
  %q = getelementptr i32, ptr %out, i32 %i
  %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> %m, <4 x i32> %k)
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %v, ptr align 4 %q, <4 x i1> %m)
  br label %exit
exit:
  %r = phi <4 x i32> [ %k, %entry ], [ %v, %then ]
  ret <4 x i32> %r
}

define <4 x i32> @anywhere(ptr %in, ptr %out, i32 %i, <4 x i32> %k, <4 x i1> %m, i1 %c) {
entry:
  br i1 %c, label %then, label %exit
then:
  %p = getelementptr i32, ptr %in, <4 x i32> %k
  %q = getelementptr i32, ptr %out, <4 x i32> %k
  %v = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> align 4 %p, <4 x i1> %m, <4 x i32> %k)
  call void @llvm.masked.scatter.v4i32.v4p0(<4 x i32> %v, <4 x ptr> align 4 %q, <4 x i1> %m)
  %w = call <4 x i32> @llvm.masked.gather.v4i32.v4p0(<4 x ptr> align 4 %q, <4 x i1> %m, <4 x i32> %v)
  %s = shufflevector <4 x i32> %v, <4 x i32> %k, <4 x i32> <i32 3, i32 2, i32 poison, i32 5>
  call void @llvm.masked.scatter.v4i32.v4p0(<4 x i32> %s, <4 x ptr> align 4 %q, <4 x i1> %m)
  br label %exit
exit:
  %r = phi <4 x i32> [ %k, %entry ], [ %w, %then ]
  ret <4 x i32> %r
}

define void @one_place(ptr %in, ptr %out, i32 %i, <4 x i32> %k, <4 x i1> %m, i1 %c) {
  call void @llvm.masked.store.v4i32.p0(<4 x i32> %k, ptr align 4 %out, <4 x i1> %m)
  ret void
}
""")
)


class Watches:
    """Has accesses made one by one."""

    def on_access(self, *_: object) -> None:
        pass


def run(name: str, seed: int, hooks: tuple[object, ...]) -> list[object]:
    rng = np.random.default_rng(seed)
    memory = Memory()
    # The last words have never been written.
    given, out = (memory.allocate(48, which) for which in ("in", "out"))
    given.data[:40] = rng.integers(0, 256, 40)
    given.state_bytes()[:40] = 0
    arguments = [
        given.base,
        out.base,
        rng.integers(0, 8, LANES).astype(np.uint32),
        rng.integers(0, 12, (LANES, COUNT)).astype(np.uint32),
        rng.random((LANES, COUNT)) < rng.choice([0.2, 0.8, 1.0]),
        rng.random(LANES) < rng.choice([0.5, 1.0]),
    ]
    outcome = interp.run_function(PROGRAM, name, arguments, LANES, memory=memory, hooks=hooks)
    result: list[object] = []
    if outcome.value is not None:
        flags = 0 if outcome.flags is None else outcome.flags
        result = [outcome.data, np.broadcast_to(flags, outcome.data.shape)]
    return [*result, out.data, out.state_bytes()]


@pytest.mark.parametrize("name", ["rows", "anywhere", "one_place"])
def test_at_once_as_one_by_one(name: str) -> None:
    for seed in range(40):
        for wanted, got in zip(run(name, seed, (Watches(),)), run(name, seed, ()), strict=True):
            np.testing.assert_array_equal(got, wanted, f"seed {seed}")
