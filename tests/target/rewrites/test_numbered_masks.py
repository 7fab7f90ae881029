"""Votes under masks that are kept as numbers are asked of numbers, and functions give what they gave."""

import numpy as np
import pytest

from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2, Isa
from weft.target.rewrites.numbered_masks import number_masks

#  entry ──▶ vote ──▶ some     what lanes want is kept, and they add
#             └──▶ done ◀─┘
VOTE = """
define void @f(i32 %lanes, ptr %values, ptr %limits, ptr %kept, ptr %sums) {{
entry:
  %x = load <{n} x float>, ptr %values, align 4
  %y = load <{n} x float>, ptr %limits, align 4
  %one = insertelement <{n} x i32> poison, i32 %lanes, i64 0
  %all = shufflevector <{n} x i32> %one, <{n} x i32> poison, <{n} x i32> zeroinitializer
  {bits}
  %own = and <{n} x i32> %all, %bit
  %on = icmp ne <{n} x i32> %own, splat (i32 0)
  %test = {test}
  br label %vote
vote:
  {mask}
  %who = bitcast <{n} x i1> %goes to i{n}
  %any = icmp ne i{n} %who, 0
  br i1 %any, label %some, label %done
some:
  %again = bitcast <{n} x i1> %goes to i{n}
  store i{n} %again, ptr %kept, align 1
  %sum = fadd <{n} x float> %x, %y
  %mine = select <{n} x i1> %goes, <{n} x float> %sum, <{n} x float> %x
  br label %done
done:
  %result = phi <{n} x float> [ %x, %vote ], [ %mine, %some ]
  store <{n} x float> %result, ptr %sums, align 4
  ret void
}}
"""
SHIFTED = "%bit = shl <{n} x i32> splat (i32 1), <{places}>"
WRITTEN = "%bit = add <{n} x i32> <{powers}>, zeroinitializer"
LESS = "fcmp fast olt <{n} x float> %x, %y"
# A lane that is off compares what is no number.
POISON = "fcmp nnan olt <{n} x float> %x, %y"
WHOLE = "icmp slt <{n} x i32> %bit, splat (i32 9)"
ONE = "%goes = select <{n} x i1> %on, <{n} x i1> %test, <{n} x i1> splat (i1 false)"
NOT = "%not = xor <{n} x i1> %test, splat (i1 true)\n  " + ONE.replace("%test", "%not")
BOTH = (
    "%more = fcmp oge <{n} x float> %x, splat (float 0.0)\n"
    "  %first = select <{n} x i1> %on, <{n} x i1> %more, <{n} x i1> zeroinitializer\n  "
    + ONE.replace("%on", "%first")
)
INNER = (
    "%before = fcmp oge <{n} x float> %x, splat (float 0.0)\n"
    "  %inner = select <{n} x i1> %before, <{n} x i1> %on, <{n} x i1> zeroinitializer\n  "
    + ONE.replace("%on", "%inner")
)

SHARED = (
    "%some.on = icmp ne i32 %lanes, 0\n"
    "  %goes = select i1 %some.on, <{n} x i1> %on, <{n} x i1> splat (i1 false)"
)


def program(lanes: int = 8, test: str = LESS, mask: str = ONE, bits: str = SHIFTED) -> Module:
    fill = {
        "n": lanes,
        "places": ", ".join(f"i32 {k}" for k in range(lanes)),
        "powers": ", ".join(f"i32 {1 << k}" for k in range(lanes)),
    }
    parts = {name: text.format(**fill) for name, text in {"test": test, "mask": mask, "bits": bits}.items()}
    module = read_module(VOTE.format(n=lanes, **parts))
    verify(module)
    return module


def results(module: Module, lanes: int, on: int) -> list[object]:
    memory, rng = Memory(), np.random.default_rng(on)
    values, limits = (rng.uniform(-1, 3, lanes).astype(np.float32) for _ in range(2))
    for lane in range(lanes):
        if not on >> lane & 1:
            values[lane] = np.nan
    kept, sums = np.zeros(4, np.uint8), np.zeros(lanes, np.float32)
    arguments = [on, *(memory.map_array(a) for a in (values, limits, kept, sums))]
    run_function(Program(module), "f", arguments, 1, memory=memory)
    return [kept.tolist(), sums.view(np.uint32).tolist()]


def numbered(module: Module, isa: Isa) -> int:
    found = number_masks(module.functions["f"], isa)
    verify(module)
    return found


@pytest.mark.spread
@pytest.mark.parametrize("test", [LESS, POISON, WHOLE], ids=["less", "poison", "whole"])
@pytest.mark.parametrize(("mask", "found"), [(ONE, 1), (NOT, 1), (BOTH, 1), (INNER, 1)])
@pytest.mark.parametrize(("lanes", "isa"), [(8, AVX2), (4, AVX2), (16, AVX2), (16, AVX512)])
def test_lanes_do_what_they_did(lanes: int, isa: Isa, mask: str, found: int, test: str) -> None:
    before, after = program(lanes, test, mask), program(lanes, test, mask)
    assert numbered(after, isa) == found
    for on in (0, 1, 5, 0x5A & (1 << lanes) - 1, (1 << lanes) - 1):
        assert results(after, lanes, on) == results(before, lanes, on)


def test_who_goes_is_an_and_of_numbers() -> None:
    module = program()
    assert numbered(module, AVX2) == 1
    text = write_module(module)
    vote = text.split("vote:")[1].split("some:")[0]
    assert "and i8" in vote and "select" not in vote and "fast" not in vote
    # Lanes of which the comparison is not so are the other bits of the number.
    module = program(mask=NOT)
    assert numbered(module, AVX2) == 1
    vote = write_module(module).split("vote:")[1].split("some:")[0]
    assert "xor i8" in vote


def test_the_mask_is_made_of_the_number_where_lanes_use_it() -> None:
    module = program()
    assert numbered(module, AVX2) == 1
    text = write_module(module)
    some = text.split("some:")[1].split("done:")[0]
    assert "bitcast" not in some and "icmp ne <8 x i32>" in some
    assert numbered(module, AVX2) == 0


@pytest.mark.parametrize(
    ("lanes", "isa", "mask", "bits"),
    [
        (4, SSE2, ONE, SHIFTED),
        (32, AVX2, ONE, SHIFTED),
        (8, AVX2, ONE.replace("splat (i1 false)", "splat (i1 true)"), SHIFTED),
        (8, AVX2, ONE.replace("%on", "%test"), SHIFTED),
        (8, AVX2, ONE, WRITTEN),
        (8, AVX2, ONE, SHIFTED.replace("i32 1)", "i32 2)")),
        (8, AVX2, SHARED, SHIFTED),
    ],
    ids=[
        "no-broadcasts",
        "four-registers",
        "others-go",
        "no-number",
        "computed-bits",
        "other-bits",
        "shared",
    ],
)
def test_other_masks_stay(lanes: int, isa: Isa, mask: str, bits: str) -> None:
    assert numbered(program(lanes, mask=mask, bits=bits), isa) == 0
