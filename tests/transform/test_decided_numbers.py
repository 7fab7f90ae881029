"""What follows from constants is folded before lanes are looked at."""

from weft.ir import ConstInt
from weft.ir.reader import read_module
from weft.transform.numbers.decided_numbers import fold_decided

TEXT = """
define i64 @f(i64 %x, i1 %c) {
  %none = and i1 %c, false
  %borrow = sext i1 %none to i64
  %q = add i64 %x, %borrow
  %same = select i1 %c, i64 %q, i64 %q
  %chosen = select i1 %none, i64 7, i64 %same
  %r = sub i64 %chosen, 0
  ret i64 %r
}
define i64 @kept(i64 %x, i1 %c) {
  %m = and i64 %x, 1
  %s = sub i64 0, %m
  %r = select i1 %c, i64 %s, i64 %x
  ret i64 %r
}
define i64 @extended(i64 %x) {
  %z = zext i1 true to i64
  %s = sext i1 true to i64
  %a = add i64 %x, %z
  %r = add i64 %a, %s
  ret i64 %r
}
"""


def test_what_follows_from_constants_is_left_out() -> None:
    function = read_module(TEXT).functions["f"]
    assert fold_decided(function)
    assert [i.op for i in function.instructions()] == ["ret"]
    assert function.entry.terminator.operands[0] is function.args[0]


def test_what_does_not_stays() -> None:
    function = read_module(TEXT).functions["kept"]
    assert not fold_decided(function)
    assert len(list(function.instructions())) == 4


def test_signs_are_extended() -> None:
    function = read_module(TEXT).functions["extended"]
    assert fold_decided(function)
    added = [i.operands[1] for i in function.instructions() if i.op == "add"]
    assert [v.signed for v in added if isinstance(v, ConstInt)] == [1, -1]
