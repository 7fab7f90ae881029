"""Larger and smaller ones of floats in lanes, of which one is known to be a number: bit by bit what they were."""

from itertools import product

import numpy as np
import pytest

from weft.analysis.flushed_numbers import LEFT
from weft.interp import Memory, Program, run_function
from weft.ir import Function, Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.numbers.known_extrema import replace_known_extrema

TEXT = """
define void @f(ptr %x, ptr %y, ptr %out) {{
  %a = load <4 x {t}>, ptr %x, align 8
  %b = load <4 x {t}>, ptr %y, align 8
{number}
  %r = call {flags} <4 x {t}> @llvm.{name}.v4{s}(<4 x {t}> {operands})
  store <4 x {t}> %r, ptr %out, align 8
  ret void
}}
declare <4 x {t}> @llvm.{name}.v4{s}(<4 x {t}>, <4 x {t}>) nounwind willreturn memory(none)
"""
# What is no number becomes 1, and so a number; the other one may be anything.
NUMBER = """  %c = call <4 x {t}> @llvm.{name}.v4{s}(<4 x {t}> %b, <4 x {t}> splat ({t} {bound}))
  %bits = bitcast <4 x {t}> %c to <4 x i{n}>
  %moved = shufflevector <4 x i{n}> %bits, <4 x i{n}> poison, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %m = bitcast <4 x i{n}> %moved to <4 x {t}>
"""
SPECIALS = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40]
KINDS = {"float": (np.float32, np.uint32, "f32"), "double": (np.float64, np.uint64, "f64")}


def extremum(
    name: str, kind: str, operands: str = "{v} %a, {v} %m", flags: str = ""
) -> tuple[Module, Function]:
    bound = "0xFFF0000000000000" if name == "maximumnum" else "0x7FF0000000000000"
    short = KINDS[kind][2]
    parts = {"t": kind, "s": short, "n": short[1:], "name": name, "flags": flags, "bound": bound}
    first, second = operands.replace("{v} ", "").split(", ")
    text = TEXT.format(number=NUMBER.format(**parts), operands=f"{first}, <4 x {kind}> {second}", **parts)
    module = read_module(text)
    verify(module)
    return module, module.functions["f"]


def results(module: Module, kind: str) -> np.ndarray:
    """Of all pairs of special numbers."""
    pairs = np.array(list(product(SPECIALS, SPECIALS)), KINDS[kind][0])
    pairs = np.concatenate([pairs, pairs[: -len(pairs) % 4]])
    found = []
    for four in pairs.reshape(-1, 4, 2):
        memory, out = Memory(), np.zeros(4, pairs.dtype)
        arrays = [np.ascontiguousarray(four[:, k]) for k in (0, 1)]
        run_function(Program(module), "f", [memory.map_array(a) for a in (*arrays, out)], 1, memory=memory)
        found.append(out)
    return np.concatenate(found)


