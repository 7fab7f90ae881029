"""Gathers and scatters behind a branch have their addresses beside them, and do what they did."""

import ctypes

import numpy as np
import pytest

from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import FINAL
from weft.target.rewrites.near_addresses import with_near_addresses

MARK = """
define void @f(ptr %a, ptr %looked, i32 %limit) {
entry:
  %one = load <16 x i32>, ptr %looked, align 4
  %1 = sext <16 x i32> %one to <16 x i64>
  %13 = getelementptr i32, ptr %a, <16 x i64> %1
  %all = icmp sge i32 %limit, 0
  %first = insertelement <16 x i1> poison, i1 %all, i64 0
  %m = shufflevector <16 x i1> %first, <16 x i1> poison, <16 x i32> zeroinitializer
  %v = call <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr> align 4 %13, <16 x i1> %m, <16 x i32> %one)
  %s = insertelement <16 x i32> poison, i32 %limit, i64 0
  %limits = shufflevector <16 x i32> %s, <16 x i32> poison, <16 x i32> zeroinitializer
  %less = icmp slt <16 x i32> %v, %limits
  %bits = bitcast <16 x i1> %less to i16
  %none = icmp eq i16 %bits, 0
  br i1 %none, label %out, label %some
some:
  call void @llvm.masked.scatter.v16i32.v16p0(<16 x i32> %limits, <16 x ptr> align 4 %13, <16 x i1> %less)
  br label %out
out:
  ret void
}
declare <16 x i32> @llvm.masked.gather.v16i32.v16p0(<16 x ptr>, <16 x i1>, <16 x i32>)
declare void @llvm.masked.scatter.v16i32.v16p0(<16 x i32>, <16 x ptr>, <16 x i1>)
"""


def test_a_register_of_lanes_is_stored_at_once() -> None:
    text = emit_assembly(MARK, TargetSpec.of_isa(AVX512), FINAL)
    assert text.count("vpscatter") == 1 and "vpscatterdd" in text and "vpmovsxdq" not in text


def test_what_is_stored_is_what_it_was() -> None:
    if not AVX512.features <= chosen().features:
        pytest.skip("the processor has no AVX-512")
    code = load_object(emit_object(MARK, TargetSpec.of_isa(AVX512), FINAL), ["f"])
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)(code.address("f"))
    rng = np.random.default_rng(5)
    for limit in (0, 50, 200):
        values, places = rng.integers(0, 100, 64).astype(np.int32), rng.permutation(64)[:16].astype(np.int32)
        expected = values.copy()
        expected[places] = np.where(values[places] < limit, limit, values[places])
        # Places of which half are negative, from the middle.
        moved = (places - 32).astype(np.int32)
        function(values.ctypes.data + 4 * 32, moved.ctypes.data, limit)
        assert values.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("text", "isa"),
    [
        (MARK, AVX2),
        (MARK.replace("sext <16 x i32> %one", "zext <16 x i16> %short"), AVX512),
        (MARK.replace("br i1 %none, label %out, label %some\nsome:\n", "%again = add i16 %bits, 0\n"), AVX512),
    ],
    ids=["no-scatters", "other-numbers", "one-block"],
)  # fmt: skip
def test_others_stay(text: str, isa) -> None:
    assert with_near_addresses(text, isa) is None
    assert with_near_addresses(MARK, AVX512) is not None
