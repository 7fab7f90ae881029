"""Signs of fused sums: found in double where the processor has no instruction for them."""

import numpy as np
import pytest

from weft.interp import Memory, Program, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.machine.targets import AVX2, SSE2
from weft.transform.numbers.fused_sums import replace_fused_signs

TEXT = """
define void @f(ptr %a, ptr %b, ptr %c, ptr %out) {
  %x = load <4 x float>, ptr %a, align 4
  %y = load <4 x float>, ptr %b, align 4
  %z = load <4 x float>, ptr %c, align 4
  %s = call <4 x float> @llvm.fma.v4f32(<4 x float> %x, <4 x float> %y, <4 x float> %z)
  %t = fcmp PREDICATE <4 x float> %s, zeroinitializer
  %w = zext <4 x i1> %t to <4 x i32>
  store <4 x i32> %w, ptr %out, align 4
  ret void
}
declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>) nounwind willreturn memory(none)
"""


@pytest.mark.parametrize("predicate", ["olt", "ogt", "oge", "ole", "ult", "one", "oeq", "ueq", "uno"])
def test_signs_are_the_same(predicate: str) -> None:
    text = TEXT.replace("PREDICATE", predicate)
    before, after = read_module(text), read_module(text)
    assert replace_fused_signs(after.functions["f"], SSE2) == 1
    verify(after)
    assert not any("fma" in (i.callee_name or "") for i in after.functions["f"].instructions())
    draw = np.random.default_rng(1)
    x, y = draw.normal(size=(2, 40, 4)).astype(np.float32)
    z = -(x.astype(np.float64) * y).astype(np.float32)
    x[0], y[0], z[0] = [np.inf, np.nan, 0, 1], [1, 2, -0.0, 1], [-np.inf, 1, 0, -1]
    # Products and sums that are 0 as floats, or would be had they lost another bit.
    least, tiny = np.float32(2.0**-149), np.float32(2.0**-75)
    x[1], y[1], z[1] = [1e-30, -1e-30, tiny, -tiny], [1e-30, 1e-30, tiny, tiny], [0, 0, 0, -0.0]
    x[2] = np.nextafter(np.array([tiny, -tiny, tiny, -tiny], np.float32), np.float32([1, -1, 0, 0]))
    y[2], z[2] = tiny, 0
    x[3], y[3], z[3] = (
        [tiny, -tiny, 3 * tiny, 1e-20],
        [tiny, tiny, tiny, 1e-20],
        [-least, least, -least, -least],
    )
    for four in zip(x, y, z, strict=True):
        results = []
        for module in (before, after):
            memory, out = Memory(), np.zeros(4, np.int32)
            arrays = [memory.map_array(v) for v in (*map(np.ascontiguousarray, four), out)]
            run_function(Program(module), "f", arrays, 1, memory=memory)
            results.append(out.tolist())
        assert results[0] == results[1], four


def test_where_they_stay() -> None:
    text = TEXT.replace("PREDICATE", "olt")
    assert replace_fused_signs(read_module(text).functions["f"], AVX2) == 0
    other = text.replace("%s, zeroinitializer", "%s, splat (float 1.0)")
    assert replace_fused_signs(read_module(other).functions["f"], SSE2) == 0
