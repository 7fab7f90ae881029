"""Ranges are found once for a function as it is, and again for whatever is changed of what they are made of."""

from collections.abc import Callable

import pytest

from weft.analysis.integers.kept_ranges import ranges_of
from weft.ir import ConstInt, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.types import I32

TEXT = """
define void @f(ptr %a, i32 range(i32 0, 10) %n, i32 %m) {
entry:
  %few = icmp ult i32 %n, 5
  br i1 %few, label %then, label %out
then:
  %x = add nsw i32 %n, 1
  %y = and i32 %m, 7
  %z = add i32 %y, %x
  br label %out
out:
  ret void
}
"""


def function() -> Function:
    return read_module(TEXT).functions["f"]


def named(f: Function, name: str) -> Instruction:
    return next(i for i in f.instructions() if i.name == name)


def test_the_ranges_of_a_function_that_stays_as_it_is_are_found_once() -> None:
    f = function()
    ranges = ranges_of(f)
    assert ranges_of(f) is ranges and ranges_of(f, cfg_of(f)) is ranges
    assert ranges.at(named(f, "x"), named(f, "x").block) == (1, 5)


def _constant(f: Function) -> None:
    named(f, "y").set_operand(1, ConstInt(I32, 3))


def _predicate(f: Function) -> None:
    named(f, "few").attrs = {"predicate": "uge"}


def _in_place(f: Function) -> None:
    named(f, "few").attrs["predicate"] = "ugt"


def _attributes(f: Function) -> None:
    f.args[1].attributes = ()


def _flags(f: Function) -> None:
    named(f, "x").flags = ()


def _way(f: Function) -> None:
    branch = f.entry.terminator
    branch.set_block(1, branch.blocks[0])


def _order(f: Function) -> None:
    block = named(f, "x").block
    assert block is not None
    block.instructions[:2] = reversed(block.instructions[:2])


def _more(f: Function) -> None:
    block = f.blocks[1]
    block.insert(0, Instruction("add", I32, (f.args[1], f.args[2]), name="w"))


@pytest.mark.parametrize(
    "change",
    [_constant, _predicate, _in_place, _attributes, _flags, _way, _order, _more],
    ids=lambda c: c.__name__,
)
def test_what_is_changed_is_looked_at_again(change: Callable[[Function], None]) -> None:
    f = function()
    before = ranges_of(f)
    change(f)
    again = ranges_of(f)
    assert again is not before
    if change is _constant:
        assert before.of(named(f, "y")) == (0, 7) and again.of(named(f, "y")) == (0, 3)


def test_a_view_of_what_the_function_was_keeps_nothing() -> None:
    f = function()
    view, before = cfg_of(f), ranges_of(f)
    _way(f)
    assert ranges_of(f, view) is not before and ranges_of(f) is ranges_of(f)
