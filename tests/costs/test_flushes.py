"""Numbers that the processor flushes by itself cost what they would without flushes."""

import pytest

from weft.analysis.divergence import analyze_divergence
from weft.analysis.flushed_numbers import LEFT
from weft.analysis.shapes import domain_named
from weft.costs.lane_groups import WidthModel
from weft.costs.one_thread import cycles_alone
from weft.ir.reader import read_module
from weft.machine.targets import AVX2

SUM = """
declare float @llvm.fabs.f32(float)
declare float @llvm.copysign.f32(float, float)

define void @k(ptr %p, i64 %tid.x) "weft.kernel" {{
  %at = getelementptr float, ptr %p, i64 %tid.x
  %x = load float, ptr %at
  %sum = fadd float %x, 3.0
  {flush}
  store float {result}, ptr %at
  ret void
}}
"""
FLUSH = """%size = call float @llvm.fabs.f32(float %sum)
  %small = fcmp olt float %size, 0x3810000000000000
  %zero = call float @llvm.copysign.f32(float 0.0, float %sum)
  %kept = select i1 %small, float %zero, float %sum"""
CHOICE = FLUSH.replace("0x3810000000000000", "2.0")


def cycles(flush: str, result: str, *, left: bool) -> tuple[float, float]:
    kernel = read_module(SUM.format(flush=flush, result=result)).functions["k"]
    if left:
        kernel.attributes = (*kernel.attributes, LEFT)
    domain = domain_named("product", (16,))
    tid = {kernel.args[1]: domain.strided(1, 64, 16)}
    divergence = analyze_divergence(kernel, domain=domain, initial=tid, width=16)
    return WidthModel(divergence, AVX2).cycles_of_thread(16), cycles_alone(divergence, AVX2)


def test_flushes_left_to_the_processor_are_free() -> None:
    assert cycles(FLUSH, "%kept", left=True) == pytest.approx(cycles("", "%sum", left=True))


def test_others_and_other_choices_are_not() -> None:
    plain = cycles("", "%sum", left=False)
    for flush, left in ((FLUSH, False), (CHOICE, True)):
        assert all(dear > cheap for dear, cheap in zip(cycles(flush, "%kept", left=left), plain, strict=True))
