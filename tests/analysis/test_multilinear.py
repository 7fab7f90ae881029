"""Ranges of sums in which a number occurs more than once are those at the corners of a box."""

import itertools
import random

import numpy as np
import pytest

from analysis.analysed import Analysed
from codegen.kernels import kernel_text, stored, widened
from codegen.machine_code import ISAS, compile_kernel
from weft import interp
from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.multilinear import MOST_NUMBERS, between_corners, sum_of_products
from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.interp import Program
from weft.ir import Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module

BLEND = """
  %a = zext i8 %x to i32
  %b = zext i8 %y to i32
  %t = zext i8 %z to i32
  %first = mul i32 %a, %t
  %rest = sub i32 255, %t
  %v = mul i32 %b, %rest
  %w = add i32 %first, %v
  %r = add i32 %w, 127
"""
TURNED = BLEND.replace("sub i32 255, %t", "xor i32 %t, 255")
EXTENDED = """
  %a = zext i8 %x to i32
  %b = zext i8 %y to i64
  %t = zext i8 %z to i32
  %product = mul i32 %a, %t
  %u = sext i32 %product to i64
  %long = sext i32 %t to i64
  %rest = sub i64 255, %long
  %v = mul i64 %b, %rest
  %w = add i64 %u, %v
  %r = add i64 %w, 127
"""
DIFFERENCE = """
  %a = zext i8 %x to i32
  %t = shl i32 %a, 4
  %u = add i32 %t, 3
  %r = sub i32 %u, %t
"""


def range_of(text: str) -> Interval | None:
    a = Analysed(f"define void @f(i8 %x, i8 %y, i8 %z, i32 %n) {{\nentry:\n{text}  ret void\n}}")
    view = cfg_of(a.function)
    return Ranges(a.function, view, block_index(view.cfg)).of(a.value("r"))


@pytest.mark.parametrize("text", [BLEND, TURNED, EXTENDED], ids=["taken away", "turned", "extended"])
def test_a_mean_of_two_bytes_fits_16_bits(text: str) -> None:
    assert range_of(text) == Interval(127, 255 * 255 + 127)


def test_what_is_added_and_taken_away_is_nothing() -> None:
    assert range_of(DIFFERENCE) == Interval(3, 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("zext i8 %z to i32", "zext i8 %z to i32\n  %t = mul i32 %t.small, 100000"),
        ("i32 %a, %t", "i32 %t, %t"),
        ("zext i8 %x to i32", "add i32 %n, 0"),
    ],
    ids=["wraps around", "square", "anything"],
)
def test_nothing_is_said_of_what_may_wrap_around_nor_of_squares(old: str, new: str) -> None:
    text = BLEND.replace(old, new)
    if "%t.small" in text:
        text = text.replace("%t = zext", "%t.small = zext")
    found = range_of(text)
    assert found is None or found.hi > 255 * 255 + 127


def test_an_extension_of_what_wraps_around_is_none_of_integers() -> None:
    # In 8 bits 16 times a number is no such number in 32.
    text = "%p = mul i8 %x, 16\n  %q = sext i8 %p to i32\n  %l = sext i8 %x to i32\n  %s = shl i32 %l, 4\n"
    assert range_of(f"  {text}  %r = sub i32 %q, %s\n") != Interval(0, 0)


@pytest.mark.parametrize("seed", range(20))
def test_no_value_is_beyond_the_corners(seed: int) -> None:
    rng = random.Random(seed)
    lines, names = [], ["%x", "%y", "%z", "7", "-3"]
    for k in range(7):
        op = rng.choice(("add", "sub", "mul", "xor"))
        other = "15" if op == "xor" else rng.choice(names)
        lines.append(f"  %v{k} = {op} i16 {rng.choice(names[:3] + names[5:])}, {other}\n")
        names.append(f"%v{k}")
    lines.append("  %r = sub i16 %v6, %v5\n")
    text = f"define i16 @f(i16 %x, i16 %y, i16 %z) {{\nentry:\n{''.join(lines)}  ret i16 %r\n}}"
    a = Analysed(text)
    root = a.value("r")
    assert isinstance(root, Instruction)
    if (found := sum_of_products(root)) is None:
        return
    assert len(found.numbers) <= MOST_NUMBERS
    ends = [sorted(rng.choices(range(-6, 20), k=2)) for _ in found.numbers]
    range_ = between_corners(found, 16, *(Interval(*e) for e in ends))
    for values in itertools.product(*(range(lo, hi + 1) for lo, hi in ends)):
        given = dict(zip((n.name for n in found.numbers), values, strict=True))
        assert range_.lo <= evaluated(a, root, given) <= range_.hi


def evaluated(a: Analysed, root: Instruction, given: dict[str, int]) -> int:
    known = dict(given)
    for i in a.block("entry").instructions:
        if i.is_terminator:
            continue
        x, y = (known.get(o.name, 0) if o.name else o.signed for o in i.operands)
        result = {"add": x + y, "sub": x - y, "mul": x * y, "xor": x ^ y}[i.op]
        known[i.name] = (result + 0x8000 & 0xFFFF) - 0x8000
    return known["r"]


def kernel() -> str:
    loads = "".join(
        f"  %p{n} = getelementptr i8, ptr %in, i64 %at{n}\n  %{n} = load i8, ptr %p{n}\n" for n in "xyz"
    )
    places = "  %atx = mul i64 %tid, 3\n  %aty = add i64 %atx, 1\n  %atz = add i64 %atx, 2\n"
    quotient = "  %q = udiv i32 %r, 255\n"
    return kernel_text(places + loads + TURNED + quotient + stored("%q"))


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
def test_means_are_what_the_interpreter_makes(isa) -> None:
    ends = list(itertools.product((0, 1, 127, 254, 255), repeat=3))
    given = np.resize(np.array(ends, np.uint8), (128, 3)).reshape(-1)
    wanted, got = np.zeros(128, np.int32), np.zeros(128, np.int32)
    interp.launch(Program(read_module(kernel())), "kernel", (given, wanted, 128, 0), 1, 128, width=8)
    compile_kernel(kernel(), 8, isa)((given, got, 128, 0), 128)
    np.testing.assert_array_equal(got, wanted)
    x, y, z = given.reshape(-1, 3).astype(int).T
    np.testing.assert_array_equal(got, (x * z + y * (255 - z) + 127) // 255)


def test_means_are_computed_in_16_bits() -> None:
    assert "udiv <8 x i16>" in widened(kernel())
