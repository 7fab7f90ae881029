"""Choices between vectors by one condition are blends, and are what they were."""

import ctypes
import re

import numpy as np
import pytest

from weft.machine.targets import AVX2, AVX512, SSE2
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_assembly, emit_object
from weft.target.passes import FINAL
from weft.target.uniform_choices import with_blended_choices

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


@pytest.mark.parametrize("type", TYPES)
def test_the_same_is_chosen(type: str) -> None:
    code = load_object(
        emit_object(with_blended_choices(CHOICE.format(n=16, t=type), AVX2), TargetSpec.of_isa(AVX2), FINAL),
        ["f"],
    )
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_int32, ctypes.c_void_p)(
        code.address("f")
    )
    one, other = np.arange(16).astype(TYPES[type]), np.arange(100, 116).astype(TYPES[type])
    for number, expected in ((5, one), (4, other), (-9, other)):
        result = np.zeros_like(one)
        function(one.ctypes.data, other.ctypes.data, number, result.ctypes.data)
        assert result.tolist() == expected.tolist()


def test_no_branch_is_left() -> None:
    text = emit_assembly(CHOICE.format(n=32, t="float"), TargetSpec.of_isa(AVX2), FINAL)
    assert "vblendvps" in text and not re.search(r"\tj[a-z]+\t", text)


@pytest.mark.parametrize("isa", [SSE2, AVX512])
def test_other_levels_stay_as_they_are(isa) -> None:
    assert with_blended_choices(CHOICE.format(n=32, t="float"), isa) is None


def test_choices_between_numbers_stay_as_they_are() -> None:
    assert with_blended_choices(CHOICE.format(n=1, t="float").replace("<1 x float>", "float"), AVX2) is None
