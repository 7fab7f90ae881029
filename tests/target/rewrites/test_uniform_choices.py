"""Choices between vectors by one condition are blends, and are what they were."""

import ctypes
import re

import numpy as np
import pytest

from weft.machine.host import chosen
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import FINAL
from weft.target.rewrites.uniform_choices import with_blended_choices

CHOICE = """
define void @f(ptr %one, ptr %other, i32 %number, ptr %result) {{
entry:
  %x = load <{n} x {t}>, ptr %one, align 8
  %y = load <{n} x {t}>, ptr %other, align 8
  %c = icmp sgt i32 %number, 4
  %chosen = select i1 %c, <{n} x {t}> %x, <{n} x {t}> %y
  store <{n} x {t}> %chosen, ptr %result, align 8
  ret void
}}
"""
TYPES = {"float": np.float32, "double": np.float64, "i32": np.int32, "i64": np.int64}


@pytest.mark.parametrize("lanes", [4, 16, 32])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
def test_the_same_is_chosen(isa: Isa, type: str, lanes: int) -> None:
    if not isa.features <= chosen().features:
        pytest.skip(f"the processor has no {isa.name}")
    text = with_blended_choices(CHOICE.format(n=lanes, t=type), isa)
    assert text is not None
    code = load_object(emit_object(text, TargetSpec.of_isa(isa), FINAL), ["f"])
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int32, ctypes.c_void_p)(
        code.address("f")
    )
    one, other = np.arange(lanes).astype(TYPES[type]), np.arange(100, 100 + lanes).astype(TYPES[type])
    for number, expected in ((5, one), (4, other), (-9, other)):
        result = np.zeros_like(one)
        function(one.ctypes.data, other.ctypes.data, number, result.ctypes.data)
        assert result.tolist() == expected.tolist()


@pytest.mark.parametrize(("isa", "blend"), [(AVX2, "vblendvps"), (AVX512, "{%k1}")])
def test_no_branch_is_left(isa: Isa, blend: str) -> None:
    text = emit_assembly(CHOICE.format(n=32, t="float"), TargetSpec.of_isa(isa), FINAL)
    assert blend in text and not re.search(r"\tj[a-z]+\t", text)


def test_other_levels_stay_as_they_are() -> None:
    assert with_blended_choices(CHOICE.format(n=32, t="float"), SSE2) is None


def test_choices_between_numbers_stay_as_they_are() -> None:
    assert with_blended_choices(CHOICE.format(n=1, t="float").replace("<1 x float>", "float"), AVX2) is None
