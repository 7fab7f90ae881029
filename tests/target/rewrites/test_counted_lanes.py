"""Counters of lanes go on by ones that are not made anew in each round, and count as they did (`counted_lanes`)."""

import ctypes

import numpy as np
import pytest

from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import FINAL
from weft.target.rewrites.counted_lanes import with_counted_lanes


def counted(lanes: int, bits: int, totals: int) -> str:
    """Lanes that count to limits of their own, and add up what they have counted to, multiplied in several ways."""
    vector = f"<{lanes} x i{bits}>"
    phis = "".join(
        f"  %t{n} = phi {vector} [ zeroinitializer, %entry ], [ %u{n}, %head ]\n" for n in range(totals)
    )
    sums = "".join(
        f"  %m{n} = mul {vector} %k, splat (i{bits} {n + 2})\n  %a{n} = add {vector} %t{n}, %m{n}\n"
        f"  %u{n} = select <{lanes} x i1> %on, {vector} %a{n}, {vector} %t{n}\n"
        for n in range(totals)
    )
    stores = "".join(
        f"  %p{n} = getelementptr {vector}, ptr %out, i64 {n}\n  store {vector} %u{n}, ptr %p{n}, align 8\n"
        for n in range(totals)
    )
    return f"""
define void @f(ptr %limits, ptr %out) {{
entry:
  %end = load {vector}, ptr %limits, align 8
  br label %head
head:
  %k = phi {vector} [ zeroinitializer, %entry ], [ %next, %head ]
{phis}  %on = icmp slt {vector} %k, %end
{sums}  %next = add nuw nsw {vector} %k, splat (i{bits} 1)
  %left = icmp slt {vector} %next, %end
  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %left)
  br i1 %any, label %head, label %done
done:
{stores}  ret void
}}
declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)
"""


@pytest.mark.parametrize(("lanes", "bits"), [(16, 32), (32, 32), (8, 64), (32, 64)])
def test_ones_are_kept_and_lanes_count_as_before(lanes: int, bits: int) -> None:
    text = counted(lanes, bits, 12)
    made = with_counted_lanes(text, AVX512)
    assert made is not None and "splat (i" + str(bits) + " 1)" not in made
    assert with_counted_lanes(made, AVX512) is None
    if not AVX512.features <= chosen().features:
        pytest.skip("the processor has no AVX-512")
    limits = np.random.default_rng(lanes).integers(0, 30, lanes).astype(f"int{bits}")
    code = load_object(emit_object(text, TargetSpec.of_isa(AVX512), FINAL), ["f"])
    out = np.zeros((12, lanes), limits.dtype)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address("f"))
    call(limits.ctypes.data, out.ctypes.data)
    sums = limits.astype(np.int64) * (limits - 1) // 2
    np.testing.assert_array_equal(out, [sums * (n + 2) for n in range(12)])


def test_no_round_makes_all_ones() -> None:
    text = emit_assembly(counted(32, 32, 12), TargetSpec.of_isa(AVX512), FINAL)
    assert "vpternlogd\t$255" not in text


def test_other_counters_stay() -> None:
    assert with_counted_lanes(counted(16, 32, 2), AVX512) is None, "registers for all"
    assert with_counted_lanes(counted(8, 32, 12), AVX512) is None, "half a register"
    assert with_counted_lanes(counted(32, 32, 12), AVX2) is None
    once = counted(32, 32, 12).replace("[ %next, %head ]", "[ %end, %head ]")
    assert with_counted_lanes(once, AVX512) is None, "what is counted once"
