"""With registers for masks, a mask that a loop carries for several registers is one mask for each."""

import re

import numpy as np
import pytest

import weft
from weft.machine.targets import AVX2, AVX512
from weft.target.machine import TargetSpec, emit_assembly
from weft.target.passes import FINAL
from weft.target.rewrites.parted_masks import with_parted_masks

PUT_TOGETHER = re.compile(r"kunpck|kshift")

LOOP = """\
define void @f(<{n} x i32> %x, ptr %steps, ptr %left) {{
entry:
  %first = icmp sgt <{n} x i32> %x, zeroinitializer
  br label %loop
loop:
  %count = phi <{n} x i32> [ zeroinitializer, %entry ], [ %counted, %rest ]
  %y = phi <{n} x i32> [ %x, %entry ], [ %z, %rest ]
  %live = phi <{n} x i1> [ %first, %entry ], [ %next, %rest ]
  %far = icmp ugt <{n} x i32> %y, splat (i32 1000)
  %bits.far = bitcast <{n} x i1> %far to i{n}
  %leaves = icmp ne i{n} %bits.far, 0
  br i1 %leaves, label %early, label %rest
rest:
  %stays = icmp ne <{n} x i32> %y, splat (i32 1)
  %z = lshr <{n} x i32> %y, splat (i32 1)
  %next = select <{n} x i1> %live, <{n} x i1> %stays, <{n} x i1> zeroinitializer
  %more = add <{n} x i32> %count, splat (i32 1)
  %counted = select <{n} x i1> %live, <{n} x i32> %more, <{n} x i32> %count
  {some}
  %bits = bitcast <{n} x i1> %next to i{n}
  %none = icmp eq i{n} %bits, 0
  br i1 %none, label %done, label %loop
early:
  br label %done
done:
  %last = phi <{n} x i1> [ %live, %early ], [ zeroinitializer, %rest ]
  %sum = phi <{n} x i32> [ %count, %early ], [ %counted, %rest ]
  store <{n} x i32> %sum, ptr %steps
  store <{n} x i1> %last, ptr %left
  ret void
}}
"""


def last_block(text: str) -> str:
    """What the loop's last block does, from where numbers are halved to the jump that asks whether it goes on."""
    assembly = emit_assembly(text, TargetSpec.of_isa(AVX512), FINAL)
    return re.split(r"\n\tj", assembly[assembly.index("vpsrld") :])[0]


@pytest.mark.parametrize("lanes", [32, 64])
def test_registers_are_not_put_together(lanes: int) -> None:
    code = last_block(LOOP.format(n=lanes, some=""))
    assert "kortestw" in code
    assert not PUT_TOGETHER.search(code), code


@pytest.mark.parametrize(
    ("lanes", "some"),
    [
        (16, ""),
        (32, "store <32 x i1> %next, ptr %left"),
        (32, "%short = select <32 x i1> %live, <32 x i8> splat (i8 1), <32 x i8> zeroinitializer\n"
            "  store <32 x i8> %short, ptr %left"),
    ],
    ids=["one-register", "whole-mask", "shorter-numbers"],
)  # fmt: skip
def test_other_masks_stay(lanes: int, some: str) -> None:
    assert with_parted_masks(LOOP.format(n=lanes, some=some), AVX512) is None


def test_without_registers_for_masks_they_stay() -> None:
    assert with_parted_masks(LOOP.format(n=64, some=""), AVX2) is None


def _left_in_two_ways(x, limit, steps):
    for i in weft.prange(x.size):
        a, n = x[i], np.int32(0)
        while a < limit[i]:
            if a < np.int32(100):
                a = a + (a >> np.int32(1)) + np.int32(1)
                if a == np.int32(77):
                    break
            else:
                a = a + np.int32(997)
            n += np.int32(1)
        steps[i] = n


def test_lanes_leave_when_they_do_one_by_one() -> None:
    x = np.arange(203, dtype=np.int32) % 50
    limit = (np.arange(203, dtype=np.int32) * 7919) % 20000
    expected, steps = np.zeros(203, np.int32), np.zeros(203, np.int32)
    _left_in_two_ways(x, limit, expected)
    weft.jit(_left_in_two_ways)(x, limit, steps)
    assert steps.tolist() == expected.tolist()


def test_a_vote_on_what_comes_into_the_loop_has_its_mask_whole() -> None:
    text = LOOP.format(n=64, some="").replace("<64 x i1> %far", "<64 x i1> %live")
    asked = with_parted_masks(text, AVX512) or text
    assert "bitcast <64 x i1> %live to i64" in asked and "%live = phi <64 x i1>" in asked
    assert last_block(text)