def bits(values: np.ndarray, kind: str) -> np.ndarray:
    return np.where(np.isnan(values), 0, values.view(KINDS[kind][1]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["maximumnum", "minimumnum"])
@pytest.mark.parametrize("operands", ["%a, %m", "%m, %a", "%m, %m"])
def test_it_is_the_same_to_the_bit(name: str, kind: str, operands: str) -> None:
    before, _ = extremum(name, kind, operands)
    after, function = extremum(name, kind, operands)
    # The call that makes a number of the other one has a constant.
    assert replace_known_extrema(function) == 1
    verify(after)
    one, other = results(before, kind), results(after, kind)
    assert np.array_equal(np.isnan(one), np.isnan(other))
    assert np.array_equal(bits(one, kind), bits(other, kind))


def test_where_they_stay() -> None:
    for operands in ("%a, %b", "%a, %a"):
        assert replace_known_extrema(extremum("maximumnum", "float", operands)[1]) == 0
    _, function = extremum("maximumnum", "float", "%a, %m")
    function.attributes = (*function.attributes, LEFT)
    assert replace_known_extrema(function) == 0


def test_where_the_sign_of_zero_does_not_matter_one_comparison_is_left_out() -> None:
    _, function = extremum("maximumnum", "float", "%m, %m", "nsz")
    assert replace_known_extrema(function) == 1
    assert sum(i.op == "fcmp" for i in function.instructions()) == 1


def test_what_a_loop_has_so_far_is_a_number_if_it_begins_with_one() -> None:
    text = """
define void @f(ptr %x, ptr %out, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %j, %body ]
  %m = phi <4 x float> [ START, %entry ], [ %r, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %exit
body:
  %p = getelementptr <4 x float>, ptr %x, i64 %i
  %a = load <4 x float>, ptr %p, align 4
  %r = call <4 x float> @llvm.maximumnum.v4f32(<4 x float> %m, <4 x float> %a)
  %j = add i64 %i, 1
  br label %head
exit:
  %last = phi <4 x float> [ %m, %head ]
  store <4 x float> %last, ptr %out, align 4
  ret void
}
declare <4 x float> @llvm.maximumnum.v4f32(<4 x float>, <4 x float>) nounwind willreturn memory(none)
"""
    for start, count in (("splat (float 0xFFF0000000000000)", 1), ("splat (float 0x7FF8000000000000)", 0)):
        module = read_module(text.replace("START", start))
        assert replace_known_extrema(module.functions["f"]) == count
        verify(module)
        x = np.float32([[-0.0, -1, np.nan, 2], [0, -3, np.nan, np.nan], [-0.0, -2, np.nan, 1]])
        memory, out = Memory(), np.zeros(4, np.float32)
        arguments = [memory.map_array(x), memory.map_array(out), 3]
        run_function(Program(module), "f", arguments, 1, memory=memory)
        assert not np.signbit(out[0]) and out[[0, 1, 3]].tolist() == [0, -1, 2]


TREE = """
define void @f(ptr %x, ptr %y, ptr %out) {{
  %a = load <4 x {t}>, ptr %x, align 8
  %b = load <4 x {t}>, ptr %y, align 8
  %m = call <4 x {t}> @llvm.{name}.v4{s}(<4 x {t}> %a, <4 x {t}> %b)
  %r = call <4 x {t}> @llvm.{name}.v4{s}(<4 x {t}> %m, <4 x {t}> {bound})
  store <4 x {t}> %r, ptr %out, align 8
{again}
  ret void
}}
declare <4 x {t}> @llvm.{name}.v4{s}(<4 x {t}>, <4 x {t}>) nounwind willreturn memory(none)
"""
AGAIN = "  store <4 x {t}> %m, ptr %x, align 8"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "bound", "count"),
    [
        ("maximumnum", "zeroinitializer", 1),
        ("maximumnum", "splat ({t} 0.5)", 1),
        ("maximumnum", "splat ({t} -0.5)", 0),
        ("maximumnum", "splat ({t} -0.0)", 0),
        ("minimumnum", "splat ({t} -0.0)", 1),
        ("minimumnum", "splat ({t} -2.0)", 1),
        ("minimumnum", "zeroinitializer", 0),
    ],
)
def test_several_and_a_constant_are_compared_in_turn(name: str, bound: str, count: int, kind: str) -> None:
    parts = {"t": kind, "s": KINDS[kind][2], "name": name, "bound": bound.format(t=kind)}
    before, after = (read_module(TREE.format(again="", **parts)) for _ in range(2))
    assert replace_known_extrema(after.functions["f"]) == count
    verify(after)
    one, other = results(before, kind), results(after, kind)
    assert not np.isnan(other).any() and np.array_equal(bits(one, kind), bits(other, kind))
    # What is used otherwise stays what it is.
    shared = read_module(TREE.format(again=AGAIN.format(t=kind), **parts))
    assert replace_known_extrema(shared.functions["f"]) == 0
